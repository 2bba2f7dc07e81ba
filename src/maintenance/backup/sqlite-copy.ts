import { stat } from "node:fs/promises";
import { isStoreFault } from "../../store/port/unavailable.ts";
import type { BackupFile, WrittenFile } from "./dump-file.ts";
import { writeNewFile } from "./new-file.ts";
import { completedFraction, type OnCommandProgress } from "./progress.ts";

/** Interval in milliseconds at which the size of the unfinished file is read, for the progress. */
const PROGRESS_MS = 100;

/**
 * Writes a copy of the store as one database file, while this process continues to work.
 *
 * @throws {Error} If the store has no database file, or the file exists or cannot be written. A
 * partial file is removed.
 */
export async function writeCopy(
  { store, file, createdAt }: BackupFile,
  onProgress: OnCommandProgress,
): Promise<WrittenFile> {
  const { copyTo } = store;
  if (copyTo === undefined) {
    throw new Error(
      `The store is in PostgreSQL, of which ${file} cannot be an SQLite file. Name it otherwise, such as store.backup.gz.`,
    );
  }
  const [size, counts] = [await store.size(), await store.counts()];
  const tell = (fraction: number) => {
    const rows = Math.round(fraction * (counts.records + counts.archive));
    onProgress({ doing: "writing the backup", rows, fraction });
  };
  const { bytes, written } = await writeNewFile(file, async (partial) => {
    const stopping = new AbortController();
    const look = async () => {
      // Only the progress needs the size: where it cannot be read, the copy goes on without it.
      const read = await stat(partial).catch(() => undefined);
      if (read !== undefined) tell(completedFraction(read.size, size.bytes));
    };
    const looks = setInterval(
      () => void look().catch((error) => stopping.abort(error)),
      PROGRESS_MS,
    );
    try {
      const copied = await copyTo(partial, createdAt, stopping.signal);
      tell(1);
      return copied;
    } catch (error) {
      stopping.signal.throwIfAborted();
      if (isStoreFault(error)) throw error;
      throw new Error(`${file} cannot be written: ${(error as Error).message}.`);
    } finally {
      clearInterval(looks);
    }
  });
  return { rows: { record: written.records, archive: written.archive }, bytes };
}
