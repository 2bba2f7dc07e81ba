import {
  addBar,
  createPriceHistories,
  type MarketReturns,
  type PricedBar,
  type PriceHistory,
  recomputeSumsAndPeak,
} from "../../../src/factors/price-history.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Bar } from "../../../src/market/records.ts";

const logClose = (t: number) =>
  4.6 + 0.0006 * t + 0.05 * Math.sin(t / 7) + 0.02 * Math.cos(t / 3) + 0.01 * Math.sin(t / 9);
const logMarket = (t: number) => 0.0003 * t + 0.02 * Math.sin(t / 9);

/** The reference series of daily bars: highs are 1 % above the closes, and lows 1 % below. */
export const referenceBars = (length = 300): Bar[] =>
  Array.from({ length }, (_, t) => {
    const close = Math.exp(logClose(t));
    return {
      session: String(t),
      availableAt: (t + 1) * DAY_MS,
      open: t === 0 ? close : Math.exp(logClose(t - 1)),
      high: close * 1.01,
      low: close * 0.99,
      close,
      volume: 1_000,
      dividend: 0,
      split: 1,
      logReturn: t === 0 ? null : logClose(t) - logClose(t - 1),
    };
  });

/** The market returns of the reference series. */
export const referenceMarket: MarketReturns = Array.from({ length: 2_000 }, (_, t) =>
  t === 0 ? 0 : logMarket(t) - logMarket(t - 1),
);

/** Builds a price history bar by bar. */
export function runningHistory(bars: readonly PricedBar[], market = referenceMarket): PriceHistory {
  const history = createPriceHistories()();
  for (const [session, bar] of bars.entries()) addBar(history, bar, { session, market });
  return history;
}

/** Builds a price history and recomputes its sums from scratch at the end. */
export function historyOf(bars: readonly PricedBar[], market = referenceMarket): PriceHistory {
  const history = runningHistory(bars, market);
  recomputeSumsAndPeak(history, market);
  return history;
}

/** The same bars with a split and a dividend, at the prices that would have been traded. */
export function withCorporateActions(bars: readonly Bar[]): Bar[] {
  const splitAt = 250;
  const dividendAt = 120;
  return bars.map((bar, index) => {
    const paid = index >= dividendAt ? 0.98 : 1;
    const factor = paid / (index >= splitAt ? 7 : 1);
    return {
      ...bar,
      open: bar.open * factor,
      high: bar.high * factor,
      low: bar.low * factor,
      close: bar.close * factor,
      dividend: index === dividendAt ? bar.close - bar.close * 0.98 : 0,
      split: index === splitAt ? 7 : 1,
    };
  });
}
