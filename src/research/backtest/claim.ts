import {
  CLAIM_HORIZON_SESSIONS,
  claimCoefficient,
  estimateClaim,
} from "../../grading/claim-estimate.ts";
import { returnAfterStatement } from "../../grading/session-returns.ts";
import { newestKnownRecord } from "../../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../../market/records.ts";
import { RISK_TABLE } from "../../risk/measured-table.ts";
import { horizonSigma, sessionsToReport } from "../../risk/report-days.ts";
import { createSigmaReader } from "../../risk/sigma-reader.ts";
import type { ExposurePercentiles } from "../../score/exposures.ts";
import type { SeriesSummary } from "../../statistics/series-summary.ts";
import type { ReturnGrid } from "./return-grid.ts";
import type { PanelDate } from "./statement-panel.ts";

/** Exposures of a stock that did not trade with others at the close. */
const UNKNOWN: ExposurePercentiles = { beta: null, volatility: null, dollarVolume: null };

/**
 * The live claim's estimate for the statements of a backtest, from what the signal log records of
 * each: the score, the forecast deviation over the horizon, the percentiles and the sector.
 *
 * @returns `null` for other classes than stocks, and with too few dates.
 */
export function estimateBacktestClaim(
  dates: readonly PanelDate[],
  grid: ReturnGrid,
  { records, step }: { readonly records: readonly InstrumentRecords[]; readonly step: number },
): SeriesSummary | null {
  const table = RISK_TABLE.classes.stock.find(({ horizon }) => horizon === CLAIM_HORIZON_SESSIONS);
  if (grid.assetClass !== "stock" || table === undefined) return null;
  const bySymbol = new Map(records.map((one) => [one.instrument.symbol, one] as const));
  const sigmaAt = createSigmaReader();
  const sigmaOf = (symbol: string, close: number): number | null => {
    const found = bySymbol.get(symbol) as InstrumentRecords;
    const sigma = sigmaAt(found.bars, "stock", close);
    if (sigma === undefined) return null;
    const bar = newestKnownRecord(found.bars, close) as Bar;
    return horizonSigma(sigma, table, sessionsToReport(table, found, bar));
  };
  const coefficients = dates.map(({ place, statements }) => {
    const close = grid.sessions[place]?.close ?? 0;
    return claimCoefficient(
      statements.flatMap((statement, index) => {
        const row = grid.rows[index];
        if (statement === undefined || row === undefined) return [];
        const followed = returnAfterStatement(row.returns, place, CLAIM_HORIZON_SESSIONS);
        if (Number.isNaN(followed)) return [];
        const { symbol, sector } = row.instrument;
        const { beta, volatility, dollarVolume } = statement.exposures ?? UNKNOWN;
        return [
          {
            score: statement.z,
            followed,
            sigma: sigmaOf(symbol, close),
            percentiles: {
              beta: rounded(beta),
              volatility: rounded(volatility),
              dollarVolume: rounded(dollarVolume),
            },
            sector,
          },
        ];
      }),
    );
  });
  return estimateClaim(coefficients, step);
}

/** A percentile as the signal log records it. */
const rounded = (percentile: number | null): number | null =>
  percentile === null ? null : Math.round(100 * percentile) / 100;
