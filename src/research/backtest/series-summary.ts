import { mean, normalQuantile, sampleSd } from "../../factors/statistics.ts";
import { bootstrapInterval, type Interval } from "./bootstrap.ts";

/** What a series of one figure per date says about its mean. */
export interface SeriesSummary {
  readonly dates: number;
  readonly mean: number;
  /** Sample standard deviation over the dates. */
  readonly sd: number;
  /** Mean divided by standard deviation: of ICs, the information ratio per date. */
  readonly ratio: number;
  /** mean / (sd / sqrt(n)): takes the dates for independent. */
  readonly plainT: number;
  readonly neweyWestT: number;
  /** The one of the two that is nearer to 0: the one to believe. */
  readonly t: number;
  /** 95 % interval of the mean by block bootstrap. */
  readonly interval: Interval;
  /** Dates that would show a mean of this size with 80 % power, `null` for a mean of 0. */
  readonly datesForPower: number | null;
}

/** How far neighbouring values of a series overlap. */
export interface Overlap {
  /** Sessions over which each value looks ahead. */
  readonly horizon: number;
  /** Sessions from one date to the next. */
  readonly step: number;
}

/** Dates that one look ahead spans: Newey-West lag and expected block of the bootstrap. */
export const overlapDates = ({ horizon, step }: Overlap): number => Math.ceil(horizon / step);

/** Whether any two of the values differ: the sums of equal ones can leave a tiny deviation. */
export const doVary = (values: readonly number[]): boolean =>
  values.some((value) => value !== values[0]);

/**
 * Summarises a series, with everything that keeps its mean from being taken for more than it is.
 *
 * @param values In the order of time.
 * @returns `undefined` under two values, or when they do not vary.
 */
export function summariseSeries(
  values: readonly number[],
  overlap: Overlap,
  seed: number,
): SeriesSummary | undefined {
  const lag = overlapDates(overlap);
  const interval = bootstrapInterval(values, lag, seed);
  if (interval === undefined || !doVary(values)) return undefined;
  const sd = sampleSd(values);
  const centre = mean(values);
  const plainT = centre / (sd / Math.sqrt(values.length));
  const error = neweyWestError(values, lag);
  const neweyWestT = error > 0 ? centre / error : plainT;
  return {
    dates: values.length,
    mean: centre,
    sd,
    ratio: centre / sd,
    plainT,
    neweyWestT,
    t: Math.abs(neweyWestT) < Math.abs(plainT) ? neweyWestT : plainT,
    interval,
    datesForPower: periodsForPower(centre, sd),
  };
}

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
