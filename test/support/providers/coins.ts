import { DAY_MS } from "../../../src/lib/day.ts";
import type { Observation } from "../../../src/sources/live/provider.ts";
import { coinBarKnownAt } from "../../../src/sources/live/publication-times.ts";
import { drawnNumber } from "./drawn.ts";

/** Prices and volume of a coin on a UTC day. */
export interface CoinDay {
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** Traded volume, in coins. */
  readonly volume: number;
}

/** Price of a coin in USD at the end of a UTC day (ISO date). It moves by a few percent per day. */
export function coinClose(coin: string, day: string): number {
  const days = Date.parse(day) / DAY_MS;
  const wave = 0.4 * Math.sin(days / 70 + 6 * drawnNumber("phase", coin));
  const level = 10 ** (1 + 4 * drawnNumber("level", coin));
  return cents(level * Math.exp(wave + 0.06 * drawnNumber("close", coin, day)));
}

/** The completed day of a coin. */
export function coinDay(coin: string, day: string): CoinDay {
  const open = coinClose(coin, dayBefore(day));
  const close = coinClose(coin, day);
  const reach = 1 + 0.02 * drawnNumber("reach", coin, day);
  return {
    open,
    close,
    high: cents(Math.max(open, close) * reach + 0.01),
    low: cents(Math.min(open, close) / reach),
    volume: Math.round(1e8 * (50 + 1_000 * drawnNumber("volume", coin, day))) / 1e8,
  };
}

/** The unfinished day of a coin at noon: with a different close and half of the volume. */
export function halfDay(coin: string, day: string): CoinDay {
  const { open, high, low, volume } = coinDay(coin, day);
  return { open, high, low, close: cents((high + low) / 2), volume: volume / 2 };
}

/** What a provider says of the completed days of a coin, `from` and `to` inclusive. */
export const coinBars = (symbol: string, from: string, to = from): readonly Observation[] =>
  utcDays(from, to).map((session) => ({
    ...{ feed: "bars", symbol, at: Date.parse(session), id: session },
    record: {
      ...{ session, availableAt: coinBarKnownAt(session), dividend: 0, split: 1 },
      ...coinDay(symbol, session),
    },
  }));

/** UTC days from `from` to `to`, both inclusive, as ISO dates in ascending order. */
export function utcDays(from: string, to: string): readonly string[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  const count = Math.max(0, Math.floor((last - first) / DAY_MS) + 1);
  return Array.from({ length: count }, (_, day) => isoDay(first + day * DAY_MS));
}

/** ISO date of an instant (Unix milliseconds) in UTC. */
export const isoDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

const dayBefore = (day: string) => isoDay(Date.parse(day) - DAY_MS);

const cents = (price: number) => Math.max(0.01, Math.round(price * 100) / 100);
