import type { ConfidenceInterval } from "./bootstrap.ts";
import { normalQuantile } from "./normal.ts";
import { mean, sampleSd } from "./statistics.ts";

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
  /**
   * t statistic that allows for autocorrelation (`cosineStandardError`), as the normal quantile
   * with the same tail probability; the plain t where that is nearer to 0. Without skill, |t|
   * exceeds 1.96 in at most about 5 % of cases.
   */
  readonly t: number;
  /** 95 % confidence interval of the mean: it contains 0 where |t| is under 1.96. */
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
 * Number of dates that one horizon spans, and thus of dates with overlapping outcomes.
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
 * Summarizes a series with a standard error that allows for autocorrelation.
 *
 * @param values In chronological order.
 * @returns `undefined` with fewer than two values, or if all values are equal.
 */
export function summarizeSeries(
  values: readonly number[],
  overlap: HorizonOverlap,
): SeriesSummary | undefined {
  if (values.length < 2 || !hasVariance(values)) return undefined;
  const sd = sampleSd(values);
  const center = mean(values);
  const cosines = cosineCount(values.length, datesPerHorizon(overlap));
  const error = cosineStandardError(values, cosines);
  const plainError = sd / Math.sqrt(values.length);
  const width = Math.max(studentOf(NORMAL_97_5, cosines) * error, NORMAL_97_5 * plainError);
  const [plainT, cosineT] = [center / plainError, normalOf(center / error, cosines)];
  return {
    dates: values.length,
    mean: center,
    sd,
    ratio: center / sd,
    plainT,
    t: Math.abs(cosineT) < Math.abs(plainT) ? cosineT : plainT,
    interval: { low: center - width, high: center + width },
    datesForPower: periodsForPower(center, sd),
  };
}

const NORMAL_97_5 = normalQuantile(0.975);

/**
 * Number of cosines for `cosineStandardError`, which is also its degrees of freedom: .4 n^(2/3)
 * (Lazarus, Lewis, Stock & Watson, 2018), but at most one for three horizons, so that even the
 * fastest cosine is slow compared with the overlap; at least two.
 */
export const cosineCount = (dates: number, overlapping: number): number =>
  Math.min(
    dates - 1,
    Math.max(2, Math.floor(Math.min(0.4 * dates ** (2 / 3), dates / (3 * overlapping)))),
  );

/**
 * Standard error of the mean of an autocorrelated series by equal-weighted cosines: sqrt(mean_j
 * L_j^2 / n) with L_j = sqrt(2/n) sum_i x_i cos(pi j (i - 1/2) / n), for j from 1 to the count.
 * The mean over it follows Student's t distribution with as many degrees of freedom, in small
 * samples too.
 *
 * @param values In chronological order, at least two.
 */
export function cosineStandardError(values: readonly number[], cosines: number): number {
  const { length } = values;
  let squares = 0;
  for (let j = 1; j <= cosines; j++) {
    let sum = 0;
    for (const [index, value] of values.entries()) {
      sum += value * Math.cos((Math.PI * j * (index + 0.5)) / length);
    }
    squares += (2 / length) * sum ** 2;
  }
  return Math.sqrt(squares / cosines / length);
}

/** Factor of Wallace's (1959) approximation of Student's t by a normal variable. */
const wallaceFactor = (freedom: number): number => (8 * freedom + 1) / (8 * freedom + 3);

/** The normal quantile with the tail probability of a Student t. */
const normalOf = (t: number, freedom: number): number =>
  Math.sign(t) * wallaceFactor(freedom) * Math.sqrt(freedom * Math.log1p(t ** 2 / freedom));

/** The Student t with the tail probability of a normal quantile, the inverse of `normalOf`. */
const studentOf = (z: number, freedom: number): number =>
  Math.sqrt(freedom * Math.expm1((z / wallaceFactor(freedom)) ** 2 / freedom));

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

/**
 * t statistic of the mean by `neweyWestStandardError`; the plain t where that is nearer to 0. Over
 * returns that overlap it spreads 15 to 20 % too wide: only for figures that were registered so.
 *
 * @param values In chronological order.
 * @param lag Number of dates that one horizon spans.
 * @returns `null` with fewer than two values, or if all values are equal.
 */
export function neweyWestT(values: readonly number[], lag: number): number | null {
  if (values.length < 2 || !hasVariance(values)) return null;
  const center = mean(values);
  const plainError = sampleSd(values) / Math.sqrt(values.length);
  return center / Math.max(neweyWestStandardError(values, lag), plainError);
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
