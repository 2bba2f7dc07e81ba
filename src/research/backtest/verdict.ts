import { normalQuantile } from "../../factors/statistics.ts";
import {
  datesPerHorizon,
  type HorizonOverlap,
  type SeriesSummary,
} from "../../grading/series-summary.ts";
import type { Verdict } from "../../score/backtest-verdicts.ts";

/** Minimum independent periods of a verdict. */
export const MIN_PERIODS = 30;
/** |t| of a weak and of a strong finding (Harvey, Liu & Zhu, 2016). */
export const WEAK_T = 2;
export const STRONG_T = 3;

/** Two-sided significance level, shared by all variants tried (Bonferroni). */
const SIGNIFICANCE = 0.05;

/** The |t| that the best of this many variants without skill exceeds in 5 % of cases. */
export const deflatedT = (variants: number): number =>
  normalQuantile(1 - SIGNIFICANCE / (2 * variants));

/**
 * The verdict on a mean information coefficient.
 *
 * - `insufficient_data`: fewer than 30 independent periods (dates / ceil(horizon / step)).
 * - `positive`: the 95 % interval lies above 0 and t reaches 3 and the deflated t.
 * - `weak_positive`: the interval lies above 0 and t reaches 2 and the deflated t.
 * - `inverted`: the interval lies below 0 and t reaches -2 and minus the deflated t.
 * - `no_evidence`: anything else.
 *
 * @param variants Number of variants tried so far, including this one; at least 1.
 */
export function verdictOf(
  ic: SeriesSummary | null,
  overlap: HorizonOverlap,
  variants: number,
): Verdict {
  if (ic === null || ic.dates / datesPerHorizon(overlap) < MIN_PERIODS) {
    return "insufficient_data";
  }
  const { t, interval } = ic;
  const needed = Math.max(WEAK_T, deflatedT(variants));
  if (interval.high < 0 && t <= -needed) return "inverted";
  if (interval.low <= 0 || t < needed) return "no_evidence";
  return t >= STRONG_T ? "positive" : "weak_positive";
}
