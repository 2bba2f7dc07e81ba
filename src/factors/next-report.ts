import { DAY_MS, dayName } from "../lib/market-day.ts";
import { countKnown } from "../market/point-in-time.ts";
import type { Fundamental, Known, RecordList } from "../market/records.ts";
import { FILING_RULES } from "./filings.ts";
import { MAX_FIGURE_AGE_DAYS } from "./yields.ts";

/**
 * Constants by which the day of a company's next quarterly report is predicted from its own past
 * filings. Results are announced on the day of the filing or a few sessions before.
 */
export const REPORT_RULES = {
  /** Days from the end of a fiscal quarter to that of the next. */
  quarterDays: 91,
  /** 52 weeks, because companies tend to file on the same weekday. */
  yearDays: 364,
  /** Tolerance in days when matching a quarter end. */
  matchDays: 20,
  /** A filing for a quarter that ended less than this many days after the previous one is an amendment. */
  minQuarterDays: 45,
  /** Years of filings of the quarter in the median lag, and the minimum number. */
  lagYears: 3,
  minLags: 2,
} as const;

/** The first filing of a quarter's figures. */
export interface QuarterlyFiling extends Known {
  /** End of the fiscal quarter, Unix milliseconds. */
  readonly periodEnd: number;
}

/**
 * Basis of a prediction. `year_before`: the filing of the same quarter a year earlier plus 364 days.
 * `median_lag`: the end of the quarter plus the median lag of that quarter's filings in three years, used
 * if the filing of a year earlier is missing.
 */
export const REPORT_BASES = ["year_before", "median_lag"] as const;
export type ReportBasis = (typeof REPORT_BASES)[number];

/** Window in days around the expected day that held 95 % of past filings. */
export type DaysAround = readonly [low: number, high: number];

/** The windows by basis. */
export interface ReportWindow {
  /** Unix milliseconds: fitted on filings known before it, applied to predictions from then on. */
  readonly from: number;
  readonly days: Readonly<Partial<Record<ReportBasis, DaysAround>>>;
}

/** An expected filing. Instants are those at which it becomes known, Unix milliseconds. */
export interface ExpectedReport {
  readonly expected: number;
  readonly earliest: number;
  readonly latest: number;
  readonly basis: ReportBasis;
  /** End of the reported quarter, Unix milliseconds, to within some days. */
  readonly periodEnd: number;
}

/** Why no filing is expected: none known, too few, or filings have ceased. */
export type NoReportReason = "no_filings" | "too_few" | "ceased";

/** The prediction for a company's next quarterly report at an instant. */
export type NextReport =
  | { readonly is: "expected" | "late"; readonly report: ExpectedReport }
  | { readonly is: "unknown"; readonly reason: NoReportReason };

/** Cached filings of a list of figures, with the length of the list at that time. */
const found = new WeakMap<
  RecordList<Fundamental>,
  { readonly figures: number; readonly filings: readonly QuarterlyFiling[] }
>();

/**
 * The quarterly filings of a company, in the order in which they became known. Each is derived from the
 * figures known by then, so later figures do not change it. A growing list is read once per length.
 *
 * @param fundamentals Ascending by `availableAt`.
 * @param dayMs Length of a market day in milliseconds.
 */
export function quarterlyFilings(
  fundamentals: RecordList<Fundamental>,
  dayMs: number,
): readonly QuarterlyFiling[] {
  const before = found.get(fundamentals);
  if (before?.figures === fundamentals.length) return before.filings;
  const filings = findFilings(fundamentals, dayMs);
  found.set(fundamentals, { figures: fundamentals.length, filings });
  return filings;
}

function findFilings(
  fundamentals: RecordList<Fundamental>,
  dayMs: number,
): readonly QuarterlyFiling[] {
  const filings: QuarterlyFiling[] = [];
  for (const { metric, periodEnd, availableAt } of fundamentals) {
    const lagDays = (availableAt - periodEnd) / dayMs;
    // Shares on the cover are counted weeks after the quarter.
    if (metric === "shares" || lagDays < 1 || lagDays > FILING_RULES.maxLagDays) continue;
    // A filing repeats earlier quarters; the newest is the reported one.
    const newest = filings.at(-1);
    if (newest?.availableAt === availableAt && newest.periodEnd < periodEnd) filings.pop();
    const before = filings.at(-1)?.periodEnd ?? Number.NEGATIVE_INFINITY;
    const isNext = periodEnd >= before + REPORT_RULES.minQuarterDays * dayMs;
    if (isNext) filings.push({ periodEnd, availableAt });
  }
  return filings;
}

