import { z } from "zod";
import {
  nextSession,
  previousSession,
  sessionOf,
  sessionsBetween,
} from "../../../../market/calendar.ts";
import { ProviderFault } from "../../fault.ts";
import { addDays, stockBarAsked, utcDay } from "../../publication-times.ts";
import { WindowEdges } from "./splits.ts";

/** Maximum sessions of a window. */
export const MAX_SPAN = 60;

/** Days by which a window reaches back, so that each symbol has a bar before its new ones. */
const OVERLAP_DAYS = 9;

/**
 * A symbol that Alpaca does not know: the last session read when it was first refused, and the UTC
 * day on which it was last refused.
 */
const Unknown = z.tuple([z.string(), z.iso.date(), z.iso.date()]);

/** Position in the bars of a batch. */
export const BarCursor = z.object({
  /** Last session that was read. */
  done: z.iso.date(),
  /** Maximum sessions of the next window. */
  span: z.int().min(1).max(MAX_SPAN),
  without: z.array(Unknown),
  /**
   * A window whose adjusted closes were read and whose prices as traded are still to be requested.
   */
  half: z.object({ end: z.iso.date(), edges: z.array(WindowEdges.nullable()) }).optional(),
});
export type BarCursor = z.infer<typeof BarCursor>;

/** Sessions to request. */
export interface BarWindow {
  /** First day of the request. */
  readonly from: string;
  /** Last session that was read. */
  readonly done: string;
  /** Sessions after that one, oldest first, at least one. */
  readonly sessions: readonly string[];
  /** Last session of the window. */
  readonly end: string;
}

/** Cursor before the first bar. @param historyFrom Unix milliseconds. */
export const firstCursor = (historyFrom: number): BarCursor => ({
  done: previousSession(sessionOf(historyFrom)),
  span: MAX_SPAN,
  without: [],
});

/** The last session whose bars are due at an instant, Unix milliseconds. */
export function newestDue(at: number): string {
  const session = sessionOf(at);
  return stockBarAsked(session) <= at ? session : previousSession(session);
}

/** The window of a cursor; `newest` lies after the sessions that were read. */
export function windowAt({ done, span, half }: BarCursor, newest: string): BarWindow {
  const sessions = sessionsBetween(nextSession(done), half?.end ?? newest).slice(0, span);
  return { from: addDays(done, -OVERLAP_DAYS), done, sessions, end: sessions.at(-1) ?? done };
}

/**
 * A window of half as many sessions, which begins again with adjusted closes.
 *
 * @throws {ProviderFault} `malformed` when the window already has one session.
 */
export function halvedRange({ done, without }: BarCursor, { sessions }: BarWindow): BarCursor {
  if (sessions.length < 2) throw new ProviderFault("malformed", "a session takes several pages");
  return { done, span: Math.ceil(sessions.length / 2), without };
}

/**
 * Symbols of a batch that are requested; one that was refused is requested again on the next day.
 */
export function requestedSymbols(
  batch: readonly string[],
  { without, half }: BarCursor,
  now: number,
): readonly string[] {
  // Both halves of a window must request the same symbols.
  const left = without.filter(([, , refused]) => half !== undefined || refused >= utcDay(now));
  const names = new Set(left.map(([name]) => name));
  return batch.filter((symbol) => !names.has(symbol));
}

/** The cursor after a symbol was refused; its window is read again. */
export function cursorWithout(
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
 * The cursor after an answer for symbols that had been refused: back to the earliest refusal. Bars
 * of the others that are read again are duplicates.
 *
 * @returns `undefined` if none of them had been refused.
 */
export function cursorWith(place: BarCursor, symbols: readonly string[]): BarCursor | undefined {
  const without = place.without.filter(([name]) => !symbols.includes(name));
  if (without.length === place.without.length) return undefined;
  const since = place.without.filter(([name]) => symbols.includes(name)).map(([, done]) => done);
  const done = since.reduce((one, other) => (one < other ? one : other), place.done);
  return { done, span: MAX_SPAN, without };
}
