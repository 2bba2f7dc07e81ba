import { existsSync } from "node:fs";
import { link, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { StoreSettings } from "../config/config.ts";
import { syncFolder } from "../lib/sync-folder.ts";
import { checkBackup, kindOf, openBackup } from "../maintenance/backup/backup.ts";
import {
  NoStoreError,
  type Store,
  type StoreIdentity,
  type StoreMode,
} from "../store/port/store.ts";
import { openPostgres } from "../store/postgres/open.ts";
import {
  createFolder,
  databaseFiles,
  holdsStore,
  lockFolder,
  recoverNextStore,
  type StorePaths,
  storePathsIn,
} from "../store/sqlite/folder.ts";
import { openEmbedded } from "../store/sqlite/open.ts";
import type { OpenedStore } from "./command.ts";
import { openExistingStore, openedWithoutLock } from "./run-on-store.ts";

/**
 * Command that the error messages about a missing or damaged store recommend. No other error
 * message contains it, so it identifies these errors.
 */
const REMEDY = "market-signal store restore";

/**
 * Opens the store that a backup is restored into. An intact store is used as it is. If the store is
 * missing or damaged, a new store is created in a subfolder and replaces it when complete, so that
 * no server ever starts on an incomplete store.
 *
 * @throws {Error} When the file is not a backup, or another process has the store open.
 */
export async function openStoreForRestore(
  { file }: { readonly file: string },
  settings: StoreSettings,
): Promise<OpenedStore> {
  const { databaseUrl, folder } = settings;
  if ((await kindOf(file)) === "export") return openedWithoutLock(await openForExport(settings));
  const { mode } = await identityIn(file);
  if (databaseUrl !== undefined)
    return openedWithoutLock(await openDatabase(databaseUrl, { file, mode }));
  const paths = storePathsIn(folder);
  try {
    if (holdsStore(paths)) return openedWithoutLock(await openExistingStore(settings));
  } catch (error) {
    if (error instanceof NoStoreError)
      return openedWithoutLock(
        await openEmbedded({ folder, mode, mustSettle: true, now: Date.now }),
      );
    if (!(error as Error).message.includes(REMEDY)) throw error;
  }
  return openBeside(paths, mode);
}

/**
 * Opens the store that an export is restored into. An export has a part of a store and makes none.
 */
async function openForExport(settings: StoreSettings): Promise<Store> {
  try {
    return await openExistingStore(settings);
  } catch (error) {
    if (!(error instanceof NoStoreError)) throw error;
    throw new Error(
      `An export has a part of a store, and ${error.message}, or start the service once to make one.`,
    );
  }
}

/**
 * Opens the store in a database. In an empty database, creates a store only after the whole backup
 * has been verified.
 */
async function openDatabase(
  url: string,
  { file, mode }: { readonly file: string; readonly mode: StoreMode },
): Promise<Store> {
  try {
    return await openPostgres({ url });
  } catch (error) {
    if (!(error instanceof NoStoreError)) throw error;
  }
  await checkBackup(file, () => {});
  return openPostgres({ url, mode, mustSettle: true });
}

async function identityIn(file: string): Promise<StoreIdentity> {
  const backup = await openBackup(file);
  await backup.close();
  return backup.identity;
}

/**
 * Opens a new store in a subfolder. The folder stays locked until the new store has replaced the
 * old one or has been discarded.
 */
async function openBeside(paths: StorePaths, mode: StoreMode): Promise<OpenedStore> {
  createFolder(paths.folder);
  const unlock = lockFolder(paths);
  const beside = storePathsIn(join(paths.folder, "restoring"));
  const discard = () => rm(beside.folder, { recursive: true, force: true });
  const abandon = () => discard().finally(unlock);
  // Remove the remains of an earlier restore that was killed.
  await discard();
  return {
    store: await openEmbedded({ folder: beside.folder, mode, now: Date.now }),
    abandon,
    async finish() {
      try {
        const kept = await keepDamaged(paths);
        await replaceStore(beside, paths);
        return kept;
      } finally {
        await abandon();
      }
    },
  };
}

/**
 * Keeps the damaged files under additional names (hard links).
 * @returns Notes for the operator.
 */
async function keepDamaged(paths: StorePaths): Promise<readonly string[]> {
  const stamp = new Date().toISOString().replaceAll(/[-:.]/g, "");
  const kept: string[] = [];
  for (const path of databaseFiles(paths.store).filter(existsSync)) {
    const name = path.replace(/\.sqlite(-wal|-shm)?$/, `.sqlite.damaged-${stamp}$1`);
    await link(path, name);
    kept.push(`The ${basename(path)} that was there is kept as ${name}.`);
  }
  syncFolder(paths.folder);
  return kept;
}

/**
 * Replaces the store `to` by the store `from`, through the procedure with which a store replaces
 * its own files; after a crash, the next start completes the replacement.
 */
async function replaceStore(from: StorePaths, to: StorePaths): Promise<void> {
  await rename(from.store, to.next);
  syncFolder(to.folder);
  recoverNextStore(to);
}
