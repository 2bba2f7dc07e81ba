import { mean, normalQuantile, sampleSd } from "../factors/statistics.ts";
import { bootstrapInterval, type ConfidenceInterval } from "./bootstrap.ts";

/** Statistics of the mean of a series with one value per date. */
export interface SeriesSummary {
  readonly dates: number;
  readonly mean: number;
  /** Sample standard deviation of the values. */
  readonly sd: number;
  /**
   * Mean divided by the standard deviation; for a series of ICs, the information ratio per date.
   */
  readonly ratio: number;
  /** t statistic mean / (sd / sqrt(n)), which assumes independent dates. */
  readonly plainT: number;
  readonly neweyWestT: number;
  /** The more conservative of the two t values: the one nearer to 0. */
  readonly t: number;
  /** 95 % confidence interval of the mean by block bootstrap. */
  readonly interval: ConfidenceInterval;
  /**
   * Number of dates required to detect a mean of this size with 80 % power; `null` for a mean of 0.
   */
  readonly datesForPower: number | null;
}

/**
 * Horizon and spacing of the values of a series, which determine how far consecutive values
 * overlap.
 */
export interface HorizonOverlap {
  /** Number of sessions that each value looks ahead. */
  readonly horizon: number;
  /** Number of sessions from one date to the next. */
  readonly step: number;
}

/**
 * Number of dates that one horizon spans: the Newey-West lag and the expected block length of the
 * bootstrap.
 */
export const datesPerHorizon = ({ horizon, step }: HorizonOverlap): number =>
  Math.ceil(horizon / step);

/**
 * Whether any two values differ. The standard deviation cannot tell, because rounding can make it
 * positive for equal values.
 */
export const hasVariance = (values: readonly number[]): boolean =>
  values.some((value) => value !== values[0]);

/**
 * Summarizes a series with standard errors that allow for autocorrelation.
 *
 * @param values In chronological order.
 * @returns `undefined` with fewer than two values, or if all values are equal.
 */
export function summarizeSeries(
  values: readonly number[],
  overlap: HorizonOverlap,
  seed: number,
): SeriesSummary | undefined {
  const lag = datesPerHorizon(overlap);
  const interval = bootstrapInterval(values, lag, seed);
  if (interval === undefined || !hasVariance(values)) return undefined;
  const sd = sampleSd(values);
  const center = mean(values);
  const plainT = center / (sd / Math.sqrt(values.length));
  const error = neweyWestStandardError(values, lag);
  const neweyWestT = error > 0 ? center / error : plainT;
  return {
    dates: values.length,
    mean: center,
    sd,
    ratio: center / sd,
    plainT,
    neweyWestT,
    t: Math.abs(neweyWestT) < Math.abs(plainT) ? neweyWestT : plainT,
    interval,
    datesForPower: periodsForPower(center, sd),
  };
}

/**
 * Standard error of the mean of an autocorrelated series (Newey & West, 1987):
 * sqrt((g_0 + 2 sum_l (1 - l/(L + 1)) g_l) / n), with g_l the autocovariance at distance l.
 *
 * @param values In chronological order, at least two.
 * @param lag Largest lag L with autocorrelation.
 * @returns 0 for a constant series, and if the sum is negative.
 */
export function neweyWestStandardError(values: readonly number[], lag: number): number {
  const center = mean(values);
  const deviations = values.map((value) => value - center);
  let variance = autocovariance(deviations, 0);
  // No pairs of values exist at distances above `values.length - 1`.
  for (let distance = 1; distance <= Math.min(lag, values.length - 1); distance++) {
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

/** Two-sided significance level and power of the test in `periodsForPower`. */
const SIGNIFICANCE = 0.05;
const POWER = 0.8;

/**
 * Number of independent periods required to distinguish a mean from 0: ((q(.975) + q(.8)) sd /
 * mean)^2, which is (2.8016 sd / mean)^2.
 *
 * @returns `null` for a mean of 0.
 */
export function periodsForPower(mean: number, sd: number): number | null {
  if (mean === 0) return null;
  const distance = normalQuantile(1 - SIGNIFICANCE / 2) + normalQuantile(POWER);
  return ((distance * sd) / mean) ** 2;
}
