import { DatabaseSync } from "node:sqlite";
import type { DumpRow, StoreIdentity } from "../port/store.ts";
import { checkJson, checkRevision, checkStorableName, toStorableInstant } from "../port/values.ts";
import { ArchiveTable, archiveDumpRowOf } from "./archive.ts";
import {
  createFile,
  markNextStoreFinished,
  removeNextStore,
  type StorePaths,
  syncFile,
} from "./folder.ts";
import type { RecordDumpRow } from "./record-row.ts";
import { RecordTable } from "./record-table.ts";
import { FORMAT_VERSION, PAGE_BYTES, SCHEMA_SQL, StoreFile } from "./store-file.ts";

/**
 * Gap between the newest revision of a copy and the next revision that is assigned. The source
 * store may have assigned higher revisions to records that it has since removed, and the copy does
 * not contain them. A revision that a client still remembers must not be reused.
 */
export const REVISION_GAP = 1_000_000;

/** Facts to write into the successor file of a store. */
interface NextStoreOptions {
  /** Id of the store, and its mode or `UNSETTLED`. */
  readonly identity: Readonly<Record<keyof StoreIdentity, string>>;
  /** Newest revision of the store. Revisions assigned later are higher. */
  readonly revision: number;
}

/**
 * The successor file of a store while it is being written. Until it is finished, it does not affect
 * the current store.
 */
export class NextStore {
  readonly #paths: StorePaths;
  readonly #file: StoreFile;
  readonly #records: RecordTable;
  readonly #archive: ArchiveTable;
  #revision: number;
  #isOver = false;

  /** Creates the file without a journal, because an unfinished file is discarded after a crash. */
  constructor(paths: StorePaths, { identity, revision }: NextStoreOptions) {
    removeNextStore(paths);
    createFile(paths.unfinished);
    this.#paths = paths;
    this.#revision = revision;
    const file = new StoreFile(paths.unfinished, new DatabaseSync(paths.unfinished));
    this.#file = file;
    const tables = file.closingOnError(() => {
      file.database.exec(`
        PRAGMA page_size = ${PAGE_BYTES};
        PRAGMA journal_mode = OFF;
        PRAGMA synchronous = OFF;
        BEGIN;
      `);
      for (const sql of SCHEMA_SQL) file.database.exec(sql);
      file.setMeta("format", FORMAT_VERSION);
      file.setMeta("id", identity.id);
      file.setMeta("mode", identity.mode);
      const archive = new ArchiveTable(file, {
        withNextRevision: (write) => write(++this.#revision),
      });
      return { records: new RecordTable(file), archive };
    });
    this.#records = tables.records;
    this.#archive = tables.archive;
  }

  /** Adds a row. @throws {Error} If the row cannot be stored unchanged. */
  add(row: DumpRow): void {
    if (row.table === "archive") {
      checkJson(row.text);
      this.#archive.insert({ ...archiveDumpRowOf({ ...row, body: null }), text: row.text });
    } else {
      insertCopiedRecord(this.#records, row);
      this.#revision = Math.max(this.#revision, row.revision + REVISION_GAP);
    }
  }

  /** Makes the successor file complete and durable. From then on, it replaces the store. */
  finish(): void {
    this.#file.setMeta("revision", String(this.#revision));
    this.#file.database.exec("COMMIT; PRAGMA journal_mode = WAL");
    this.#file.close();
    syncFile(this.#paths.unfinished);
    markNextStoreFinished(this.#paths);
    this.#isOver = true;
  }

  /** Removes the successor file if it is unfinished. */
  discard(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#file.close();
    removeNextStore(this.#paths);
  }
}

/**
 * Inserts a copied record.
 *
 * @throws {Error} If the record cannot be stored unchanged, or already exists.
 */
function insertCopiedRecord(records: RecordTable, row: RecordDumpRow): void {
  const { table: _, groups, ...record } = row;
  for (const name of [row.collection, row.key, ...groups]) checkStorableName(name);
  checkJson(row.text);
  checkRevision(row.revision + REVISION_GAP);
  const instant = (at: number | null) => (at === null ? null : toStorableInstant(at));
  records.insert({
    ...record,
    groups: JSON.stringify(groups),
    expiresAt: instant(row.expiresAt),
    dueAt: instant(row.dueAt),
    consumedAt: instant(row.consumedAt),
  });
}
