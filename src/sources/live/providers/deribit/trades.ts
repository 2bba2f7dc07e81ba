import { z } from "zod";
import { DAY_MS } from "../../../../lib/day.ts";
import { readCursor } from "../../cursor.ts";
import { ProviderFault } from "../../fault.ts";
import type { ParsedResponse, ProviderSeries } from "../../provider.ts";
import type { ProviderResponse } from "../../provider-response.ts";
import { coinTicker } from "../../provider-symbols.ts";
import { FINAL_ANSWER_CACHE_MS } from "../../publication-times.ts";
import { isFuturesContractOn, printOfBlockLeg, UnixMillis } from "./block.ts";
import { jsonRpcResult, rpcRequest } from "./json-rpc.ts";

/** Maximum number of trades in a response. */
const PAGE_TRADES = 1_000;

/** Maximum time span of a request, in milliseconds. */
const WINDOW_MS = 6 * 3_600_000;

/** Pause between requests once the series is up to date, in milliseconds. */
const PAUSE_MS = 60_000;

/** Maximum delay of a trade's publication, in milliseconds. */
const LATE_MS = 5_000;

/** Age at which trades are final, so that responses can be cached, in milliseconds. */
const SETTLED_MS = 86_400_000;

/**
 * Maximum length of the history, in milliseconds. Block trades cannot be requested separately, so
 * all trades have to be paged through, a hundred pages a day or more.
 */
const HISTORY_MS = 7 * DAY_MS;

/** Cursor with the first instant that has not been read, Unix milliseconds. */
const Cursor = z.object({ from: UnixMillis });
const cursorAt = (from: number): string =>
  JSON.stringify({ from } satisfies z.infer<typeof Cursor>);

const Trade = z.looseObject({
  trade_id: z.string().max(100),
  timestamp: UnixMillis,
  price: z.number(),
  /** Size in USD, for futures that are settled in the coin. */
  amount: z.number(),
  instrument_name: z.string().max(100),
  block_trade_id: z.string().optional(),
  block_rfq_id: z.number().optional(),
});

const Page = z.looseObject({
  result: z.looseObject({ trades: z.array(Trade), has_more: z.boolean() }),
  /** When the server sent the response, by the server's clock, Unix microseconds. */
  usOut: z.number().optional(),
});

/** Series of the block trades in futures on a coin. */
export function tradeSeries(symbol: string, historyFrom: number): ProviderSeries {
  return {
    key: `${symbol} trades`,
    next(cursor, now) {
      const from = readCursor(cursor, Cursor)?.from ?? beginning(historyFrom, now);
      if (now < from + PAUSE_MS) return { waitUntil: from + PAUSE_MS };
      const to = Math.min(from + WINDOW_MS, now - LATE_MS);
      const request = rpcRequest("get_last_trades_by_currency_and_time", {
        currency: coinTicker(symbol),
        kind: "future",
        start_timestamp: `${from}`,
        end_timestamp: `${to}`,
        count: `${PAGE_TRADES}`,
        sorting: "asc",
      });
      return {
        request: { ...request, keepMs: to < now - SETTLED_MS ? FINAL_ANSWER_CACHE_MS : 0 },
        read: (answer) => read(answer, { symbol, from, to }),
      };
    },
  };
}

/**
 * Start of the history, Unix milliseconds; constant for a whole day, so that a repeated first
 * request hits the cache.
 */
function beginning(historyFrom: number, now: number): number {
  const earliest = now - HISTORY_MS;
  return Math.max(historyFrom, earliest - (earliest % DAY_MS));
}

/** Reads the trades of a span of time, both ends inclusive, Unix milliseconds. */
function read(
  answer: ProviderResponse,
  { symbol, from, to }: { readonly symbol: string; readonly from: number; readonly to: number },
): ParsedResponse {
  const { receivedAt } = answer;
  const { result, usOut } = jsonRpcResult(answer, Page);
  const blocks = result.trades.filter(
    (trade) =>
      trade.block_trade_id !== undefined &&
      // Blocks from RFQs are reported by `rfqSeries`, whose history is unlimited.
      trade.block_rfq_id === undefined &&
      isFuturesContractOn(trade.instrument_name, symbol),
  );
  const prints = blocks.map((trade) =>
    printOfBlockLeg(
      {
        id: trade.trade_id,
        instrument: trade.instrument_name,
        tradedAt: trade.timestamp,
        price: trade.price,
        amountUsd: trade.amount,
      },
      symbol,
      receivedAt,
    ),
  );
  // If our clock is ahead, the part that the server has not reached yet is requested again.
  const seenUntil = Math.min(to, (usOut === undefined ? receivedAt : usOut / 1_000) - LATE_MS);
  const next = result.has_more ? nextStart(result.trades, from) : Math.floor(seenUntil) + 1;
  return {
    data: prints.filter((one) => "record" in one),
    rejected: prints.filter((one) => "reason" in one),
    cursor: cursorAt(Math.max(from, next)),
    ...(next <= from && { notBefore: receivedAt + PAUSE_MS }),
  };
}

/**
 * Start of the next page, Unix milliseconds: the instant of the last trade, because more trades of
 * that instant may follow.
 */
function nextStart(trades: readonly z.infer<typeof Trade>[], from: number): number {
  const [first, last] = [trades.at(0)?.timestamp, trades.at(-1)?.timestamp];
  if (first === undefined || last === undefined || last < first || first < from) {
    throw new ProviderFault("malformed", "result.trades: not ascending from the requested time");
  }
  return Math.max(last, from + 1);
}
