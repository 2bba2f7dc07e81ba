import {
  daysBetween,
  expectedFilingOfQuarter,
  medianFilingLagMs,
  type QuarterlyFiling,
  quarterlyFilings,
  REPORT_RULES,
  type ReportBasis,
  type ReportWindowDays,
  type ReportWindows,
  reportWindowDaysAt,
} from "../../factors/next-report.ts";
import { REPORT_WINDOW_COVERAGE } from "../../factors/report-windows.ts";
import type { InstrumentRecords } from "../../market/records.ts";

/** Minimum number of prediction errors needed to fit a window. */
const MIN_ERRORS = 100;

/** A predicted filing and the filing that followed. */
interface ReportOutcome {
  readonly symbol: string;
  /**
   * When the previous filing became known, from which the prediction was made; Unix milliseconds.
   */
  readonly predictedAt: number;
  readonly basis: ReportBasis;
  /** When the next filing became known, Unix milliseconds. */
  readonly filedAt: number;
  /**
   * Days from the expected day to the filing; `null` if the filing is for a later quarter, so that
   * the expected filing is missing.
   */
  readonly errorDays: number | null;
  /**
   * `errorDays` of a prediction by the median filing lag; `null` also if there are too few lags.
   */
  readonly lagErrorDays: number | null;
}

/** All predicted filings of the given companies, with the filings that followed. */
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
    const prediction = expectedFilingOfQuarter(known, periodEnd, dayMs);
    if (prediction === undefined) return [];
    const isExpected = Math.abs(next.periodEnd - periodEnd) <= REPORT_RULES.matchDays * dayMs;
    const errorFrom = (expected: number) =>
      isExpected ? daysBetween(expected, next.availableAt, dayMs) : null;
    const lag = medianFilingLagMs(known, periodEnd, dayMs);
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
 * Fits the window for each year on earlier filings: the shortest window in whole days with at most
 * 2.5 % of the errors on either side. A basis with too few errors has no window.
 */
export const fitReportWindows = (
  outcomes: readonly ReportOutcome[],
  years: readonly number[],
): readonly ReportWindows[] =>
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

function daysHolding(errors: readonly (number | null)[]): ReportWindowDays | undefined {
  const sorted = Float64Array.from(errors.filter((error) => error !== null)).sort();
  if (sorted.length < MIN_ERRORS) return undefined;
  const outside = Math.floor((sorted.length * (1 - REPORT_WINDOW_COVERAGE)) / 2);
  return [sorted[outside] as number, sorted[sorted.length - 1 - outside] as number];
}

/** Accuracy of the predicted filing dates. */
export interface ReportAccuracy {
  /** Number of predicted filings that were made. */
  readonly filings: number;
  /** Number of predicted filings that had not been made when the following quarter was filed. */
  readonly missing: number;
  /** Median of the absolute errors, in days. */
  readonly medianError: number;
  readonly meanError: number;
  /** Fraction of the filings that were made within 3 and within 7 days of the expected day. */
  readonly within3: number;
  readonly within7: number;
  /**
   * Fraction inside the predicted window: of the filings that were made, and of all predicted
   * filings.
   */
  readonly inside: number;
  readonly insideOfExpected: number;
  /** Mean length of the window in days, including both ends. */
  readonly windowDays: number;
}

/**
 * Grades predicted filing dates.
 *
 * @param outcomes Predictions for which no window exists are ignored.
 */
export function gradeReportPredictions(
  outcomes: readonly ReportOutcome[],
  windows: readonly ReportWindows[],
): ReportAccuracy {
  const predictions = outcomes.flatMap(({ predictedAt, basis, errorDays }) => {
    const days = reportWindowDaysAt(windows, predictedAt)?.[basis];
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
