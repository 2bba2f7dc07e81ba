import { setImmediate } from "node:timers/promises";
import type { Archive, ArchiveRow, ArchiveSelection } from "./archive.ts";
import type { Collection, RecordReader, Stored } from "./records.ts";

/** Number of records or rows read per page. */
const PAGE = 1_000;

/**
 * Reads a collection page by page, oldest change first. A record that changes during the reading is
 * returned again by a later page.
 *
 * @param range Reads only records of the group, and only those with a higher revision than `after`.
 */
export async function* readRecordPages<T>(
  records: RecordReader,
  from: Collection<T>,
  range: { readonly group?: string; readonly after?: number } = {},
): AsyncGenerator<readonly Stored<T>[]> {
  for (let { after = 0 } = range; ; ) {
    const page = await records.list(from, { ...range, after, limit: PAGE });
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.revision;
  }
}

/**
 * Reads every record of a collection, oldest change first.
 *
 * @param group Reads only records of this group.
 */
export async function readAll<T>(
  records: RecordReader,
  from: Collection<T>,
  group?: string,
): Promise<readonly Stored<T>[]> {
  const found = new Map<string, Stored<T>>();
  for await (const page of readRecordPages(records, from, group === undefined ? {} : { group })) {
    for (const stored of page) found.set(stored.key, stored);
  }
  return [...found.values()];
}

/**
 * Reads archive rows of one kind lazily, page by page, while the consumer iterates.
 *
 * @param limit Maximum number of rows per page, at most 10,000.
 */
export async function* archivePages(
  archive: Archive,
  kind: string,
  selection: Omit<ArchiveSelection, "after" | "limit">,
  limit: number = PAGE,
): AsyncGenerator<readonly ArchiveRow[]> {
  for (let after: ArchiveRow | undefined; ; ) {
    const page = await archive.read(kind, { ...selection, limit, ...(after && { after }) });
    yield page;
    // Lets requests be served between two pages, because the embedded store reads synchronously.
    await setImmediate();
    after = page.at(-1);
    if (after === undefined || page.length < limit) return;
  }
}
