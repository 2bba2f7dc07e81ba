import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { syncFolder } from "../../lib/sync-folder.ts";
import { isOutboxRecord, upgradeOutboxRecord } from "../../maintenance/backup/outbox-records.ts";
import { ArchiveTable } from "./archive.ts";
import {
  createFile,
  databaseFiles,
  markNextStoreFinished,
  recoverNextStore,
  removeNextStore,
  replaceFile,
  type StorePaths,
  syncFile,
} from "./folder.ts";
import { checkBeforeOpening, resolveSymbolicLink } from "./integrity-check.ts";
import { insertCopiedRecord } from "./next-store.ts";
import { type RecordDumpRow, RecordTable } from "./record-table.ts";
import { damagedFileError, explainFileErrors } from "./sqlite-errors.ts";
import { checksumOf, FORMAT_1_UPGRADE_SQL, FORMAT_VERSION, StoreFile } from "./store-file.ts";

/** Size in bytes up to which format 1 checked the archive at every start. */
const ARCHIVE_CHECK_BYTES = 256 * 2 ** 20;

/** Number of bytes copied per step. */
const COPY_BYTES = 4 * 2 ** 20;

/** Called with the progress of the migration, as text for the operator. */
export type OnMigrationProgress = (text: string) => void;

/** The two open files of a store in format 1. */
interface Format1 {
  readonly records: StoreFile;
  readonly archive: StoreFile;
}

/**
 * Merges the two files of a store in format 1 into one file. The old files are kept in a backup
 * folder. After an interruption, the migration starts over, unless it is already complete.
 *
 * @throws {Error} If a file is damaged. Nothing is changed then.
 */
export function migrateFormat1(paths: StorePaths, onProgress: OnMigrationProgress): void {
  settleFormat1(paths);
  onProgress(`${paths.folder} is of an earlier version; its files are checked.`);
  const files = openFormat1(paths);
  try {
    createFile(paths.unfinished);
    copyArchive(files.archive.path, paths.unfinished, onProgress);
    addRecords(files.records, paths.unfinished, onProgress);
  } catch (error) {
    removeNextStore(paths);
    throw error;
  } finally {
    files.records.close();
    files.archive.close();
  }
  syncFile(paths.unfinished);
  markNextStoreFinished(paths);
  recoverNextStore(paths);
  onProgress(`Done. The files of the earlier version are kept in ${paths.format1Backup}.`);
}

/**
 * If a program of format 1 stopped while it was loading a copy, completes the loading or discards
 * the copy.
 */
function settleFormat1({ format1: { records, archive } }: StorePaths): void {
  if (existsSync(`${records}.new`)) {
    for (const path of [archive, records]) {
      if (existsSync(`${path}.new`)) replaceFile(`${path}.new`, path);
    }
  }
  const left = [`${archive}.new`, `${records}.unfinished`].flatMap(databaseFiles);
  for (const path of left) rmSync(path, { force: true });
  syncFolder(dirname(records));
}

/**
 * Opens both files, performs the checks that format 1 made at every start, and writes the changes
 * in the write-ahead logs back to the files.
 */
function openFormat1({ format1 }: StorePaths): Format1 {
  const [recordsPath, archivePath] = [
    resolveSymbolicLink(format1.records),
    resolveSymbolicLink(format1.archive),
  ];
  checkBeforeOpening(recordsPath);
  checkBeforeOpening(archivePath);
  const records = openChecked(recordsPath, true);
  return records.closingOnError(() => {
    const archive = openChecked(archivePath, statSync(archivePath).size <= ARCHIVE_CHECK_BYTES);
    return archive.closingOnError(() => {
      if (records.meta().get("id") !== archive.meta().get("id")) {
        throw damagedFileError(archivePath, `it does not belong to ${recordsPath}`);
      }
      return { records, archive };
    });
  });
}

function openChecked(path: string, isChecked: boolean): StoreFile {
  const file = explainFileErrors(path, () => StoreFile.open(path));
  return file.closingOnError(() => {
    const format = explainFileErrors(path, () => file.meta().get("format"));
    if (format !== "1") throw new Error(`${path} has a format of another version (${format})`);
    explainFileErrors(path, () => {
      const [fault] = isChecked ? file.faults("integrity_check(1)") : [];
      if (fault !== undefined) throw new Error(fault);
      file.checkpoint();
    });
    return file;
  });
}

