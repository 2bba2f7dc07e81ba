import { type EcdfTable, PROBABILITIES, probabilityOf, quantileOf } from "../factors/ecdf.ts";
import type { RiskEvidence } from "./table.ts";

/** Nominal coverages of the published ranges. */
export const RANGES = [0.5, 0.8, 0.95] as const;
export type RangeProbability = (typeof RANGES)[number];

/** Maximum difference between measured and nominal coverage at which ranges are published. */
const COVERAGE_TOLERANCE = 0.03;

const distributions = new WeakMap<readonly number[], EcdfTable>();

function distributionOf(values: readonly number[]): EcdfTable {
  const known = distributions.get(values) ?? { probabilities: PROBABILITIES, values };
  distributions.set(values, known);
  return known;
}

/** Central interval of log returns with a given probability. */
export function rangeOf(
  quantiles: readonly number[],
  share: RangeProbability,
  sigmaOfHorizon: number,
): { readonly low: number; readonly high: number } {
  const tail = (1 - share) / 2;
  const at = (p: number) => quantileOf(distributionOf(quantiles), p) * sigmaOfHorizon;
  return { low: at(tail), high: at(1 - tail) };
}

/**
 * Chance that the price at the end of the horizon lies more than `percent` below the last close.
 * Chances below 0.5 %, the lowest quantile, are not resolved.
 */
export const chanceOfFall = (
  quantiles: readonly number[],
  percent: number,
  sigmaOfHorizon: number,
): number => probabilityOf(distributionOf(quantiles), Math.log1p(-percent / 100) / sigmaOfHorizon);

/** Whether every range had its nominal coverage, within the tolerance. */
export const areCovered = (coverage: readonly number[]): boolean =>
  RANGES.every((share, index) => Math.abs((coverage[index] ?? 0) - share) <= COVERAGE_TOLERANCE);

/** Whether ranges are published: only with enough data and the nominal coverage. */
export const publishesRanges = ({ verdict, coverage }: RiskEvidence): boolean =>
  verdict !== "insufficient_data" && areCovered(coverage);

/**
 * Whether the chance of a fall is published: only while its skill is above zero with its interval.
 */
export const publishesFall = (evidence: RiskEvidence): boolean =>
  publishesRanges(evidence) && (evidence.fallSkill?.low ?? 0) > 0;
