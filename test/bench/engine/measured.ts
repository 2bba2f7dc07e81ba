/**
 * Result of one run. The lists have one value per session, in an order of sessions that is the same
 * in every run.
 */
export interface MeasuredEngine {
  /** Wall-clock time and CPU time of each full refresh at a session close, in milliseconds. */
  readonly refreshMs: readonly number[];
  readonly processorMs: readonly number[];
  /** Largest resident memory, in megabytes. */
  readonly peakMb: number;
  readonly drift: number;
}
