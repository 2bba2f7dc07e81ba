import { allowance } from "./allowance.ts";
import { coinClose, isoDay } from "./coins.ts";
import { drawnNumber } from "./drawn.ts";
import type { Serve } from "./drive.ts";

/** Trades of the simulated Deribit. */
export interface DeribitWorld {
  /** Currencies such as `BTC`. */
  readonly coins: readonly string[];
  /** Length of an interval with three simultaneous trades, in milliseconds. */
  readonly tradeEveryMs: number;
  /** Interval of block RFQs (requests for quotes) that led to a trade, in milliseconds. */
  readonly rfqEveryMs: number;
  /** Instant of the first block RFQ, Unix milliseconds. */
  readonly rfqSince: number;
}

/** A trade in the format of Deribit's API. */
export interface DeribitTrade {
  readonly trade_id: string;
  readonly timestamp: number;
  readonly price: number;
  /** Amount in USD. */
  readonly amount: number;
  readonly instrument_name: string;
  readonly block_trade_id?: string;
  readonly block_rfq_id?: number;
}

const TRADES_AT_ONCE = 3;
const EXPIRY = "26DEC25";

/** Deribit's API with futures trades, some of them block trades, and block RFQs. */
export function serveDeribit(world: DeribitWorld): Serve {
  const mayAsk = allowance(20, 1_000);
  return ({ url }, now) => {
    const envelope = { usIn: now * 1_000 - 300, usOut: now * 1_000, usDiff: 300, testnet: false };
    const { status, ...rest } = mayAsk(now)
      ? answer(url, world, now)
      : refusal(429, 10_028, "too_many_requests");
    return {
      status,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", ...rest, ...envelope }),
    };
  };
}

