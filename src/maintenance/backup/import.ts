import { readFile, stat } from "node:fs/promises";
import { writeAuditEntry } from "../../store/audit-entry.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection } from "../../store/port/records.ts";
import type { Store } from "../../store/port/store.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import {
  COLLECTIONS_NOT_EXPORTED,
  type ExportDocument,
  type ExportedRecord,
  parseExport,
} from "./export-format.ts";

/**
 * Maximum size of a document, in MiB, because it is parsed in one piece. A backup has no such
 * limit, because it is read line by line.
 */
const MAX_DOCUMENT_MIB = 64;

/** Result of importing one collection. */
export interface ImportedCollection {
  readonly written: number;
  /** Number of records that were removed because the document has none to replace them. */
  readonly removed: number;
  /** Number of records of the document that were skipped because they have expired. */
  readonly expired: number;
}

/** The document to import, and the target store. */
interface ImportTask {
  readonly store: Store;
  readonly document: ExportDocument;
  /** The current time, in milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Reads an export and validates it against the store.
 *
 * @throws {Error} If the document is invalid or belongs to a store of another mode; the message
 * gives the file and, for an invalid document, the place of the fault.
 */
export async function readExport(file: string, store: Store): Promise<ExportDocument> {
  const { size } = await stat(file).catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${error.message}.`);
  });
  if (size > MAX_DOCUMENT_MIB * 1024 * 1024) {
    throw new Error(`${file} is larger than ${MAX_DOCUMENT_MIB} MiB; use a backup for so much.`);
  }
  const document = parseExport(await readFile(file, "utf8"), file);
  const { mode } = store.identity;
  if (document.mode !== mode) {
    throw new Error(
      `${file} is of a store of the mode ${document.mode}; this one belongs to ${mode}. Nothing was changed.`,
    );
  }
  const odd = [...document.collections.keys()].find((name) =>
    COLLECTIONS_NOT_EXPORTED.includes(name),
  );
  if (odd !== undefined) {
    throw new Error(`${file}: collections.${odd}: is never imported. Nothing was changed.`);
  }
  return document;
}

/**
 * Replaces the records of the collections that the document contains, in one transaction with an
 * audit row. Other collections stay unchanged.
 *
 * @returns The number of changes by collection.
 */
export function importDocument({
  store,
  document,
  now,
}: ImportTask): Promise<Readonly<Record<string, ImportedCollection>>> {
  const at = now();
  const names = [...document.collections.keys()];
  const entry = {
    action: "store.imported",
    actor: "operator",
    target: store.identity.id,
    detail: { from: document.storeId, collections: names.join(" ") },
  };
  return transact(store.records, async (tx) => {
    const done = new Map<string, ImportedCollection>();
    for (const [name, records] of document.collections) {
      const alive = [...records].filter(([, { expiresAt = at + 1 }]) => expiresAt > at);
      const kept = new Set(alive.map(([key]) => key));
      const stored = await readAll(tx, collection(name));
      const gone = stored.filter(({ key }) => !kept.has(key));
      for (const { key } of gone) tx.remove(collection(name), key);
      for (const [key, record] of alive) writeRecord(tx, name, { key, record, at });
      const expired = records.size - alive.length;
      done.set(name, { written: alive.length, removed: gone.length, expired });
    }
    writeAuditEntry(tx, entry, at);
    return Object.fromEntries(done);
  });
}

interface Writing {
  readonly key: string;
  readonly record: ExportedRecord;
  /**
   * Time of the import, in milliseconds since the epoch. The record's instants are converted to
   * durations from this time.
   */
  readonly at: number;
}

/**
 * Writes a record. A record that was consumed is consumed again, but with the time of the import,
 * because the store cannot set an earlier time.
 */
function writeRecord(tx: Transaction, name: string, { key, record, at }: Writing): void {
  const { value, groups, expiresAt, dueAt, consumedAt } = record;
  tx.put(collection(name), {
    key,
    value,
    ...(groups && { groups }),
    ...(expiresAt !== undefined && { ttlMs: expiresAt - at }),
    ...(dueAt !== undefined && { dueInMs: dueAt - at }),
  });
  if (consumedAt !== undefined) tx.consume(collection(name), key);
}
