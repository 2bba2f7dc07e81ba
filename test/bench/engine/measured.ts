/** What one run measured: each session in its order, the same in every run. */
export interface Measured {
  /** Full refreshes at the closes, in milliseconds by the wall and of the processor's time. */
  readonly refreshMs: readonly number[];
  readonly processorMs: readonly number[];
  /** Largest resident memory, in megabytes. */
  readonly peakMb: number;
  readonly drift: number;
}
