import { normalCdf, normalQuantile } from "../factors/statistics.ts";
import type { AssetClass } from "../market/instrument.ts";

/**
 * Walk-forward rank correlation of the composite with the return over its horizon, by class, as a
 * calibration found it: half of what was measured and half of the prior .02, at least 0. `null`
 * until there is one: a probability that nobody calibrated is not published.
 */
export const CALIBRATION: Readonly<Record<AssetClass, number | null>> = {
  stock: null,
  etf: null,
  crypto: null,
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
