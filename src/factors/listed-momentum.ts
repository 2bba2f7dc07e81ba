import { PRICE_WINDOWS, type PriceHistory, peakOf, type Sums, sumsOf } from "./price-history.ts";

/** What the window says. */
export interface ListedMomentum {
  /** Usable returns. */
  readonly observations: number;
  /** Sum of the window's log returns. */
  readonly return12m1: number;
  /** sum(r) / sqrt(n var(r)) over r[T-251..T-21]; about N(0,1) under a random walk. */
  readonly ram: number;
  /** The same on returns less b times the market's; missing when the market explains them fully. */
  readonly res: number | undefined;
  /** ln(C_T / max(H[T-251..T])), at most about 0 (George & Hwang, 2004). */
  readonly hi52: number;
}

/**
 * Momentum of a listed instrument.
 *
 * @returns `undefined` while there are fewer than 252 closes with 200 usable returns that vary.
 */
export function listedMomentum(history: PriceHistory): ListedMomentum | undefined {
  const { bars } = history;
  const sums = sumsOf(history);
  const { n, r } = sums;
  if (bars < PRICE_WINDOWS.yearBars || n < PRICE_WINDOWS.minWindowReturns) return undefined;
  const variance = sums.rr / n - (r / n) ** 2;
  if (!(variance > MIN_VARIANCE)) return undefined;
  return {
    observations: n,
    return12m1: r,
    ram: r / Math.sqrt(n * variance),
    res: residual(sums, variance),
    hi52: -peakOf(history),
  };
}

/** Variance of daily log returns that is mere rounding: prices that do not move. */
const MIN_VARIANCE = 1e-12;
/** Share of the variance that must be left beside the market's: less is rounding. */
const MIN_RESIDUAL_SHARE = 1e-6;

/** Shrinkage of beta towards 1 (Blume, 1971; Vasicek, 1973), after cutting it to [-1, 4]. */
export const BETA = { min: -1, max: 4, weight: 0.66, prior: 0.34 } as const;

/** Residual 12-1 momentum (Blitz, Huij & Martens, 2011). */
function residual({ n, r, m, mm, rm }: Sums, variance: number): number | undefined {
  const marketVariance = mm / n - (m / n) ** 2;
  if (!(marketVariance > MIN_VARIANCE)) return undefined;
  const covariance = rm / n - (r / n) * (m / n);
  const beta = Math.min(BETA.max, Math.max(BETA.min, covariance / marketVariance));
  const b = BETA.weight * beta + BETA.prior;
  const left = variance - 2 * b * covariance + b * b * marketVariance;
  return left > MIN_RESIDUAL_SHARE * variance ? (r - b * m) / Math.sqrt(n * left) : undefined;
}
