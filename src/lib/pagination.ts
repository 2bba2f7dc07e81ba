import type { RecordList } from "../market/records.ts";
import { Problem } from "../problem.ts";

/** Which page of a list is wanted. */
export interface PageRequest<T> {
  /** Name of the list; a cursor of another list is refused. */
  readonly list: string;
  /** Maximum number of items of the page. */
  readonly limit: number;
  /** `nextCursor` of the previous page; absent for the first page. */
  readonly cursor: string | undefined;
  /** A key that is unique in the list. */
  readonly keyOf: (item: T) => string;
  /** Order of the keys. With an order, a page can continue after an item that has been removed; without
   *  one the item must still exist. */
  readonly order?: "ascending" | "descending";
}

/** One page of a list; `nextCursor` is `null` on the last one. */
interface Page<T> {
  readonly items: T[];
  readonly nextCursor: string | null;
}

/**
 * Returns a page. Cursors are opaque to callers and contain the key of the last item seen, so that
 * pages neither repeat nor skip items while the list grows at its front.
 *
 * @throws {Problem} `invalid_request` for a cursor of another list.
 */
export const paginate = <T>(list: RecordList<T>, request: PageRequest<T>): Page<T> =>
  pageOf(list, request, (items) => items);

/** A page whose items are rendered. */
interface ReadablePageRequest<T, R> extends PageRequest<T> {
  readonly render: (item: T) => R;
  /** The part of a rendered item that takes room in the answer; absent: all of it. */
  readonly shown?: (rendered: R) => unknown;
}

/**
 * Returns a rendered page that a language model can read at once: it has fewer items than the limit
 * if they would be too long, but at least one.
 *
 * @throws {Problem} As `paginate`.
 */
export const readablePage = <T, R>(
  list: RecordList<T>,
  request: ReadablePageRequest<T, R>,
): Page<R> =>
  pageOf(list, request, (items) =>
    readableItems(items.values().map(request.render), request.shown),
  );

/** @param take Converts the items of a page, and may drop the last ones to fit its size. */
function pageOf<T, R>(
  list: RecordList<T>,
  request: PageRequest<T>,
  take: (items: T[]) => R[],
): Page<R> {
  const { limit, cursor, keyOf } = request;
  const start = cursor === undefined ? 0 : startAfter(list, cursor, request);
  const wanted = list.slice(start, start + limit);
  const items = take(wanted);
  const last = wanted[items.length - 1];
  const hasMore = last !== undefined && start + items.length < list.length;
  const cursorOf = (item: T) => Buffer.from(`${request.list}:${keyOf(item)}`).toString("base64url");
  return { items, nextCursor: hasMore ? cursorOf(last) : null };
}

/** Maximum tokens of the items of a page, by `estimatedTokens`. */
const MAX_PAGE_TOKENS = 6_500;

/** As many of the first items as a language model can read at once, at least one. */
export function readableItems<R>(
  items: Iterable<R>,
  shown: (item: R) => unknown = (item) => item,
): R[] {
  const page: R[] = [];
  let tokens = 0;
  for (const item of items) {
    tokens += estimatedTokens(JSON.stringify(shown(item)));
    if (page.length > 0 && tokens > MAX_PAGE_TOKENS) break;
    page.push(item);
  }
  return page;
}

/** Digits, letters, other ASCII characters, and the rest. */
const PIECES = /\d{1,3}|[A-Za-z]+|[!-/:-@[-`{-~]+|[^\x20-\x7e]/g;

/**
 * About how many tokens a language model reads in a text: more than those of ordinary JSON, and at least
 * two thirds of those of any text. Common tokenizers have a token for three digits, for most English
 * words, for the punctuation between members, and for each byte that they do not know.
 */
function estimatedTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECES)) {
    if (/\d/.test(piece)) tokens += 1;
    else if (/[A-Za-z]/.test(piece)) tokens += Math.ceil(piece.length / 3);
    else if (piece > "~") tokens += 3;
    else tokens += piece.length > 4 ? piece.length : 1;
  }
  return tokens;
}

function startAfter<T>(
  paged: RecordList<T>,
  cursor: string,
  { list, keyOf, order }: PageRequest<T>,
): number {
  const items = [...paged];
  const text = Buffer.from(cursor, "base64url").toString();
  const key = text.slice(list.length + 1);
  const index = items.findIndex((item) => keyOf(item) === key);
  if (!text.startsWith(`${list}:`) || (index < 0 && order === undefined)) throw foreignCursor();
  if (index >= 0) return index + 1;
  const isBehind = (item: T) => (order === "ascending" ? keyOf(item) > key : keyOf(item) < key);
  const next = items.findIndex(isBehind);
  return next < 0 ? items.length : next;
}

const foreignCursor = () =>
  new Problem("invalid_request", {
    detail: "cursor: it does not belong to this list.",
    next: "Ask again with the same filters and without a cursor.",
  });
