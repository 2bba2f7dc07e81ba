/** A page of `GET /api/signals`. */
interface SignalListPage<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/**
 * All items of `GET /api/signals` in full. How many fit on a page depends on their length.
 *
 * @param read Sends a GET request.
 * @param query Further parameters, each after `&`.
 */
export async function allSignals<T>(
  read: (path: string) => Promise<SignalListPage<T>>,
  query = "",
): Promise<readonly T[]> {
  const items: T[] = [];
  for (let cursor = ""; ; ) {
    const page = await read(`/api/signals?detail=full&limit=500${query}${cursor}`);
    items.push(...page.items);
    if (page.nextCursor === null) return items;
    cursor = `&cursor=${page.nextCursor}`;
  }
}
