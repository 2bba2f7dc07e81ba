import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";

/** Number of random bytes in the name of a temporary file. */
const NAME_BYTES = 8;

/**
 * Replaces a file through a temporary file beside it, so that it has either its old content or all
 * of the new one. The temporary file has a random name and must not exist, so nothing that another
 * user put into the folder, such as a link, is written through.
 *
 * @param write Writes the content; if it fails, the file is left as it was.
 * @returns What `write` returns.
 */
export async function replaceFile<T>(
  path: string,
  write: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const temporary = `${path}.${randomBytes(NAME_BYTES).toString("hex")}.new`;
  const file = await open(temporary, "wx");
  try {
    const written = await write(file).finally(() => file.close());
    await rename(temporary, path);
    return written;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
