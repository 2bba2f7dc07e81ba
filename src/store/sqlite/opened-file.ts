import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolder } from "../../lib/sync-folder.ts";
import { NoStoreError, type StoreIdentity, type StoreMode, UNSETTLED } from "../port/store.ts";
import { ArchiveTable } from "./archive.ts";
import {
  checkNeverHeldStore,
  holdsStore,
  recoverNextStore,
  rejectFormat1,
  removeNextStore,
  type StorePaths,
  walPathOf,
} from "./folder.ts";
import { checkAtStart, checkBeforeOpening, resolveSymbolicLink } from "./integrity-check.ts";
import { NextStore } from "./next-store.ts";
import { RecordTable } from "./record-table.ts";
import {
  damagedFileError,
  explainFileErrors,
  explainStartFault,
  messageOf,
} from "./sqlite-errors.ts";
import type { StoreTables } from "./steps.ts";
import { FORMAT_VERSION, SCHEMAS, StoreFile, UPGRADE_SQL } from "./store-file.ts";

/** The open database file of a store, with its tables. */
export interface OpenedFile extends StoreTables {
  readonly file: StoreFile;
  readonly identity: StoreIdentity;
  /** Whether the store belongs to its mode. */
  readonly isSettled: boolean;
  /** Date on which the store was moved to PostgreSQL, as text; `undefined` if it was not moved. */
  readonly moved: string | undefined;
  /** Whether the previous process ended without closing the file. */
  readonly hasCrashed: boolean;
}

/** Which store a folder should hold. */
export interface WantedStore {
  /**
   * Mode of the store. If the store does not exist, it is created with this mode. Absent: the store
   * must exist and can have any mode.
   */
  readonly mode?: StoreMode;
  /** Whether a new store belongs to its mode only once `settle` is called. Default: false. */
  readonly mustSettle?: boolean;
}

/** @throws {Error} If the folder holds no store that this version can read. */
export function checkHoldsStore(paths: StorePaths): void {
  if (holdsStore(paths)) return;
  rejectFormat1(paths);
  throw noStoreError(paths.folder);
}

const noStoreError = (folder: string): Error =>
  new NoStoreError(`${folder}: set DATA_DIR to the directory of the service`);

/**
 * Opens the store of a folder, or creates it.
 *
 * @throws {Error} If the store is damaged, moved to PostgreSQL, missing or of another mode; the
 * message names the file and says what to do.
 */
export function openOrCreate(paths: StorePaths, wanted: WantedStore): OpenedFile {
  return openExisting(paths, wanted.mode) ?? openNew(paths, wanted);
}

/** @returns `undefined` if the folder has no store, or one that no start has settled. */
function openExisting(paths: StorePaths, mode: StoreMode | undefined): OpenedFile | undefined {
  if (!holdsStore(paths)) {
    rejectFormat1(paths);
    checkNeverHeldStore(paths);
    return undefined;
  }
  const opened = openFile(paths);
  const refusal = refusalToOpen(opened, paths.folder, mode);
  if (opened.isSettled && refusal === undefined) return inCurrentFormat(opened);
  opened.file.close();
  if (opened.isSettled) throw new Error(refusal);
  return undefined;
}

/** Upgrades the file, which older programs do not open from now on. */
function inCurrentFormat(opened: OpenedFile): OpenedFile {
  const { file } = opened;
  file.closingOnError(() =>
    explainFileErrors(file.path, () => {
      if (file.meta().get("format") === FORMAT_VERSION) return;
      file.transaction(() => {
        for (const sql of UPGRADE_SQL) file.database.exec(sql);
        file.setMeta("format", FORMAT_VERSION);
      });
    }),
  );
  return opened;
}

function openNew(paths: StorePaths, { mode, mustSettle }: WantedStore): OpenedFile {
  if (mode === undefined) throw noStoreError(paths.folder);
  create(paths, mustSettle ? UNSETTLED : mode);
  const opened = openFile(paths);
  return { ...opened, identity: { ...opened.identity, mode } };
}

function create(paths: StorePaths, mode: string): void {
  const identity = { id: randomUUID(), mode };
  try {
    new NextStore(paths, { identity, revision: 0 }).finish();
  } catch (error) {
    removeNextStore(paths);
    const explained = explainStartFault(paths.folder, error);
    if (explained !== error) throw explained;
    throw new Error(`no store can be created in ${paths.folder} (${messageOf(error)})`);
  }
  recoverNextStore(paths);
}

/** Opens the store file of a folder. @throws {Error} If it is damaged or of another version. */
export function openFile({ store }: StorePaths): OpenedFile {
  const path = resolveSymbolicLink(store);
  checkBeforeOpening(path);
  const hasCrashed = (statSync(walPathOf(path), { throwIfNoEntry: false })?.size ?? 0) > 0;
  const file = explainFileErrors(path, () => StoreFile.open(path));
  // The write-ahead log was just created. Without syncing the directory, it could be lost in a
  // crash.
  syncFolder(dirname(path));
  return file.closingOnError(() => {
    const facts = explainFileErrors(path, () => file.meta());
    const [format, id, mode] = [facts.get("format"), facts.get("id"), facts.get("mode")];
    const schema = SCHEMAS.get(format ?? "");
    if (schema === undefined) throw otherFormatError(path, format);
    if (id === undefined || mode === undefined) throw damagedFileError(path, "a fact is missing");
    const tables = explainFileErrors(path, () => {
      checkAtStart(file);
      file.checkSchema(schema);
      const records = new RecordTable(file);
      return { records, archive: new ArchiveTable(file, records) };
    });
    const identity = { id, mode: mode as StoreMode };
    const isSettled = mode !== UNSETTLED;
    return { file, ...tables, identity, isSettled, moved: facts.get("moved"), hasCrashed };
  });
}

const otherFormatError = (path: string, format = "unknown"): Error =>
  new Error(
    `${path} was written by another version of this program (format ${format}, known is ${FORMAT_VERSION}); install that version`,
  );

function refusalToOpen({ identity, moved }: OpenedFile, folder: string, mode?: StoreMode) {
  if (moved !== undefined) {
    return `the store in ${folder} was moved to PostgreSQL on ${moved}; set DATABASE_URL`;
  }
  if (mode === undefined || mode === identity.mode) return undefined;
  return `the store in ${folder} belongs to MARKET mode ${identity.mode}, not ${mode}; set DATA_DIR to another folder or change MARKET`;
}
