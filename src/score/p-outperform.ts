import { normalCdf, normalQuantile } from "../factors/statistics.ts";
import type { AssetClass } from "../market/instrument.ts";

/**
 * Walk-forward rank correlation of the composite with the return over its horizon, by class: half
 * of what was measured and half of the prior .02, at least 0. Stocks: 369 of them, 2014-07 to
 * 2024-12; coins: 13, 2019-06 to 2024-12 (docs/method-and-backtest.md). `null` where there is
 * too little data: a probability that nobody calibrated is not published.
 */
export const CALIBRATION: Readonly<Record<AssetClass, number | null>> = {
  stock: 0.0039,
  etf: null,
  crypto: 0.0232,
};

/**
 * Probability of beating the class's median over the horizon: Phi(rho Z / sqrt(1 - rho^2)) with Z =
 * Phi^-1(score/100), in (0, 1). The score itself is no probability: at rho .02 a 70 means .504.
 *
 * @param score In (0, 100).
 * @param rho Correlation in [0, 1), `null` when not calibrated.
 */
export const pOutperform = (score: number, rho: number | null): number | null =>
  rho === null ? null : normalCdf((rho * normalQuantile(score / 100)) / Math.sqrt(1 - rho * rho));