/**
 * Copies the archive file page by page, because it is the larger file and its tables are
 * unchanged. The file is open exclusively, and its write-ahead log is empty.
 */
function copyArchive(from: string, to: string, onProgress: OnMigrationProgress): void {
  const [source, target] = [openSync(from, "r"), openSync(to, "r+")];
  try {
    const { size } = fstatSync(source);
    const block = Buffer.alloc(COPY_BYTES);
    let reported = 0;
    for (let at = 0; at < size; ) {
      const bytes = readSync(source, block, 0, COPY_BYTES, at);
      writeSync(target, block, 0, bytes, at);
      at += bytes;
      const percent = Math.floor((100 * at) / size);
      if (percent < reported + 10) continue;
      reported = percent;
      onProgress(`Copying the archive: ${percent} % of ${Math.ceil(size / 2 ** 20)} MiB.`);
    }
  } finally {
    closeSync(source);
    closeSync(target);
  }
}

function addRecords(source: StoreFile, to: string, onProgress: OnMigrationProgress): void {
  const facts = source.meta();
  const file = StoreFile.open(to);
  try {
    file.database.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    for (const sql of FORMAT_1_UPGRADE_SQL) file.database.exec(sql);
    for (const name of ["mode", "moved"] as const) {
      const value = facts.get(name);
      if (value !== undefined) file.setMeta(name, value);
    }
    const newest = copyRecords(source, file, onProgress);
    file.setMeta("revision", String(Math.max(newest, Number(facts.get("revision") ?? 0))));
    file.setMeta("format", FORMAT_VERSION);
    file.database.exec("COMMIT; PRAGMA journal_mode = WAL");
  } finally {
    file.close();
  }
}

/** Copies the records. @returns The newest revision. */
function copyRecords(source: StoreFile, to: StoreFile, onProgress: OnMigrationProgress): number {
  const [records, archive] = [new RecordTable(to), new ArchiveTable(to)];
  let [copied, newest] = [0, 0];
  const select = source.database.prepare("SELECT * FROM record ORDER BY revision");
  for (const row of explainedRows(source.path, select.iterate())) {
    const record = recordOf(source.path, row as unknown as Format1Row);
    const added = isOutboxRecord(record) ? upgradeOutboxRecord(record) : record;
    if (added.table === "archive") archive.insert(added);
    else explainFileErrors(source.path, () => insertCopiedRecord(records, added));
    newest = record.revision;
    copied += 1;
    if (copied % 20_000 === 0) onProgress(`Copying the records: ${copied} so far.`);
  }
  onProgress(`Copied ${copied} records.`);
  return newest;
}

function* explainedRows<T>(path: string, rows: Iterator<T>): Generator<T> {
  for (;;) {
    const { value, done } = explainFileErrors(path, () => rows.next());
    if (done) return;
    yield value;
  }
}

/** A row of the record table of format 1. */
interface Format1Row {
  readonly collection: string;
  readonly key: string;
  readonly text: string;
  readonly revision: number;
  readonly groups: string;
  readonly expires_at: number | null;
  readonly due_at: number | null;
  readonly consumed_at: number | null;
  readonly crc: number;
}

/** Converts a row of format 1. @throws {Error} If the checksum of the record does not match. */
function recordOf(path: string, row: Format1Row): RecordDumpRow {
  const { collection, key, text, revision, groups } = row;
  const [expiresAt, dueAt, consumedAt] = [row.expires_at, row.due_at, row.consumed_at];
  const columns = [collection, key, text, revision, groups, expiresAt, dueAt, consumedAt];
  if (checksumOf(columns) !== row.crc)
    throw damagedFileError(path, "a record is not as it was written");
  return {
    table: "record",
    collection,
    key,
    text,
    revision,
    groups: JSON.parse(groups),
    expiresAt,
    dueAt,
    consumedAt,
  };
}
