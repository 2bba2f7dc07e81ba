/**
 * Days since 2009 on which the New York exchanges stayed closed besides their regular holidays:
 * the hurricane of 2012, and days of mourning for the presidents Bush (2018) and Carter (2025).
 * A new one is added when the exchanges announce it.
 */
export const SPECIAL_CLOSURES: ReadonlySet<string> = new Set([
  "2012-10-29",
  "2012-10-30",
  "2018-12-05",
  "2025-01-09",
]);
