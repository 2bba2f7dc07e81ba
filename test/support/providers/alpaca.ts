import { DAY_MS } from "../../../src/lib/day.ts";
import { isTradingDay } from "../../../src/market/calendar.ts";
import { newYorkDate, newYorkInstant } from "../../../src/market/new-york.ts";
import { allowance } from "./allowance.ts";
import type { Serve, ServedAnswer } from "./drive.ts";
import { adjustedBar, type ListedWorld, tradedBar, tradesOf } from "./listed.ts";

/** Data and limits of the simulated Alpaca. */
export interface AlpacaWorld extends ListedWorld {
  readonly keyId: string;
  readonly secret: string;
  /** Maximum number of rows per page, regardless of the requested limit; default 10,000. */
  readonly pageRows?: number;
}

/** A row with its symbol. */
type Row = readonly [symbol: string, fields: Readonly<Record<string, unknown>>];

const TAPE_DELAY_MS = 15 * 60_000;

/**
 * Alpaca's market data API on the free plan: 200 requests per minute, no data younger than 15
 * minutes.
 */
export function serveAlpaca(world: AlpacaWorld): Serve {
  const isAllowed = allowance(200, 60_000);
  return ({ url, headers }, now) => {
    if (!isAllowed(now)) return refusal(429, "too many requests.");
    const isKnown =
      headers.get("apca-api-key-id") === world.keyId &&
      headers.get("apca-api-secret-key") === world.secret;
    if (!isKnown) return refusal(403, "forbidden.");
    const list = /^\/v2\/stocks\/(bars|trades)$/.exec(url.pathname)?.[1] as List | undefined;
    if (list === undefined) return refusal(404, "endpoint not found.");
    return served(world, { list, query: url.searchParams, now });
  };
}

type List = "bars" | "trades";

interface Question {
  readonly list: List;
  readonly query: URLSearchParams;
  readonly now: number;
}

const refusal = (status: number, message: string): ServedAnswer => ({
  status,
  body: JSON.stringify({ message }),
});

function served(world: AlpacaWorld, question: Question): ServedAnswer {
  const { list, query, now } = question;
  const symbols = (query.get("symbols") ?? "").split(",");
  const invalid = symbols.find((symbol) => !/^[A-Z]{1,5}(\.[A-Z])?$/.test(symbol));
  if (invalid !== undefined) return refusal(400, `invalid symbol: ${invalid}`);
  const [from, to] = [query.get("start"), query.get("end")].map((text) => Date.parse(text ?? ""));
  if (from === undefined || to === undefined || !(from <= to)) return refusal(400, "invalid time");
  if (query.get("feed") !== "sip") return refusal(400, "this server has one feed");
  if (to > now - TAPE_DELAY_MS) {
    return refusal(403, "subscription does not permit querying recent SIP data");
  }
  const known = symbols
    .map(withDash)
    .filter((symbol) => world.symbols.includes(symbol))
    .sort();
  const rowsOf = list === "bars" ? barRows : tradeRows;
  const sessions = sessionsIn(from, to);
  const rows = known.flatMap((symbol) =>
    rowsOf(world, { ...question, sessions, symbol, from, to }),
  );
  return paged(rows, world, question);
}

const withDash = (symbol: string): string => symbol.replace(".", "-");
const withDot = (symbol: string): string => symbol.replace("-", ".");

interface Range extends Question {
  readonly symbol: string;
  readonly sessions: readonly Session[];
  readonly from: number;
  readonly to: number;
}

/** A session with its midnight in New York and the time from which its bars are public. */
interface Session {
  readonly date: string;
  readonly startsAt: number;
  readonly barsAt: number;
}

/** Daily bars have the timestamp of midnight in New York and appear 15 minutes after the close. */
function barRows(world: AlpacaWorld, { symbol, sessions, from, to, now, query }: Range): Row[] {
  const today = newYorkDate(now);
  return sessions.flatMap(({ date: session, startsAt: at, barsAt }): Row[] => {
    const missingUntil = world.missing?.get(`${symbol} ${session}`) ?? 0;
    const isThere = now >= Math.max(barsAt, missingUntil);
    if (at < from || at > to || !isThere) return [];
    const isRaw = query.get("adjustment") === "raw";
    const bar = isRaw
      ? tradedBar(world, symbol, session)
      : adjustedBar(world, { symbol, session, until: today });
    const t = new Date(at).toISOString().replace(".000Z", "Z");
    const { open, high, low, close, volume } = bar;
    const n = Math.ceil(volume / 100);
    return [
      [symbol, { t, o: open, h: high, l: low, c: close, v: volume, n, vw: (high + low) / 2 }],
    ];
  });
}

function tradeRows(world: AlpacaWorld, { symbol, sessions, from, to, now }: Range): Row[] {
  return sessions
    .flatMap(({ date }) => tradesOf(world, symbol, date))
    .filter(({ at }) => at >= from && at <= to)
    .map((trade): Row => {
      const t = `${new Date(trade.at).toISOString().slice(0, -1)}${trade.nanoseconds}Z`;
      const isCanceled = trade.isCanceled && now >= trade.at + 10 * 60_000;
      return [
        symbol,
        {
          t,
          x: trade.isOffExchange ? "D" : "V",
          p: trade.price,
          s: trade.shares,
          c: ["@", ...(trade.isAverage ? ["W"] : [])],
          i: trade.number,
          z: "C",
          ...(isCanceled && { u: "canceled" }),
        },
      ];
    });
}

function sessionsIn(from: number, to: number): readonly Session[] {
  const days = Math.floor((to - from) / DAY_MS) + 2;
  const dates = Array.from({ length: days }, (_, day) => newYorkDate(from + day * DAY_MS));
  return [...new Set(dates)].filter(isTradingDay).map((date) => ({
    date,
    startsAt: newYorkInstant(date, "00:00"),
    barsAt: newYorkInstant(date, "16:15"),
  }));
}

/**
 * A page of rows, ordered by symbol and time. The page token contains the index of the first row.
 */
function paged(rows: readonly Row[], { pageRows = 10_000 }: AlpacaWorld, question: Question) {
  const { list, query } = question;
  const start = Number(Buffer.from(query.get("page_token") ?? "", "base64url").toString());
  const size = Math.min(pageRows, Number(query.get("limit") ?? 1_000));
  const page = Map.groupBy(rows.slice(start, start + size), ([symbol]) => withDot(symbol));
  const isLast = start + size >= rows.length;
  const body = {
    [list]: Object.fromEntries(
      [...page].map(([symbol, own]) => [symbol, own.map((row) => row[1])]),
    ),
    next_page_token: isLast ? null : Buffer.from(String(start + size)).toString("base64url"),
  };
  return { status: 200, body: JSON.stringify(body) };
}
