import { normalQuantile } from "../../factors/statistics.ts";

/** Two-sided error of the first kind, and the share of true effects that should be found. */
const SIGNIFICANCE = 0.05;
const POWER = 0.8;

/**
 * Independent periods that a mean needs to be told from 0: ((q(.975) + q(.8)) sd / mean)^2, which
 * is (2.8016 sd / mean)^2.
 *
 * @returns `null` for a mean of 0, which no number of periods can show.
 */
export function periodsForPower(mean: number, sd: number): number | null {
  if (mean === 0) return null;
  const distance = normalQuantile(1 - SIGNIFICANCE / 2) + normalQuantile(POWER);
  return ((distance * sd) / mean) ** 2;
}
