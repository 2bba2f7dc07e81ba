import { Problem } from "./problem.ts";

/** How to cut one page out of a list. */
export interface PageRequest<T> {
  /** Most items of the page. */
  readonly limit: number;
  /** `nextCursor` of the page before, absent for the first page. */
  readonly cursor: string | undefined;
  /** A text that tells the items of the list apart and stays the same while it grows. */
  readonly keyOf: (item: T) => string;
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
export function cutPage<T>(list: readonly T[], { limit, cursor, keyOf }: PageRequest<T>): Page<T> {
  const start = cursor === undefined ? 0 : indexAfter(list, cursor, keyOf);
  const items = list.slice(start, start + limit);
  const last = items.at(-1);
  const hasMore = start + limit < list.length && last !== undefined;
  return { items, nextCursor: hasMore ? Buffer.from(keyOf(last)).toString("base64url") : null };
}

function indexAfter<T>(list: readonly T[], cursor: string, keyOf: (item: T) => string): number {
  const key = Buffer.from(cursor, "base64url").toString();
  const index = list.findIndex((item) => keyOf(item) === key);
  if (index >= 0) return index + 1;
  throw new Problem("invalid_request", {
    detail: "cursor: it does not belong to this list.",
    next: "Ask again with the same filters and without a cursor.",
  });
}
