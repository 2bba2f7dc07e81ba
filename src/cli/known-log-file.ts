import { readFile, rename, writeFile } from "node:fs/promises";
import { KnownLog } from "../log/verify/known-log.ts";

/** The state of a log from a file; `undefined` if there is no file yet. @throws {Error} If the file
 *  has another format. */
export async function readKnownLog(path: string): Promise<KnownLog | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return KnownLog.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path} is no state of a log: name another file with --state.`, { cause });
  }
}

/** Writes the state of a log atomically: a concurrent reader sees the old file or the new one. */
export async function writeKnownLog(path: string, known: KnownLog): Promise<void> {
  await writeFile(`${path}.new`, `${JSON.stringify(known, undefined, 1)}\n`);
  await rename(`${path}.new`, path);
}
