import { newestKnownRecord } from "../../src/market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../../src/market/records.ts";
import type { GridRow } from "../../src/research/backtest/return-grid.ts";
import {
  observeWithoutReports,
  type RiskGrid,
} from "../../src/research/backtest/risk/observations.ts";
import { sessionsToReport } from "../../src/risk/report-days.ts";
import type { ReportDayFactors } from "../../src/risk/table.ts";

/**
 * Numbers of sessions before and after an expected report for which a separate factor is fitted. In
 * the data before 2020, each of these factors is above 1 with a t-statistic above 2, and no factor
 * further away is (docs/method-and-backtest.md).
 */
const REPORT_REACH = { before: 10, after: 5 } as const;

/**
 * Number of sessions from a forecast to the next expected report, and the returns that followed the
 * forecast.
 */
export interface ReportOutcome {
  /** ISO date of the last session of the horizon. */
  readonly end: string;
  /**
   * Number of sessions from the forecast to the expected report, as `sessionsToReport` returns it;
   * `null`: unknown.
   */
  readonly reportIn: number | null;
  /**
   * Squared return of each session of the horizon, divided by the forecast variance of one session;
   * `NaN` for a session without a bar.
   */
  readonly ratios: Float64Array;
}

/** Options with which `sessionsToReport` looks up the next report although no factors are given. */
const KNOWN_REPORTS = { reportDays: { before: 0, factors: [] } } as const;

/** Expected report and realized returns of every forecast over a horizon. */
export function reportOutcomes(risk: RiskGrid, horizon: number): readonly ReportOutcome[] {
  const { grid, records } = risk;
  const bySymbol = new Map(records.map((one) => [one.instrument.symbol, one] as const));
  return observeWithoutReports(risk, horizon).map(({ row, place, end, forecast }) => {
    const { instrument, returns } = grid.rows[row] as GridRow;
    const known = bySymbol.get(instrument.symbol) as InstrumentRecords;
    const bar = newestKnownRecord(known.bars, grid.sessions[place]?.close ?? 0) as Bar;
    const variance = forecast ** 2 / horizon;
    const followed = returns.slice(place + 1, place + 1 + horizon);
    return {
      end,
      reportIn: sessionsToReport(KNOWN_REPORTS, known, bar),
      ratios: followed.map((value) => value ** 2 / variance),
    };
  });
}

/**
 * Fits the factors of `HorizonQuantiles.reportDays`: the mean ratio at each distance from the
 * expected report, divided by the mean ratio of all sessions further away.
 *
 * @param before ISO date or prefix of one: horizons that end on or after it are left out.
 * @returns The factors; 1 at distances without a session.
 */
export function fitReportDays(
  outcomes: readonly ReportOutcome[],
  before: string,
): ReportDayFactors {
  const { before: reach, after } = REPORT_REACH;
  const length = reach + 1 + after;
  const near = Array.from({ length }, () => ({ sum: 0, count: 0 }));
  const far = { sum: 0, count: 0 };
  for (const { end, reportIn, ratios } of outcomes) {
    if (end >= before) continue;
    for (const [index, ratio] of ratios.entries()) {
      if (Number.isNaN(ratio)) continue;
      const place = reportIn === null ? -1 : index + 1 - reportIn + reach;
      const of = near[place] ?? far;
      of.sum += ratio;
      of.count += 1;
    }
  }
  const usual = far.sum / far.count;
  const factors = near.map(({ sum, count }) => {
    const factor = sum / count / usual;
    return Number.isFinite(factor) ? factor : 1;
  });
  return { before: reach, factors };
}
