import { DAY_MS, marketDayName } from "../lib/day.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import type { Fundamental, PointInTimeRecord, RecordList } from "../market/records.ts";
import { FILING_RULES } from "./filings.ts";
import { MAX_FIGURE_AGE_DAYS } from "./yields.ts";

/**
 * Constants for predicting when a company files its next quarterly report, from its own past
 * filings. Companies announce results on the day of the filing or a few sessions before.
 */
export const REPORT_RULES = {
  /** Days from the end of one fiscal quarter to the end of the next. */
  quarterDays: 91,
  /** 52 weeks in days, because companies tend to file on the same weekday. */
  yearDays: 364,
  /** Tolerance in days when matching a quarter end. */
  matchDays: 20,
  /**
   * Minimum number of days between the quarter ends of two filings; with fewer, the later filing is
   * an amendment.
   */
  minQuarterDays: 45,
  /** Maximum number of past years whose lags enter the median lag, and minimum number of lags. */
  lagYears: 3,
  minLags: 2,
} as const;

/** The first filing that contains a quarter's figures. */
export interface QuarterlyFiling extends PointInTimeRecord {
  /** End of the fiscal quarter, Unix milliseconds. */
  readonly periodEnd: number;
}

/**
 * Basis of a prediction:
 * - `year_before`: 364 days after the filing for the same quarter a year earlier
 * - `median_lag`: the end of the quarter plus the median lag of the filings for that quarter in the
 * last three years; used if the filing for the same quarter a year earlier is missing
 */
export const REPORT_BASES = ["year_before", "median_lag"] as const;
export type ReportBasis = (typeof REPORT_BASES)[number];

/**
 * First and last day, relative to the expected day, of a window that contains 95 % of past filings.
 */
export type ReportWindowDays = readonly [low: number, high: number];

/** The window of each `ReportBasis`, and the instant from which predictions use these windows. */
export interface ReportWindows {
  /**
   * The windows were fitted on filings known before this instant (Unix milliseconds), and apply to
   * predictions from this instant on.
   */
  readonly from: number;
  readonly days: Readonly<Partial<Record<ReportBasis, ReportWindowDays>>>;
}

/**
 * An expected filing. `expected`, `earliest` and `latest` are instants at which the filing becomes
 * known, Unix milliseconds.
 */
export interface ExpectedReport {
  readonly expected: number;
  readonly earliest: number;
  readonly latest: number;
  readonly basis: ReportBasis;
  /** Approximate end of the reported quarter, Unix milliseconds. */
  readonly periodEnd: number;
}

/**
 * Why no filing is expected: no filing is known, too few are known, or the company has stopped
 * filing.
 */
export type NoReportReason = "no_filings" | "too_few" | "ceased";

/** The prediction for a company's next quarterly report at an instant. */
export type NextReport =
  | { readonly is: "expected" | "late"; readonly report: ExpectedReport }
  | { readonly is: "unknown"; readonly reason: NoReportReason };

/** Caches the filings found in a list of figures, with the length of the list at that time. */
const cachedFilings = new WeakMap<
  RecordList<Fundamental>,
  { readonly figures: number; readonly filings: readonly QuarterlyFiling[] }
>();

/**
 * The quarterly filings of a company, in the order in which they became known. Each filing is
 * derived only from figures known at its `availableAt`, so later figures do not change it. The
 * result is cached until the list grows.
 *
 * @param fundamentals Ascending by `availableAt`.
 * @param dayMs Length of a market day in milliseconds.
 */
export function quarterlyFilings(
  fundamentals: RecordList<Fundamental>,
  dayMs: number,
): readonly QuarterlyFiling[] {
  const before = cachedFilings.get(fundamentals);
  if (before?.figures === fundamentals.length) return before.filings;
  const filings = findFilings(fundamentals, dayMs);
  cachedFilings.set(fundamentals, { figures: fundamentals.length, filings });
  return filings;
}

function findFilings(
  fundamentals: RecordList<Fundamental>,
  dayMs: number,
): readonly QuarterlyFiling[] {
  const filings: QuarterlyFiling[] = [];
  for (const { metric, periodEnd, availableAt } of fundamentals) {
    const lagDays = (availableAt - periodEnd) / dayMs;
    // For a number of shares, `periodEnd` is the date on the cover page, weeks after the end of the
    // quarter.
    if (metric === "shares" || lagDays < 1 || lagDays > FILING_RULES.maxLagDays) continue;
    // A filing repeats figures of earlier quarters, so its newest quarter is the reported quarter.
    const newest = filings.at(-1);
    if (newest?.availableAt === availableAt && newest.periodEnd < periodEnd) filings.pop();
    const before = filings.at(-1)?.periodEnd ?? Number.NEGATIVE_INFINITY;
    const isNext = periodEnd >= before + REPORT_RULES.minQuarterDays * dayMs;
    if (isNext) filings.push({ periodEnd, availableAt });
  }
  return filings;
}

