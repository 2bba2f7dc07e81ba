import { nextReport, quarterlyFilings, reportDay } from "../factors/next-report.ts";
import { MEASURED_WINDOWS } from "../factors/report-windows.ts";
import { DAY_MS } from "../lib/market-day.ts";
import { isSession, nextSession, sessionsUntil } from "../market/calendar.ts";
import type { Bar, InstrumentRecords } from "../market/records.ts";
import type { HorizonQuantiles } from "./table.ts";

/** The part of an instrument's records that a forecast of its volatility reads. */
export type ForecastRecords = Pick<InstrumentRecords, "bars" | "fundamentals">;

/** The part of a risk table by which a forecast is spread over its horizon. */
export type HorizonSpread = Pick<HorizonQuantiles, "horizon" | "reportDays">;

/**
 * Sessions from a close until the one on which the next quarterly report is expected, as known at
 * that close: 1 is the next session, 0 the one that has just closed. Negative: the report is late.
 *
 * @param bar The bar of that close.
 * @returns `null` if none is expected, or if the table leaves reports out.
 */
export function sessionsToReport(
  { reportDays }: Pick<HorizonQuantiles, "reportDays">,
  { fundamentals = [] }: ForecastRecords,
  { session, availableAt }: Bar,
): number | null {
  if (reportDays === null) return null;
  const filings = quarterlyFilings(fundamentals, DAY_MS);
  const next = nextReport(filings, availableAt, MEASURED_WINDOWS, DAY_MS);
  if (next.is === "unknown") return null;
  const day = reportDay(next.report.expected);
  return sessionsUntil(session, isSession(day) ? day : nextSession(day));
}

/**
 * Forecast standard deviation of the log return over a horizon: the root of its variance in units
 * of a session's, times sigma.
 *
 * @param sigma Standard deviation of a session.
 * @param reportIn From `sessionsToReport`.
 */
export const horizonSigma = (
  sigma: number,
  spread: HorizonSpread,
  reportIn: number | null,
): number => sigma * Math.sqrt(horizonVariance(spread, reportIn));

/**
 * Variance over a horizon in units of a usual session's: the number of its sessions, each counted
 * with the factor of its distance from the expected report.
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

/** Whether a report is expected on a session of a horizon. */
export const spansReport = (reportIn: number | null, horizon: number): boolean =>
  reportIn !== null && reportIn >= 1 && reportIn <= horizon;
