import { utcDay, utcDayEnd } from "../../../../lib/day.ts";
import { nextSession, previousSession } from "../../../../market/calendar.ts";
import { newYorkInstant } from "../../../../market/new-york.ts";
import { readCursor } from "../../cursor.ts";
import type { ParsedResponse, ProviderOptions, ProviderSeries } from "../../provider.ts";
import { type ProviderResponse, parseJsonBody } from "../../provider-response.ts";
import { dottedSymbol } from "../../provider-symbols.ts";
import { stockBarKnownAt, stockBarRequestAt } from "../../publication-times.ts";
import {
  BarCursor,
  type BarWindow,
  cursorWithHalfWindow,
  cursorWithoutSymbol,
  cursorWithSymbolsAgain,
  firstCursor,
  MAX_WINDOW_SESSIONS,
  newestDueSession,
  requestedSymbols,
  windowOfCursor,
} from "./bar-cursor.ts";
import { BarPage, type BarRow, barObservationsOf, barRowsOf } from "./bar-rows.ts";
import { detectSplit, windowEdgesOf } from "./splits.ts";
import { createStockRequest, refusedSymbol } from "./stock-request.ts";

/**
 * Pause before a window that lacks the newest bar of a symbol is requested again, in milliseconds.
 */
const AGAIN_MS = 15 * 60_000;

/**
 * Maximum wait for a bar after it was due, in milliseconds; after this wait the symbol counts as
 * not traded.
 */
const PATIENCE_MS = 12 * 3_600_000;

/**
 * Series of the daily bars of a batch of symbols. Each window is requested twice: first
 * split-adjusted, then as traded. If the two differ by a split, the window is halved until the
 * ex-date is located.
 */
export function barSeries(batch: readonly string[], options: ProviderOptions): ProviderSeries {
  return {
    key: `bars ${batch.join(",")}`,
    next(cursor, now) {
      const place = readCursor(cursor, BarCursor) ?? firstCursor(options.historyFrom);
      const newest = newestDueSession(now);
      if (place.half === undefined && place.done >= newest) {
        return { waitUntil: stockBarRequestAt(nextSession(newest)) };
      }
      const symbols = requestedSymbols(batch, place, now);
      if (symbols.length === 0) return { waitUntil: utcDayEnd(utcDay(now)) };
      const window = windowOfCursor(place, newest);
      return {
        request: createStockRequest("bars", queryOf(symbols, window, place), options.settings),
        read: (answer) => readWindow(answer, { place, symbols, window }),
      };
    },
  };
}

const queryOf = (symbols: readonly string[], { from, end }: BarWindow, { half }: BarCursor) => ({
  symbols: symbols.map(dottedSymbol).join(","),
  timeframe: "1Day",
  start: `${from}T00:00:00Z`,
  // The free plan excludes the last 15 minutes, so the window ends at the close.
  end: new Date(newYorkInstant(end, "16:00")).toISOString(),
  adjustment: half === undefined ? "split" : "raw",
  sort: "asc",
});

interface BarQuery {
  readonly place: BarCursor;
  readonly symbols: readonly string[];
  readonly window: BarWindow;
}

function readWindow(answer: ProviderResponse, query: BarQuery): ParsedResponse {
  const { place, symbols, window } = query;
  const spelled = symbols.map(dottedSymbol);
  const refused = refusedSymbol(answer, spelled);
  if (refused !== undefined) {
    const symbol = symbols[spelled.indexOf(refused)] as string;
    return goOn(cursorWithoutSymbol(place, { symbol, receivedAt: answer.receivedAt }));
  }
  const page = parseJsonBody(answer, BarPage);
  if (page.next_page_token) return goOn(cursorWithHalfWindow(place, window));
  const lists = symbols.map((symbol) => barRowsOf(page, symbol, window.end));
  if (place.half !== undefined) return readTraded(lists, place.half, { ...query, answer });
  const earlier = cursorWithSymbolsAgain(place, symbols);
  if (earlier !== undefined) return goOn(earlier);
  const edges = lists.map((rows) => windowEdgesOf(rows, window));
  return goOn({ ...place, half: { end: window.end, edges } });
}

const goOn = (place: BarCursor): ParsedResponse => ({
  data: [],
  cursor: JSON.stringify(place),
  unknown: unknownIn(place),
});

const unknownIn = ({ without }: BarCursor): readonly string[] => without.map(([symbol]) => symbol);

/**
 * Reads a window's bars as traded.
 *
 * @param lists Bars as traded, one list per symbol.
 */
function readTraded(
  lists: readonly (readonly BarRow[])[],
  { edges }: NonNullable<BarCursor["half"]>,
  { place, symbols, window, answer }: BarQuery & { readonly answer: ProviderResponse },
): ParsedResponse {
  const found = lists.map((rows, index) => detectSplit(rows, edges[index] ?? null, window));
  const isLocated = found.every((split) => split?.isLocated ?? true);
  if (!isLocated && window.sessions.length > 1) return goOn(cursorWithHalfWindow(place, window));

  const { receivedAt } = answer;
  const sifted = lists.flatMap((rows, index) =>
    barObservationsOf(rows, {
      symbol: symbols[index] as string,
      done: window.done,
      split: found[index],
      receivedAt,
    }),
  );
  const isEarly = lists.some((rows) => isWaitedFor(rows, window, receivedAt));
  const next: BarCursor = {
    done: isEarly ? previousSession(window.end) : window.end,
    span: Math.min(MAX_WINDOW_SESSIONS, place.span * 2),
    without: place.without,
  };
  return {
    data: sifted.filter((one) => "record" in one),
    rejected: sifted.filter((one) => "reason" in one),
    cursor: JSON.stringify(next),
    unknown: unknownIn(next),
    ...(isEarly && { notBefore: receivedAt + AGAIN_MS }),
  };
}

/** Whether the bar of the newest session may still arrive for a symbol that has traded before. */
function isWaitedFor(rows: readonly BarRow[], { end }: BarWindow, now: number): boolean {
  const isNew = end === newestDueSession(now) && now < stockBarKnownAt(end) + PATIENCE_MS;
  return isNew && rows.length > 0 && rows.at(-1)?.session !== end;
}
