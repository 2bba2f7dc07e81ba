import { Problem } from "../lib/problem.ts";
import type { RecordList } from "../market/records.ts";

/** Request for one page of a list. */
export interface PageRequest<T> {
  /** Name of the list; a cursor of another list is rejected. */
  readonly list: string;
  /** Maximum number of items on the page. */
  readonly limit: number;
  /** `nextCursor` of the previous page; absent for the first page. */
  readonly cursor: string | undefined;
  /** Returns the key of an item, which must be unique in the list. */
  readonly keyOf: (item: T) => string;
  /**
   * Order of the keys. With an order, a page can continue after an item that has been removed;
   * without an order, the item must still exist.
   */
  readonly order?: "ascending" | "descending";
}

/** One page of a list; `nextCursor` is `null` on the last page. */
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

/** Request for a page with rendered items. */
interface ReadablePageRequest<T, R> extends PageRequest<T> {
  readonly render: (item: T) => R;
  /** The part of a rendered item that takes up space in the response. Default: the whole item. */
  readonly shown?: (rendered: R) => unknown;
}

/**
 * Returns a page of rendered items that is short enough for a language model to read at once: it
 * has fewer items than the limit if the page would otherwise be too long, but at least one item.
 *
 * @throws {Problem} `invalid_request` for a cursor of another list.
 */
export const readablePage = <T, R>(
  list: RecordList<T>,
  request: ReadablePageRequest<T, R>,
): Page<R> =>
  pageOf(list, request, (items) =>
    readableItems(items.values().map(request.render), request.shown),
  );

/**
 * @param take Converts the items of a page, and may omit the last items so that the page is short
 * enough.
 */
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

/** Maximum number of tokens in the items of a page, as counted by `estimatedTokens`. */
const MAX_PAGE_TOKENS = 6_500;

/**
 * The longest prefix of the items that has at most `MAX_PAGE_TOKENS`, but at least one item.
 * @param shown The part of an item that is counted. Default: the whole item.
 */
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

/**
 * Pieces of a text that are counted separately: up to three digits, a word of letters, a run of
 * other ASCII characters, or any single other character.
 */
const PIECES = /\d{1,3}|[A-Za-z]+|[!-/:-@[-`{-~]+|[^\x20-\x7e]/g;

/**
 * Estimates the number of tokens that a language model needs for a text: more than the true number
 * for ordinary JSON, and at least two thirds of the true number for any text. Common tokenizers use
 * a token for three digits, for most English words, for the punctuation between members, and for
 * each byte of an unknown character.
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
