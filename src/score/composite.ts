import { FACTORS, type Factor, type Reading } from "../factors/reading.ts";
import { normalCdf } from "../factors/statistics.ts";
import type { AssetClass } from "../market/instrument.ts";
/** Factor weights: half equal, half by prior evidence. They add up to about 1. */
export type Weights = Readonly<Record<Factor, number>>;

const LISTED: Weights = { momentum: 0.33, valuation: 0.28, social: 0.21, darkpool: 0.18 };

/** Base weights by asset class (prior information coefficients, rounded). */
export const WEIGHTS: Readonly<Record<AssetClass, Weights>> = {
  stock: LISTED,
  etf: LISTED,
  crypto: { momentum: 0.42, valuation: 0.24, social: 0.22, darkpool: 0.12 },
};

/** The factors that a class can have: a fund files no results, so it has no valuation. */
export const CLASS_FACTORS: Readonly<Record<AssetClass, readonly Factor[]>> = {
  stock: FACTORS,
  etf: ["momentum", "social", "darkpool"],
  crypto: FACTORS,
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
  /** Base weight of the factors with a value, as a share of that of all factors that the class can
   *  have, in [0, 1]. */
  readonly coverage: number;
}

/** Points by factor; they add up to score - 50. */
export type Contributions = Readonly<Record<Factor, number>>;

/** The part of each factor's reading that the composite uses. */
type Evidence = Readonly<Record<Factor, Pick<Reading, "z" | "confidence">>>;

/** The contributions of factors to a score: shares of its distance from 50, by w c z. */
export function contributionsTo(
  score: number,
  evidence: Evidence,
  weights: Weights,
): Contributions {
  let total = 0;
  for (const factor of FACTORS) {
    const { z, confidence } = evidence[factor];
    total += weights[factor] * confidence * (z ?? 0);
  }
  const points = (factor: Factor) => {
    const { z, confidence } = evidence[factor];
    return total === 0 ? 0 : ((score - 50) * weights[factor] * confidence * (z ?? 0)) / total;
  };
  return {
    momentum: points("momentum"),
    valuation: points("valuation"),
    social: points("social"),
    darkpool: points("darkpool"),
  };
}

/**
 * Z = sum(w c z) / sqrt(sum(w^2)) over all four base weights: a missing factor contributes its
 * prior mean 0, and the others are not scaled up in its place.
 *
 * @param expected The factors that count for the coverage.
 */
export function compose(
  readings: Readings,
  weights: Weights,
  expected: readonly Factor[] = FACTORS,
): Composite {
  let total = 0;
  let squares = 0;
  let base = 0;
  let trusted = 0;
  let possible = 0;
  let present = 0;
  for (const factor of FACTORS) {
    const weight = weights[factor];
    const { z, confidence } = readings[factor];
    total += weight * confidence * (z ?? 0);
    squares += weight ** 2;
    base += weight;
    trusted += weight * confidence;
    if (!expected.includes(factor)) continue;
    possible += weight;
    present += z === null ? 0 : weight;
  }
  const z = total / Math.sqrt(squares);
  return {
    z,
    score: 100 * normalCdf(z),
    confidence: trusted / base,
    coverage: present / possible,
  };
}
