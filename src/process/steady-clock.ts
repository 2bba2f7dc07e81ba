/**
 * The two clocks from which a steady clock is built, in milliseconds. Tests and the crash harness
 * provide their own.
 */
interface SteadyClockSources {
  /** Unix time according to the machine's clock. */
  readonly wall: () => number;
  /** A clock that cannot be set, such as `performance.now`. */
  readonly monotonic: () => number;
}

/**
 * Creates a clock that starts at the machine's time and then follows the monotonic clock. Setting
 * the machine's clock therefore changes nothing: timers fire and leases expire on time. A corrected
 * machine clock takes effect at the next start of the process. On Linux, time during which the
 * machine is suspended does not count.
 *
 * @returns A function that reads the clock, in whole milliseconds since the epoch; never decreases.
 */
export function createSteadyClock({ wall, monotonic }: SteadyClockSources): () => number {
  const start = wall();
  const startedAt = monotonic();
  return () => start + Math.floor(monotonic() - startedAt);
}
