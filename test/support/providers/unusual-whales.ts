import { isTradingDay } from "../../../src/market/calendar.ts";
import { allowance } from "./allowance.ts";
import type { Serve, ServedAnswer } from "./drive.ts";
import { type ListedTrade, type ListedWorld, tradesOf } from "./listed.ts";

/** Data and limits of the simulated Unusual Whales. */
export interface UnusualWhalesWorld extends ListedWorld {
  readonly key: string;
  /** First day that the plan includes, ISO date; absent: no limit. */
  readonly historyBegins?: string;
}

/** Unusual Whales' dark pool endpoint: 120 requests per minute, at most 500 prints per page. */
export function serveUnusualWhales(world: UnusualWhalesWorld): Serve {
  const isAllowed = allowance(120, 60_000);
  return ({ url, headers }, now) => {
    if (headers.get("authorization") !== `Bearer ${world.key}`) {
      return refused(401, "unauthorized", "the token is not valid");
    }
    if (!isAllowed(now)) {
      const limited = refused(429, "too_many_requests", "too many requests in this minute");
      return { ...limited, headers: { "x-uw-req-per-minute-remaining": "0" } };
    }
    return darkpool(world, url, now);
  };
}

function darkpool(world: UnusualWhalesWorld, url: URL, now: number): ServedAnswer {
  const symbol = /^\/api\/darkpool\/([A-Z.]+)$/.exec(url.pathname)?.[1];
  const date = url.searchParams.get("date") ?? "";
  if (symbol === undefined) return refused(404, "not_found", "no such thing");
  if (!isTradingDay(date)) return refused(422, "invalid_date", `${date} is no trading day`);
  const begin = world.historyBegins ?? "";
  if (date < begin) {
    const message = `The earliest date currently available to you is ${begin} (30 trading days).`;
    return refused(403, "historic_data_access_missing", message);
  }
  const data = prints(world, { symbol, date, query: url.searchParams, now });
  return { status: 200, body: JSON.stringify({ data }) };
}

const refused = (status: number, code: string, message: string): ServedAnswer => ({
  status,
  body: JSON.stringify({ code, message }),
});

interface Question {
  readonly symbol: string;
  readonly date: string;
  readonly query: URLSearchParams;
  readonly now: number;
}

/** Prints of a symbol and day, newest first. */
function prints(world: UnusualWhalesWorld, { symbol, date, query, now }: Question) {
  const own = world.symbols.find((one) => one.replace("-", ".") === symbol);
  if (own === undefined) return [];
  const limit = Math.min(500, Number(query.get("limit") ?? 500));
  const olderThan = Date.parse(query.get("older_than") ?? "9999-12-31");
  const [leastUsd, leastShares] = ["min_premium", "min_size"].map(
    (name) => +(query.get(name) ?? 0),
  );
  return tradesOf(world, own, date)
    .filter(({ at, isOffExchange }) => isOffExchange && at <= now && second(at) < olderThan)
    .filter(
      ({ shares, price }) => shares >= (leastShares ?? 0) && shares * price >= (leastUsd ?? 0),
    )
    .reverse()
    .slice(0, limit)
    .map((trade) => rowOf(trade, { symbol, now }));
}

const second = (at: number): number => Math.floor(at / 1_000) * 1_000;
const timeOf = (at: number): string => new Date(second(at)).toISOString().replace(".000Z", "Z");

function rowOf(trade: ListedTrade, { symbol, now }: { symbol: string; now: number }) {
  return {
    ticker: symbol,
    size: trade.shares,
    price: String(trade.price),
    premium: String(trade.price * trade.shares),
    executed_at: timeOf(trade.at),
    trf_executed_at: timeOf(trade.at),
    created_at: timeOf(trade.at + 2_000),
    nbbo_bid: String(trade.bid),
    nbbo_ask: String(trade.ask),
    nbbo_bid_quantity: 100,
    nbbo_ask_quantity: 200,
    market_center: "L",
    canceled: trade.isCanceled && now >= trade.at + 10 * 60_000,
    trade_settlement: "regular",
    ext_hour_sold_codes: null,
    sale_cond_codes: trade.isAverage ? "average_price_trade" : null,
    trade_code: null,
    volume: 1_000_000,
    tracking_id: 30_000_000_000_000 + trade.number,
  };
}
