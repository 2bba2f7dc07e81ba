import type { BacktestVerdict } from "../../score/backtest-verdicts.ts";
import { normalQuantile } from "../../statistics/normal.ts";
import {
  datesPerHorizon,
  type HorizonOverlap,
  type SeriesSummary,
} from "../../statistics/series-summary.ts";

/** Minimum number of independent periods for a verdict. */
export const MIN_VERDICT_PERIODS = 30;
/** Minimum |t| of a weak and of a strong finding (Harvey, Liu & Zhu, 2016). */
export const WEAK_T_VALUE = 2;
export const STRONG_T_VALUE = 3;

/** Two-sided significance level, divided among all variants tried (Bonferroni). */
const SIGNIFICANCE = 0.05;

/**
 * Bonferroni threshold: among this many variants without skill, the largest |t| exceeds it in 5 %
 * of cases at most.
 */
export const deflatedTThreshold = (variants: number): number =>
  normalQuantile(1 - SIGNIFICANCE / (2 * variants));

/**
 * The verdict on a mean information coefficient.
 *
 * - `insufficient_data`: fewer than 30 independent periods (dates / ceil(horizon / step)).
 * - `positive`: the 95 % interval is above 0, and t is at least 3 and at least the deflated t.
 * - `weak_positive`: the interval is above 0, and t is at least 2 and at least the deflated t.
 * - `inverted`: the interval is below 0, and t is at most -2 and at most minus the deflated t.
 * - `no_evidence`: anything else.
 *
 * @param variants Number of variants tried so far, including this one; at least 1.
 */
export function verdictOf(
  ic: SeriesSummary | null,
  overlap: HorizonOverlap,
  variants: number,
): BacktestVerdict {
  if (ic === null || ic.dates / datesPerHorizon(overlap) < MIN_VERDICT_PERIODS) {
    return "insufficient_data";
  }
  const { t, interval } = ic;
  const needed = Math.max(WEAK_T_VALUE, deflatedTThreshold(variants));
  if (interval.high < 0 && t <= -needed) return "inverted";
  if (interval.low <= 0 || t < needed) return "no_evidence";
  return t >= STRONG_T_VALUE ? "positive" : "weak_positive";
}
