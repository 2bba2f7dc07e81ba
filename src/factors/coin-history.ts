import type { Bar } from "../market/records.ts";
import { countBelow, decayFactor, ewmaStep } from "../statistics/statistics.ts";
import { PRICE_HISTORY_RULES } from "./price-history.ts";

/** Windows for the momentum of a coin. */
export const COIN_HISTORY_RULES = {
  /** Look-back windows in calendar days; the shortest is required (Liu & Tsyvinski, 2021). */
  days: [28, 90, 365],
  /** Half-life in sessions of the volatility that scales a return. */
  volatilityHalfLife: 30,
  /**
   * Maximum number of days by which a look-back price may be older than its window, to bridge gaps
   * in the history.
   */
  maxGapDays: 3,
} as const;

/** Number of newest prices that are never dropped; more than the longest window needs. */
const KEPT_BARS = 1_024;

/** Prices of one coin, each as ln(price / first price), and the variance of the coin's returns. */
export interface CoinHistory {
  bars: number;
  /** When each price became known, Unix milliseconds, oldest first. */
  readonly times: number[];
  readonly levels: number[];
  /**
   * Variance of daily log returns, exponentially weighted with a half-life of 30 sessions; zero
   * mean, no bias correction.
   */
  variance: number | undefined;
}

/** Creates a history that has no bars yet. */
export const createCoinHistory = (): CoinHistory => ({
  bars: 0,
  times: [],
  levels: [],
  variance: undefined,
});

/**
 * Adds the next bar. A log return above 0.8 in absolute value is included in the price but not in
 * the variance.
 */
export function addCoinBar(history: CoinHistory, { logReturn, availableAt }: Bar): void {
  const { times, levels } = history;
  history.bars++;
  times.push(availableAt);
  levels.push((levels.at(-1) ?? 0) + (logReturn ?? 0));
  if (logReturn !== null && Math.abs(logReturn) <= PRICE_HISTORY_RULES.maxReturn) {
    const lambda = decayFactor(1, COIN_HISTORY_RULES.volatilityHalfLife);
    history.variance = ewmaStep(history.variance, logReturn ** 2, lambda);
  }
  if (times.length === 2 * KEPT_BARS) {
    times.splice(0, KEPT_BARS);
    levels.splice(0, KEPT_BARS);
  }
}

/**
 * A coin's return over a window of n days in standard deviations: ln(P_T / P_(T-n)) / (sigma
 * sqrt(n)).
 */
export interface CoinTrend {
  readonly days: number;
  readonly value: number;
}

/**
 * Trends over the windows that the history covers, shortest first.
 *
 * @param dayMs Length of a market day in milliseconds.
 * @returns Empty if the history does not cover the shortest window or the volatility is unknown.
 */
export function coinTrends(history: CoinHistory, dayMs: number): readonly CoinTrend[] {
  const { variance } = history;
  if (variance === undefined || variance === 0) return [];
  const trends = COIN_HISTORY_RULES.days.flatMap((days) => {
    const change = changeOver(history, days, dayMs);
    return change === undefined ? [] : [{ days, value: change / Math.sqrt(variance * days) }];
  });
  return trends[0]?.days === COIN_HISTORY_RULES.days[0] ? trends : [];
}

function changeOver(
  { times, levels }: CoinHistory,
  days: number,
  dayMs: number,
): number | undefined {
  const start = (times.at(-1) as number) - days * dayMs;
  const after = countBelow(times, start);
  const index = times[after] === start ? after : after - 1;
  if (index < 0 || start - (times[index] as number) > COIN_HISTORY_RULES.maxGapDays * dayMs) {
    return undefined;
  }
  return (levels.at(-1) as number) - (levels[index] as number);
}
