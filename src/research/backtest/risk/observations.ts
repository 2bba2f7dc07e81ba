import { returnOver } from "../../../grading/session-returns.ts";
import { countKnown } from "../../../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../../../market/records.ts";
import {
  forecastSigma,
  MODEL_OF_CLASS,
  RISK_MODELS,
  type RiskModel,
  type SessionVariances,
  sessionVariances,
} from "../../../risk/forecast.ts";
import { FITTED_BEFORE } from "../../../risk/measured-table.ts";
import { reportVariance, sessionsToReport } from "../../../risk/report-days.ts";
import type { HorizonQuantiles } from "../../../risk/table.ts";
import type { GridRow, ReturnGrid } from "../return-grid.ts";
import { fitReportDays, type ReportOutcome } from "./report-day-fit.ts";

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
 * Joins the forecasts of every graded date with their outcomes. Factors of report days forecast
 * dates from `FITTED_BEFORE` on; earlier ones get those fitted on the outcomes before their year.
 *
 * @param delay Sessions between the last known close and the first return that counts. 0 for the
 *   service's ranges, which start at the last known close.
 */
export function observeRisk(
  risk: RiskGrid,
  { horizon, reportDays }: Pick<HorizonQuantiles, "horizon" | "reportDays">,
  delay: 0 | 1 = 0,
): readonly RiskObservation[] {
  const plain = observePlain(risk, horizon, delay);
  if (reportDays === null) return plain;
  const model = MODEL_OF_CLASS[risk.grid.assetClass];
  const outcomes = reportOutcomes(risk, plain, horizon);
  const fitted = new Map<string, readonly number[]>();
  const factorsAt = (date: string): readonly number[] => {
    if (date >= FITTED_BEFORE) return reportDays;
    const year = date.slice(0, 4);
    const known = fitted.get(year) ?? fitReportDays(outcomes, year);
    fitted.set(year, known);
    return known;
  };
  return plain.map((one, index) => {
    const { reportIn } = outcomes[index] as ReportOutcome;
    const variance = reportVariance(factorsAt(one.date), horizon, reportIn);
    const forecast = one.forecast * Math.sqrt(variance / horizon);
    return { ...one, forecast, sigma: { ...one.sigma, [model]: forecast } };
  });
}

/** When a report was expected and what followed, for forecasts from the last known close. */
export function reportOutcomes(
  { grid, records }: RiskGrid,
  observations: readonly RiskObservation[],
  horizon: number,
): readonly ReportOutcome[] {
  const bySymbol = new Map(records.map((one) => [one.instrument.symbol, one] as const));
  return observations.map(({ row, place, end, forecast }) => {
    const { instrument, returns } = grid.rows[row] as GridRow;
    const found = bySymbol.get(instrument.symbol) as InstrumentRecords;
    const bar = found.bars.at(countKnown(found.bars, grid.sessions[place]?.close ?? 0) - 1) as Bar;
    const variance = forecast ** 2 / horizon;
    const followed = returns.slice(place + 1, place + 1 + horizon);
    return {
      end,
      reportIn: sessionsToReport(found, bar),
      ratios: followed.map((value) => value ** 2 / variance),
    };
  });
}

/** The forecasts as if no report were known. */
function observePlain(
  { grid, records, graded, places }: RiskGrid,
  horizon: number,
  delay: 0 | 1,
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
