import { closeSync, fsyncSync, openSync } from "node:fs";

/**
 * Makes directory entries durable with fsync(2). Does nothing on Windows, which cannot open a
 * directory; NTFS journals its entries.
 */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const file = openSync(folder, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
