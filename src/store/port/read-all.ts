import type { Collection, Records, Stored } from "./records.ts";

/** Records per page. */
const PAGE = 1_000;

/**
 * Reads every record of a collection, oldest change first.
 *
 * @param group Only records of this group.
 */
export async function readAll<T>(
  records: Pick<Records, "list">,
  from: Collection<T>,
  group?: string,
): Promise<readonly Stored<T>[]> {
  // A record that changes meanwhile is returned again by a later page.
  const found = new Map<string, Stored<T>>();
  for (let after = 0; ; ) {
    const selection = { ...(group !== undefined && { group }), after, limit: PAGE };
    const page = await records.list(from, selection);
    for (const stored of page) found.set(stored.key, stored);
    const last = page.at(-1);
    if (last === undefined) return [...found.values()];
    after = last.revision;
  }
}
