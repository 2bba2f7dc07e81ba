import {
  type DaysAround,
  daysAfter,
  daysAround,
  expectedFiling,
  medianLag,
  type QuarterlyFiling,
  quarterlyFilings,
  REPORT_RULES,
  type ReportBasis,
  type ReportWindow,
} from "../../factors/next-report.ts";
import type { InstrumentRecords } from "../../market/records.ts";

/** Nominal coverage of a window. */
const WINDOW_SHARE = 0.95;

/** Minimum errors to fit a window. */
const MIN_ERRORS = 100;

/** A prediction and the filing that followed. */
export interface ReportOutcome {
  readonly symbol: string;
  /** When the previous filing became known, and the prediction from then on; Unix milliseconds. */
  readonly predictedAt: number;
  readonly basis: ReportBasis;
  /** When the next filing became known, Unix milliseconds. */
  readonly filedAt: number;
  /** Days after the expected day; `null` if the filing is for a later quarter, so that the expected one
   *  is missing. */
  readonly errorDays: number | null;
  /** `errorDays` by the median-lag basis; `null` if there are too few lags. */
  readonly lagErrorDays: number | null;
}

/** All predicted filings of some companies with their outcomes. */
export const reportOutcomes = (
  records: readonly InstrumentRecords[],
  dayMs: number,
): readonly ReportOutcome[] =>
  records.flatMap(({ instrument, fundamentals }) =>
    outcomesOf(instrument.symbol, quarterlyFilings(fundamentals ?? [], dayMs), dayMs),
  );

function outcomesOf(
  symbol: string,
  filings: readonly QuarterlyFiling[],
  dayMs: number,
): readonly ReportOutcome[] {
  return filings.slice(1).flatMap((next, index): ReportOutcome[] => {
    const newest = filings[index] as QuarterlyFiling;
    const known = filings.slice(0, index + 1);
    const periodEnd = newest.periodEnd + REPORT_RULES.quarterDays * dayMs;
    const prediction = expectedFiling(known, periodEnd, dayMs);
    if (prediction === undefined) return [];
    const isExpected = Math.abs(next.periodEnd - periodEnd) <= REPORT_RULES.matchDays * dayMs;
    const errorFrom = (expected: number) =>
      isExpected ? daysAfter(next.availableAt, expected, dayMs) : null;
    const lag = medianLag(known, periodEnd, dayMs);
    return [
      {
        symbol,
        predictedAt: newest.availableAt,
        basis: prediction.basis,
        filedAt: next.availableAt,
        errorDays: errorFrom(prediction.expected),
        lagErrorDays: lag === undefined ? null : errorFrom(periodEnd + lag),
      },
    ];
  });
}

/**
 * The window of each year, fitted on earlier filings: the shortest window in whole days with at most 2.5 %
 * of the errors on either side. A basis with too few errors has no window.
 */
export const fitReportWindows = (
  outcomes: readonly ReportOutcome[],
  years: readonly number[],
): readonly ReportWindow[] =>
  years.flatMap((year) => {
    const from = Date.UTC(year, 0);
    const before = outcomes.filter(({ filedAt }) => filedAt < from);
    const fromYear = before.filter(({ basis }) => basis === "year_before");
    const yearBefore = daysHolding(fromYear.map(({ errorDays }) => errorDays));
    const lag = daysHolding(before.map(({ lagErrorDays }) => lagErrorDays));
    const days = {
      ...(yearBefore && { year_before: yearBefore }),
      ...(lag && { median_lag: lag }),
    };
    return Object.keys(days).length === 0 ? [] : [{ from, days }];
  });

function daysHolding(errors: readonly (number | null)[]): DaysAround | undefined {
  const sorted = Float64Array.from(errors.filter((error) => error !== null)).sort();
  if (sorted.length < MIN_ERRORS) return undefined;
  const outside = Math.floor((sorted.length * (1 - WINDOW_SHARE)) / 2);
  return [sorted[outside] as number, sorted[sorted.length - 1 - outside] as number];
}

/** Accuracy of the predicted filing dates. */
export interface ReportAccuracy {
  /** Predicted filings that came. */
  readonly filings: number;
  /** Predicted filings that had not come before that of the next quarter. */
  readonly missing: number;
  /** Median of the absolute errors, in days. */
  readonly medianError: number;
  readonly meanError: number;
  /** Shares of the filings within 3 and 7 days. */
  readonly within3: number;
  readonly within7: number;
  /** Share inside the predicted window, of the filings and of all predictions. */
  readonly inside: number;
  readonly insideOfExpected: number;
  /** Mean window length in days, both ends included. */
  readonly windowDays: number;
}

/**
 * Grades predictions against filings.
 *
 * @param outcomes Those without a predicted window are ignored.
 */
export function gradeReports(
  outcomes: readonly ReportOutcome[],
  windows: readonly ReportWindow[],
): ReportAccuracy {
  const predictions = outcomes.flatMap(({ predictedAt, basis, errorDays }) => {
    const days = daysAround(windows, predictedAt)?.[basis];
    return days === undefined ? [] : [{ errorDays, days }];
  });
  const came = predictions.flatMap(({ errorDays, days }) =>
    errorDays === null ? [] : [{ errorDays, days }],
  );
  const errors = Float64Array.from(came, ({ errorDays }) => Math.abs(errorDays)).sort();
  const within = (days: number) => errors.filter((error) => error <= days).length / errors.length;
  const inside = came.filter(
    ({ errorDays, days: [low, high] }) => errorDays >= low && errorDays <= high,
  ).length;
  const width = came.reduce((sum, { days: [low, high] }) => sum + high - low + 1, 0);
  return {
    filings: came.length,
    missing: predictions.length - came.length,
    medianError: errors[Math.floor(errors.length / 2)] ?? Number.NaN,
    meanError: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    within3: within(3),
    within7: within(7),
    inside: inside / came.length,
    insideOfExpected: inside / predictions.length,
    windowDays: width / came.length,
  };
}
