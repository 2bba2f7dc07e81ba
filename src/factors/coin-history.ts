import type { Bar } from "../market/records.ts";
import { PRICE_WINDOWS } from "./price-history.ts";
import { countBelow, decay, ewStep } from "./statistics.ts";

/** Windows of a coin's momentum. */
export const COIN_WINDOWS = {
  /** Look-backs in calendar days; the first is required (Liu & Tsyvinski, 2021). */
  days: [28, 90, 365],
  /** Half-life in sessions of the volatility that scales a return. */
  volatilityHalfLife: 30,
  /**
   * Days by which a look-back price may be older than its window, because of gaps in the history.
   */
  maxGapDays: 3,
} as const;

/** Number of observations kept, more than the longest window. */
const KEPT = 1_024;

/** Prices of one coin: ln of the price against its first, and its volatility. */
export interface CoinHistory {
  bars: number;
  /** When each price became known, Unix milliseconds, oldest first. */
  readonly times: number[];
  readonly levels: number[];
  /** EW(30) variance of daily log returns: zero mean, no bias correction. */
  variance: number | undefined;
}

/** The history before the first bar. */
export const createCoinHistory = (): CoinHistory => ({
  bars: 0,
  times: [],
  levels: [],
  variance: undefined,
});

/** Adds the next bar. A |log return| above 0.8 changes the price but not the volatility. */
export function addCoinBar(history: CoinHistory, { logReturn, availableAt }: Bar): void {
  const { times, levels } = history;
  history.bars++;
  times.push(availableAt);
  levels.push((levels.at(-1) ?? 0) + (logReturn ?? 0));
  if (logReturn !== null && Math.abs(logReturn) <= PRICE_WINDOWS.maxReturn) {
    const lambda = decay(1, COIN_WINDOWS.volatilityHalfLife);
    history.variance = ewStep(history.variance, logReturn ** 2, lambda);
  }
  if (times.length === 2 * KEPT) {
    times.splice(0, KEPT);
    levels.splice(0, KEPT);
  }
}

/** A coin's return over one window in standard deviations: ln(P_T / P_(T-n)) / (sigma sqrt(n)). */
export interface CoinTrend {
  readonly days: number;
  readonly value: number;
}

/**
 * Trends over the windows that the history covers, shortest first.
 *
 * @param dayMs Length of a market day in milliseconds.
 * @returns Empty without the first window or without volatility.
 */
export function coinTrends(history: CoinHistory, dayMs: number): readonly CoinTrend[] {
  const { variance } = history;
  if (variance === undefined || variance === 0) return [];
  const trends = COIN_WINDOWS.days.flatMap((days) => {
    const change = changeOver(history, days, dayMs);
    return change === undefined ? [] : [{ days, value: change / Math.sqrt(variance * days) }];
  });
  return trends[0]?.days === COIN_WINDOWS.days[0] ? trends : [];
}

function changeOver(
  { times, levels }: CoinHistory,
  days: number,
  dayMs: number,
): number | undefined {
  const start = (times.at(-1) as number) - days * dayMs;
  const after = countBelow(times, start);
  const index = times[after] === start ? after : after - 1;
  if (index < 0 || start - (times[index] as number) > COIN_WINDOWS.maxGapDays * dayMs) {
    return undefined;
  }
  return (levels.at(-1) as number) - (levels[index] as number);
}
