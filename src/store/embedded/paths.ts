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
import { syncFolder } from "../sync-folder.ts";

/** Only the owner reads and writes. */
const OWNER_FILE = 0o600;
const OWNER_FOLDER = 0o700;

/** The files of a store in its folder. */
export interface Paths {
  readonly folder: string;
  readonly records: string;
  readonly archive: string;
  /** Held by the process that has the store open; empty. */
  readonly lock: string;
  /** The next files, whole and synced. That of the records comes last and makes them count. */
  readonly nextRecords: string;
  readonly nextArchive: string;
  /** The next records while they are written. */
  readonly unfinishedRecords: string;
}

/** Where the files of a store are. */
export function pathsIn(given: string): Paths {
  const folder = resolve(given);
  const records = join(folder, "records.sqlite");
  const archive = join(folder, "archive.sqlite");
  return {
    ...{ folder, records, archive, lock: join(folder, "store.lock") },
    ...{ nextRecords: `${records}.new`, nextArchive: `${archive}.new` },
    unfinishedRecords: `${records}.unfinished`,
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

/** Whether there is a store in the folder, be it a damaged one. */
export function holdsStore({ records, archive, nextRecords }: Paths): boolean {
  const files = [records, archive].flatMap(withCompanions);
  return [...files, nextRecords].some(isThere);
}

/** @throws {Error} When the folder is that of a store which is gone. */
export function checkNeverHeldStore({ folder, records, archive }: Paths): void {
  if (!isThere(join(folder, "master.key"))) return;
  throw new Error(
    `${folder} holds a master.key but no store: put ${basename(records)} and ${basename(archive)} ` +
      "back, restore a backup (market-signal store restore <backup file>), or move master.key away",
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

/** Writes in a folder. @throws {Error} When that is not possible; says which folder and what to do. */
export function usable<T>(folder: string, work: () => T): T {
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

/**
 * Puts the next files, if they count, in their places; otherwise clears away what is left of them.
 * Ended at any point, it does the rest when it is called again.
 */
export function settleNext(paths: Paths): void {
  if (existsSync(paths.nextRecords)) {
    putInPlace(paths.nextArchive, paths.archive);
    putInPlace(paths.nextRecords, paths.records);
  }
  removeNext(paths);
}

/** Removes the next files; they count no more once the first of them is gone. */
export function removeNext({ nextRecords, nextArchive, unfinishedRecords }: Paths): void {
  for (const path of [nextRecords, nextArchive, unfinishedRecords]) {
    for (const file of [...withCompanions(path), `${path}-journal`]) rmSync(file, { force: true });
  }
}

/** The log of the file before goes first, for good: it would be played over the new one. */
function putInPlace(next: string, path: string): void {
  if (!existsSync(next)) return;
  for (const companion of withCompanions(path).slice(1)) rmSync(companion, { force: true });
  syncFolder(dirname(path));
  renameSync(next, path);
  syncFolder(dirname(path));
}
