import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import type { Store, StoreIdentity } from "../../store/port/store.ts";
import { type Backup, decodeBackup, encodeBackup, type RowCounts } from "./backup-format.ts";
import { splitLines } from "./lines.ts";
import { writeNewFile } from "./new-file.ts";
import { completedFraction, type OnCommandProgress } from "./progress.ts";

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
export interface BackupTask {
  readonly store: Store;
  /** Path of a file that does not exist yet. */
  readonly file: string;
  /** The current time, in milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Writes a consistent snapshot of the store to a new file, batch by batch.
 *
 * @throws {Error} If the file exists or cannot be written. A partial file is removed.
 */
export async function writeBackup(
  { store, file, now }: BackupTask,
  onProgress: OnCommandProgress,
): Promise<BackupFacts> {
  const { records, archive } = await store.counts();
  const { identity } = store;
  const createdAt = now();
  let rows: RowCounts = { record: 0, archive: 0 };
  const chunks = encodeBackup({ identity, createdAt, batches: store.dump() }, (counts) => {
    rows = counts;
    const done = counts.record + counts.archive;
    const fraction = completedFraction(done, records + archive);
    onProgress({ doing: "writing the backup", rows: done, fraction });
  });
  const bytes = await writeNewFile({ path: file, chunks, through: [createGzip()] });
  return { identity, createdAt: new Date(createdAt).toISOString(), rows, bytes };
}

/**
 * Starts reading a backup.
 *
 * @throws {Error} If the file is not a backup; the message gives file and line. If a row is
 * damaged, the same kind of error is thrown later, when the row is read.
 */
export function openBackup(file: string): Promise<Backup> {
  return decodeBackup(
    readLines(file, () => {}),
    file,
  );
}

/**
 * Reads a backup to its end without changing anything.
 *
 * @throws {Error} If the backup is damaged; the message gives file and line.
 */
export async function checkBackup(
  file: string,
  onProgress: OnCommandProgress,
): Promise<BackupFacts> {
  const { size: bytes } = await stat(file).catch((error) => {
    throw readingFault(error, file, 0);
  });
  const rows = { record: 0, archive: 0 };
  const onBytes = (done: number) => {
    const fraction = completedFraction(done, bytes);
    onProgress({ doing: "checking the backup", rows: rows.record + rows.archive, fraction });
  };
  const backup = await decodeBackup(readLines(file, onBytes), file);
  for await (const batch of backup.batches) {
    for (const { table } of batch) rows[table] += 1;
  }
  return { identity: backup.identity, createdAt: backup.createdAt, rows, bytes };
}

/**
 * Reads the lines of a compressed file.
 *
 * @param onBytes Called with the number of bytes of the file that were read so far.
 */
async function* readLines(
  file: string,
  onBytes: (done: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip();
  let number = 0;
  try {
    for await (const line of splitLines(pipeline(createReadStream(file), gunzip, () => {}))) {
      number += 1;
      onBytes(gunzip.bytesWritten);
      yield line;
    }
  } catch (error) {
    throw readingFault(error, file, number);
  }
}

function readingFault(error: unknown, file: string, line: number): Error {
  const { message, code = "" } = error as NodeJS.ErrnoException;
  if (!code.startsWith("Z_")) return new Error(`${file} cannot be read: ${message}.`);
  return new Error(
    `${file}, after line ${line}: the compressed data is damaged (${message}). Nothing was changed; use another backup.`,
  );
}
