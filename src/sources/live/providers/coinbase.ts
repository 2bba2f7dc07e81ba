import { z } from "zod";
import { type CoinDay, lastCoinDay, readCoinDays, readNotTraded, Seconds } from "../coin-bars.ts";
import { DayCursor, type DayQuery, readCursor } from "../cursor.ts";
import type { ParsedResponse, PolledProvider, Series } from "../provider.ts";
import { type ProviderResponse, parseJsonBody } from "../provider-response.ts";
import { addDays, coinBarAsked, FINAL_MS, utcDay } from "../publication-times.ts";

/**
 * Maximum candles in a response. One of them is the day after the last requested one, which shows
 * that the last one is over.
 */
const CANDLES = 300;

/** Seconds of a day. */
const DAY_S = 86_400;

/**
 * Longest wait for a day after its end, in milliseconds. A day without a trade never gets a candle,
 * and nothing says so; a venue that is a day behind returns a candle of half a day.
 */
const PATIENCE_MS = 48 * 3_600_000;

/** Newest first: day, low, high, open, close, volume in coins. */
const Candles = z.array(
  z.tuple([Seconds, z.number(), z.number(), z.number(), z.number(), z.number()], z.unknown()),
);

/**
 * Daily candles of Coinbase Exchange. The venue reports volume in coins; it is converted to quote
 * currency at the typical price (high + low + close) / 3.
 */
export const coinbase: PolledProvider = {
  id: "coinbase",
  name: "Coinbase Exchange",
  terms:
    "Coinbase Market Data Terms of Use: for your own use, not to be passed on; volume in US dollars is estimated from coins at the typical price of the day.",
  isForOwnUse: true,
  origin: "https://api.exchange.coinbase.com",
  feeds: ["bars"],
  classes: ["crypto"],
  needs: [],
  kind: "polled",
  // The documented limit is 10 a second per address.
  budget: { requests: 8, perMs: 1_000 },
  series: ({ instruments, historyFrom }) =>
    instruments.map(({ symbol }) => candles(symbol, utcDay(historyFrom))),
};

function candles(symbol: string, first: string): Series {
  return {
    key: symbol,
    next(cursor, now) {
      const from = readCursor(cursor, DayCursor)?.day ?? first;
      const last = lastCoinDay(now);
      if (from > last) return { waitUntil: coinBarAsked(from) };
      const full = addDays(from, CANDLES - 2);
      const through = full < last ? full : last;
      const [start, end] = [from, addDays(through, 1)].map((day) => `${day}T00:00:00Z`);
      return {
        request: {
          path: `/products/${symbol}/candles?granularity=${DAY_S}&start=${start}&end=${end}`,
          accepts: [404],
          keepMs: through < last ? FINAL_MS : 0,
        },
        read: (answer) => read(answer, { symbol, from, through }),
      };
    },
  };
}

function read(answer: ProviderResponse, query: DayQuery): ParsedResponse {
  const { status, receivedAt } = answer;
  if (status === 404) return readNotTraded(query, receivedAt);
  const days = parseJsonBody(answer, Candles).map(dayOf);
  const surelyOver = addDays(utcDay(receivedAt - PATIENCE_MS), -1);
  return readCoinDays({ ...query, days, surelyOver, receivedAt });
}

function dayOf([time, low, high, open, close, coins]: z.infer<typeof Candles>[number]): CoinDay {
  const volume = (coins * (high + low + close)) / 3;
  return { session: utcDay(time * 1_000), open, high, low, close, volume };
}
