/** Difference between two clocks that the verifier tolerates, in milliseconds. */
export const CLOCK_TOLERANCE_MS = 300_000;
