import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { isUnreachable } from "./failure.ts";
import { faultOfLog } from "./log-check.ts";
import { readMeta, removeMeta, setMeta } from "./meta.ts";
import { checkpoint, closingOnError, fileOf, type SqliteFile } from "./sqlite-file.ts";

/**
 * Looks at the log of a file before SQLite does, which takes a missing or damaged one for the end
 * of the work.
 *
 * @returns What is wrong with it.
 */
export function faultOfLogOf(path: string): string | undefined {
  const log = logOf(path);
  if (existsSync(log)) return faultOfLog(log);
  return isMarked(path) ? "it is missing" : undefined;
}

/** Where SQLite keeps the write-ahead log of a file. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/**
 * Marks a file, without its log, as open: from then on it is not whole without the log. On a full
 * disk it stays as it was, so that it can be read at least.
 */
export function markOpen(file: SqliteFile): void {
  try {
    file.transaction(() => setMeta(file, "open", "yes"));
    checkpoint(file);
  } catch (error) {
    if (!isUnreachable(error)) throw error;
  }
}

/** Ends that; the log must be written back afterwards. */
export function markClosed(file: SqliteFile): void {
  file.transaction(() => removeMeta(file, "open"));
}

/** Whether the file alone says so; looking leaves no trace beside it. */
function isMarked(path: string): boolean {
  const url = pathToFileURL(path);
  url.search = "immutable=1";
  const file = fileOf(path, new DatabaseSync(url, { readOnly: true }));
  const isOpen = closingOnError(file, () => readMeta(file).has("open"));
  file.close();
  return isOpen;
}
