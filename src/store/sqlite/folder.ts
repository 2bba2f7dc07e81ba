import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { syncFolder } from "../../lib/sync-folder.ts";
import { inUse, isBusy } from "./errors.ts";

/** Only the owner reads and writes. */
const OWNER_FILE = 0o600;
const OWNER_FOLDER = 0o700;

/** The files of a store in its folder. */
export interface Paths {
  readonly folder: string;
  readonly store: string;
  /** Locked by the process that has the store open; empty. */
  readonly lock: string;
  /** The next store: whole and synced, it counts as soon as it has this name. */
  readonly next: string;
  /** The next store while it is written. */
  readonly unfinished: string;
  /** The two files of a store of format 1. */
  readonly format1: { readonly records: string; readonly archive: string };
  /** Where these are kept after they were migrated. */
  readonly format1Backup: string;
}

/** Where the files of a store are. */
export function pathsIn(given: string): Paths {
  const folder = resolve(given);
  const store = join(folder, "store.sqlite");
  return {
    folder,
    store,
    lock: join(folder, "store.lock"),
    next: `${store}.new`,
    unfinished: `${store}.unfinished`,
    format1: { records: join(folder, "records.sqlite"), archive: join(folder, "archive.sqlite") },
    format1Backup: join(folder, "backup-of-format-1"),
  };
}

/** Where SQLite keeps the write-ahead log of a file. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** A file with the write-ahead log and the shared index that SQLite keeps beside it. */
export function withCompanions(path: string): readonly string[] {
  return [path, logOf(path), `${path}-shm`];
}

/** Every file that the data of a store may be in. */
export function dataFilesOf({ store, format1 }: Paths): readonly string[] {
  return [store, format1.records, format1.archive].flatMap(withCompanions);
}

/** Whether there is a store in the folder, be it a damaged one. */
export function holdsStore(paths: Paths): boolean {
  return [...dataFilesOf(paths), paths.next, `${paths.format1.records}.new`].some(isThere);
}

/** Whether the folder holds a store of format 1 that was not migrated yet. */
export function holdsFormat1({ store, format1 }: Paths): boolean {
  if (withCompanions(store).some(isThere)) return false;
  const files = [format1.records, format1.archive];
  return [...files.flatMap(withCompanions), `${format1.records}.new`].some(isThere);
}

/** @throws {Error} When the folder is that of a store which is gone. */
export function checkNeverHeldStore({ folder, store }: Paths): void {
  if (!isThere(join(folder, "master.key"))) return;
  throw new Error(
    `${folder} holds a master.key but no store: put ${basename(store)} back, ` +
      "restore a backup (market-signal store restore <backup file>), or move master.key away",
  );
}

/** A link that leads nowhere is there too: what it led to may be on a disk that is not mounted. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Creates a folder, and those above it, for its owner only; the modes do not depend on the umask.
 *  A folder that is there stays as it is. @throws {Error} When it cannot be created. */
export function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  usable(folder, () => {
    mkdirSync(folder, { recursive: true, mode: OWNER_FOLDER });
    chmodSync(folder, OWNER_FOLDER);
    syncFolder(dirname(folder));
  });
}

/**
 * Holds the folder of a store against other processes.
 *
 * @returns Lets go of it; the system does when the process dies.
 * @throws {Error} When another process holds it, or nothing can be written there.
 */
export function lockFolder({ folder, lock, store }: Paths): () => void {
  usable(folder, () => createFile(lock));
  const database = new DatabaseSync(lock);
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw isBusy(error) ? inUse(store) : error;
  }
  return () => {
    if (database.isOpen) database.close();
  };
}

/** Writes in a folder. @throws {Error} When that is not possible; says which folder and what to do. */
function usable<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "EROFS" ? "its file system is read-only" : message;
    throw new Error(
      `${folder} cannot be written (${reason}); let this user write there, or set DATA_DIR to another folder`,
    );
  }
}

/**
 * Creates an empty file for its owner only, or makes one that is there the owner's only. One that
 * is there is not opened: closing it would let go of the locks that this process has on it (POSIX).
 */
export function createFile(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, "wx", OWNER_FILE));
  chmodSync(path, OWNER_FILE);
}

/** Makes the contents of a file durable. */
export function syncFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes the next store count, which is whole and synced. */
export function nameNext({ folder, next, unfinished }: Paths): void {
  syncFolder(folder);
  renameSync(unfinished, next);
  syncFolder(folder);
}

/**
 * Puts the next store, if it counts, in its place; otherwise clears away what is left of it. Ended
 * at any point, it does the rest when it is called again.
 */
export function settleNext(paths: Paths): void {
  if (existsSync(paths.next)) {
    keepFormat1(paths);
    replaceFile(paths.next, paths.store);
  }
  removeNext(paths);
}

/** Removes the next store, which counts no more. */
export function removeNext({ next, unfinished }: Paths): void {
  for (const path of [next, unfinished]) {
    for (const file of [...withCompanions(path), `${path}-journal`]) rmSync(file, { force: true });
  }
}

/** Puts a file in the place of another. The log of the file before goes first, for good: it would be
 *  played over the new one. */
export function replaceFile(next: string, path: string): void {
  for (const companion of withCompanions(path).slice(1)) rmSync(companion, { force: true });
  syncFolder(dirname(path));
  renameSync(next, path);
  syncFolder(dirname(path));
}

/** Moves the files of format 1, whose data the next store has, into a folder beside it. */
function keepFormat1({ folder, format1, format1Backup }: Paths): void {
  const files = [format1.records, format1.archive].flatMap(withCompanions).filter(isThere);
  if (files.length === 0) return;
  createFolder(format1Backup);
  for (const file of files) renameSync(file, join(format1Backup, basename(file)));
  syncFolder(format1Backup);
  syncFolder(folder);
}
