import { readFile, stat } from "node:fs/promises";

/** A file beyond this is no model and is not read, in bytes. */
const MAX_BYTES = 1_000_000;

/**
 * Reads the trained model that the social factor averages with its lexicon.
 *
 * @param file Absolute path; `undefined`: there is no model.
 * @param parse Reads the text of a model and throws an error when it is none.
 * @throws {Error} that names the setting and the file when it cannot be read or is no model.
 */
export async function openSocialModel<Model>(
  file: string | undefined,
  parse: (text: string) => Model,
): Promise<Model | undefined> {
  if (file === undefined) return undefined;
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, too many for a model`);
    return parse(await readFile(file, "utf8"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`SOCIAL_MODEL: ${file} cannot be used: ${reason}`, { cause: error });
  }
}
