import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder and its parents. An existing folder is left unchanged. Unlike `mkdirSync` with
 * `recursive`, it also returns on file systems that reject every new folder as a missing path
 * (ENOENT), such as /proc.
 *
 * @param folder Absolute path.
 * @param mode Permissions of the created folders, before the umask.
 * @throws {Error} The error of the system if the folder cannot be created.
 */
export function createFolder(folder: string, mode = 0o777): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !existsSync(folder)) throw error;
  }
}
