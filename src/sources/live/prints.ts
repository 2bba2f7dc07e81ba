import { z } from "zod";
import { BLOCK_SIZE } from "../../market/block-size.ts";
import { closeAt, isSession, nextSession, sessionOf } from "../../market/calendar.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";
import type { Print } from "../../market/records.ts";
import { isPageLost, readCursor } from "./cursor.ts";
import { ProviderFault } from "./fault.ts";
import type { Observation, ParsedResponse, ProviderRequest, Rejected, Series } from "./provider.ts";
import type { ProviderResponse } from "./provider-response.ts";
import { isFuture } from "./publication-times.ts";

/**
 * Off-exchange prints, session by session. Only blocks of regular trading are stored: a large name
 * trades a million times a day, and FINRA publishes the volume of the day.
 */

/**
 * Pause after the close in milliseconds: trades are free 15 minutes later, and cancellations of the
 * session are marked by then. One more minute is for clocks that differ.
 */
const SETTLED_MS = 16 * 60_000;

/**
 * Longest history in milliseconds, 82 sessions: the factor compares with 60 sessions, and paging
 * through more would take days.
 */
const MAX_HISTORY_MS = 120 * 86_400_000;

/** Pause after the provider did not know a symbol, in milliseconds. */
const UNKNOWN_MS = 86_400_000;

/** Maximum number of times that a session with expired page tokens is read again; then it is
 *  skipped. */
const MAX_LOST = 3;

/** A print as a provider reports it; its session is that of the request. */
export type RawPrint = Omit<Print, "session">;

/** A part of a session to request. */
export interface PrintWindow {
  readonly session: string;
  /** Start of regular trading, Unix milliseconds. */
  readonly opensAt: number;
  /** End of regular trading, Unix milliseconds. */
  readonly closesAt: number;
  /** Token of the page, `next` of the page before; absent for the first one. */
  readonly page: string | undefined;
}

/** Prints of one page. */
export interface PrintPage {
  readonly prints: readonly RawPrint[];
  /** Token of the next page; absent on the last one. */
  readonly next?: string | undefined;
  /** ISO date of the first available session, where the requested one is too old. */
  readonly availableFrom?: string;
  /** The provider does not know the symbol. */
  readonly isUnknown?: true;
}

/** Makes the request for a part of a session, and reads its answer. */
type AskPrints = (place: PrintWindow) => {
  readonly request: ProviderRequest;
  read(answer: ProviderResponse): PrintPage;
};

/** Maximum length of a page token, in characters; a whole cursor may have 1,000. */
const PAGE_CHARACTERS = 900;

const PrintCursor = z.object({
  session: z.iso.date().refine(isSession),
  page: z.string().max(PAGE_CHARACTERS).optional(),
  /** Number of times that the session was read again. */
  lost: z.int().optional(),
});
type PrintCursor = z.infer<typeof PrintCursor>;

/** Series of the blocks of one symbol; a session is read some time after its close. */
export function printSeries(
  { key, symbol, historyFrom }: { key: string; symbol: string; historyFrom: number },
  ask: AskPrints,
): Series {
  return {
    key,
    next(cursor, now, failures) {
      const position = positionOf(cursor, failures) ?? { session: firstOf(historyFrom, now) };
      const { session, page } = position;
      const closesAt = closeAt(session);
      if (now < closesAt + SETTLED_MS) return { waitUntil: closesAt + SETTLED_MS };
      const opensAt = newYorkInstant(session, "09:30");
      const { request, read } = ask({ session, page, opensAt, closesAt });
      return {
        request,
        read(answer) {
          const printPage = read(answer);
          if (printPage.isUnknown) return unknown(position, symbol, answer.receivedAt);
          return {
            ...blocksOf(printPage.prints, { symbol, session, receivedAt: answer.receivedAt }),
            cursor: JSON.stringify(cursorAfter(position, printPage)),
          };
        },
      };
    },
  };
}

/** Position of the last reading. A session whose page token has expired is read again, a few times. */
function positionOf(
  cursor: string | undefined,
  failures: number | undefined,
): PrintCursor | undefined {
  const position = readCursor(cursor, PrintCursor);
  if (position?.page === undefined || !isPageLost(failures)) return position;
  const { session, lost = 0 } = position;
  return lost < MAX_LOST ? { session, lost: lost + 1 } : { session: nextSession(session) };
}

/** Reading of an answer that says that the provider does not know the symbol. */
const unknown = (position: PrintCursor, symbol: string, receivedAt: number): ParsedResponse => ({
  data: [],
  cursor: JSON.stringify(position),
  notBefore: receivedAt + UNKNOWN_MS,
  unknown: [symbol],
});

const firstOf = (historyFrom: number, now: number): string =>
  sessionOf(Math.max(historyFrom, now - MAX_HISTORY_MS));

function cursorAfter(
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

/** The session after one, or the first from a later date on. */
function sessionAfter(session: string, availableFrom = session): string {
  if (availableFrom <= session) return nextSession(session);
  return isSession(availableFrom) ? availableFrom : nextSession(availableFrom);
}

interface Context {
  readonly symbol: string;
  readonly session: string;
  readonly receivedAt: number;
}

function blocksOf(prints: readonly RawPrint[], context: Context): Omit<ParsedResponse, "cursor"> {
  const { symbol, session } = context;
  const data: Observation[] = [];
  const rejected: Rejected[] = [];
  for (const print of prints) {
    if (isSmall(print)) continue;
    const key = { feed: "prints", symbol, at: print.tradedAt, id: print.id } as const;
    const reason = printFault(print, context);
    if (reason !== undefined) rejected.push({ ...key, reason });
    else data.push({ ...key, record: { ...print, session } });
  }
  return { data, rejected };
}

/** Whether a print is below block size. Not the opposite of `isBlock` where the price is no number: such
 *  a print is not small, so that it is rejected instead of left out. */
const isSmall = ({ price, sizeShares }: RawPrint): boolean =>
  sizeShares < BLOCK_SIZE.shares && price * sizeShares < BLOCK_SIZE.notionalUsd;

/** Why a print cannot be true, `undefined` when it can. */
function printFault(
  { price, sizeShares, tradedAt }: RawPrint,
  context: Context,
): string | undefined {
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
