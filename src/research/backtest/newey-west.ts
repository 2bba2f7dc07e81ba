import { mean } from "../../factors/statistics.ts";

/**
 * Standard error of the mean of a series whose neighbours are correlated (Newey & West, 1987):
 * sqrt((g_0 + 2 sum_l (1 - l/(L + 1)) g_l) / n), with g_l the autocovariance at distance l.
 *
 * @param values In the order of time, at least two.
 * @param lag Largest distance L at which neighbours are taken to be correlated.
 * @returns 0 for a constant series, and in the rare case that the sum is negative.
 */
export function neweyWestError(values: readonly number[], lag: number): number {
  const centre = mean(values);
  const deviations = values.map((value) => value - centre);
  let variance = autocovariance(deviations, 0);
  for (let distance = 1; distance <= lag; distance++) {
    variance += 2 * (1 - distance / (lag + 1)) * autocovariance(deviations, distance);
  }
  return Math.sqrt(Math.max(0, variance) / values.length);
}

function autocovariance(deviations: readonly number[], distance: number): number {
  let sum = 0;
  for (let index = distance; index < deviations.length; index++) {
    sum += (deviations[index] as number) * (deviations[index - distance] as number);
  }
  return sum / deviations.length;
}
