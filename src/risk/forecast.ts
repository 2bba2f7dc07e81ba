import { decay } from "../factors/statistics.ts";
import { sessionVariance, VOLATILITY_RULES } from "../factors/volatility.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";

/** Constants of the volatility forecast. */
export const RISK_RULES = {
  /** Sessions that a forecast uses; with fewer there is none. */
  windowSessions: 252,
  /** Half-lives in sessions of the two variances of the blend. */
  fastHalfLife: VOLATILITY_RULES.fastHalfLife,
  slowHalfLife: VOLATILITY_RULES.slowHalfLife,
  /** Weight of the fast standard deviation in the blend; the slow one has the rest. */
  fastWeight: 0.4,
  /** Decay per session of the exponentially weighted mean (RiskMetrics, 1996). */
  ewmaDecay: 0.94,
  /** Window in sessions of the random-walk forecast. */
  randomWalkSessions: 21,
} as const;

/**
 * `blend`: (0.4 sqrt(fast) + 0.6 sqrt(slow))^2 of the variance proxy. `ewma`: exponentially
 * weighted mean of squared returns. `random_walk`: the last month's mean of squared returns.
 */
export const RISK_MODELS = ["blend", "ewma", "random_walk"] as const;
export type RiskModel = (typeof RISK_MODELS)[number];

/** The model of each class; for coins the blend was no better than the simple mean. */
export const MODEL_OF_CLASS = {
  stock: "blend",
  etf: "blend",
  crypto: "ewma",
} as const satisfies Readonly<Record<AssetClass, RiskModel>>;

/** Variances of the sessions of one instrument, oldest first. */
export interface SessionVariances {
  /** The range-based proxy (`sessionVariance`). */
  readonly proxy: Float64Array;
  /** Squared close-to-close log returns. */
  readonly squaredReturn: Float64Array;
  /** The bars that were measured. */
  readonly bars: readonly Bar[];
}

/** Measures consecutive bars; the first bar and extreme prices are skipped. */
export function sessionVariances(bars: Iterable<Bar>): SessionVariances {
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

const FAST_DECAY = decay(1, RISK_RULES.fastHalfLife);
const SLOW_DECAY = decay(1, RISK_RULES.slowHalfLife);

/**
 * Expected standard deviation of a session's log return; over h sessions it is sqrt(h) times that.
 * It depends only on the last 252 sessions, so it is independent of where a history begins.
 *
 * @param count Number of known sessions, from the oldest on.
 * @returns `undefined` with fewer than 252, or if the price did not move.
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
    const fast = Math.sqrt(weightedMean(proxy, count, FAST_DECAY));
    const slow = Math.sqrt(weightedMean(proxy, count, SLOW_DECAY));
    return RISK_RULES.fastWeight * fast + (1 - RISK_RULES.fastWeight) * slow;
  },
  ewma: (_, squaredReturn, count) =>
    Math.sqrt(weightedMean(squaredReturn, count, RISK_RULES.ewmaDecay)),
  random_walk(_, squaredReturn, count) {
    let sum = 0;
    for (let index = count - RISK_RULES.randomWalkSessions; index < count; index++) {
      sum += squaredReturn[index] as number;
    }
    return Math.sqrt(sum / RISK_RULES.randomWalkSessions);
  },
};

/** Mean of the 252 values before `count`, each weighing `lambda` times the one after it. */
function weightedMean(values: Float64Array, count: number, lambda: number): number {
  let weight = 1;
  let weights = 0;
  let sum = 0;
  for (let index = count - 1; index >= count - RISK_RULES.windowSessions; index--) {
    sum += weight * (values[index] as number);
    weights += weight;
    weight *= lambda;
  }
  return sum / weights;
}
