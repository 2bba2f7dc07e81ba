import { ATR, EMA, MACD, RSI, SMA } from "trading-signals";
import type { Bar } from "../market/records.ts";
import { type Input, shown } from "./reading.ts";

/**
 * Bars that indicators are worked out from, the newest of them. The smoothing of MACD and RSI
 * begins with the first of these; after 512 bars what it began with weighs less than 1e-15, so it
 * does not matter that some seed with a mean and others, as here, with the first price.
 */
const MAX_BARS = 512;

const PERIODS = { rsi: 14, atr: 14, fast: 12, slow: 26, signal: 9, short: 50, long: 200 } as const;
/** Sessions of the one-month return. */
const MONTH_BARS = 21;

/** A bar in prices of the newest bar's basis. */
interface Candle {
  readonly high: number;
  readonly low: number;
  readonly close: number;
}

/**
 * Indicators that people look for, shown with weight 0: measured, none of them ranks tomorrow's
 * winners (method section 2.1). RSI(14) and ATR(14) by Wilder, MACD(12,26) over ATR, SMA50 over
 * SMA200, and the log return of 21 sessions, all on adjusted prices.
 *
 * @param bars Known bars, oldest first.
 * @returns One input each, with value `null` where there are too few bars or nothing moves.
 */
export function indicators(bars: readonly Bar[]): readonly Input[] {
  const observedAt = bars.at(-1)?.availableAt ?? null;
  const candles = adjusted(bars.slice(-MAX_BARS));
  const closes = candles.map(({ close }) => close);
  const atr = averageRange(candles);
  const macd = convergence(closes);
  const [short, long] = [average(closes, PERIODS.short), average(closes, PERIODS.long)];
  return [
    shown("rsi14", strength(closes), "index 0 to 100", observedAt),
    shown("atr14", atr, "price", observedAt),
    shown("macd12_26", macd, "price", observedAt),
    shown("macdOverAtr", ratio(macd, atr), "average true ranges", observedAt),
    shown("sma50OverSma200", ratio(short, long), "ratio", observedAt),
    shown("return1m", returnOver(closes, MONTH_BARS), "log return", observedAt),
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

function strength(closes: readonly number[]): number | null {
  const rsi = new RSI(PERIODS.rsi);
  for (const close of closes) rsi.add(close);
  return rsi.isStable ? finite(rsi.getResult()) : null;
}

function averageRange(candles: readonly Candle[]): number | null {
  const atr = new ATR(PERIODS.atr);
  for (const candle of candles) atr.add(candle);
  return atr.isStable ? finite(atr.getResult()) : null;
}

function convergence(closes: readonly number[]): number | null {
  const { fast, slow, signal } = PERIODS;
  if (closes.length < slow) return null;
  const macd = new MACD(new EMA(fast), new EMA(slow), new EMA(signal));
  for (const close of closes) macd.add(close);
  return finite(macd.isStable ? macd.getResult()?.macd : null);
}

function average(closes: readonly number[], period: number): number | null {
  const sma = new SMA(period);
  for (const close of closes) sma.add(close);
  return sma.isStable ? finite(sma.getResult()) : null;
}

function returnOver(closes: readonly number[], bars: number): number | null {
  const [from, to] = [closes.at(-1 - bars), closes.at(-1)];
  return from === undefined || to === undefined ? null : finite(Math.log(to / from));
}

const ratio = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : finite(a / b);

const finite = (value: number | null | undefined): number | null =>
  value !== null && value !== undefined && Number.isFinite(value) ? value : null;
