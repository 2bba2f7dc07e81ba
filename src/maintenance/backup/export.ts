import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { DumpRow, Store, StoreIdentity } from "../../store/port/store.ts";
import {
  COLLECTIONS_NOT_EXPORTED,
  EXPORT_FORMAT,
  EXPORT_FORMAT_VERSION,
  type ExportedRecord,
} from "./export-format.ts";
import { writeNewFile } from "./new-file.ts";
import { completedFraction, type OnCommandProgress } from "./progress.ts";

/**
 * The latest instant with a four-digit year (ISO 8601), 9999-12-31T23:59:59.999Z, in milliseconds
 * since the epoch.
 */
const LATEST_INSTANT = 253_402_300_799_999;

/** Records in key order, grouped by collection. */
type Collections = Map<string, Map<string, ExportedRecord>>;

/** Summary of an export. */
export interface ExportFacts {
  readonly identity: StoreIdentity;
  /** When the export was written, in ISO 8601 format. */
  readonly exportedAt: string;
  /** Number of records by collection. */
  readonly collections: Readonly<Record<string, number>>;
  /** Size of the file, in bytes. */
  readonly bytes: number;
}

/** Source and target of an export. */
export interface ExportTask {
  readonly store: Store;
  /** Path of a file that does not exist yet. */
  readonly file: string;
  /** The current time, in milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Writes a consistent snapshot of the records as one readable JSON document, sorted by collection
 * and key. All records are held in memory.
 *
 * @throws {Error} If the file exists or cannot be written. A partial file is removed.
 */
export async function writeExport(
  { store, file, now }: ExportTask,
  onProgress: OnCommandProgress,
): Promise<ExportFacts> {
  const at = now();
  const { identity } = store;
  const collections = await readRecords(store, at, onProgress);
  const head = {
    format: EXPORT_FORMAT,
    version: EXPORT_FORMAT_VERSION,
    storeId: identity.id,
    mode: identity.mode,
    exportedAt: new Date(at).toISOString(),
  };
  const { bytes } = await writeNewFile(file, (partial) =>
    pipeline(Readable.from(documentText(head, collections)), createWriteStream(partial)),
  );
  const sizes = sorted(collections).map(([name, records]) => [name, records.size]);
  return { identity, exportedAt: head.exportedAt, collections: Object.fromEntries(sizes), bytes };
}

async function readRecords(
  store: Store,
  at: number,
  onProgress: OnCommandProgress,
): Promise<Collections> {
  const collections: Collections = new Map();
  const total = (await store.counts()).records;
  let rows = 0;
  for await (const batch of store.dump()) {
    const records = batch.filter((row) => row.table === "record");
    for (const row of records) if (isExported(row, at)) add(collections, row);
    rows += records.length;
    onProgress({ doing: "reading the records", rows, fraction: completedFraction(rows, total) });
    // A dump contains all records before the first archive row.
    if (records.length < batch.length) break;
  }
  return collections;
}

type RecordRow = Extract<DumpRow, { readonly table: "record" }>;

function isExported({ collection, expiresAt }: RecordRow, at: number): boolean {
  return !COLLECTIONS_NOT_EXPORTED.includes(collection) && (expiresAt === null || expiresAt > at);
}

function add(collections: Collections, row: RecordRow): void {
  const { collection, key, text, groups, expiresAt, dueAt, consumedAt } = row;
  const records = collections.get(collection) ?? new Map();
  collections.set(collection, records);
  records.set(key, {
    value: JSON.parse(text),
    ...(groups.length > 0 && { groups }),
    ...(expiresAt !== null && { expiresAt }),
    ...(dueAt !== null && { dueAt }),
    ...(consumedAt !== null && { consumedAt }),
  });
}

/** Yields the document in chunks, because it may exceed the maximum string length. */
async function* documentText(head: object, collections: Collections): AsyncGenerator<string> {
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "collections": {`;
  for (const [at, [name, records]] of sorted(collections).entries()) {
    yield `${at > 0 ? "," : ""}\n    ${JSON.stringify(name)}: {`;
    for (const [at, [key, record]] of sorted(records).entries()) {
      yield `${at > 0 ? "," : ""}\n      ${JSON.stringify(key)}: ${recordText(record)}`;
    }
    yield "\n    }";
  }
  yield "\n  }\n}\n";
}

function recordText(record: ExportedRecord): string {
  const { expiresAt, dueAt, consumedAt } = record;
  const readable = {
    ...record,
    ...(expiresAt !== undefined && { expiresAt: iso(expiresAt) }),
    ...(dueAt !== undefined && { dueAt: iso(dueAt) }),
    ...(consumedAt !== undefined && { consumedAt: iso(consumedAt) }),
  };
  return JSON.stringify(readable, null, 2).replaceAll("\n", "\n      ");
}

const iso = (at: number) => new Date(Math.min(at, LATEST_INSTANT)).toISOString();

function sorted<V>(map: ReadonlyMap<string, V>): readonly (readonly [string, V])[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
