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
import { ProviderFault, type ProviderFaultKind } from "../fault.ts";
import type { ParsedResponse, PolledProvider, ProviderSeries } from "../provider.ts";
import { type ProviderResponse, parseJsonBody, quoted } from "../provider-response.ts";
import { coinTicker } from "../provider-symbols.ts";
import { coinBarRequestAt } from "../publication-times.ts";

/** Number of minutes in a day. */
const DAY_MINUTES = 1_440;

/** Kraken's own ticker of each coin for which it differs from the usual ticker. */
const COINS: Readonly<Record<string, string>> = { BTC: "XBT", DOGE: "XDG" };

/** A price or volume, which Kraken sends as decimal text. */
const Decimal = z.string().regex(/^-?\d+(?:\.\d+)?$/);

/** Day, open, high, low, close, volume-weighted mean price, volume in coins, number of trades. */
const OhlcRow = z.tuple(
  [UnixSeconds, Decimal, Decimal, Decimal, Decimal, Decimal, Decimal, z.number()],
  z.unknown(),
);

/**
 * Response with `last` and a member for the rows, named after the pair; that name can differ from
 * the requested one.
 */
const Ohlc = z.looseObject({
  error: z.array(z.string()),
  result: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Prefixes of the errors that Kraken reports with status 200; warnings begin with W and are
 * ignored.
 */
const FAULTS: readonly (readonly [string, ProviderFaultKind])[] = [
  ["EAPI:Rate limit", "limited"],
  ["EGeneral:Too many requests", "limited"],
  ["EGeneral:Temporary lockout", "limited"],
  ["EGeneral:Permission denied", "refused"],
  ["EGeneral:Internal error", "failing"],
  ["EService:", "failing"],
];

/** Kraken's error for a pair that it does not trade. */
const UNKNOWN_PAIR = "EQuery:Unknown asset pair";

/**
 * Daily bars of Kraken, for the last 720 days at most. The last row of a response is always the
 * current, incomplete day. Volume in quote currency is volume in coins times the volume-weighted
 * mean price.
 */
export const kraken: PolledProvider = {
  id: "kraken",
  name: "Kraken",
  terms: "Kraken Terms of Service: for your own use, not to be passed on.",
  isForOwnUse: true,
  origin: "https://api.kraken.com",
  feeds: ["bars"],
  classes: ["crypto"],
  needs: [],
  kind: "polled",
  // The documented limit is about one request a second per address.
  budget: { requests: 1, perMs: 1_100 },
  series: ({ instruments, historyFrom }) =>
    instruments.map(({ symbol }) => bars(symbol, utcDay(historyFrom))),
};

function bars(symbol: string, first: string): ProviderSeries {
  return {
    key: symbol,
    next(cursor, now) {
      const from = readCursor(cursor, DayCursor)?.day ?? first;
      const through = lastCoinDay(now);
      if (from > through) return { waitUntil: coinBarRequestAt(from) };
      // `since` is exclusive, so one second less includes the first day.
      const since = Date.parse(from) / 1_000 - 1;
      const query = `pair=${pairOf(symbol)}&interval=${DAY_MINUTES}&since=${since}`;
      return {
        request: { path: `/0/public/OHLC?${query}` },
        read: (answer) => read(answer, { symbol, from, through }),
      };
    },
  };
}

/** Kraken's spelling of a pair: `XBTUSD` for `BTC-USD`. */
function pairOf(symbol: string): string {
  const coin = coinTicker(symbol);
  return `${COINS[coin] ?? coin}USD`;
}

function read(answer: ProviderResponse, query: DayQuery): ParsedResponse {
  const { error, result = {} } = parseJsonBody(answer, Ohlc);
  const wrong = error.find((text) => text.startsWith("E"));
  if (wrong === UNKNOWN_PAIR) return readNotTraded(query, answer.receivedAt);
  if (wrong !== undefined) throw faultOf(wrong);
  const days = rowsOf(result).map(dayOf);
  return readCoinDays({ ...query, days, receivedAt: answer.receivedAt });
}

function faultOf(error: string): ProviderFault {
  const known = FAULTS.find(([beginning]) => error.startsWith(beginning));
  return new ProviderFault(known?.[1] ?? "malformed", `it says ${quoted(error)}`);
}

function rowsOf(result: Readonly<Record<string, unknown>>): readonly z.infer<typeof OhlcRow>[] {
  const lists = Object.entries(result).filter(([name]) => name !== "last");
  const rows = z.array(OhlcRow).safeParse(lists[0]?.[1]);
  if (lists.length === 1 && rows.success) return rows.data;
  throw new ProviderFault("malformed", "result: not one pair with rows as documented");
}

function dayOf([time, ...cells]: z.infer<typeof OhlcRow>): CoinDay {
  const [open, high, low, close, mean, coins] = cells.map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { session: utcDay(time * 1_000), open, high, low, close, volume: mean * coins };
}
