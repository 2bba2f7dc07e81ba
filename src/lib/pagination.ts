import type { RecordList } from "../market/records.ts";
import { Problem } from "../problem.ts";

/** Which page of a list is wanted. */
export interface PageRequest<T> {
  /** Name of the list; a cursor of another list is refused. */
  readonly list: string;
  /** Most items of the page. */
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
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/**
 * Returns a page. Cursors are opaque to callers and contain the key of the last item seen, so that
 * pages neither repeat nor skip items while the list grows at its front.
 *
 * @throws {Problem} `invalid_request` for a cursor of another list.
 */
export function paginate<T>(items: RecordList<T>, request: PageRequest<T>): Page<T> {
  const { list, limit, cursor, keyOf } = request;
  const start = cursor === undefined ? 0 : startAfter(items, cursor, request);
  const page = items.slice(start, start + limit);
  const last = page.at(-1);
  const hasMore = start + limit < items.length && last !== undefined;
  const next = last && Buffer.from(`${list}:${keyOf(last)}`).toString("base64url");
  return { items: page, nextCursor: hasMore ? (next ?? null) : null };
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
