import { randomUUID } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { link, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { syncFolder } from "../../lib/sync-folder.ts";

/** Only the owner may read what was in the store. */
const OWNER_ONLY = 0o600;

/** What goes into a new file. */
export interface NewFile {
  readonly path: string;
  readonly chunks: AsyncIterable<string>;
  /** What the chunks pass on their way, for example a compressor. */
  readonly through?: readonly Transform[];
}

/**
 * Writes a file that is there whole and on disk when this resolves, or not at all. It is written
 * beside its place first, for its owner only.
 *
 * @returns Its size in bytes.
 * @throws {Error} When there is a file already, or the disk does not take it.
 */
export async function writeNewFile({ path, chunks, through = [] }: NewFile): Promise<number> {
  refuseExisting(path);
  const partial = `${path}.partial-${randomUUID().slice(0, 8)}`;
  try {
    const file = createWriteStream(partial, { flags: "wx", mode: OWNER_ONLY, flush: true });
    await pipeline([Readable.from(chunks), ...through, file]);
    const { size } = await stat(partial);
    await putInPlace(partial, path);
    syncFolder(dirname(path));
    return size;
  } catch (error) {
    await rm(partial, { force: true });
    throw isOfFiles(error) ? new Error(`${path} cannot be written: ${error.message}.`) : error;
  }
}

/** Codes of file systems that know no second names, such as FAT (link(2)). */
const NO_LINKS: readonly (string | undefined)[] = ["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"];

/** Unlike a change of the name, a second name never takes the place of a file. */
async function putInPlace(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
    await rm(partial);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw isThere(path);
    if (!NO_LINKS.includes(code)) throw error;
    refuseExisting(path);
    await rename(partial, path);
  }
}

/** Whether the system refused something; other errors come from what is written. */
function isOfFiles(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}

function refuseExisting(path: string): void {
  if (existsSync(path)) throw isThere(path);
}

function isThere(path: string): Error {
  return new Error(`${path} is there already; name a new file.`);
}
