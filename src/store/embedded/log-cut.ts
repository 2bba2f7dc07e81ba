import { statSync, truncateSync } from "node:fs";
import type { Holder } from "./files.ts";
import { logOf, syncFile } from "./paths.ts";
import { PAGE_BYTES, type SqliteFile } from "./sqlite-file.ts";

/** Bytes of a write-ahead log before its frames, and of a frame
 *  (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). */
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + PAGE_BYTES;

/**
 * Takes out of the logs what stands behind the last transaction that was done: one that was refused
 * because it could not be synced may be there as a whole, and the next start would take it for done.
 *
 * @throws {Error} When the disk does not let it.
 */
export function cutLogs({ files }: Holder): void {
  for (const file of [files.recordFile, files.archive.file]) cutLog(file);
}

function cutLog({ database, path }: SqliteFile): void {
  // NOOP writes nothing back; it only tells how many frames of the log count.
  const frames = Number(database.prepare("PRAGMA wal_checkpoint(NOOP)").get()?.log);
  if (!(frames >= 0)) throw new Error(`${path} does not say how long its log is`);
  const bytes = frames === 0 ? 0 : HEADER_BYTES + frames * FRAME_BYTES;
  const log = logOf(path);
  if (statSync(log).size <= bytes) return;
  truncateSync(log, bytes);
  syncFile(log);
}
