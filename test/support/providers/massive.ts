import { isTradingDay } from "../../../src/market/calendar.ts";
import { newYorkDate } from "../../../src/market/new-york.ts";
import type { Serve, ServedAnswer } from "./drive.ts";
import { type ListedTrade, type ListedWorld, tradesOf } from "./listed.ts";

/** Data of the simulated Massive. */
export interface MassiveWorld extends ListedWorld {
  readonly key: string;
  /** Maximum number of trades per page, regardless of the requested limit; default 50,000. */
  readonly pageRows?: number;
}

const NS_PER_MS = 1e6;

/** Massive's trades API on a paid plan. */
export function serveMassive(world: MassiveWorld): Serve {
  return ({ url, headers }, now) => {
    if (headers.get("authorization") !== `Bearer ${world.key}`) {
      return failed(401, { status: "ERROR", error: "Unknown API Key" });
    }
    const symbol = /^\/v3\/trades\/([A-Z.]+)$/.exec(url.pathname)?.[1];
    if (symbol === undefined) return failed(404, { status: "NOT_FOUND", message: "no such thing" });
    return page(world, { symbol, url, now });
  };
}

const failed = (status: number, body: Readonly<Record<string, string>>): ServedAnswer => ({
  status,
  body: JSON.stringify({ request_id: "0f1e2d", ...body }),
});

interface Question {
  readonly symbol: string;
  readonly url: URL;
  readonly now: number;
}

/** The cursor encodes the whole query and the index of the next row. */
function page(world: MassiveWorld, { symbol, url, now }: Question): ServedAnswer {
  const cursor = url.searchParams.get("cursor");
  const query = cursor
    ? new URLSearchParams(Buffer.from(cursor, "base64url").toString())
    : url.searchParams;
  const [from, to] = ["timestamp.gte", "timestamp.lt"].map((name) => Number(query.get(name)));
  if (!from || !to) return failed(400, { status: "ERROR", error: "give both ends of the time" });
  const rows = rowsOf(world, { symbol, from, to, now });
  const start = Number(query.get("start"));
  const size = Math.min(world.pageRows ?? 50_000, Number(query.get("limit") ?? 1_000));
  const isLast = start + size >= rows.length;
  query.set("start", String(start + size));
  const behind = Buffer.from(query.toString()).toString("base64url");
  const body = {
    results: rows.slice(start, start + size),
    status: "OK",
    request_id: "0f1e2d",
    ...(!isLast && { next_url: `${url.origin}${url.pathname}?cursor=${behind}` }),
  };
  return { status: 200, body: JSON.stringify(body) };
}

interface Range {
  readonly symbol: string;
  /** Start (inclusive) and end (exclusive), Unix nanoseconds. */
  readonly from: number;
  readonly to: number;
  /** Unix milliseconds. */
  readonly now: number;
}

function rowsOf(world: MassiveWorld, { symbol, from, to, now }: Range) {
  const session = newYorkDate(from / NS_PER_MS);
  const own = world.symbols.find((one) => one.replace("-", ".") === symbol);
  if (own === undefined || !isTradingDay(session)) return [];
  return tradesOf(world, own, session)
    .filter(({ at }) => at * NS_PER_MS >= from && at * NS_PER_MS < to && at <= now)
    .map((trade) => rowOf(trade, now));
}

function rowOf(trade: ListedTrade, now: number) {
  const executed = Number(`${trade.at}${trade.nanoseconds}`);
  const isCanceled = trade.isCanceled && now >= trade.at + 10 * 60_000;
  return {
    conditions: trade.isAverage ? [2] : [],
    ...(isCanceled && { correction: 8 }),
    exchange: trade.isOffExchange ? 4 : 11,
    id: String(trade.number),
    participant_timestamp: executed,
    price: trade.price,
    sequence_number: trade.number * 3,
    sip_timestamp: executed + 4e9,
    size: trade.shares,
    decimal_size: `${trade.shares}.0`,
    tape: 3,
    ...(trade.isOffExchange && { trf_id: 201 + (trade.number % 3), trf_timestamp: executed + 3e9 }),
  };
}
