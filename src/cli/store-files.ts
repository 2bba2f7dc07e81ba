import { stat } from "node:fs/promises";
import { pathsIn, withCompanions } from "../store/embedded/paths.ts";

/**
 * Refuses to take a file of the embedded store for a copy, whatever the name: a process that reads
 * and closes one of them lets go of the locks that it has on it (fcntl(2)).
 *
 * @param args Of a command.
 * @param folder Of the store.
 * @throws {Error} That names the file.
 */
export async function refuseStoreFiles(args: unknown, folder: string): Promise<void> {
  const { file } = args as { readonly file?: string };
  if (file === undefined) return;
  const { records, archive, lock } = pathsIn(folder);
  const own = await Promise.all([...[records, archive].flatMap(withCompanions), lock].map(inode));
  const given = await inode(file);
  if (given === undefined || !own.includes(given)) return;
  throw new Error(`${file} belongs to the store itself; name another file. Nothing was changed.`);
}

/** @returns What tells a file from all others; `undefined` when there is none. */
async function inode(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
