import { closeSync, fsyncSync, openSync } from "node:fs";

/** Makes the names in a folder durable. Windows cannot open a folder, and does it by itself. */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const file = openSync(folder, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
