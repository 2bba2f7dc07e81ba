import { stat } from "node:fs/promises";
import { watchCredentials } from "../auth/credential-changes.ts";
import type { StoreSettings } from "../config/config.ts";
import { hasStoredKeys } from "../keys/key-records.ts";
import { openKeyring } from "../keys/keyring.ts";
import { readMasterKey } from "../keys/master-key.ts";
import type { OnCommandProgress } from "../maintenance/backup/progress.ts";
import type { Store } from "../store/port/store.ts";
import { databaseFiles, storePathsIn } from "../store/sqlite/folder.ts";
import { openEmbedded } from "../store/sqlite/open.ts";
import type { CommandContext, CommandOutcome, OpenedStore, StoreCommand } from "./command.ts";

/** A command to run directly on the store. */
interface DirectCommandRun {
  readonly command: StoreCommand;
  readonly args: unknown;
  readonly settings: StoreSettings;
}

/** Opens the store and runs a command in this process. */
export async function runCommandDirectly(
  { command, args, settings }: DirectCommandRun,
  onProgress: OnCommandProgress,
): Promise<CommandOutcome> {
  await rejectStoreFileArguments(args, settings.folder);
  const opened = command.open
    ? await command.open(args, settings)
    : openedWithoutLock(await openExistingStore(settings));
  const { store, finish } = opened;
  const outcome = await runOn(opened, { command, args, settings }, onProgress);
  await store.close();
  return { ...outcome, notes: [...outcome.notes, ...(await finish())] };
}

async function runOn(
  { store, abandon }: OpenedStore,
  { command, args, settings }: DirectCommandRun,
  onProgress: OnCommandProgress,
): Promise<CommandOutcome> {
  try {
    // Tells processes that run on the same database which credentials the command has ended.
    const watched = watchCredentials(store).store;
    return await command.run(args, contextOf(watched, settings), onProgress);
  } catch (error) {
    await store.close();
    await abandon();
    throw error;
  }
}

/**
 * Opens the existing store. The PostgreSQL driver is loaded only when needed, because every server
 * loads this file.
 */
export async function openExistingStore({ folder, databaseUrl }: StoreSettings): Promise<Store> {
  if (databaseUrl === undefined) return openEmbedded({ folder, now: Date.now });
  const { openPostgres } = await import("../store/postgres/open.ts");
  return openPostgres({ url: databaseUrl });
}

/**
 * Wraps a store that was opened without a separate lock on its folder, so that no further work is
 * needed after the command has ended.
 */
export function openedWithoutLock(store: Store): OpenedStore {
  return { store, finish: async () => [], abandon: async () => {} };
}

function contextOf(store: Store, { folder, masterKey }: StoreSettings): CommandContext {
  const { records } = store;
  return {
    store,
    folder,
    now: Date.now,
    holder: "command",
    async keyring() {
      const places = { fromEnv: masterKey, folder, holdsKeys: await hasStoredKeys(records) };
      return openKeyring({ records, masterKey: readMasterKey(places), now: Date.now });
    },
  };
}

/**
 * Rejects a file argument that refers to a file of the embedded store, under any name: a process
 * that opens and closes a file loses all its locks on that file (fcntl(2)).
 *
 * @param args Arguments of a command.
 * @param folder Folder of the store.
 * @throws {Error} With the name of the file.
 */
export async function rejectStoreFileArguments(args: unknown, folder: string): Promise<void> {
  const { file, state } = args as { readonly file?: string; readonly state?: string };
  const paths = storePathsIn(folder);
  const own = await Promise.all([...databaseFiles(paths.store), paths.lock].map(inode));
  for (const path of [file, state].filter((each) => each !== undefined)) {
    const given = await inode(path);
    if (given === undefined || !own.includes(given)) continue;
    throw new Error(`${path} belongs to the store itself; name another file. Nothing was changed.`);
  }
}

/** @returns Device and inode number; `undefined` when the file does not exist. */
async function inode(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
