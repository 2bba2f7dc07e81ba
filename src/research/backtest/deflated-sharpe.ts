import { normalCdf, normalQuantile } from "../../statistics/normal.ts";
import { hasVariance } from "../../statistics/series-summary.ts";
import { mean, sampleSd } from "../../statistics/statistics.ts";

/** The Euler-Mascheroni constant. */
const EULER_GAMMA = 0.5772156649015329;

/** A Sharpe ratio with the sample moments that determine its standard error. */
export interface SharpeEstimate {
  /** Sharpe ratio per period, not annualized. */
  readonly sharpe: number;
  /** Number of periods in the sample, at least two. */
  readonly periods: number;
  /** Third and fourth standardized moments of the returns; 0 and 3 for a normal distribution. */
  readonly skew: number;
  readonly kurtosis: number;
}

/**
 * Number of variants that were tried before a Sharpe ratio was found, and the dispersion of their
 * Sharpe ratios.
 */
interface VariantSearch {
  /** Number of variants tried, including this one. */
  readonly variants: number;
  /** Standard deviation of the variants' Sharpe ratios per period. */
  readonly sharpeSd: number;
}

/**
 * Expected maximum of the Sharpe ratios per period of N variants without skill: sd ((1 - g) q(1 -
 * 1/N) + g q(1 - 1/(N e))), with g the Euler-Mascheroni constant and q the normal quantile (Bailey
 * & Lopez de Prado, 2014); 0 for one variant.
 */
export function expectedMaxSharpe({ variants, sharpeSd }: VariantSearch): number {
  if (variants < 2) return 0;
  const best = (share: number) => normalQuantile(1 - share);
  const spread =
    (1 - EULER_GAMMA) * best(1 / variants) + EULER_GAMMA * best(1 / (variants * Math.E));
  return sharpeSd * spread;
}

/**
 * Deflated Sharpe ratio: the probability in [0, 1] that the true Sharpe ratio exceeds the expected
 * maximum of variants without skill. If `expectedMaxSharpe` is 0, it is the probabilistic Sharpe
 * ratio.
 */
export function deflatedSharpe(
  { sharpe, periods, skew, kurtosis }: SharpeEstimate,
  search: VariantSearch,
): number {
  const spread = 1 - skew * sharpe + ((kurtosis - 1) / 4) * sharpe ** 2;
  const excess = sharpe - expectedMaxSharpe(search);
  return normalCdf((excess * Math.sqrt(periods - 1)) / Math.sqrt(spread));
}

/**
 * The Sharpe ratio per period of a series of returns, with its higher moments.
 *
 * @returns `undefined` with fewer than three returns, or if they do not vary.
 */
export function sharpeOf(returns: readonly number[]): SharpeEstimate | undefined {
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
