import { hash } from "node:crypto";
import { DAY_MS } from "../../../src/lib/day.ts";
import { sessionCloseAt } from "../../../src/market/calendar.ts";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import { drawnNumber } from "./drawn.ts";

/** Stocks and funds whose data several simulated vendors serve, each in its own format. */
export interface ListedWorld {
  /** Symbols in the service's spelling, for example `BRK-B`. */
  readonly symbols: readonly string[];
  readonly splits?: readonly ListedSplit[];
  /** Number of trades per symbol and session; default 40. */
  readonly tradesADay?: number;
  /**
   * Missing bars, as `AAPL 2026-03-02`, with the instant from which they exist, Unix milliseconds.
   */
  readonly missing?: ReadonlyMap<string, number>;
}

/** A stock split. */
interface ListedSplit {
  readonly symbol: string;
  /** Ex-date, ISO date. */
  readonly session: string;
  /** New shares per old share. */
  readonly ratio: number;
}

/** A daily bar: prices in USD, volume in shares. */
interface ListedBar {
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
}

/** A daily bar as traded, without adjustment. Prices fluctuate around a constant level. */
export function tradedBar(world: ListedWorld, symbol: string, session: string): ListedBar {
  const bar = presentBar(symbol, session);
  return scaled(bar, ratioAfter(world, { symbol, session, until: "9999-12-31" }));
}

/** A daily bar adjusted by the splits up to a day; prices are rounded to cents. */
export function adjustedBar(
  world: ListedWorld,
  bar: { readonly symbol: string; readonly session: string; readonly until: string },
): ListedBar {
  const traded = tradedBar(world, bar.symbol, bar.session);
  return scaled(traded, 1 / ratioAfter(world, bar));
}

/** Number of shares that one share of a session has become by a later day. */
function ratioAfter(
  { splits = [] }: ListedWorld,
  {
    symbol,
    session,
    until,
  }: { readonly symbol: string; readonly session: string; readonly until: string },
): number {
  return splits
    .filter((split) => split.symbol === symbol)
    .filter((split) => split.session > session && split.session <= until)
    .reduce((product, { ratio }) => product * ratio, 1);
}

/**
 * Several numbers in [0, 1) that are always the same for the same words. One digest yields all of
 * them, because millions are needed.
 */
function parts<N extends string>(names: readonly N[], ...words: readonly string[]) {
  const digest = hash("sha512", words.join(" "), "buffer");
  const entries = names.map((name, index) => [name, digest.readUInt32BE(4 * index) / 2 ** 32]);
  return Object.fromEntries(entries) as Record<N, number>;
}

const BAR_PARTS = ["close", "open", "high", "low", "volume"] as const;

function presentBar(symbol: string, session: string): ListedBar {
  const part = parts(BAR_PARTS, "bar", symbol, session);
  const level = 30 + 200 * drawnNumber("level", symbol);
  const wave =
    1 + 0.1 * Math.sin(Date.parse(session) / DAY_MS / 17 + 6 * drawnNumber("phase", symbol));
  const close = level * wave * (0.99 + 0.02 * part.close);
  const open = level * wave * (0.99 + 0.02 * part.open);
  return {
    open,
    close,
    high: Math.max(open, close) * (1 + 0.01 * part.high),
    low: Math.min(open, close) * (1 - 0.01 * part.low),
    volume: 100_000 + 5_000_000 * part.volume,
  };
}

const scaled = (bar: ListedBar, factor: number): ListedBar => ({
  open: cents(bar.open * factor),
  high: cents(bar.high * factor),
  low: cents(bar.low * factor),
  close: cents(bar.close * factor),
  volume: Math.round(bar.volume / factor),
});

const cents = (price: number): number => Math.round(price * 100) / 100;

/** A trade of a listed instrument. */
export interface ListedTrade {
  /** Number of the trade within its symbol and session, from 1. */
  readonly number: number;
  /** Time of the trade, Unix milliseconds. */
  readonly at: number;
  /** Nanoseconds within the millisecond, six digits. */
  readonly nanoseconds: string;
  readonly price: number;
  readonly shares: number;
  readonly bid: number;
  readonly ask: number;
  readonly isOffExchange: boolean;
  /** Whether the price is an average over a period. */
  readonly isAverage: boolean;
  /** Whether the trade is canceled ten minutes later. */
  readonly isCanceled: boolean;
}

const TRADES_A_DAY = 40;

const TRADE_PARTS = [
  "at",
  "ns",
  "bid",
  "spread",
  "place",
  "size",
  "venue",
  "average",
  "cancel",
] as const;

/**
 * Trades of a symbol in a session, in chronological order: during regular hours and in the half
 * hour after them.
 */
export function tradesOf(
  world: ListedWorld,
  symbol: string,
  session: string,
): readonly ListedTrade[] {
  const count = world.tradesADay ?? TRADES_A_DAY;
  const opensAt = newYorkInstant(session, "09:30");
  const lengthMs = sessionCloseAt(session) + 30 * 60_000 - opensAt;
  const { low, high } = tradedBar(world, symbol, session);
  return Array.from({ length: count }, (_, index) => {
    const part = parts(TRADE_PARTS, "trade", symbol, session, String(index));
    const bid = cents(low + (high - low) * part.bid);
    const ask = cents(bid + 0.01 + 0.05 * part.spread);
    return {
      number: index + 1,
      at: Math.floor(opensAt + ((index + part.at) / count) * lengthMs),
      nanoseconds: String(Math.floor(1e6 * part.ns)).padStart(6, "0"),
      price: cents(bid + (ask - bid) * part.place),
      shares: Math.ceil(10 ** (1 + 4 * part.size)),
      bid,
      ask,
      isOffExchange: part.venue < 0.6,
      isAverage: part.average < 0.1,
      isCanceled: part.cancel < 0.05,
    };
  });
}

/** Whether the service keeps a trade: an off-exchange block in regular hours. */
export const isQualifyingTrade = (
  session: string,
  { at, shares, price, isOffExchange }: ListedTrade,
) =>
  isOffExchange && at < sessionCloseAt(session) && (shares >= 10_000 || shares * price >= 200_000);
