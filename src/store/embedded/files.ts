import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LowSync } from "lowdb";
import type { StoreIdentity, StoreMode } from "../store.ts";
import { syncFolder } from "../sync-folder.ts";
import { ARCHIVE_SCHEMA, type ArchiveTable, createArchiveTable } from "./archive-table.ts";
import { damaged, inUse, isBusy, isSqliteError, isUnreachable, messageOf } from "./failure.ts";
import { faultOfLog } from "./log-check.ts";
import { checkSchema, FORMAT, readMeta } from "./meta.ts";
import { createFile, logOf, type Paths, usable, withCompanions } from "./paths.ts";
import {
  createRecordTable,
  RECORD_SCHEMA,
  type RecordBase,
  type RecordTable,
} from "./record-table.ts";
import { createDraft, createShelf } from "./shelf.ts";
import {
  checkpoint,
  closingOnError,
  type FileOptions,
  openSqliteFile,
  PAGE_BYTES,
  type SqliteFile,
} from "./sqlite-file.ts";

/** Largest archive that is looked through at every start, in bytes: about half a second. The rows of
 *  a larger one are checked as they are read. */
const ARCHIVE_CHECK_BYTES = 256 * 2 ** 20;

/** Both files of a store, open. */
export interface Files {
  readonly identity: StoreIdentity;
  /** When the store was moved elsewhere, as text. */
  readonly moved: string | undefined;
  readonly base: RecordBase;
  readonly recordFile: SqliteFile;
  readonly archiveFile: SqliteFile;
  readonly table: RecordTable;
  readonly archive: ArchiveTable;
  close(): void;
}

/** The files that are in use; loading puts others in their place. */
export interface Holder {
  files: Files;
}

/**
 * Holds the folder of a store against other processes.
 *
 * @returns Lets go of it; the system does when the process dies.
 * @throws {Error} When another process holds it, or nothing can be written there.
 */
export function lockFolder({ folder, lock, records }: Paths): () => void {
  usable(folder, () => createFile(lock));
  const database = new DatabaseSync(lock);
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw isBusy(error) ? inUse(records) : error;
  }
  return () => {
    if (database.isOpen) database.close();
  };
}

/** Opens the files of a store. @throws {Error} When one is damaged; says what to do. */
export function openFiles(paths: Paths): Files {
  const records = placeOf(paths.records);
  const archive = placeOf(paths.archive);
  checkThere(records);
  checkThere(archive);
  const recordFile = openChecked({
    options: { path: records, sharing: "one" },
    schema: RECORD_SCHEMA,
    isChecked: true,
  });
  return closingOnError(recordFile, () => {
    const archiveFile = openChecked({
      options: { path: archive, sharing: "process" },
      schema: ARCHIVE_SCHEMA,
      isChecked: statSync(archive).size <= ARCHIVE_CHECK_BYTES,
    });
    return closingOnError(archiveFile, () => filesOf(recordFile, archiveFile));
  });
}

function filesOf(recordFile: SqliteFile, archiveFile: SqliteFile): Files {
  const facts = readMeta(recordFile);
  if (facts.get("id") !== readMeta(archiveFile).get("id")) {
    throw damaged(archiveFile.path, `it does not belong to ${recordFile.path}`);
  }
  const table = createRecordTable(recordFile);
  const archive = createArchiveTable(archiveFile);
  const shelf = createShelf();
  const base = new LowSync(table, { shelf, draft: createDraft(shelf) });
  askOf(recordFile.path, () => base.read());
  const [id, mode] = [facts.get("id"), facts.get("mode")];
  if (id === undefined || mode === undefined) throw damaged(recordFile.path, "a fact is missing");
  return {
    identity: { id, mode: mode as StoreMode },
    moved: facts.get("moved"),
    ...{ base, recordFile, archiveFile, table, archive },
    close() {
      archive.closeSnapshots();
      for (const file of [recordFile, archiveFile]) closeWhole(file);
    },
  };
}

/** What could not be written back stays in the log, which the next start reads. */
function closeWhole(file: SqliteFile): void {
  if (!file.database.isOpen) return;
  try {
    checkpoint(file);
  } catch (error) {
    if (!isSqliteError(error)) throw error;
  } finally {
    file.close();
  }
}

/** Where a file is that may be a link: there SQLite keeps the log and the index beside it. */
function placeOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** SQLite fills up a last page that was cut off; only a log can have left one like that. */
function checkThere(path: string): void {
  if (!existsSync(path)) throw damaged(path, "it is missing");
  const { size } = statSync(path);
  if (size === 0) throw damaged(path, "it is empty");
  if (size % PAGE_BYTES !== 0 && !existsSync(logOf(path))) throw damaged(path, "it is cut off");
  const fault = existsSync(logOf(path)) ? askOf(path, () => faultOfLog(logOf(path))) : undefined;
  if (fault !== undefined) throw damaged(logOf(path), fault);
  withCompanions(path).filter(existsSync).forEach(createFile);
}

/** A file and what it is held against. */
interface Expected {
  readonly options: FileOptions;
  readonly schema: readonly string[];
  /** Whether every page is looked at. */
  readonly isChecked: boolean;
}

function openChecked({ options, schema, isChecked }: Expected): SqliteFile {
  const { path } = options;
  const file = askOf(path, () => openSqliteFile(options));
  // The log was created beside the file just now; without its name it would be lost.
  syncFolder(dirname(path));
  return closingOnError(file, () => {
    const format = askOf(path, () => readMeta(file).get("format"));
    if (format !== FORMAT) throw new Error(`${path} has a format of another version (${format})`);
    askOf(path, () => {
      if (isChecked) checkPages(file);
      checkSchema(file, schema);
    });
    return file;
  });
}

/** Unlike `quick_check`, this compares the indexes with the rows. */
function checkPages({ database }: SqliteFile): void {
  const row = database.prepare("PRAGMA integrity_check(1)").get();
  const found = String(row?.integrity_check);
  if (found !== "ok") throw new Error(found);
}

/** Does something with a file; whatever SQLite does not like about it is damage. */
function askOf<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isBusy(error)) throw inUse(path);
    const message = messageOf(error);
    if (isUnreachable(error)) throw new Error(`${path} cannot be opened (${message})`);
    throw damaged(path, message);
  }
}
