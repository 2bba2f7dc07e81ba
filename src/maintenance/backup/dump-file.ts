import { createReadStream, createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { pipeline as piped } from "node:stream/promises";
import { createGunzip, createGzip, type Gunzip } from "node:zlib";
import type { Store } from "../../store/port/store.ts";
import { type Backup, decodeBackup, encodeBackup, type RowCounts } from "./backup-format.ts";
import { splitLines } from "./lines.ts";
import { writeNewFile } from "./new-file.ts";
import { completedFraction, type OnCommandProgress } from "./progress.ts";

/** Source and target of a backup file. */
export interface BackupFile {
  readonly store: Store;
  /** Path of a file that does not exist yet. */
  readonly file: string;
  /** When the backup was started, in ISO 8601 format. */
  readonly createdAt: string;
}

/** Number of rows and size of a file that was written. */
export interface WrittenFile {
  readonly rows: RowCounts;
  readonly bytes: number;
}

/**
 * Writes a compressed dump of the store to a new file, batch by batch.
 *
 * @throws {Error} If the file exists or cannot be written. A partial file is removed.
 */
export async function writeDump(
  { store, file, createdAt }: BackupFile,
  onProgress: OnCommandProgress,
): Promise<WrittenFile> {
  const { records, archive } = await store.counts();
  let rows: RowCounts = { record: 0, archive: 0 };
  const { identity } = store;
  const chunks = encodeBackup({ identity, createdAt, batches: store.dump() }, (counts) => {
    rows = counts;
    const done = counts.record + counts.archive;
    const fraction = completedFraction(done, records + archive);
    onProgress({ doing: "writing the backup", rows: done, fraction });
  });
  const { bytes } = await writeNewFile(file, (partial) =>
    piped(Readable.from(chunks), createGzip(), createWriteStream(partial)),
  );
  return { rows, bytes };
}

/**
 * Starts reading a compressed dump.
 *
 * @throws {Error} If the file is not a dump; the message gives file and line. If a row is damaged,
 * the same kind of error is thrown later, when the row is read.
 */
export async function openDump(file: string): Promise<Backup> {
  const { size } = await stat(file);
  const gunzip = createGunzip();
  const backup = await decodeBackup(readLines(file, gunzip), file);
  return { ...backup, fraction: () => completedFraction(gunzip.bytesWritten, size) };
}

/** Reads the lines of a compressed file. */
async function* readLines(file: string, gunzip: Gunzip): AsyncGenerator<Buffer, void, undefined> {
  let number = 0;
  try {
    for await (const line of splitLines(pipeline(createReadStream(file), gunzip, () => {}))) {
      number += 1;
      yield line;
    }
  } catch (error) {
    const { message, code = "" } = error as NodeJS.ErrnoException;
    if (!code.startsWith("Z_")) throw unreadableError(file, error);
    throw new Error(
      `${file}, after line ${number}: the compressed data is damaged (${message}). Nothing was changed; use another backup.`,
    );
  }
}

/** The error for a file that cannot be read. */
export function unreadableError(file: string, error: unknown): Error {
  return new Error(`${file} cannot be read: ${(error as Error).message}.`);
}
