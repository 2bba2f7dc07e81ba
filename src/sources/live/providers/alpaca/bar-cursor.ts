import { z } from "zod";
import { utcDay } from "../../../../lib/day.ts";
import {
  nextSession,
  previousSession,
  sessionOf,
  sessionsBetween,
} from "../../../../market/calendar.ts";
import { ProviderFault } from "../../fault.ts";
import { addDays, stockBarRequestAt } from "../../publication-times.ts";
import { WindowEdges } from "./splits.ts";

/** Maximum number of sessions of a window. */
export const MAX_WINDOW_SESSIONS = 60;

/**
 * Number of days by which a window overlaps earlier bars, so that each symbol has a bar before its
 * new ones.
 */
const OVERLAP_DAYS = 9;

/**
 * A symbol that Alpaca does not know, the last session read when it was first refused, and the UTC
 * day on which it was last refused.
 */
const Unknown = z.tuple([z.string(), z.iso.date(), z.iso.date()]);

/** Position in the bars of a batch of symbols. */
export const BarCursor = z.object({
  /** Last session that was read. */
  done: z.iso.date(),
  /** Maximum number of sessions of the next window. */
  span: z.int().min(1).max(MAX_WINDOW_SESSIONS),
  without: z.array(Unknown),
  /**
   * The window in progress, if its adjusted bars have been read and its bars as traded have not.
   */
  half: z.object({ end: z.iso.date(), edges: z.array(WindowEdges.nullable()) }).optional(),
});
export type BarCursor = z.infer<typeof BarCursor>;

/** A window of sessions to request. */
export interface BarWindow {
  /** First day of the request, an ISO date. */
  readonly from: string;
  /** Last session that was read. */
  readonly done: string;
  /** Sessions after `done`, oldest first, at least one. */
  readonly sessions: readonly string[];
  /** Last session of the window. */
  readonly end: string;
}

/**
 * Cursor before the first bar.
 *
 * @param historyFrom Unix milliseconds.
 */
export const firstCursor = (historyFrom: number): BarCursor => ({
  done: previousSession(sessionOf(historyFrom)),
  span: MAX_WINDOW_SESSIONS,
  without: [],
});

/** The last session whose bars can be requested at an instant, Unix milliseconds. */
export function newestDueSession(at: number): string {
  const session = sessionOf(at);
  return stockBarRequestAt(session) <= at ? session : previousSession(session);
}

/**
 * The window that a cursor requests next.
 *
 * @param newest Last session that can be requested; it must be later than the sessions read so far.
 */
export function windowOfCursor({ done, span, half }: BarCursor, newest: string): BarWindow {
  const sessions = sessionsBetween(nextSession(done), half?.end ?? newest).slice(0, span);
  return { from: addDays(done, -OVERLAP_DAYS), done, sessions, end: sessions.at(-1) ?? done };
}

/**
 * The cursor for a window of half as many sessions, which begins again with adjusted bars.
 *
 * @throws {ProviderFault} `malformed` if the window has only one session.
 */
export function cursorWithHalfWindow(
  { done, without }: BarCursor,
  { sessions }: BarWindow,
): BarCursor {
  if (sessions.length < 2) throw new ProviderFault("malformed", "a session takes several pages");
  return { done, span: Math.ceil(sessions.length / 2), without };
}

/** Symbols of a batch to request; a refused symbol is requested again on the following day. */
export function requestedSymbols(
  batch: readonly string[],
  { without, half }: BarCursor,
  now: number,
): readonly string[] {
  // Both requests of a window must have the same symbols.
  const left = without.filter(([, , refused]) => half !== undefined || refused >= utcDay(now));
  const names = new Set(left.map(([name]) => name));
  return batch.filter((symbol) => !names.has(symbol));
}

/** The cursor after a symbol was refused; the window is read again without it. */
export function cursorWithoutSymbol(
  { done, span, without }: BarCursor,
  { symbol, receivedAt }: { readonly symbol: string; readonly receivedAt: number },
): BarCursor {
  const others = without.filter(([name]) => name !== symbol);
  const before = without.find(([name]) => name === symbol);
  return {
    done,
    span,
    without: [...others, [symbol, before?.[1] ?? done, utcDay(receivedAt)]],
  };
}

/**
 * The cursor after an answer that includes symbols refused earlier: it goes back to the earliest
 * refusal. Bars of the other symbols that are read again are duplicates.
 *
 * @returns `undefined` if none of the symbols had been refused.
 */
export function cursorWithSymbolsAgain(
  place: BarCursor,
  symbols: readonly string[],
): BarCursor | undefined {
  const without = place.without.filter(([name]) => !symbols.includes(name));
  if (without.length === place.without.length) return undefined;
  const since = place.without.filter(([name]) => symbols.includes(name)).map(([, done]) => done);
  const done = since.reduce((one, other) => (one < other ? one : other), place.done);
  return { done, span: MAX_WINDOW_SESSIONS, without };
}
