import { z } from "zod";
import type { Instrument } from "../../../market/instrument.ts";
import { readCursor } from "../cursor.ts";
import { MESSAGE_HISTORY_MS, messageObservations } from "../message.ts";
import type { ParsedResponse, PolledProvider, ProviderSeries } from "../provider.ts";
import type { ProviderResponse } from "../provider-response.ts";
import { coinTicker, dottedSymbol } from "../provider-symbols.ts";
import { isLaterThanArrival } from "../publication-times.ts";
import {
  mentionOf,
  messagesOf,
  STOCKTWITS_PAGE_SIZE,
  type StocktwitsMessage,
} from "./stocktwits/stocktwits-message.ts";

/** Maximum number of requests per hour from one address. */
const REQUESTS_AN_HOUR = 200;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Maximum number of pages per visit, so that no symbol uses up the shared budget. */
const MAX_PAGES = 4;

/** Minimum time between two visits to a symbol, in milliseconds. */
const MIN_PERIOD_MS = 5 * 60_000;

/**
 * Number of requests per symbol and visit that the schedule reserves; requests for further pages
 * use the rest of the budget.
 */
const PAGES_A_VISIT = 2;

/**
 * Cursor of a symbol. A visit reads pages from the newest message back to the messages of the
 * previous visit.
 */
const Cursor = z.object({
  /** Id of the newest message of the previous visit; 0 before the first visit. */
  seen: z.int(),
  /**
   * Ids of the newest and the oldest message of the current visit, and its number of pages; `null`
   * between visits.
   */
  visit: z.object({ newest: z.int(), oldest: z.int(), pages: z.int() }).nullable(),
});
type Cursor = z.infer<typeof Cursor>;

/** Messages on Stocktwits by symbol, with the bullish or bearish tag that many authors add. */
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

/** Schedule by which a symbol is polled; a visit is one poll, of one or more pages. */
interface Schedule {
  /** Start of the history, Unix milliseconds. */
  readonly historyFrom: number;
  /** Time between two visits to the symbol, in milliseconds. */
  readonly periodMs: number;
}

function stream({ symbol, assetClass }: Instrument, habit: Schedule): ProviderSeries {
  const ticker = assetClass === "crypto" ? `${coinTicker(symbol)}.X` : dottedSymbol(symbol);
  return {
    key: symbol,
    next(cursor) {
      const from = readCursor(cursor, Cursor) ?? { seen: 0, visit: null };
      const query = new URLSearchParams({ limit: String(STOCKTWITS_PAGE_SIZE) });
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

/** The result for a symbol that Stocktwits does not know. */
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
  // If the provider's clock is ahead, messages dated in the future are read again once our clock
  // reaches their dates.
  const known = fresh.filter(
    ({ created_at }) => !isLaterThanArrival(Date.parse(created_at), receivedAt),
  );
  const newest = Math.max(from.visit?.newest ?? from.seen, ...known.map(({ id }) => id));
  const pages = (from.visit?.pages ?? 0) + 1;
  const isOver =
    messages.length < STOCKTWITS_PAGE_SIZE ||
    fresh.length < STOCKTWITS_PAGE_SIZE - 1 ||
    pages >= MAX_PAGES;
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
