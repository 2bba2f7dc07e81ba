/** What a steady clock is made of; both in milliseconds. */
export interface SteadyClockParts {
  /** Since the epoch, as the machine's clock is set. */
  readonly wall: () => number;
  /** By a clock that is never set, such as `performance.now`. */
  readonly monotonic: () => number;
}

/**
 * A clock that shows the machine's time when it is made and from then on only how much time has
 * passed: setting the machine's clock moves nothing. So nothing that waits comes early or late, and
 * no lease ends while it is used. When a clock that was wrong is put right, this one follows at the
 * next start of the process. On Linux, time for which the machine sleeps does not pass.
 *
 * @returns Tells the time, in whole milliseconds since the epoch; it never goes back.
 */
export function createSteadyClock({ wall, monotonic }: SteadyClockParts): () => number {
  const start = wall();
  const startedAt = monotonic();
  return () => start + Math.floor(monotonic() - startedAt);
}
