import { FACTORS, type Factor, type Reading } from "../factors/reading.ts";
import { normalCdf, normalQuantile } from "../factors/statistics.ts";
import type { AssetClass } from "../market/instrument.ts";
/** Weight of each factor, half equal and half by prior evidence; they add up to about 1. */
export type Weights = Readonly<Record<Factor, number>>;

const LISTED: Weights = { momentum: 0.33, valuation: 0.28, social: 0.21, darkpool: 0.18 };

/** Base weights by asset class (method 3.1: prior information coefficients, rounded). */
export const WEIGHTS: Readonly<Record<AssetClass, Weights>> = {
  stock: LISTED,
  etf: LISTED,
  crypto: { momentum: 0.42, valuation: 0.24, social: 0.22, darkpool: 0.12 },
};

/** The four readings of one instrument. */
export type Readings = Readonly<Record<Factor, Reading>>;

/** The combined evidence on one instrument. */
export interface Composite {
  /** About N(0,1) when every factor is present in full; shrinks to 0 as evidence goes missing. */
  readonly z: number;
  /** 100 Phi(z), in [0, 100]; 50 without evidence. */
  readonly score: number;
  /** sum(w c) / sum(w), in [0, 1]. */
  readonly confidence: number;
  /** Share of the base weight whose factor has a value at all, in [0, 1]. */
  readonly coverage: number;
  /** Points by factor; they add up to score - 50. */
  readonly contributions: Readonly<Record<Factor, number>>;
}

/**
 * Z = sum(w c z) / sqrt(sum(w^2)) over all four base weights: a missing factor contributes its
 * prior mean 0, and the others are not scaled up in its place.
 */
export function compose(readings: Readings, weights: Weights): Composite {
  let total = 0;
  let squares = 0;
  let base = 0;
  let trusted = 0;
  let present = 0;
  for (const factor of FACTORS) {
    const weight = weights[factor];
    const { z, confidence } = readings[factor];
    total += weight * confidence * (z ?? 0);
    squares += weight ** 2;
    base += weight;
    trusted += weight * confidence;
    present += z === null ? 0 : weight;
  }
  const z = total / Math.sqrt(squares);
  const score = 100 * normalCdf(z);
  const points = (factor: Factor) => {
    const { z, confidence } = readings[factor];
    return total === 0 ? 0 : ((score - 50) * weights[factor] * confidence * (z ?? 0)) / total;
  };
  return {
    z,
    score,
    confidence: trusted / base,
    coverage: present / base,
    contributions: {
      momentum: points("momentum"),
      valuation: points("valuation"),
      social: points("social"),
      darkpool: points("darkpool"),
    },
  };
}

/**
 * Walk-forward rank correlation of the composite with the return over its horizon, by class: half
 * of what was measured and half of the prior .02, at least 0. Stocks: 369 of them, 2014-07 to
 * 2024-12; coins: 13, 2019-06 to 2024-12 (docs/method-and-backtest.md). `null` where there is
 * too little data: a probability without calibration is not published.
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
