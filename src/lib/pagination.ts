import type { RecordList } from "../market/records.ts";
import { Problem } from "../problem.ts";

/** How to cut one page out of a list. */
export interface PageRequest<T> {
  /** Name of the list, so that a cursor of another one is noticed. */
  readonly list: string;
  /** Most items of the page. */
  readonly limit: number;
  /** `nextCursor` of the page before, absent for the first page. */
  readonly cursor: string | undefined;
  /** A text that tells the items of the list apart. */
  readonly keyOf: (item: T) => string;
  /**
   * How keys run through the list. A page then goes on behind a key whose item has left the list;
   * without an order the item must still be there.
   */
  readonly order?: "ascending" | "descending";
}

/** A part of a list; `nextCursor` is `null` on the last page. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/**
 * Cuts a page. Cursors are opaque to callers and name the last item seen, so that a page stays
 * right while the list grows at its front.
 *
 * @throws {Problem} `invalid_request` for a cursor that is not of this list.
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
