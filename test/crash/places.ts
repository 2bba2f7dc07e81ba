import { type Collection, collection, type Stored } from "../../src/store/port/records.ts";
import type { Store } from "../../src/store/port/store.ts";
import { COUNTER } from "./ledger.ts";
import type { Seen, Standing } from "./reports.ts";

/** A value that the write load stores. */
export interface Document {
  /** Id of the step that wrote the value. */
  readonly mark: string;
  /** Derived from the mark, so that a partly written value is detected. */
  readonly text: string;
}

/** Records that only one lane writes. */
export const slots = collection<Document>("slot");

/** Records that stay unchanged during the write load. */
export const filler = collection<Document>("filler");

/** Keys that all lanes compete for; only one lane may get each key. */
export const won = collection<Document>("won");

/** Number of records in `won`. */
export const counter = collection<{ readonly count: number }>("counter");

/** Key of the only counter. */
export const contest = "contest";

/** Kind of the archive rows that the write load appends. */
export const ROW_KIND = "storm";

/** Maximum number of rows or records per read. */
const PAGE = 5_000;

/** Creates a value of about 450 bytes as JSON. */
export function documentOf(mark: string): Document {
  return { mark, text: mark.padStart(24, ".").repeat(16) };
}

/** Name of the record group of a lane. */
export function familyOf(lane: string): string {
  return `family.${lane}`;
}

/**
 * What the ledger records for a stored record: its mark, with an asterisk if the record is
 * consumed.
 */
export function seenDocument(stored: Stored<Document> | undefined): Seen {
  if (stored === undefined) return null;
  return stored.consumedAt === undefined ? markOf(stored.value) : `${markOf(stored.value)}*`;
}

function markOf(value: unknown): string {
  const { mark } = value as Document;
  const isWhole = JSON.stringify(value) === JSON.stringify(documentOf(mark));
  return isWhole ? mark : `torn ${JSON.stringify(value)}`;
}

/** Yields everything that the write load left in a store. */
export async function* contentsOf(store: Store): AsyncGenerator<readonly Standing[]> {
  for (const from of [slots, filler, won]) {
    for await (const page of pagesOf(store, from)) {
      yield page.map((stored) => [`${from.name}/${stored.key}`, seenDocument(stored)]);
    }
  }
  const count = (await store.records.get(counter, contest))?.value.count ?? 0;
  yield [[COUNTER, String(count)]];
  yield* archivedRows(store);
}

async function* pagesOf<T>(
  { records }: Store,
  from: Collection<T>,
): AsyncGenerator<readonly Stored<T>[]> {
  for (let after = 0; ; ) {
    const page = await records.list(from, { after, limit: PAGE });
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.revision;
  }
}

async function* archivedRows({ archive }: Store): AsyncGenerator<readonly Standing[]> {
  for (let after: { readonly at: number; readonly id: string } | undefined; ; ) {
    const rows = await archive.read(ROW_KIND, {
      order: "oldest",
      limit: PAGE,
      ...(after && { after }),
    });
    yield rows.map(({ id, body }) => [`row/${id}`, markOf(body)]);
    after = rows.at(-1);
    if (after === undefined || rows.length < PAGE) return;
  }
}
