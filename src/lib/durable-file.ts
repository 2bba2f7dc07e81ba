import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolder } from "./sync-folder.ts";

/** File mode: readable and writable only by the owner. */
const OWNER_FILE = 0o600;

/**
 * Replaces a file atomically: after a crash it contains either the old text or the new one. When
 * this function returns, the new text is on disk.
 */
export function writeDurably(path: string, text: string): void {
  const next = `${path}.new`;
  const file = openSync(next, "w", OWNER_FILE);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, path);
  syncFolder(dirname(path));
}
