import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createFolder as createFolders } from "../../lib/create-folder.ts";
import { syncFolder } from "../../lib/sync-folder.ts";
import { folderNotWritableError } from "../folder-errors.ts";
import { folderInUseError, isBusyError } from "./sqlite-errors.ts";

/** File and folder modes: accessible by the owner only. */
const OWNER_FILE = 0o600;
const OWNER_FOLDER = 0o700;

/** Paths of the files of a store. */
export interface StorePaths {
  readonly folder: string;
  readonly store: string;
  /** An empty file that is locked by the process that has the store open. */
  readonly lock: string;
  /**
   * The complete and synced successor of the store file. As soon as a file has this name, it
   * replaces the store.
   */
  readonly next: string;
  /** The successor of the store file while it is being written. */
  readonly unfinished: string;
}

/** The paths of the store in a folder. */
export function storePathsIn(given: string): StorePaths {
  const folder = resolve(given);
  const store = join(folder, "store.sqlite");
  return {
    folder,
    store,
    lock: join(folder, "store.lock"),
    next: `${store}.new`,
    unfinished: `${store}.unfinished`,
  };
}

/** Path of the write-ahead log (WAL) of a database file. */
export function walPathOf(path: string): string {
  return `${path}-wal`;
}

/** The paths of a database file, its write-ahead log and its shared-memory index. */
export function databaseFiles(path: string): readonly string[] {
  return [path, walPathOf(path), `${path}-shm`];
}

/** Whether the folder contains a store, even a damaged one. */
export function holdsStore({ store, next }: StorePaths): boolean {
  return [...databaseFiles(store), next].some(exists);
}

/**
 * Checks that a folder without a store file has no store in the two files of versions before 1.0.0.
 *
 * @throws {Error} If it has.
 */
export function rejectFormat1({ folder }: StorePaths): void {
  if (!exists(join(folder, "records.sqlite"))) return;
  throw new Error(
    `the store in ${folder} was written before version 1.0.0: start version 1.0.0 on it once, then this one`,
  );
}

/**
 * Checks that an empty folder never contained a store.
 *
 * @throws {Error} If the folder belonged to a store whose file is missing.
 */
export function checkNeverHeldStore({ folder, store }: StorePaths): void {
  if (!exists(join(folder, "master.key"))) return;
  throw new Error(
    `${folder} holds a master.key but no store: put ${basename(store)} back, ` +
      "restore a backup (market-signal store restore <backup file>), or move master.key away",
  );
}

/**
 * Whether a path exists. A dangling symbolic link counts as existing, because its target may be on
 * a disk that is not mounted.
 */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/**
 * Creates a folder and its parents with access for the owner only, regardless of the umask. An
 * existing folder is left unchanged.
 *
 * @throws {Error} If the folder cannot be created.
 */
export function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  usable(folder, () => {
    createFolders(folder, OWNER_FOLDER);
    chmodSync(folder, OWNER_FOLDER);
    syncFolder(dirname(folder));
  });
}

/**
 * Locks the folder of a store against other processes.
 *
 * @returns A function that releases the lock. If the process dies, the operating system releases
 * it.
 * @throws {Error} If another process holds the lock, or the folder is not writable.
 */
export function lockFolder({ folder, lock, store }: StorePaths): () => void {
  usable(folder, () => createFile(lock));
  const database = new DatabaseSync(lock);
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw isBusyError(error) ? folderInUseError(store) : error;
  }
  return () => {
    if (database.isOpen) database.close();
  };
}

/**
 * Runs work that writes to a folder.
 *
 * @throws {Error} If the work fails; the message names the folder and says what to do.
 */
function usable<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw folderNotWritableError(folder, error);
  }
}

/**
 * Creates an empty file that only its owner can access, or restricts the access to an existing
 * file. An existing file is not opened, because closing it would release this process's POSIX locks
 * on the file.
 */
export function createFile(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, "wx", OWNER_FILE));
  chmodSync(path, OWNER_FILE);
}

/** Syncs the contents of a file to disk. */
export function syncFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Renames the finished successor file. From then on, it replaces the store. */
export function markNextStoreFinished({ folder, next, unfinished }: StorePaths): void {
  syncFolder(folder);
  renameSync(unfinished, next);
  syncFolder(folder);
}

/**
 * Moves a finished successor file into place, or removes an unfinished one. Can be repeated safely
 * after an interruption.
 */
export function recoverNextStore(paths: StorePaths): void {
  if (existsSync(paths.next)) replaceFile(paths.next, paths.store);
  removeNextStore(paths);
}

/** Removes the successor file, finished or not. */
export function removeNextStore({ next, unfinished }: StorePaths): void {
  for (const path of [next, unfinished]) {
    for (const file of [...databaseFiles(path), `${path}-journal`]) rmSync(file, { force: true });
  }
}

/**
 * Replaces a file with another. The write-ahead log of the old file is removed first, because
 * SQLite would otherwise apply it to the new file.
 */
export function replaceFile(next: string, path: string): void {
  for (const companion of databaseFiles(path).slice(1)) rmSync(companion, { force: true });
  syncFolder(dirname(path));
  renameSync(next, path);
  syncFolder(dirname(path));
}
