import {
  ECDF_PROBABILITIES,
  type EcdfTable,
  probabilityOf,
  quantileOf,
} from "../statistics/ecdf.ts";
import type { RiskEvidence } from "./table.ts";

/** Nominal coverages of the published ranges, as fractions. */
export const RANGE_PROBABILITIES = [0.5, 0.8, 0.95] as const;
export type RangeProbability = (typeof RANGE_PROBABILITIES)[number];

/** Maximum difference between measured and nominal coverage with which ranges are published. */
const COVERAGE_TOLERANCE = 0.03;

const distributions = new WeakMap<readonly number[], EcdfTable>();

function distributionOf(values: readonly number[]): EcdfTable {
  const known = distributions.get(values) ?? { probabilities: ECDF_PROBABILITIES, values };
  distributions.set(values, known);
  return known;
}

/** Central interval of log returns with the given probability. */
export function logReturnRange(
  quantiles: readonly number[],
  share: RangeProbability,
  sigmaOfHorizon: number,
): { readonly low: number; readonly high: number } {
  const tail = (1 - share) / 2;
  const at = (p: number) => quantileOf(distributionOf(quantiles), p) * sigmaOfHorizon;
  return { low: at(tail), high: at(1 - tail) };
}

/**
 * Probability that the price at the end of the horizon is more than `percent` below the last close.
 * Probabilities below 0.5 %, the lowest quantile, are not resolved.
 */
export const chanceOfFall = (
  quantiles: readonly number[],
  percent: number,
  sigmaOfHorizon: number,
): number => probabilityOf(distributionOf(quantiles), Math.log1p(-percent / 100) / sigmaOfHorizon);

/**
 * Whether the measured coverage of every range equals its nominal coverage within the tolerance.
 */
export const hasNominalCoverage = (coverage: readonly number[]): boolean =>
  RANGE_PROBABILITIES.every(
    (share, index) => Math.abs((coverage[index] ?? 0) - share) <= COVERAGE_TOLERANCE,
  );

/** Whether ranges are published: only with enough data and if the nominal coverage was reached. */
export const arePriceRangesPublished = ({ verdict, coverage }: RiskEvidence): boolean =>
  verdict !== "insufficient_data" && hasNominalCoverage(coverage);

/**
 * Whether the probability of a fall is published: only if the whole interval of its skill is above
 * 0.
 */
export const isFallProbabilityPublished = (evidence: RiskEvidence): boolean =>
  arePriceRangesPublished(evidence) && (evidence.fallSkill?.low ?? 0) > 0;