/**
 * The expected successor of the newest filing.
 *
 * @param filings From `quarterlyFilings`.
 * @returns `undefined` if there are too few.
 */
export function expectReport(
  filings: readonly QuarterlyFiling[],
  windows: readonly ReportWindow[],
  dayMs: number,
): ExpectedReport | undefined {
  const newest = filings.at(-1);
  if (newest === undefined) return undefined;
  const periodEnd = newest.periodEnd + REPORT_RULES.quarterDays * dayMs;
  const prediction = expectedFiling(filings, periodEnd, dayMs);
  const days = prediction && daysAround(windows, newest.availableAt)?.[prediction.basis];
  if (prediction === undefined || days === undefined) return undefined;
  const [earliest, latest] = days.map((count) => prediction.expected + count * dayMs) as [
    number,
    number,
  ];
  return { ...prediction, earliest, latest, periodEnd };
}

/** When the filing of a quarter is expected, by the better available basis. */
export function expectedFiling(
  filings: readonly QuarterlyFiling[],
  periodEnd: number,
  dayMs: number,
): { readonly expected: number; readonly basis: ReportBasis } | undefined {
  const yearMs = REPORT_RULES.yearDays * dayMs;
  const yearBefore = filingOf(filings, periodEnd - yearMs, dayMs);
  if (yearBefore !== undefined) {
    return { expected: yearBefore.availableAt + yearMs, basis: "year_before" };
  }
  const lag = medianLag(filings, periodEnd, dayMs);
  return lag === undefined ? undefined : { expected: periodEnd + lag, basis: "median_lag" };
}

/** Median lag of a quarter's filings in earlier years, milliseconds; of two the shorter. */
export function medianLag(
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

/** The filing of the quarter that ended near an instant. */
const filingOf = (filings: readonly QuarterlyFiling[], periodEnd: number, dayMs: number) =>
  filings.findLast(
    (filing) => Math.abs(filing.periodEnd - periodEnd) <= REPORT_RULES.matchDays * dayMs,
  );

/** The window for predictions made from a filing known at an instant. */
export const daysAround = (windows: readonly ReportWindow[], predictedAt: number) =>
  windows.findLast(({ from }) => from <= predictedAt)?.days;

/** Earliest New York midnight after 00:00 UTC, in summer. */
const MIDNIGHT_MS = 4 * 3_600_000;

/**
 * The day on which a report is filed, from the instant at which it becomes known outside the
 * sandbox: the New York midnight after that day, or up to 20 hours later from a slow provider.
 *
 * @returns An ISO date.
 */
export const reportDay = (at: number): string => dayName(at - DAY_MS - MIDNIGHT_MS, DAY_MS);

/** Days from one instant to another, rounded because of daylight saving time. */
export const daysAfter = (at: number, other: number, dayMs: number): number =>
  Math.round((at - other) / dayMs);

/**
 * Predicts the next report of a company at an instant, from the filings known by then. Once it is filed,
 * the prediction is for the following one.
 *
 * @param filings From `quarterlyFilings`; later ones are ignored.
 * @param at Unix milliseconds.
 */
export function nextReport(
  filings: readonly QuarterlyFiling[],
  at: number,
  windows: readonly ReportWindow[],
  dayMs: number,
): NextReport {
  const known = filings.slice(0, countKnown(filings, at));
  const newest = known.at(-1);
  if (newest === undefined) return { is: "unknown", reason: "no_filings" };
  if (at - newest.availableAt > MAX_FIGURE_AGE_DAYS.filing * dayMs) {
    return { is: "unknown", reason: "ceased" };
  }
  const report = expectReport(known, windows, dayMs);
  if (report === undefined) return { is: "unknown", reason: "too_few" };
  return { is: daysAfter(at, report.latest, dayMs) > 0 ? "late" : "expected", report };
}
