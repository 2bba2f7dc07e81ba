import { existsSync } from "node:fs";
import { link, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { StoreChoice } from "../config/config.ts";
import { syncFolder } from "../lib/sync-folder.ts";
import { checkBackup, openBackup } from "../store/backup/backup.ts";
import type { Store, StoreIdentity, StoreMode } from "../store/port/store.ts";
import { openPostgres } from "../store/postgres/open.ts";
import {
  createFolder,
  dataFilesOf,
  holdsStore,
  lockFolder,
  type Paths,
  pathsIn,
  settleNext,
} from "../store/sqlite/folder.ts";
import { openEmbedded } from "../store/sqlite/open.ts";
import type { OpenedStore } from "./command.ts";
import { keeping, openExisting } from "./run-on-store.ts";

/** Every message about a damaged store names this command, and no other message does. */
const REMEDY = "market-signal store restore";

/**
 * Opens what a backup is restored into. A store that is whole is used as it is. Where there is
 * none, or a damaged one, a new one is made beside it and takes its place when it is complete: so
 * at no moment a server finds something empty to start on.
 *
 * @throws {Error} When the file is no backup, or another process holds the store.
 */
export async function openForRestore(
  { file }: { readonly file: string },
  settings: StoreChoice,
): Promise<OpenedStore> {
  const { databaseUrl, folder } = settings;
  const { mode } = await identityIn(file);
  if (databaseUrl !== undefined) return keeping(await openDatabase(databaseUrl, { file, mode }));
  const paths = pathsIn(folder);
  try {
    if (holdsStore(paths)) return keeping(await openExisting(settings));
  } catch (error) {
    if (!(error as Error).message.includes(REMEDY)) throw error;
  }
  return openBeside(paths, mode);
}

/** What the message says of a database without a store, as that of a folder does. */
const NO_STORE = "there is no store in";

/** A store is made in an empty database when the whole backup is known to be sound. */
async function openDatabase(
  url: string,
  { file, mode }: { readonly file: string; readonly mode: StoreMode },
): Promise<Store> {
  try {
    return await openPostgres({ url });
  } catch (error) {
    if (!(error as Error).message.includes(NO_STORE)) throw error;
  }
  await checkBackup(file, () => {});
  return openPostgres({ url, mode });
}

async function identityIn(file: string): Promise<StoreIdentity> {
  const backup = await openBackup(file);
  await backup.close();
  return backup.identity;
}

/** Nobody else can open the folder until the new store is in its place, or was given up. */
async function openBeside(paths: Paths, mode: StoreMode): Promise<OpenedStore> {
  createFolder(paths.folder);
  const unlock = lockFolder(paths);
  const beside = pathsIn(join(paths.folder, "restoring"));
  const discard = () => rm(beside.folder, { recursive: true, force: true });
  const abandon = () => discard().finally(unlock);
  // What an earlier restore left that was killed.
  await discard();
  return {
    store: await openEmbedded({ folder: beside.folder, mode, now: Date.now }),
    abandon,
    async finish() {
      try {
        const kept = await keepDamaged(paths);
        await takePlace(beside, paths);
        return kept;
      } finally {
        await abandon();
      }
    },
  };
}

/** Gives the files that are there second names. @returns What to say about it. */
async function keepDamaged(paths: Paths): Promise<readonly string[]> {
  const stamp = new Date().toISOString().replaceAll(/[-:.]/g, "");
  const kept: string[] = [];
  for (const path of dataFilesOf(paths).filter(existsSync)) {
    const name = path.replace(/\.sqlite(-wal|-shm)?$/, `.sqlite.damaged-${stamp}$1`);
    await link(path, name);
    kept.push(`The ${basename(path)} that was there is kept as ${name}.`);
  }
  syncFolder(paths.folder);
  return kept;
}

/** In the way of the store's own changes of files, which the next start finishes after a crash. */
async function takePlace(from: Paths, to: Paths): Promise<void> {
  await rename(from.store, to.next);
  syncFolder(to.folder);
  settleNext(to);
}
