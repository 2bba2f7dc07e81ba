import { statSync } from "node:fs";
import type { Backlog, StoreSize } from "../store.ts";
import { type Entry, isAlive } from "./entry.ts";
import type { Files } from "./files.ts";
import { logOf } from "./paths.ts";
import type { SqliteFile } from "./sqlite-file.ts";

/** How much room the files take, with their logs. */
export function sizeOf({ base, recordFile, archiveFile }: Files): StoreSize {
  return {
    records: base.data.shelf.size,
    recordBytes: bytesOf(recordFile),
    archiveBytes: bytesOf(archiveFile),
  };
}

function bytesOf({ path }: SqliteFile): number {
  return [path, logOf(path)].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

/** What of some entries waits to be worked on. */
export function backlogOf(entries: Iterable<Entry>, now: number): Backlog {
  let [waiting, due, oldest] = [0, 0, now];
  for (const entry of entries) {
    const { dueAt } = entry.stored;
    if (dueAt === undefined || !isAlive(entry, now)) continue;
    waiting += 1;
    if (dueAt > now) continue;
    due += 1;
    oldest = Math.min(oldest, dueAt);
  }
  return { waiting, due, oldestDueMs: now - oldest };
}
