import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { link, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../../lib/sync-folder.ts";

/** File mode. Only the owner may read the file, because the store can contain secrets. */
const OWNER_ONLY = 0o600;

/**
 * Writes a file atomically: when this resolves, the file is complete and on disk; otherwise it does
 * not exist. The file is first written under a temporary name in the same folder, readable by its
 * owner only.
 *
 * @param write Writes the contents into the empty file of the given path.
 * @returns The size of the file, in bytes, and what `write` returns.
 * @throws {Error} If the file already exists or cannot be written.
 */
export async function writeNewFile<T>(
  path: string,
  write: (partial: string) => Promise<T>,
): Promise<{ readonly bytes: number; readonly written: T }> {
  refuseExisting(path);
  const partial = `${path}.partial-${randomUUID().slice(0, 8)}`;
  try {
    await (await open(partial, "wx", OWNER_ONLY)).close();
    const written = await write(partial);
    await syncFile(partial);
    const { size } = await stat(partial);
    await putInPlace(partial, path);
    syncFolder(dirname(path));
    return { bytes: size, written };
  } catch (error) {
    await rm(partial, { force: true });
    throw isOfFiles(error) ? new Error(`${path} cannot be written: ${error.message}.`) : error;
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r+");
  await file.sync().finally(() => file.close());
}

/** Error codes of file systems without hard links, such as FAT (link(2)). */
const NO_LINKS: readonly (string | undefined)[] = ["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"];

/**
 * Moves a finished file into place. It uses a hard link because, unlike a rename, a link never
 * replaces an existing file.
 */
async function putInPlace(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
    await rm(partial);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw existsError(path);
    if (!NO_LINKS.includes(code)) throw error;
    refuseExisting(path);
    await rename(partial, path);
  }
}

/**
 * Whether an error was reported by the file system; other errors come from the source of the
 * contents.
 */
function isOfFiles(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}

function refuseExisting(path: string): void {
  if (existsSync(path)) throw existsError(path);
}

function existsError(path: string): Error {
  return new Error(`${path} already exists; name a new file.`);
}
