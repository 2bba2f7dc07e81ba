import { nextReport, quarterlyFilings } from "../factors/next-report.ts";
import { MEASURED_WINDOWS } from "../factors/report-windows.ts";
import { DAY_MS, dayName } from "../lib/market-day.ts";
import { isSession, nextSession, sessionsUntil } from "../market/calendar.ts";
import type { Bar, InstrumentRecords } from "../market/records.ts";
import type { HorizonQuantiles } from "./table.ts";

/** Sessions on either side of an expected report that have a factor of their own. */
export const REPORT_REACH = 10;

/** The part of an instrument's records that a forecast of its volatility reads. */
export type ForecastRecords = Pick<InstrumentRecords, "bars" | "fundamentals">;

/**
 * Sessions from a close until the one on which the next quarterly report is expected, as known at
 * that close: 1 is the next session, 0 the one that has just closed. Negative: the report is late.
 *
 * @returns `null` if none is expected.
 */
export function sessionsToReport(
  { fundamentals = [] }: ForecastRecords,
  { session, availableAt }: Bar,
): number | null {
  const filings = quarterlyFilings(fundamentals, DAY_MS);
  const next = nextReport(filings, availableAt, MEASURED_WINDOWS, DAY_MS);
  if (next.is === "unknown") return null;
  // A filing becomes known at the New York midnight after its day.
  const day = dayName(next.report.expected - DAY_MS / 2, DAY_MS);
  return sessionsUntil(session, isSession(day) ? day : nextSession(day));
}

/**
 * Forecast standard deviation of the log return over a horizon from a close. Without reports it is
 * sigma sqrt(horizon); where the table has `reportDays`, each session's variance sigma^2 counts with
 * the factor of its distance from the expected report.
 *
 * @param sigma Standard deviation of a session.
 * @param bar The bar of that close.
 */
export function horizonSigma(
  sigma: number,
  { horizon, reportDays }: Pick<HorizonQuantiles, "horizon" | "reportDays">,
  records: ForecastRecords,
  bar: Bar,
): number {
  if (reportDays === null) return sigma * Math.sqrt(horizon);
  return sigma * Math.sqrt(reportVariance(reportDays, horizon, sessionsToReport(records, bar)));
}

/**
 * Variance over a horizon in units of a usual session's: the sum of its sessions' factors.
 *
 * @param reportIn From `sessionsToReport`.
 */
export function reportVariance(
  reportDays: readonly number[],
  horizon: number,
  reportIn: number | null,
): number {
  if (reportIn === null) return horizon;
  let sum = 0;
  for (let ahead = 1; ahead <= horizon; ahead++) {
    sum += reportDays[ahead - reportIn + REPORT_REACH] ?? 1;
  }
  return sum;
}
