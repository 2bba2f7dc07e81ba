import { z } from "zod";
import type { Instrument } from "../../../market/instrument.ts";
import { readCursor } from "../cursor.ts";
import { MESSAGE_HISTORY_MS, messageObservations } from "../message.ts";
import type { ParsedResponse, PolledProvider, Series } from "../provider.ts";
import type { ProviderResponse } from "../provider-response.ts";
import { coinOf, withDot } from "../provider-symbols.ts";
import { isFuture } from "../publication-times.ts";
import {
  mentionOf,
  messagesOf,
  PAGE,
  type StocktwitsMessage,
} from "./stocktwits/stocktwits-message.ts";

/** Requests per hour that one address may send. */
const REQUESTS_AN_HOUR = 200;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Maximum pages per visit, so that no symbol uses up the shared budget. */
const MAX_PAGES = 4;

/** Shortest time between two visits to a symbol, in milliseconds. */
const MIN_PERIOD_MS = 5 * 60_000;

/** Requests per symbol and visit that the schedule reserves; older pages use what is left of the
 *  budget. */
const PAGES_A_VISIT = 2;

/** A visit goes from the newest message back to those seen on the visit before. */
const Cursor = z.object({
  /** Newest message that was seen on the visit before; 0 before the first. */
  seen: z.int(),
  /** Newest and oldest message of the visit under way, `null` between visits. */
  visit: z.object({ newest: z.int(), oldest: z.int(), pages: z.int() }).nullable(),
});
type Cursor = z.infer<typeof Cursor>;

/** Messages on Stocktwits by symbol, with the stance that many authors declare. */
export const stocktwits: PolledProvider = {
  kind: "polled",
  id: "stocktwits",
  name: "Stocktwits",
  terms: "Stocktwits Terms of Service: for your own use; messages belong to their authors.",
  isForOwnUse: true,
  origin: "https://api.stocktwits.com",
  feeds: ["mentions"],
  classes: ["stock", "etf", "crypto"],
  needs: [],
  budget: { requests: REQUESTS_AN_HOUR, perMs: HOUR_MS },
  series({ instruments, historyFrom }) {
    const visitMs = (PAGES_A_VISIT * HOUR_MS) / REQUESTS_AN_HOUR;
    const periodMs = Math.max(MIN_PERIOD_MS, instruments.length * visitMs);
    return instruments.map((instrument) => stream(instrument, { historyFrom, periodMs }));
  },
};

/** Schedule of a symbol. */
interface Schedule {
  /** Unix milliseconds. */
  readonly historyFrom: number;
  /** Time between two visits. */
  readonly periodMs: number;
}

function stream({ symbol, assetClass }: Instrument, habit: Schedule): Series {
  const ticker = assetClass === "crypto" ? `${coinOf(symbol)}.X` : withDot(symbol);
  return {
    key: symbol,
    next(cursor) {
      const from = readCursor(cursor, Cursor) ?? { seen: 0, visit: null };
      const query = new URLSearchParams({ limit: String(PAGE) });
      if (from.seen > 0) query.set("since", String(from.seen));
      if (from.visit) query.set("max", String(from.visit.oldest));
      return {
        request: {
          path: `/api/2/streams/symbol/${encodeURIComponent(ticker)}.json?${query}`,
          accepts: [404],
          maxBytes: 1_048_576,
        },
        read: (answer) =>
          answer.status === 404
            ? readUnknown(from, symbol, answer.receivedAt)
            : read(answer, { symbol, from, habit }),
      };
    },
  };
}

/** Parsed response for an unknown symbol. */
const readUnknown = (from: Cursor, symbol: string, receivedAt: number): ParsedResponse => ({
  data: [],
  cursor: JSON.stringify(from),
  notBefore: receivedAt + DAY_MS,
  unknown: [symbol],
});

function read(
  answer: ProviderResponse,
  { symbol, from, habit }: { symbol: string; from: Cursor; habit: Schedule },
): ParsedResponse {
  const { receivedAt } = answer;
  const messages = messagesOf(answer);
  const floor = Math.max(habit.historyFrom, receivedAt - MESSAGE_HISTORY_MS);
  const before = from.visit?.oldest ?? Number.POSITIVE_INFINITY;
  const isNew = ({ id, created_at }: StocktwitsMessage) =>
    id > from.seen && id < before && Date.parse(created_at) >= floor;
  const fresh = messages.filter(isNew);
  const sorted = fresh.map((message) =>
    messageObservations(mentionOf(message), [symbol], receivedAt),
  );
  const ids = fresh.map(({ id }) => id);
  // If the provider's clock is ahead, messages dated in the future are read again once their time
  // has come.
  const known = fresh.filter(({ created_at }) => !isFuture(Date.parse(created_at), receivedAt));
  const newest = Math.max(from.visit?.newest ?? from.seen, ...known.map(({ id }) => id));
  const pages = (from.visit?.pages ?? 0) + 1;
  const isOver = messages.length < PAGE || fresh.length < PAGE - 1 || pages >= MAX_PAGES;
  const next: Cursor = isOver
    ? { seen: newest, visit: null }
    : { seen: from.seen, visit: { newest, oldest: Math.min(...ids), pages } };
  return {
    data: sorted.flatMap(({ data }) => data),
    rejected: sorted.flatMap(({ rejected }) => rejected),
    cursor: JSON.stringify(next),
    ...(isOver && { notBefore: receivedAt + habit.periodMs }),
  };
}