/**
 * The filing that is expected to follow the newest filing.
 *
 * @param filings From `quarterlyFilings`.
 * @param dayMs Length of a market day in milliseconds.
 * @returns `undefined` if there are too few filings.
 */
export function expectReportAfterNewest(
  filings: readonly QuarterlyFiling[],
  windows: readonly ReportWindows[],
  dayMs: number,
): ExpectedReport | undefined {
  const newest = filings.at(-1);
  if (newest === undefined) return undefined;
  const periodEnd = newest.periodEnd + REPORT_RULES.quarterDays * dayMs;
  const prediction = expectedFilingOfQuarter(filings, periodEnd, dayMs);
  const days = prediction && reportWindowDaysAt(windows, newest.availableAt)?.[prediction.basis];
  if (prediction === undefined || days === undefined) return undefined;
  const [earliest, latest] = days.map((count) => prediction.expected + count * dayMs) as [
    number,
    number,
  ];
  return { ...prediction, earliest, latest, periodEnd };
}

/**
 * When the filing for a quarter is expected: by `year_before` if possible, else by `median_lag`.
 */
export function expectedFilingOfQuarter(
  filings: readonly QuarterlyFiling[],
  periodEnd: number,
  dayMs: number,
): { readonly expected: number; readonly basis: ReportBasis } | undefined {
  const yearMs = REPORT_RULES.yearDays * dayMs;
  const yearBefore = filingOf(filings, periodEnd - yearMs, dayMs);
  if (yearBefore !== undefined) {
    return { expected: yearBefore.availableAt + yearMs, basis: "year_before" };
  }
  const lag = medianFilingLagMs(filings, periodEnd, dayMs);
  return lag === undefined ? undefined : { expected: periodEnd + lag, basis: "median_lag" };
}

/**
 * Median lag, in milliseconds, of the filings for a fiscal quarter in earlier years; if there are
 * two lags, the shorter.
 */
export function medianFilingLagMs(
  filings: readonly QuarterlyFiling[],
  periodEnd: number,
  dayMs: number,
): number | undefined {
  const lags = Array.from({ length: REPORT_RULES.lagYears }, (_, index) =>
    filingOf(filings, periodEnd - (index + 1) * REPORT_RULES.yearDays * dayMs, dayMs),
  ).flatMap((filing) => (filing === undefined ? [] : [filing.availableAt - filing.periodEnd]));
  if (lags.length < REPORT_RULES.minLags) return undefined;
  return lags.sort((a, b) => a - b)[Math.floor((lags.length - 1) / 2)];
}

/** The newest filing for a quarter that ended near `periodEnd`. */
const filingOf = (filings: readonly QuarterlyFiling[], periodEnd: number, dayMs: number) =>
  filings.findLast(
    (filing) => Math.abs(filing.periodEnd - periodEnd) <= REPORT_RULES.matchDays * dayMs,
  );

/** The windows that apply to predictions made at an instant, by basis. */
export const reportWindowDaysAt = (windows: readonly ReportWindows[], predictedAt: number) =>
  windows.findLast(({ from }) => from <= predictedAt)?.days;

/** Time from 00:00 UTC to midnight in New York in summer, when it is shortest, in milliseconds. */
const MIDNIGHT_MS = 4 * 3_600_000;

/**
 * The day on which a report was filed. Outside the sandbox, a filing becomes known at the New York
 * midnight after that day, or up to 20 hours later from a slow provider.
 *
 * @param at When the filing became known, Unix milliseconds.
 * @returns An ISO date.
 */
export const filingDayOf = (at: number): string => marketDayName(at - DAY_MS - MIDNIGHT_MS, DAY_MS);

/**
 * Number of days from one instant to another, negative if `to` is the earlier one; rounded because
 * of daylight saving time.
 */
export const daysBetween = (from: number, to: number, dayMs: number): number =>
  Math.round((to - from) / dayMs);

/**
 * Predicts the next report of a company at an instant, from the filings known by then. When a
 * report is filed, the prediction moves to the following report.
 *
 * @param filings From `quarterlyFilings`; filings after `at` are ignored.
 * @param at Unix milliseconds.
 */
export function predictNextReport(
  filings: readonly QuarterlyFiling[],
  at: number,
  windows: readonly ReportWindows[],
  dayMs: number,
): NextReport {
  const known = filings.slice(0, countKnownRecords(filings, at));
  const newest = known.at(-1);
  if (newest === undefined) return { is: "unknown", reason: "no_filings" };
  if (at - newest.availableAt > MAX_FIGURE_AGE_DAYS.filing * dayMs) {
    return { is: "unknown", reason: "ceased" };
  }
  const report = expectReportAfterNewest(known, windows, dayMs);
  if (report === undefined) return { is: "unknown", reason: "too_few" };
  return { is: daysBetween(report.latest, at, dayMs) > 0 ? "late" : "expected", report };
}
