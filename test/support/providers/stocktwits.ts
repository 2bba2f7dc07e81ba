import { allowance } from "./allowance.ts";
import { type Chat, chatter } from "./chatter.ts";
import { drawnNumber } from "./drawn.ts";
import type { Serve, ServedAnswer } from "./drive.ts";

/** Data of the simulated Stocktwits. */
export interface StocktwitsWorld {
  /** Symbols in Stocktwits' spelling, such as `AAPL`, `BRK.B` and `BTC.X`. */
  readonly symbols: readonly string[];
  /** Length of an interval with one message per symbol, in milliseconds. */
  readonly everyMs: number;
  /**
   * Whether messages with exactly the id in the parameter `max` are included; the documentation is
   * ambiguous.
   */
  readonly isMaxInclusive?: boolean;
}

const HOUR_MS = 3_600_000;
const REQUESTS_AN_HOUR = 200;
const MAX_PAGE = 30;

/** How long messages remain available, in milliseconds. */
const KEPT_MS = 3 * 24 * HOUR_MS;

/** Stocktwits' symbol streams, newest message first, with `since`, `max` and `limit`. */
export function serveStocktwits(world: StocktwitsWorld): Serve {
  const mayAsk = allowance(REQUESTS_AN_HOUR, HOUR_MS);
  return ({ method, url }, now) => {
    if (!mayAsk(now)) return refusal(429, "Rate limit exceeded.");
    const name = /^\/api\/2\/streams\/symbol\/([^/]+)\.json$/.exec(url.pathname)?.[1] ?? "";
    const symbol = decodeURIComponent(name);
    if (method !== "GET" || !world.symbols.includes(symbol)) {
      return refusal(404, "Symbol not found");
    }
    return page(symbol, { world, query: url.searchParams, now });
  };
}

function page(
  symbol: string,
  { world, query, now }: { world: StocktwitsWorld; query: URLSearchParams; now: number },
): ServedAnswer {
  const since = Number(query.get("since") ?? 0);
  const max = Number(query.get("max") ?? Number.POSITIVE_INFINITY) + (world.isMaxInclusive ? 1 : 0);
  const limit = Math.min(MAX_PAGE, Number(query.get("limit") ?? MAX_PAGE));
  const span = { from: now - KEPT_MS, until: now, everyMs: world.everyMs };
  // Message ids grow with time and belong to one symbol.
  const offset = Math.floor(1_000 * drawnNumber("id", symbol));
  const all = chatter(`$${symbol}`, span).map((chat) => ({ id: chat.at + offset, ...chat }));
  const wanted = all.filter(({ id }) => id > since && id < max).reverse();
  const messages = wanted.slice(0, limit).map((chat) => message(symbol, chat));
  const cursor = {
    more: wanted.length > limit,
    since: messages[0]?.id ?? null,
    max: messages.at(-1)?.id ?? null,
  };
  return json(200, { response: { status: 200 }, symbol: { symbol }, cursor, messages });
}

function message(symbol: string, { id, at, author, text, stance }: Chat & { readonly id: number }) {
  const joined = new Date(Date.UTC(2012 + (author % 12), author % 12, 1 + (author % 28)));
  return {
    id,
    body: `${text} &amp; it&#39;s early`,
    created_at: `${new Date(at).toISOString().slice(0, 19)}Z`,
    user: {
      id: author,
      username: `writer${author}`,
      followers: author * 3,
      join_date: joined.toISOString().slice(0, 10),
    },
    source: { id: 1, title: "Web" },
    symbols: [{ id: 1, symbol, title: symbol }],
    entities: { sentiment: stance === null ? null : { basic: stance } },
  };
}

const refusal = (status: number, text: string): ServedAnswer =>
  json(status, { response: { status }, errors: [{ message: text }] });

const json = (status: number, body: unknown): ServedAnswer => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});
