import { z } from "zod";
import { DAY_MS } from "../../lib/day.ts";
import { MIN_BLOCK_SIZE } from "../../market/block-size.ts";
import { isTradingDay, nextSession, sessionCloseAt, sessionOf } from "../../market/calendar.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";
import type { Print } from "../../market/records.ts";
import { isPageTokenExpired, readCursor } from "./cursor.ts";
import { ProviderFault } from "./fault.ts";
import type {
  Observation,
  ParsedResponse,
  ProviderRequest,
  ProviderSeries,
  RejectedObservation,
} from "./provider.ts";
import type { ProviderResponse } from "./provider-response.ts";
import { isLaterThanArrival } from "./publication-times.ts";

/**
 * Reads off-exchange prints, session by session. Only blocks from regular trading hours are stored:
 * a large company has a million trades a day, and FINRA publishes the total volume of the day.
 */

/**
 * Pause after the close, in milliseconds. Trades are free after 15 minutes, and canceled trades of
 * the session are marked by then. One more minute allows for clocks that differ.
 */
const SETTLED_MS = 16 * 60_000;

/**
 * Maximum length of the history, in milliseconds, which is 82 sessions: the factor compares with 60
 * sessions, and paging through more would take days.
 */
const MAX_HISTORY_MS = 120 * DAY_MS;

/**
 * Pause after the provider did not know a symbol, before the next request for it, in milliseconds.
 */
const UNKNOWN_MS = 86_400_000;

/** Maximum number of times that a session with expired page tokens is read again; then it is
 *  skipped. */
const MAX_LOST = 3;

/** A print as reported by a provider; its session is the session that was requested. */
export type RawPrint = Omit<Print, "session">;

/** Identifies the page to request among the prints of a session. */
export interface PrintPageRequest {
  readonly session: string;
  /** Start of regular trading, Unix milliseconds. */
  readonly opensAt: number;
  /** End of regular trading, Unix milliseconds. */
  readonly closesAt: number;
  /** Page token from `next` of the previous page; `undefined` for the first page. */
  readonly page: string | undefined;
}

/** Prints of one page. */
export interface PrintPage {
  readonly prints: readonly RawPrint[];
  /** Token of the next page; `undefined` on the last page. */
  readonly next?: string | undefined;
  /** ISO date of the first available session, if the requested session is too old. */
  readonly availableFrom?: string;
  /** Set if the provider does not know the symbol. */
  readonly isUnknown?: true;
}

/** Builds the request for a page of a session, and parses the answer. */
type BuildPrintRequest = (place: PrintPageRequest) => {
  readonly request: ProviderRequest;
  read(answer: ProviderResponse): PrintPage;
};

/** Maximum length of a page token, in characters; a whole cursor may have 1,000. */
const PAGE_CHARACTERS = 900;

const PrintCursor = z.object({
  session: z.iso.date().refine(isTradingDay),
  page: z.string().max(PAGE_CHARACTERS).optional(),
  /** Number of times that the session was started again after its page token expired. */
  lost: z.int().optional(),
});
type PrintCursor = z.infer<typeof PrintCursor>;

/** Series of the block trades of one symbol; a session is read 16 minutes after its close. */
export function printSeries(
  { key, symbol, historyFrom }: { key: string; symbol: string; historyFrom: number },
  ask: BuildPrintRequest,
): ProviderSeries {
  return {
    key,
    next(cursor, now, failures) {
      const position = positionOf(cursor, failures) ?? { session: firstOf(historyFrom, now) };
      const { session, page } = position;
      const closesAt = sessionCloseAt(session);
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

/**
 * Position from which to continue. If its page token has expired, the session is read again, at
 * most `MAX_LOST` times, and then skipped.
 */
function positionOf(
  cursor: string | undefined,
  failures: number | undefined,
): PrintCursor | undefined {
  const position = readCursor(cursor, PrintCursor);
  if (position?.page === undefined || !isPageTokenExpired(failures)) return position;
  const { session, lost = 0 } = position;
  return lost < MAX_LOST ? { session, lost: lost + 1 } : { session: nextSession(session) };
}

/** The result if the provider does not know the symbol. */
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

/**
 * The next session or, if the available history begins later, the first session of that history.
 */
function sessionAfter(session: string, availableFrom = session): string {
  if (availableFrom <= session) return nextSession(session);
  return isTradingDay(availableFrom) ? availableFrom : nextSession(availableFrom);
}

interface Context {
  readonly symbol: string;
  readonly session: string;
  readonly receivedAt: number;
}

function blocksOf(prints: readonly RawPrint[], context: Context): Omit<ParsedResponse, "cursor"> {
  const { symbol, session } = context;
  const data: Observation[] = [];
  const rejected: RejectedObservation[] = [];
  for (const print of prints) {
    if (isSmall(print)) continue;
    const key = { feed: "prints", symbol, at: print.tradedAt, id: print.id } as const;
    const reason = printFault(print, context);
    if (reason !== undefined) rejected.push({ ...key, reason });
    else data.push({ ...key, record: { ...print, session } });
  }
  return { data, rejected };
}

/**
 * Whether a print is below block size. If the price is not a number, neither this nor
 * `isBlockTrade` is true, so that the print is rejected rather than ignored.
 */
const isSmall = ({ price, sizeShares }: RawPrint): boolean =>
  sizeShares < MIN_BLOCK_SIZE.shares && price * sizeShares < MIN_BLOCK_SIZE.notionalUsd;

/** Why a print is implausible; `undefined` if it is not. */
function printFault(
  { price, sizeShares, tradedAt }: RawPrint,
  context: Context,
): string | undefined {
  if (!(price > 0 && sizeShares > 0 && Number.isFinite(price * sizeShares))) {
    return `price ${price} and size ${sizeShares} must be positive`;
  }
  if (isLaterThanArrival(tradedAt, context.receivedAt)) {
    return `${isoText(tradedAt)} has not come yet at ${isoText(context.receivedAt)}`;
  }
  if (newYorkDate(tradedAt) === context.session) return undefined;
  return `${isoText(tradedAt)} is not on ${context.session}`;
}

const isoText = (at: number): string => new Date(at).toISOString();
