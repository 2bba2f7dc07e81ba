import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { readWholeBody } from "../outbound/whole-body.ts";

/**
 * Maximum size of a text file, in bytes. The largest are states of a log with a thousand
 * checkpoints and proofs of an entry of 64 kB, which have some 200 kB.
 */
const MAX_BYTES = 1024 * 1024;

/** Opens a file without waiting for the other end of a pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Errors of opening a link that is not followed, and a socket. */
const NO_FILE: ReadonlySet<string | undefined> = new Set(["ELOOP", "ENXIO"]);

/**
 * Reads a small text file that may come from somebody else.
 *
 * @param isLinkFollowed False for a file whose place somebody else may have chosen.
 * @returns `undefined` if there is no file.
 * @throws {Error} If it is no plain file, such as a pipe or a device, has more than `MAX_BYTES`
 * bytes, or cannot be read.
 */
export async function readTextFile(
  path: string,
  isLinkFollowed = true,
): Promise<string | undefined> {
  const flags = isLinkFollowed ? FLAGS : FLAGS | constants.O_NOFOLLOW;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw NO_FILE.has(error.code) ? noPlainFile(path) : error;
  });
  if (file === undefined) return undefined;
  try {
    if (!(await file.stat()).isFile()) throw noPlainFile(path);
    const content = file.createReadStream({ autoClose: false, end: MAX_BYTES });
    const bytes = await readWholeBody(content, MAX_BYTES + 1);
    if (bytes.length > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES} bytes.`);
    return bytes.toString("utf8");
  } finally {
    await file.close();
  }
}

const noPlainFile = (path: string): Error => new Error(`${path} is no plain file.`);
