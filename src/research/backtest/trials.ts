import type { AssetClass } from "../../market/instrument.ts";
import { sampleSd } from "../../statistics/statistics.ts";
import type { BacktestQuestion } from "./question.ts";

/** A tried variant; unsuccessful variants count as well. */
export interface Trial {
  /** Canonical text of the backtest question. */
  readonly variant: string;
  /**
   * Annualized Sharpe ratio of the decile spread at the headline horizon, before costs; `null` if
   * there is none.
   */
  readonly sharpePerYear: number | null;
}

/** Canonical text of a backtest question, with the method and the data but without the seed. */
export function variantOf(
  { subject, from, to, symbols, pace }: BacktestQuestion,
  assetClass: AssetClass,
  { methodVersion, dataHash }: { readonly methodVersion: string; readonly dataHash: string },
): string {
  const names = symbols.length === 0 ? "all" : symbols.toSorted().join("+");
  return [
    methodVersion,
    dataHash.slice(0, 16),
    subject,
    assetClass,
    names,
    `${from}..${to}`,
    pace,
  ].join(" ");
}

/** Position of the asset class among the words of a variant. */
const CLASS_WORD = 3;

const classOf = (variant: string): string | undefined => variant.split(" ")[CLASS_WORD];

/** Number of distinct variants, and the dispersion of their Sharpe ratios. */
export interface TrialCount {
  readonly variants: number;
  /** Standard deviation of the annualized Sharpe ratios; 0 with fewer than two. */
  readonly sharpeSdPerYear: number;
}

/**
 * Counts the distinct variants of an asset class, and those whose text names no class; for a
 * repeated variant, the newest Sharpe ratio is used.
 */
export function countTrials(trials: readonly Trial[], assetClass: AssetClass): TrialCount {
  const known = new Map(
    trials
      .filter(({ variant }) => (classOf(variant) ?? assetClass) === assetClass)
      .map((trial) => [trial.variant, trial.sharpePerYear]),
  );
  const sharpes = [...known.values()].filter((sharpe) => sharpe !== null);
  return {
    variants: known.size,
    sharpeSdPerYear: sharpes.length < 2 ? 0 : sampleSd(sharpes),
  };
}
