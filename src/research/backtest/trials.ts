import { sampleSd } from "../../factors/statistics.ts";
import type { AssetClass } from "../../market/instrument.ts";
import type { Question } from "./question.ts";

/** One variant that was tried: everything that was, counts, the failures above all. */
export interface Trial {
  /** What was asked, spelt so that the same question has the same text. */
  readonly variant: string;
  /** Of the decile spread at the headline horizon per year, before costs; `null` for none. */
  readonly sharpePerYear: number | null;
}

/** What makes a question another one; the seed does not. */
export function variantOf(
  { subject, from, to, symbols, pace }: Question,
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

/** Variants tried, and how far their Sharpe ratios lie apart. */
export interface TrialCount {
  readonly variants: number;
  /** Standard deviation of the yearly Sharpe ratios; 0 under two. */
  readonly sharpeSdPerYear: number;
}

/** Counts variants, each once; of a repeated one the newest figure holds. */
export function countTrials(trials: readonly Trial[]): TrialCount {
  const known = new Map(trials.map((trial) => [trial.variant, trial.sharpePerYear]));
  const sharpes = [...known.values()].filter((sharpe) => sharpe !== null);
  return {
    variants: known.size,
    sharpeSdPerYear: sharpes.length < 2 ? 0 : sampleSd(sharpes),
  };
}
