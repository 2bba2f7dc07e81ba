import { z } from "zod";
import { BLOCK_SIZE } from "../../market/block-size.ts";
import { closeAt, isSession, nextSession, sessionOf } from "../../market/calendar.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";
import type { Print } from "../../market/records.ts";
import type { Answer } from "./answer.ts";
import { isPageLost, readCursor } from "./cursor.ts";
import { ProviderFault } from "./fault.ts";
import type { Observation, ProviderRequest, Reading, Rejected, Series } from "./provider.ts";
import { isFuture } from "./publication-times.ts";

/**
 * Off-exchange prints, session by session. Only those of regular trading and of block size are kept
 * one by one: a large name trades a million times a day, and FINRA tells the day's volume.
 */

/**
 * Pause after the close in milliseconds: trades are free to read 15 minutes later, and what was
 * cancelled during the session is marked by then. One more minute for clocks that differ.
 */
const SETTLED_MS = 16 * 60_000;

/**
 * Most history in milliseconds, 82 sessions: the factor compares with 60, and trades of more would
 * take days to page through.
 */
const MAX_HISTORY_MS = 120 * 86_400_000;

/** How long a symbol is left alone that the provider does not have, in milliseconds. */
const UNKNOWN_MS = 86_400_000;

/** Times that a session is begun anew whose pages get lost; then it is passed over. */
const MAX_LOST = 3;

/** A print of regular trading; its session is the one it was asked for. */
export type RawPrint = Omit<Print, "session">;

/** A part of a session to ask for. */
export interface PrintWindow {
  readonly session: string;
  /** Regular trading from here on, Unix milliseconds. */
  readonly opensAt: number;
  /** And before this, Unix milliseconds. */
  readonly closesAt: number;
  /** What the page before gave as `next`; absent on the first one. */
  readonly page: string | undefined;
}

/** Prints of one answer. */
export interface PrintPage {
  readonly prints: readonly RawPrint[];
  /** Names the page behind; absent on the last one. */
  readonly next?: string | undefined;
  /** ISO date from which on there are prints at all, where the session is too old. */
  readonly availableFrom?: string;
  /** It says that it does not have the symbol. */
  readonly isUnknown?: true;
}

/** How a provider is asked for a part of a session, and its answer read. */
type AskPrints = (place: PrintWindow) => {
  readonly request: ProviderRequest;
  read(answer: Answer): PrintPage;
};

/** Most characters of a page's name: a cursor has 1,000. */
const PAGE_CHARACTERS = 900;

const PrintCursor = z.object({
  session: z.iso.date().refine(isSession),
  page: z.string().max(PAGE_CHARACTERS).optional(),
  /** How often it was begun anew. */
  lost: z.int().optional(),
});
type PrintCursor = z.infer<typeof PrintCursor>;

/** Follows the blocks of one symbol, each session once it is settled. */
export function printSeries(
  { key, symbol, historyFrom }: { key: string; symbol: string; historyFrom: number },
  ask: AskPrints,
): Series {
  return {
    key,
    next(cursor, now, failures) {
      const place = placeOf(cursor, failures) ?? { session: firstOf(historyFrom, now) };
      const { session, page } = place;
      const closesAt = closeAt(session);
      if (now < closesAt + SETTLED_MS) return { waitUntil: closesAt + SETTLED_MS };
      const opensAt = newYorkInstant(session, "09:30");
      const { request, read } = ask({ session, page, opensAt, closesAt });
      return {
        request,
        read(answer) {
          const told = read(answer);
          if (told.isUnknown) return unknown(place, symbol, answer.receivedAt);
          return {
            ...keptOf(told.prints, { symbol, session, receivedAt: answer.receivedAt }),
            cursor: JSON.stringify(placeAfter(place, told)),
          };
        },
      };
    },
  };
}

/** Where the last reading left it. A session whose pages are lost begins anew, some times. */
function placeOf(
  cursor: string | undefined,
  failures: number | undefined,
): PrintCursor | undefined {
  const place = readCursor(cursor, PrintCursor);
  if (place?.page === undefined || !isPageLost(failures)) return place;
  const { session, lost = 0 } = place;
  return lost < MAX_LOST ? { session, lost: lost + 1 } : { session: nextSession(session) };
}

/** The reading of an answer that says that the provider does not have a symbol. */
const unknown = (place: PrintCursor, symbol: string, receivedAt: number): Reading => ({
  data: [],
  cursor: JSON.stringify(place),
  notBefore: receivedAt + UNKNOWN_MS,
  unknown: [symbol],
});

const firstOf = (historyFrom: number, now: number): string =>
  sessionOf(Math.max(historyFrom, now - MAX_HISTORY_MS));

function placeAfter(
  { session, page, lost }: PrintCursor,
  { next, availableFrom }: PrintPage,
): PrintCursor {
  if (next === undefined) return { session: sessionAfter(session, availableFrom) };
  if (next === page) throw new ProviderFault("malformed", "the page behind a page is itself");
  if (next.length > PAGE_CHARACTERS) {
    throw new ProviderFault("malformed", `the name of the next page has ${next.length} characters`);
  }
  return { session, page: next, lost };
}

/** The session behind one, or the first from a later date on. */
function sessionAfter(session: string, availableFrom = session): string {
  if (availableFrom <= session) return nextSession(session);
  return isSession(availableFrom) ? availableFrom : nextSession(availableFrom);
}

interface Context {
  readonly symbol: string;
  readonly session: string;
  readonly receivedAt: number;
}

function keptOf(prints: readonly RawPrint[], context: Context): Omit<Reading, "cursor"> {
  const { symbol, session } = context;
  const data: Observation[] = [];
  const rejected: Rejected[] = [];
  for (const print of prints) {
    if (isSmall(print)) continue;
    const place = { feed: "prints", symbol, at: print.tradedAt, id: print.id } as const;
    const reason = untruth(print, context);
    if (reason !== undefined) rejected.push({ ...place, reason });
    else data.push({ ...place, record: { ...print, session } });
  }
  return { data, rejected };
}

const isSmall = ({ price, sizeShares }: RawPrint): boolean =>
  sizeShares < BLOCK_SIZE.shares && price * sizeShares < BLOCK_SIZE.notionalUsd;

/** Why a print cannot be true. */
function untruth({ price, sizeShares, tradedAt }: RawPrint, context: Context): string | undefined {
  if (!(price > 0 && sizeShares > 0 && Number.isFinite(price * sizeShares))) {
    return `price ${price} and size ${sizeShares} must be positive`;
  }
  if (isFuture(tradedAt, context.receivedAt)) {
    return `${isoText(tradedAt)} has not come yet at ${isoText(context.receivedAt)}`;
  }
  if (newYorkDate(tradedAt) === context.session) return undefined;
  return `${isoText(tradedAt)} is not on ${context.session}`;
}

const isoText = (at: number): string => new Date(at).toISOString();
