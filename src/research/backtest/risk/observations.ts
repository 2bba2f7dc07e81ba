import { returnOver } from "../../../grading/session-returns.ts";
import { countKnown, newestKnown } from "../../../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../../../market/records.ts";
import {
  forecastSigma,
  MODEL_OF_CLASS,
  RISK_MODELS,
  type RiskModel,
  type SessionVariances,
  sessionVariances,
} from "../../../risk/forecast.ts";
import { EARLIER_REPORT_DAYS, FITTED_BEFORE } from "../../../risk/measured-table.ts";
import { type HorizonSpread, horizonSigma, sessionsToReport } from "../../../risk/report-days.ts";
import type { ReportDays } from "../../../risk/table.ts";
import type { GridRow, ReturnGrid } from "../return-grid.ts";

/** A forecast and its outcome. */
export interface RiskObservation {
  /** Index of the forecast's session in the grid. */
  readonly place: number;
  /** ISO dates of the forecast's session and of the last session of its horizon. */
  readonly date: string;
  readonly end: string;
  /** Row of the instrument in the grid. */
  readonly row: number;
  /** Standard deviation over the horizon by each model, as a log return. */
  readonly sigma: Readonly<Record<RiskModel, number>>;
  /** Forecast of the model used for the class. */
  readonly forecast: number;
  /** From `sessionsToReport`. */
  readonly reportIn: number | null;
  /** Log total return over the horizon. */
  readonly followed: number;
  /** Sum of squared log returns over the horizon; `null` where a session has no bar or nothing moved. */
  readonly variance: number | null;
}

/** Data of forecasts and outcomes. */
export interface RiskGrid {
  readonly grid: ReturnGrid;
  readonly records: readonly InstrumentRecords[];
  /** Rows that are graded. */
  readonly graded: ReadonlySet<number>;
  /** Indices of the graded dates. */
  readonly places: readonly number[];
}

/**
 * Joins the forecasts of every graded date with their outcomes. The factors of report days in
 * `reportDays` forecast dates from `FITTED_BEFORE` on.
 *
 * @param earlier Factors for the dates of earlier years, by year. The dates of other years are
 *   forecast as if no report were expected.
 */
export function observeRisk(
  risk: RiskGrid,
  { horizon, reportDays }: HorizonSpread,
  earlier: Readonly<Record<string, ReportDays>> = EARLIER_REPORT_DAYS,
): readonly RiskObservation[] {
  const plain = observeWithoutReports(risk, horizon);
  if (reportDays === null) return plain;
  const { grid, records } = risk;
  const model = MODEL_OF_CLASS[grid.assetClass];
  const bySymbol = new Map(records.map((one) => [one.instrument.symbol, one] as const));
  return plain.map((one) => {
    const known = bySymbol.get(grid.rows[one.row]?.instrument.symbol ?? "") as InstrumentRecords;
    const bar = newestKnown(known.bars, grid.sessions[one.place]?.close ?? 0) as Bar;
    const current =
      one.date >= FITTED_BEFORE ? reportDays : (earlier[one.date.slice(0, 4)] ?? null);
    const spread = { horizon, reportDays: current };
    const reportIn = sessionsToReport(spread, known, bar);
    const forecast = horizonSigma(one.forecast / Math.sqrt(horizon), spread, reportIn);
    return { ...one, reportIn, forecast, sigma: { ...one.sigma, [model]: forecast } };
  });
}

/**
 * Joins the forecasts of every graded date, made as if no report were expected, with their outcomes.
 *
 * @param horizon In sessions.
 * @param delay Sessions between the last known close and the first return that counts. 0 for the
 *   service's ranges, which start at the last known close.
 */
export function observeWithoutReports(
  { grid, records, graded, places }: RiskGrid,
  horizon: number,
  delay: 0 | 1 = 0,
): readonly RiskObservation[] {
  const bySymbol = new Map(records.map((one) => [one.instrument.symbol, one] as const));
  return [...graded].flatMap((row) => {
    const gridRow = grid.rows[row] as GridRow;
    const variances = sessionVariances(bySymbol.get(gridRow.instrument.symbol)?.bars ?? []);
    return places.flatMap((place): readonly RiskObservation[] => {
      const sigma = sigmasAt(grid, gridRow, variances, place, horizon);
      const entry = place + delay;
      const followed = returnOver(gridRow.returns, entry, horizon);
      if (sigma === undefined || Number.isNaN(followed)) return [];
      return [
        {
          place,
          date: grid.sessions[place]?.label ?? "",
          end: grid.sessions[entry + horizon]?.label ?? "",
          row,
          sigma,
          forecast: sigma[MODEL_OF_CLASS[grid.assetClass]],
          reportIn: null,
          followed,
          variance: realisedVariance(gridRow, entry, horizon),
        },
      ];
    });
  });
}

/** All three forecasts at the close of a session in which the instrument traded. */
function sigmasAt(
  grid: ReturnGrid,
  { returns }: GridRow,
  variances: SessionVariances,
  place: number,
  horizon: number,
): RiskObservation["sigma"] | undefined {
  if (Number.isNaN(returns[place])) return undefined;
  const count = countKnown(variances.bars, grid.sessions[place]?.close ?? 0);
  const scale = Math.sqrt(horizon);
  const entries = RISK_MODELS.map(
    (model) => [model, (forecastSigma(model, variances, count) ?? 0) * scale] as const,
  );
  return entries.every(([, sigma]) => sigma > 0)
    ? (Object.fromEntries(entries) as Record<RiskModel, number>)
    : undefined;
}

function realisedVariance({ returns }: GridRow, entry: number, horizon: number): number | null {
  let sum = 0;
  for (let place = entry + 1; place <= entry + horizon; place++) {
    sum += (returns[place] as number) ** 2;
  }
  return sum > 0 ? sum : null;
}
