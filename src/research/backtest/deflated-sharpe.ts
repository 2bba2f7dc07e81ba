import { mean, normalCdf, normalQuantile, sampleSd } from "../../factors/statistics.ts";
import { hasVariance } from "../../grading/series-summary.ts";

/** Euler's constant. */
const EULER_GAMMA = 0.5772156649015329;

/** A Sharpe ratio with the moments of its sample. */
export interface SharpeFinding {
  /** Per period, not annualized. */
  readonly sharpe: number;
  /** Periods behind it, at least two. */
  readonly periods: number;
  /** Third and fourth standardized moments of the returns; 0 and 3 for a normal distribution. */
  readonly skew: number;
  readonly kurtosis: number;
}

/** The search for variants in which a Sharpe ratio was found. */
export interface VariantSearch {
  /** Number of variants tried, including this one. */
  readonly variants: number;
  /** Standard deviation of their Sharpe ratios per period. */
  readonly sharpeSd: number;
}

/**
 * Expected maximum Sharpe ratio per period of this many variants without skill: sd ((1 - g) q(1 - 1/N) + g q(1 - 1/(N e))) (Bailey & Lopez de Prado, 2014); 0 for one.
 */
export function expectedMaxSharpe({ variants, sharpeSd }: VariantSearch): number {
  if (variants < 2) return 0;
  const best = (share: number) => normalQuantile(1 - share);
  const spread =
    (1 - EULER_GAMMA) * best(1 / variants) + EULER_GAMMA * best(1 / (variants * Math.E));
  return sharpeSd * spread;
}

/**
 * Deflated Sharpe ratio: the probability in [0, 1] that the true ratio exceeds the expected maximum of
 * variants without skill. With `expectedMaxSharpe` 0 it is the probabilistic Sharpe ratio.
 */
export function deflatedSharpe(
  { sharpe, periods, skew, kurtosis }: SharpeFinding,
  search: VariantSearch,
): number {
  const spread = 1 - skew * sharpe + ((kurtosis - 1) / 4) * sharpe ** 2;
  const excess = sharpe - expectedMaxSharpe(search);
  return normalCdf((excess * Math.sqrt(periods - 1)) / Math.sqrt(spread));
}

/**
 * The Sharpe ratio per period of a series of returns, with its higher moments.
 *
 * @returns `undefined` with fewer than three returns, or without variance.
 */
export function sharpeOf(returns: readonly number[]): SharpeFinding | undefined {
  const periods = returns.length;
  if (periods < 3 || !hasVariance(returns)) return undefined;
  const center = mean(returns);
  const moment = (power: number) => mean(returns.map((value) => (value - center) ** power));
  const variance = moment(2);
  return {
    sharpe: center / sampleSd(returns),
    periods,
    skew: moment(3) / variance ** 1.5,
    kurtosis: moment(4) / variance ** 2,
  };
}
