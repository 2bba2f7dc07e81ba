import { sessionVariance, VOLATILITY_RULES } from "../factors/volatility.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";
import { decayFactor } from "../statistics/statistics.ts";

/** Constants of the volatility forecast. */
export const RISK_RULES = {
  /** Number of sessions that a forecast uses; with fewer sessions there is no forecast. */
  windowSessions: 252,
  /** Half-lives in sessions of the fast and slow variance in the blend. */
  fastHalfLife: VOLATILITY_RULES.fastHalfLife,
  slowHalfLife: VOLATILITY_RULES.slowHalfLife,
  /**
   * Weight of the fast standard deviation in the blend; the slow standard deviation has the
   * remaining weight.
   */
  fastWeight: 0.4,
  /** Decay per session of the exponentially weighted mean (RiskMetrics, 1996). */
  ewmaDecay: 0.94,
  /** Window in sessions of the random-walk forecast. */
  randomWalkSessions: 21,
} as const;

/**
 * Volatility models:
 * - `blend`: variance (0.4 sqrt(fast) + 0.6 sqrt(slow))^2, with fast and slow means of the
 * range-based proxy
 * - `ewma`: exponentially weighted mean of squared returns
 * - `random_walk`: mean of the squared returns of the last month
 */
export const RISK_MODELS = ["blend", "ewma", "random_walk"] as const;
export type RiskModel = (typeof RISK_MODELS)[number];

/**
 * The model used for each class; for coins the blend was no better than the exponentially weighted
 * mean.
 */
export const RISK_MODEL_BY_CLASS = {
  stock: "blend",
  etf: "blend",
  crypto: "ewma",
} as const satisfies Readonly<Record<AssetClass, RiskModel>>;

/** Variances of the sessions of one instrument, oldest first. */
export interface SessionVariances {
  /** The range-based variance proxy (`sessionVariance`). */
  readonly proxy: Float64Array;
  /** Squared close-to-close log returns. */
  readonly squaredReturn: Float64Array;
  /** The bars that the variances belong to. */
  readonly bars: readonly Bar[];
}

/**
 * Computes the variances of consecutive bars; the first bar and bars with extreme prices are
 * skipped.
 */
export function computeSessionVariances(bars: Iterable<Bar>): SessionVariances {
  const proxy: number[] = [];
  const squaredReturn: number[] = [];
  const measured: Bar[] = [];
  for (const bar of bars) {
    const { logReturn } = bar;
    if (logReturn === null) continue;
    const variance = sessionVariance(bar, logReturn);
    if (!Number.isFinite(variance)) continue;
    proxy.push(variance);
    squaredReturn.push(logReturn ** 2);
    measured.push(bar);
  }
  return {
    proxy: Float64Array.from(proxy),
    squaredReturn: Float64Array.from(squaredReturn),
    bars: measured,
  };
}

/** The variance of a bar as the model uses it; NaN for the first bar and for extreme prices. */
export function modelVarianceOf(model: RiskModel, bar: Bar): number {
  const { logReturn } = bar;
  if (logReturn === null) return Number.NaN;
  const proxy = sessionVariance(bar, logReturn);
  if (!Number.isFinite(proxy)) return Number.NaN;
  return model === "blend" ? proxy : logReturn ** 2;
}

/** Weights of the last 252 sessions, newest first, and their sum. */
interface Weights {
  readonly each: Float64Array;
  readonly sum: number;
}

/** Exponential weights: each session weighs `lambda` times as much as the session after it. */
function weightsOf(lambda: number): Weights {
  const each = new Float64Array(RISK_RULES.windowSessions);
  for (let age = 0, weight = 1; age < each.length; age++, weight *= lambda) each[age] = weight;
  return { each, sum: each.reduce((sum, weight) => sum + weight) };
}

const FAST = weightsOf(decayFactor(1, RISK_RULES.fastHalfLife));
const SLOW = weightsOf(decayFactor(1, RISK_RULES.slowHalfLife));
const EWMA = weightsOf(RISK_RULES.ewmaDecay);

/**
 * Forecast standard deviation of the log return of one session; `horizonSigma` converts it to a
 * horizon. It depends only on the last 252 sessions, and so not on where the history begins.
 *
 * @param count Number of leading variances to use, up to the session of the forecast.
 * @returns `undefined` with fewer than 252 sessions, or if the price did not move.
 */
export function forecastSigma(
  model: RiskModel,
  { proxy, squaredReturn }: Pick<SessionVariances, "proxy" | "squaredReturn">,
  count: number = proxy.length,
): number | undefined {
  if (count < RISK_RULES.windowSessions) return undefined;
  const sigma = SIGMAS[model](proxy, squaredReturn, count);
  return sigma > 0 ? sigma : undefined;
}

type Sigma = (proxy: Float64Array, squaredReturn: Float64Array, count: number) => number;

const SIGMAS: Readonly<Record<RiskModel, Sigma>> = {
  blend(proxy, _, count) {
    // One loop for both means is faster: the additions to the two sums overlap, whereas in a
    // separate loop every addition waits for the one before it.
    let [fast, slow] = [0, 0];
    for (let age = 0; age < RISK_RULES.windowSessions; age++) {
      const variance = proxy[count - 1 - age] as number;
      fast += (FAST.each[age] as number) * variance;
      slow += (SLOW.each[age] as number) * variance;
    }
    const { fastWeight } = RISK_RULES;
    return fastWeight * Math.sqrt(fast / FAST.sum) + (1 - fastWeight) * Math.sqrt(slow / SLOW.sum);
  },
  ewma(_, squaredReturn, count) {
    let sum = 0;
    for (let age = 0; age < RISK_RULES.windowSessions; age++) {
      sum += (EWMA.each[age] as number) * (squaredReturn[count - 1 - age] as number);
    }
    return Math.sqrt(sum / EWMA.sum);
  },
  random_walk(_, squaredReturn, count) {
    let sum = 0;
    for (let index = count - RISK_RULES.randomWalkSessions; index < count; index++) {
      sum += squaredReturn[index] as number;
    }
    return Math.sqrt(sum / RISK_RULES.randomWalkSessions);
  },
};
