import type { Bar } from "../market/records.ts";
import { mean } from "../statistics/statistics.ts";
import { type FactorInput, unweightedInput } from "./reading.ts";

/**
 * Number of newest bars from which indicators are computed. After 512 bars the start values of the
 * MACD and RSI averages weigh less than 1e-15, so it does not matter that MACD starts with the
 * first price and not with a mean.
 */
export const MAX_INDICATOR_BARS = 512;

const PERIODS = { rsi: 14, atr: 14, fast: 12, slow: 26, short: 50, long: 200 } as const;
/** Number of sessions in the one-month return. */
const MONTH_BARS = 21;

/** A bar with prices adjusted for the splits and dividends up to the newest bar. */
interface Candle {
  readonly high: number;
  readonly low: number;
  readonly close: number;
}

/**
 * Popular indicators, shown with weight 0 because none had a measurable rank correlation with later
 * returns: RSI(14) and ATR(14) by Wilder, MACD(12,26) over ATR, SMA50 over SMA200, and the log
 * return of 21 sessions, all on adjusted prices.
 *
 * @param bars Known bars, oldest first.
 * @returns One input per indicator; its value is `null` if there are too few bars or the value is
 * not a finite number, such as MACD over an ATR of 0.
 */
export function technicalIndicators(bars: readonly Bar[]): readonly FactorInput[] {
  const observedAt = bars.at(-1)?.availableAt ?? null;
  const candles = adjusted(bars.slice(-MAX_INDICATOR_BARS));
  const closes = candles.map(({ close }) => close);
  const atr = averageRange(candles);
  const macd = convergence(closes);
  const [short, long] = [average(closes, PERIODS.short), average(closes, PERIODS.long)];
  return [
    unweightedInput("rsi14", strength(closes), "index 0 to 100", observedAt),
    unweightedInput("atr14", atr, "price", observedAt),
    unweightedInput("macd12_26", macd, "price", observedAt),
    unweightedInput("macdOverAtr", ratio(macd, atr), "average true ranges", observedAt),
    unweightedInput("sma50OverSma200", ratio(short, long), "ratio", observedAt),
    unweightedInput("return1m", recentReturn(closes, MONTH_BARS), "log return", observedAt),
  ];
}

function adjusted(bars: readonly Bar[]): readonly Candle[] {
  let factor = 1;
  return bars
    .toReversed()
    .map(({ high, low, close, dividend, split }) => {
      const candle = { high: high * factor, low: low * factor, close: close * factor };
      factor *= close / ((close + dividend) * split);
      return candle;
    })
    .reverse();
}

/** RSI: 100 - 100 / (1 + gains / losses), with smoothed gains and losses; 100 without losses. */
function strength(closes: readonly number[]): number | null {
  const moves = closes.slice(1).map((close, index) => close - (closes[index] as number));
  const gain = smoothed(
    moves.map((move) => Math.max(0, move)),
    PERIODS.rsi,
  );
  const loss = smoothed(
    moves.map((move) => Math.max(0, -move)),
    PERIODS.rsi,
  );
  if (gain === null || loss === null) return null;
  return finite(loss === 0 ? 100 : 100 - 100 / (gain / loss + 1));
}

function averageRange(candles: readonly Candle[]): number | null {
  const ranges = candles.map(({ high, low }, index) => {
    const before = candles[index - 1]?.close;
    if (before === undefined) return high - low;
    return Math.max(high - low, Math.abs(high - before), Math.abs(low - before));
  });
  return finite(smoothed(ranges, PERIODS.atr));
}

/**
 * Wilder's smoothing: an exponential mean with weight 1 / `period`, started with the mean of the
 * first `period` values.
 */
function smoothed(values: readonly number[], period: number): number | null {
  if (values.length < period) return null;
  const weight = 1 / period;
  let result = mean(values.slice(0, period));
  for (const value of values.slice(period)) result += (value - result) * weight;
  return result;
}

/** MACD: the fast exponential mean minus the slow one. */
function convergence(closes: readonly number[]): number | null {
  if (closes.length < PERIODS.slow) return null;
  return finite(exponential(closes, PERIODS.fast) - exponential(closes, PERIODS.slow));
}

/** Exponential mean with weight 2 / (`period` + 1), started with the first price. */
function exponential(closes: readonly number[], period: number): number {
  const weight = 2 / (period + 1);
  let result = closes[0] as number;
  for (const close of closes) result = close * weight + result * (1 - weight);
  return result;
}

function average(closes: readonly number[], period: number): number | null {
  return closes.length < period ? null : finite(mean(closes.slice(-period)));
}

/** The log return over the newest `bars` sessions; `null` if there are too few closes. */
function recentReturn(closes: readonly number[], bars: number): number | null {
  const [from, to] = [closes.at(-1 - bars), closes.at(-1)];
  return from === undefined || to === undefined ? null : finite(Math.log(to / from));
}

const ratio = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : finite(a / b);

const finite = (value: number | null): number | null =>
  value !== null && Number.isFinite(value) ? value : null;
