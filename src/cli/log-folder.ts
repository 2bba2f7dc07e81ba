import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createFolder } from "../lib/create-folder.ts";
import { replaceFile } from "../lib/replace-file.ts";
import { readWholeBody } from "../outbound/whole-body.ts";
import { CheckFailure } from "../tree/check.ts";
import type { LogSource } from "../tree/tree-source.ts";

/** Opens a file without following a link, and without waiting for the other end of a pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads a log that was downloaded to a folder. The folder may come from somebody else, so a link in
 * it, a pipe or a device is not read.
 */
export const folderLogSource = (folder: string): LogSource => ({
  async read(path, maxBytes) {
    if (!(await hasFile(folder, path))) return undefined;
    const file = await open(placeOf(folder, path), FLAGS);
    try {
      return await readWholeBody(file.createReadStream(), maxBytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
      throw new CheckFailure(`${path} is longer than ${maxBytes} bytes`);
    }
  },
});

/**
 * Whether the folder of a log has a file.
 *
 * @param path Path below the folder, with slashes.
 * @throws {CheckFailure} If the file is no plain file, or is not in plain folders: of a link, the
 * other side would choose what is read and written.
 */
export async function hasFile(folder: string, path: string): Promise<boolean> {
  const names = path.split("/");
  for (let count = 1; count <= names.length; count++) {
    const part = names.slice(0, count).join("/");
    const found = await lstat(placeOf(folder, part)).catch(unlessMissing);
    if (found === undefined) return false;
    const isFile = count === names.length;
    if (isFile ? found.isFile() : found.isDirectory()) continue;
    throw new CheckFailure(`${part} is no plain ${isFile ? "file" : "folder"}`);
  }
  return true;
}

/**
 * Writes a file of a log, which exists either completely or not at all.
 *
 * @throws {CheckFailure} As `hasFile`.
 */
export async function storeFile(folder: string, path: string, bytes: Uint8Array): Promise<void> {
  await hasFile(folder, path);
  const place = placeOf(folder, path);
  createFolder(dirname(place));
  await replaceFile(place, (file) => file.writeFile(bytes));
}

const placeOf = (folder: string, path: string): string => join(folder, ...path.split("/"));

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