interface Rpc {
  readonly status: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

function answer({ pathname, searchParams: query }: URL, world: DeribitWorld, now: number): Rpc {
  const coin = query.get("currency") ?? "";
  if (!world.coins.includes(coin)) return refusal(400, -32_602, "Invalid params", "currency");
  if (pathname === "/api/v2/public/get_last_trades_by_currency_and_time")
    return trades(coin, { world, query, now });
  if (pathname === "/api/v2/public/get_block_rfq_trades") return rfqs(coin, { world, query, now });
  return refusal(400, -32_601, "Method not found");
}

interface Asked {
  readonly world: DeribitWorld;
  readonly query: URLSearchParams;
  readonly now: number;
}

function trades(coin: string, { world, query, now }: Asked): Rpc {
  const number = (name: string) => Number(query.get(name));
  const count = number("count");
  if (count > 1_000) return refusal(400, -32_602, "Invalid params", "count");
  if (query.get("kind") !== "future") return refusal(400, -32_602, "Invalid params", "kind");
  // One trade more than the limit shows whether there are more.
  const found = deribitTrades(coin, world, {
    from: number("start_timestamp"),
    to: Math.min(number("end_timestamp"), now),
    most: count + 1,
  });
  const shown = found.slice(0, count);
  if (query.get("sorting") !== "asc") shown.reverse();
  return { status: 200, result: { trades: shown, has_more: found.length > count } };
}

/** Trades of a coin between two instants, both inclusive, in ascending order. */
export function deribitTrades(
  coin: string,
  { tradeEveryMs }: Pick<DeribitWorld, "tradeEveryMs">,
  { from, to, most = Number.POSITIVE_INFINITY }: { from: number; to: number; most?: number },
): DeribitTrade[] {
  const found: DeribitTrade[] = [];
  for (let stretch = Math.floor(from / tradeEveryMs); stretch * tradeEveryMs <= to; stretch++) {
    const timestamp =
      stretch * tradeEveryMs + Math.floor(tradeEveryMs * drawnNumber("when", coin, `${stretch}`));
    if (timestamp < from || timestamp > to) continue;
    for (let index = 0; index < TRADES_AT_ONCE; index++)
      found.push(trade(coin, timestamp, stretch * TRADES_AT_ONCE + index));
    if (found.length >= most) break;
  }
  return found.slice(0, most);
}

function trade(coin: string, timestamp: number, number: number): DeribitTrade {
  const price = Math.round(2 * coinClose(coin, isoDay(timestamp))) / 2;
  const luck = drawnNumber("trade", coin, `${number}`);
  const common = {
    trade_seq: number,
    tick_direction: number % 4,
    mark_price: price,
    index_price: price,
    direction: number % 2 ? "buy" : "sell",
  };
  return {
    ...common,
    trade_id: coin === "BTC" ? `${number}` : `${coin}-${number}`,
    timestamp,
    price,
    amount: 10 * (1 + Math.floor(500 * drawnNumber("amount", coin, `${number}`))),
    instrument_name: `${coin}-${number % 5 === 0 ? EXPIRY : "PERPETUAL"}`,
    ...(luck < 0.1 && { block_trade_id: `BLOCK-${number}`, block_trade_leg_count: 1 }),
    ...(luck < 0.05 && { block_rfq_id: number }),
  };
}

function rfqs(coin: string, { world, query, now }: Asked): Rpc {
  const count = Number(query.get("count") ?? 20);
  // The real API accepts at most 50, although its documentation says 1,000.
  if (count < 10 || count > 50) return refusal(400, -32_602, "Invalid params", "count");
  const [, before] = /^\d+:(\d+)$/.exec(query.get("continuation") ?? "") ?? [];
  const newest = before === undefined ? rfqBefore(world, now) : Number(before) - 1;
  const ids = Array.from({ length: count }, (_, index) => newest - index).filter((id) => id >= 0);
  const last = ids.at(-1) ?? 0;
  return {
    status: 200,
    result: {
      block_rfqs: ids.map((id) => deribitRfq(coin, world, id)),
      continuation: last > 0 ? `${rfqAt(world, last)}:${last}` : null,
    },
  };
}

const rfqAt = ({ rfqSince, rfqEveryMs }: DeribitWorld, id: number) => rfqSince + id * rfqEveryMs;

const rfqBefore = ({ rfqSince, rfqEveryMs }: DeribitWorld, now: number) =>
  Math.floor((now - rfqSince) / rfqEveryMs);

/**
 * A traded block RFQ. Four kinds alternate: one future, two futures, options, and an option with a
 * hedge.
 */
export function deribitRfq(coin: string, world: DeribitWorld, id: number) {
  const timestamp = rfqAt(world, id);
  const price = coinClose(coin, isoDay(timestamp));
  const leg = (instrument: string, legPrice: number, ratio = 1) => ({
    instrument_name: `${coin}-${instrument}`,
    price: legPrice,
    direction: "buy",
    ratio,
  });
  const call = leg(`${EXPIRY}-90000-C`, 0.05);
  const kinds = [
    { amount: 500, legs: [leg("PERPETUAL", price)] },
    { amount: 300, legs: [leg("PERPETUAL", price), leg(EXPIRY, price + 50, 2)] },
    { amount: 12.5, legs: [call, leg(`${EXPIRY}-95000-C`, 0.03)] },
    {
      amount: 12.5,
      legs: [call],
      hedge: { instrument_name: `${coin}-PERPETUAL`, price, direction: "sell", amount: 70 },
    },
  ];
  const { amount, ...kind } = kinds[id % kinds.length] as (typeof kinds)[number];
  return {
    id,
    timestamp,
    combo_id: `${coin}-COMBO-${id}`,
    direction: "sell",
    mark_price: price,
    amount,
    trades: [{ price, amount, direction: "sell" }],
    index_prices: { [`${coin.toLowerCase()}_usd`]: price },
    ...kind,
  };
}

const refusal = (status: number, code: number, message: string, param?: string): Rpc => ({
  status,
  error: { code, message, ...(param && { data: { reason: "wrong value", param } }) },
});
