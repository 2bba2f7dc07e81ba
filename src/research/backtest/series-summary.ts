import { mean, sampleSd } from "../../factors/statistics.ts";
import { bootstrapInterval, type Interval } from "./bootstrap.ts";
import { neweyWestError } from "./newey-west.ts";
import { periodsForPower } from "./power.ts";

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
