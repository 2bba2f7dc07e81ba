import type { PeerRank } from "../factors/peer-rank.ts";
import { FACTORS, type Factor, type FactorReading } from "../factors/reading.ts";
import type { AssetClass } from "../market/instrument.ts";
import { normalCdf } from "../statistics/normal.ts";

/**
 * Factor weights: the average of equal weights and of weights by prior evidence. They add up to
 * about 1.
 */
export type FactorWeights = Readonly<Record<Factor, number>>;

const FUND: FactorWeights = { momentum: 0.33, valuation: 0.28, social: 0.21, darkpool: 0.18 };

/**
 * Weights in the Z of a stock: of the mean normal score of its known parts, and of the normal scores
 * of the social and the dark pool reading.
 */
export const STOCK_WEIGHTS = { parts: 0.8, social: 0.1, darkpool: 0.1 } as const;

/** The weights of a stock's factors while all three parts are known: momentum holds two of them. */
const STOCK: FactorWeights = {
  momentum: (STOCK_WEIGHTS.parts * 2) / 3,
  valuation: STOCK_WEIGHTS.parts / 3,
  social: STOCK_WEIGHTS.social,
  darkpool: STOCK_WEIGHTS.darkpool,
};

/** Base weights by asset class, from rounded prior information coefficients. */
export const BASE_FACTOR_WEIGHTS: Readonly<Record<AssetClass, FactorWeights>> = {
  stock: STOCK,
  etf: FUND,
  crypto: { momentum: 0.42, valuation: 0.24, social: 0.22, darkpool: 0.12 },
};

/**
 * The factors that instruments of a class can have: a fund files no results, so it has no
 * valuation.
 */
export const FACTORS_BY_CLASS: Readonly<Record<AssetClass, readonly Factor[]>> = {
  stock: FACTORS,
  etf: ["momentum", "social", "darkpool"],
  crypto: FACTORS,
};

/** The readings of one instrument for the four factors. */
export type FactorReadings = Readonly<Record<Factor, FactorReading>>;

/** The combined evidence about one instrument. */
export interface Composite {
  /** In [0, 100]; `null` for a stock without any part. */
  readonly score: number | null;
  /** sum(w c) / sum(w), in [0, 1], with base weights w and confidences c. */
  readonly confidence: number;
  /**
   * Base weight of the factors with a value, as a fraction of the base weight of all factors that
   * the class can have, in [0, 1].
   */
  readonly coverage: number;
}

/** The combined evidence about a fund or coin, in standard deviations. */
interface WeightedComposite extends Composite, FactorSplit {
  readonly z: number;
  readonly score: number;
}

/** Contribution of each factor in points; together they equal score - 50. */
export type FactorContributions = Readonly<Record<Factor, number>>;

/** Places of the readings of a stock that are ranked as a whole. */
export type FactorPlaces = Readonly<Partial<Record<Factor, PeerRank | undefined>>>;

/** What the factors of an instrument are to its score. */
export interface FactorSplit {
  readonly contributions: FactorContributions;
  /** Of stocks only. */
  readonly places?: FactorPlaces;
}

/** The contributions to a score that does not exist. */
export const NO_CONTRIBUTIONS: FactorContributions = {
  momentum: 0,
  valuation: 0,
  social: 0,
  darkpool: 0,
};

/** The split of a score that does not exist. */
export const NO_SPLIT: FactorSplit = { contributions: NO_CONTRIBUTIONS };

/** The parts of each factor's reading that the composite uses. */
type Evidence = Readonly<Record<Factor, Pick<FactorReading, "z" | "confidence">>>;

/** Splits score - 50 among the factors in proportion to w c z: weight times confidence times z. */
export function scoreContributions(
  score: number,
  evidence: Evidence,
  weights: FactorWeights,
): FactorContributions {
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
 * Scores a fund or coin: 100 Phi(Z) with Z = sum(w c z) / sqrt(sum(w^2)) over all four base weights.
 * Z is about N(0,1) if all factors have full confidence. A missing factor contributes its prior mean
 * 0, and the other factors are not scaled up to replace it.
 *
 * @param expected The factors over which the coverage is computed.
 */
export function composeScore(
  readings: FactorReadings,
  weights: FactorWeights,
  expected: readonly Factor[] = FACTORS,
): WeightedComposite {
  let total = 0;
  let squares = 0;
  for (const factor of FACTORS) {
    const weight = weights[factor];
    const { z, confidence } = readings[factor];
    total += weight * confidence * (z ?? 0);
    squares += weight ** 2;
  }
  const z = total / Math.sqrt(squares);
  const score = 100 * normalCdf(z);
  const contributions = scoreContributions(score, readings, weights);
  return { z, score, contributions, ...completenessOf(readings, weights, expected) };
}

/** How complete the readings of an instrument are. */
export function completenessOf(
  readings: FactorReadings,
  weights: FactorWeights,
  expected: readonly Factor[],
): Omit<Composite, "score"> {
  let base = 0;
  let trusted = 0;
  let possible = 0;
  let present = 0;
  for (const factor of FACTORS) {
    const weight = weights[factor];
    const { z, confidence } = readings[factor];
    base += weight;
    trusted += weight * confidence;
    if (!expected.includes(factor)) continue;
    possible += weight;
    present += z === null ? 0 : weight;
  }
  return { confidence: trusted / base, coverage: present / possible };
}
