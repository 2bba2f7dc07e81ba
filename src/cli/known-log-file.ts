import { replaceFile } from "../lib/replace-file.ts";
import { KnownLog } from "../tree/known-log.ts";
import { readTextFile } from "./text-file.ts";

/**
 * Reads the last known state of a log from a file; `undefined` if the file does not exist.
 * @throws {Error} If the file has another format, or is none (`readTextFile`).
 */
export async function readKnownLogFile(path: string): Promise<KnownLog | undefined> {
  const text = await readTextFile(path);
  if (text === undefined) return undefined;
  try {
    return KnownLog.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path} is no state of a log: name another file with --state.`, { cause });
  }
}

/**
 * Writes the last known state of a log atomically: a concurrent reader sees either the old file or
 * the new one.
 */
export async function writeKnownLogFile(path: string, known: KnownLog): Promise<void> {
  const text = `${JSON.stringify(known, undefined, 1)}\n`;
  await replaceFile(path, (file) => file.writeFile(text));
}
