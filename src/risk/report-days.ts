import { filingDayOf, predictNextReport, quarterlyFilings } from "../factors/next-report.ts";
import { MEASURED_REPORT_WINDOWS } from "../factors/report-windows.ts";
import { DAY_MS } from "../lib/day.ts";
import { countSessionsUntil, isTradingDay, nextSession } from "../market/calendar.ts";
import type { Bar, InstrumentRecords } from "../market/records.ts";
import type { HorizonQuantiles } from "./table.ts";

/** The records of an instrument that its volatility forecast uses. */
export type ForecastRecords = Pick<InstrumentRecords, "bars" | "fundamentals">;

/** The part of a risk table that spreads a forecast over a horizon. */
export type HorizonSpread = Pick<HorizonQuantiles, "horizon" | "reportDays">;

/**
 * Number of sessions from a close to the session on which the next quarterly report is expected, as
 * known at that close: 1 is the next session, 0 the session that has just closed, and a negative
 * number means that the report is late.
 *
 * @param bar The bar of that close.
 * @returns `null` if no report is expected, or if the table has no report-day factors.
 */
export function sessionsToReport(
  { reportDays }: Pick<HorizonQuantiles, "reportDays">,
  { fundamentals = [] }: ForecastRecords,
  { session, availableAt }: Bar,
): number | null {
  if (reportDays === null) return null;
  const filings = quarterlyFilings(fundamentals, DAY_MS);
  const next = predictNextReport(filings, availableAt, MEASURED_REPORT_WINDOWS, DAY_MS);
  if (next.is === "unknown") return null;
  const day = filingDayOf(next.report.expected);
  return countSessionsUntil(session, isTradingDay(day) ? day : nextSession(day));
}

/**
 * Forecast standard deviation of the log return over a horizon: sigma times the square root of
 * `horizonVariance`.
 *
 * @param sigma Standard deviation of a session's log return.
 * @param reportIn Result of `sessionsToReport`.
 */
export const horizonSigma = (
  sigma: number,
  spread: HorizonSpread,
  reportIn: number | null,
): number => sigma * Math.sqrt(horizonVariance(spread, reportIn));

/**
 * Variance over a horizon in units of a usual session's variance: the sum, over the sessions of the
 * horizon, of the factor that belongs to the session's distance from the expected report.
 *
 * @param reportIn Result of `sessionsToReport`.
 */
export function horizonVariance(
  { horizon, reportDays }: HorizonSpread,
  reportIn: number | null,
): number {
  if (reportDays === null || reportIn === null) return horizon;
  let sum = 0;
  for (let ahead = 1; ahead <= horizon; ahead++) {
    sum += reportDays.factors[ahead - reportIn + reportDays.before] ?? 1;
  }
  return sum;
}

/** Whether a report is expected on a session within the horizon. */
export const spansReport = (reportIn: number | null, horizon: number): boolean =>
  reportIn !== null && reportIn >= 1 && reportIn <= horizon;
