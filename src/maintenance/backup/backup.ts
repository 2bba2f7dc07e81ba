import { open, stat } from "node:fs/promises";
import type { Store, StoreIdentity } from "../../store/port/store.ts";
import { openCopy, SQLITE_MAGIC } from "../../store/sqlite/copy.ts";
import type { Backup, RowCounts } from "./backup-format.ts";
import { openDump, unreadableError, writeDump } from "./dump-file.ts";
import { completedFraction, type OnCommandProgress } from "./progress.ts";
import { writeCopy } from "./sqlite-copy.ts";

/** Summary of a backup that was written or completely read. */
export interface BackupFacts {
  readonly identity: StoreIdentity;
  /** When the backup was started, in ISO 8601 format. */
  readonly createdAt: string;
  readonly rows: RowCounts;
  /** Size of the file, in bytes. */
  readonly bytes: number;
}

/** Source and target of a backup. */
interface BackupTask {
  readonly store: Store;
  /**
   * Path of a file that does not exist yet. A name that ends in .sqlite asks for an SQLite file.
   */
  readonly file: string;
  /** The current time, in milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Writes a consistent snapshot of the store to a new file: a dump, or a database file.
 *
 * @throws {Error} If the file exists or cannot be written, or the store has no database file. A
 * partial file is removed.
 */
export async function writeBackup(
  { store, file, now }: BackupTask,
  onProgress: OnCommandProgress,
): Promise<BackupFacts> {
  const createdAt = new Date(now()).toISOString();
  const write = file.endsWith(".sqlite") ? writeCopy : writeDump;
  const { rows, bytes } = await write({ store, file, createdAt }, onProgress);
  return { identity: store.identity, createdAt, rows, bytes };
}

/**
 * Starts reading a backup of either kind.
 *
 * @throws {Error} If the file is not a backup; the message gives the file and what is wrong. If a
 * row is damaged, the same kind of error is thrown later, when the row is read.
 */
export async function openBackup(file: string): Promise<Backup> {
  if ((await kindOf(file)) !== "database") return openDump(file);
  const { identity, facts, batches, close } = openCopy(file);
  const { createdAt, records, archive } = facts;
  const fraction = (rows: number) => completedFraction(rows, records + archive);
  return { identity, createdAt, batches, fraction, close };
}

/**
 * Reads a backup to its end without changing anything.
 *
 * @throws {Error} If the backup is damaged; the message gives the file and what is wrong.
 */
export async function checkBackup(
  file: string,
  onProgress: OnCommandProgress,
): Promise<BackupFacts> {
  const { identity, createdAt, batches, fraction } = await openBackup(file);
  const rows = { record: 0, archive: 0 };
  for await (const batch of batches) {
    for (const { table } of batch) rows[table] += 1;
    const done = rows.record + rows.archive;
    onProgress({ doing: "checking the backup", rows: done, fraction: fraction(done) });
  }
  const { size: bytes } = await stat(file);
  return { identity, createdAt, rows, bytes };
}

/**
 * What a file is, by its first bytes: a database file of SQLite, an export of version 1.0.0, or
 * else a dump.
 *
 * @throws {Error} If the file cannot be read.
 */
export async function kindOf(path: string): Promise<"database" | "export" | "dump"> {
  const file = await open(path).catch((error) => {
    throw unreadableError(path, error);
  });
  const { buffer, bytesRead } = await file
    .read({ buffer: Buffer.alloc(SQLITE_MAGIC.length) })
    .finally(() => file.close());
  const start = buffer.subarray(0, bytesRead).toString("latin1");
  if (start === SQLITE_MAGIC) return "database";
  return start.startsWith("{") ? "export" : "dump";
}
