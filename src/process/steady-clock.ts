/** The two clocks of a steady clock, in milliseconds. Tests and the crash harness provide their
 *  own. */
export interface SteadyClockSources {
  /** Unix time, as the machine's clock is set. */
  readonly wall: () => number;
  /** A clock that is never set, such as `performance.now`. */
  readonly monotonic: () => number;
}

/**
 * Creates a clock that starts at the machine's time and then follows the monotonic clock, so that
 * setting the machine's clock moves nothing: no timer fires early or late, and no lease ends while
 * it is held. A corrected machine clock takes effect at the next start of the process. On Linux,
 * time during which the machine is suspended does not count.
 *
 * @returns A function that reads the clock, in whole milliseconds since the epoch; never decreases.
 */
export function createSteadyClock({ wall, monotonic }: SteadyClockSources): () => number {
  const start = wall();
  const startedAt = monotonic();
  return () => start + Math.floor(monotonic() - startedAt);
}
