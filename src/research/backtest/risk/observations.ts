import { returnFromEntry } from "../../../grading/session-returns.ts";
import { countKnownRecords, newestKnownRecord } from "../../../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../../../market/records.ts";
import {
  computeSessionVariances,
  forecastSigma,
  RISK_MODEL_BY_CLASS,
  RISK_MODELS,
  type RiskModel,
  type SessionVariances,
} from "../../../risk/forecast.ts";
import {
  RISK_TABLE_FITTED_BEFORE,
  WALK_FORWARD_REPORT_DAY_FACTORS,
} from "../../../risk/measured-table.ts";
import { type HorizonSpread, horizonSigma, sessionsToReport } from "../../../risk/report-days.ts";
import type { ReportDayFactors } from "../../../risk/table.ts";
import type { GridRow, ReturnGrid } from "../return-grid.ts";

/** A risk forecast and its outcome. */
export interface RiskObservation {
  /** Index of the forecast's session in the grid. */
  readonly place: number;
  /** ISO dates of the forecast's session and of the last session in its horizon. */
  readonly date: string;
  readonly end: string;
  /** Index of the instrument's row in the grid. */
  readonly row: number;
  /** Forecast standard deviation of the log return over the horizon, by model. */
  readonly sigma: Readonly<Record<RiskModel, number>>;
  /** The standard deviation from the model that is used for the class. */
  readonly forecast: number;
  /** Number of sessions to the expected quarterly report, from `sessionsToReport`. */
  readonly reportIn: number | null;
  /** Total return over the horizon, as a natural logarithm. */
  readonly followed: number;
  /**
   * Sum of squared log returns over the horizon; `null` if a session has no bar or the price did
   * not move.
   */
  readonly variance: number | null;
}

/** The data from which forecasts and outcomes are computed. */
export interface RiskGrid {
  readonly grid: ReturnGrid;
  readonly records: readonly InstrumentRecords[];
  /** Indices of the graded rows of the grid. */
  readonly graded: ReadonlySet<number>;
  /** Session indices of the graded dates. */
  readonly places: readonly number[];
}

/**
 * Computes the forecasts on every graded date with their outcomes. The factors in `reportDays`
 * apply to dates from `RISK_TABLE_FITTED_BEFORE` on.
 *
 * @param earlier Factors that apply to the dates of earlier years, by year. For years without
 * factors, forecasts are made as if no report were expected.
 */
export function observeRisk(
  risk: RiskGrid,
  { horizon, reportDays }: HorizonSpread,
  earlier: Readonly<Record<string, ReportDayFactors>> = WALK_FORWARD_REPORT_DAY_FACTORS,
): readonly RiskObservation[] {
  const plain = observeWithoutReports(risk, horizon);
  if (reportDays === null) return plain;
  const { grid, records } = risk;
  const model = RISK_MODEL_BY_CLASS[grid.assetClass];
  const bySymbol = new Map(records.map((one) => [one.instrument.symbol, one] as const));
  return plain.map((one) => {
    const known = bySymbol.get(grid.rows[one.row]?.instrument.symbol ?? "") as InstrumentRecords;
    const bar = newestKnownRecord(known.bars, grid.sessions[one.place]?.close ?? 0) as Bar;
    const current =
      one.date >= RISK_TABLE_FITTED_BEFORE ? reportDays : (earlier[one.date.slice(0, 4)] ?? null);
    const spread = { horizon, reportDays: current };
    const reportIn = sessionsToReport(spread, known, bar);
    const forecast = horizonSigma(one.forecast / Math.sqrt(horizon), spread, reportIn);
    return { ...one, reportIn, forecast, sigma: { ...one.sigma, [model]: forecast } };
  });
}

/**
 * Computes the forecasts on every graded date, made as if no report were expected, with their
 * outcomes.
 *
 * @param horizon In sessions.
 * @param delay Sessions between the last known close and the first return in the outcome. The
 * service's ranges start at the last known close, so their delay is 0.
 */
export function observeWithoutReports(
  { grid, records, graded, places }: RiskGrid,
  horizon: number,
  delay: 0 | 1 = 0,
): readonly RiskObservation[] {
  const bySymbol = new Map(records.map((one) => [one.instrument.symbol, one] as const));
  return [...graded].flatMap((row) => {
    const gridRow = grid.rows[row] as GridRow;
    const variances = computeSessionVariances(bySymbol.get(gridRow.instrument.symbol)?.bars ?? []);
    return places.flatMap((place): readonly RiskObservation[] => {
      const sigma = sigmasAt(grid, gridRow, variances, place, horizon);
      const entry = place + delay;
      const followed = returnFromEntry(gridRow.returns, entry, horizon);
      if (sigma === undefined || Number.isNaN(followed)) return [];
      return [
        {
          place,
          date: grid.sessions[place]?.label ?? "",
          end: grid.sessions[entry + horizon]?.label ?? "",
          row,
          sigma,
          forecast: sigma[RISK_MODEL_BY_CLASS[grid.assetClass]],
          reportIn: null,
          followed,
          variance: realisedVariance(gridRow, entry, horizon),
        },
      ];
    });
  });
}

/**
 * The forecasts of all three models at the close of a session; `undefined` if the instrument did
 * not trade in it or a forecast is missing.
 */
function sigmasAt(
  grid: ReturnGrid,
  { returns }: GridRow,
  variances: SessionVariances,
  place: number,
  horizon: number,
): RiskObservation["sigma"] | undefined {
  if (Number.isNaN(returns[place])) return undefined;
  const count = countKnownRecords(variances.bars, grid.sessions[place]?.close ?? 0);
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
