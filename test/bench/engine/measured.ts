/** What one run measured: each session and event in its order, the same in every run. */
export interface Measured {
  /** Full refreshes at the closes, in milliseconds by the wall and of the processor's time. */
  readonly refreshMs: readonly number[];
  readonly processorMs: readonly number[];
  /** Single events after the closes, in microseconds. */
  readonly eventUs: Readonly<Record<EventKind, readonly number[]>>;
  /** Largest resident memory, in megabytes. */
  readonly peakMb: number;
  readonly drift: number;
}
/** What single events are. */
export const EVENT_KINDS = ["bar", "print", "message"] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
