import { z } from "zod";
import { utcDay } from "../../../lib/day.ts";
import {
  type CoinDay,
  lastCoinDay,
  readCoinDays,
  readNotTraded,
  UnixSeconds,
} from "../coin-bars.ts";
import { DayCursor, type DayQuery, readCursor } from "../cursor.ts";
import type { ParsedResponse, PolledProvider, ProviderSeries } from "../provider.ts";
import { type ProviderResponse, parseJsonBody } from "../provider-response.ts";
import { addDays, coinBarRequestAt, FINAL_ANSWER_CACHE_MS } from "../publication-times.ts";

/**
 * Maximum number of candles in a response. One of them is for the day after the last requested day:
 * it shows that the last requested day is complete.
 */
const CANDLES = 300;

/** Number of seconds in a day. */
const DAY_S = 86_400;

/**
 * Maximum wait for a day after its end, in milliseconds. A day without a trade never gets a candle,
 * and the response does not say so. The wait is longer than a day, because a venue that is a day
 * behind returns an incomplete candle.
 */
const PATIENCE_MS = 48 * 3_600_000;

/** Rows of day, low, high, open, close, and volume in coins; newest first. */
const Candles = z.array(
  z.tuple([UnixSeconds, z.number(), z.number(), z.number(), z.number(), z.number()], z.unknown()),
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
  // The documented limit is 10 requests a second per address.
  budget: { requests: 8, perMs: 1_000 },
  series: ({ instruments, historyFrom }) =>
    instruments.map(({ symbol }) => candles(symbol, utcDay(historyFrom))),
};

function candles(symbol: string, first: string): ProviderSeries {
  return {
    key: symbol,
    next(cursor, now) {
      const from = readCursor(cursor, DayCursor)?.day ?? first;
      const last = lastCoinDay(now);
      if (from > last) return { waitUntil: coinBarRequestAt(from) };
      const full = addDays(from, CANDLES - 2);
      const through = full < last ? full : last;
      const [start, end] = [from, addDays(through, 1)].map((day) => `${day}T00:00:00Z`);
      return {
        request: {
          path: `/products/${symbol}/candles?granularity=${DAY_S}&start=${start}&end=${end}`,
          accepts: [404],
          keepMs: through < last ? FINAL_ANSWER_CACHE_MS : 0,
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
