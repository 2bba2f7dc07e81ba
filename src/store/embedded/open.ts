import { randomUUID } from "node:crypto";
import type { Collection } from "../records.ts";
import type { Store, StoreMode } from "../store.ts";
import { createArchive } from "./archive.ts";
import { checkFiles } from "./check.ts";
import { type CopyOptions, createLoader, dump } from "./copying.ts";
import { messageOf } from "./failure.ts";
import { type Files, type Holder, lockFolder, openFiles } from "./files.ts";
import { createGate, type Gate, type OnWarning } from "./gate.ts";
import { cutLogs } from "./log-cut.ts";
import { setMeta } from "./meta.ts";
import {
  checkNeverHeldStore,
  createFolder,
  holdsStore,
  type Paths,
  pathsIn,
  removeNext,
  settleNext,
} from "./paths.ts";
import { createPump } from "./pump.ts";
import { createRecords } from "./records.ts";
import { createStaging } from "./staging.ts";
import { backlogOf, sizeOf } from "./standing.ts";

/** Records beyond which a database serves better: all of them are in memory. */
const MANY_RECORDS = 100_000;

/** How an embedded store is opened. */
export interface EmbeddedOptions {
  /** Where its files are. */
  readonly folder: string;
  /** What it must belong to; created when there is none. Absent: it must be there, of any mode. */
  readonly mode?: StoreMode;
  /** Milliseconds since the epoch. A clock that is set moves all that waits; see steady-clock.ts. */
  readonly now: () => number;
  readonly onWarning?: OnWarning;
}

/** A store in files of this process. */
export interface EmbeddedStore extends Store {
  readonly engine: "embedded";
  /** Lets nothing be written, not even what waits. @param reason For the callers. @returns Ends
   *  that. */
  freeze(reason: string): () => void;
  /** Says in the store that it lives on in PostgreSQL: nothing is written any more, and it does not
   *  open again. */
  markMoved(): Promise<void>;
  /** Reads the files from disk. @returns What is wrong, with the name of the file. */
  check(): Promise<readonly string[]>;
}

/**
 * Opens the store of a folder for this process alone.
 *
 * @throws {Error} When it is open elsewhere, damaged, moved, missing or of another mode; says which
 * file and what to do.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const { mode, now } = options;
  const paths = pathsIn(options.folder);
  const { folder } = paths;
  if (mode === undefined && !holdsStore(paths))
    throw new Error(`there is no store in ${folder}: set DATA_DIR to the directory of the service`);
  createFolder(folder);
  const unlock = lockFolder(paths);
  try {
    settleNext(paths);
    if (mode !== undefined && !holdsStore(paths)) {
      checkNeverHeldStore(paths);
      create(paths, mode, now());
    }
    return storeOf({ ...options, paths, unlock, files: openFor(paths, mode) });
  } catch (error) {
    unlock();
    throw error;
  }
}

function create(paths: Paths, mode: StoreMode, now: number): void {
  const identity = { id: randomUUID(), mode };
  try {
    createStaging(paths, { identity, now, revision: 0 }).finish();
  } catch (error) {
    removeNext(paths);
    throw new Error(`no store can be created in ${paths.folder} (${messageOf(error)})`);
  }
  settleNext(paths);
}

function openFor(paths: Paths, mode: StoreMode | undefined): Files {
  const files = openFiles(paths);
  const refusal = refusalOf(files, paths.folder, mode);
  if (refusal === undefined) return files;
  files.close();
  throw new Error(refusal);
}

function refusalOf({ identity, moved }: Files, folder: string, mode?: StoreMode) {
  if (moved !== undefined) {
    return `the store in ${folder} was moved to PostgreSQL on ${moved}; set DATABASE_URL`;
  }
  if (mode === undefined || mode === identity.mode) return undefined;
  return `the store in ${folder} belongs to MARKET mode ${identity.mode}, not ${mode}; set DATA_DIR to another folder or change MARKET`;
}

interface Opened extends EmbeddedOptions {
  readonly paths: Paths;
  readonly files: Files;
  readonly unlock: () => void;
}

function storeOf({ files, paths, now, unlock, onWarning = () => undefined }: Opened) {
  const holder: Holder = { files };
  const gate = createGate(onWarning, () => cutLogs(holder));
  const watch = createWatch(holder, onWarning);
  const pump = createPump({ holder, gate, onDone: watch });
  const copying: CopyOptions = { holder, gate, paths, now };
  const loader = createLoader(copying);
  watch();
  return {
    engine: "embedded" as const,
    get identity() {
      return holder.files.identity;
    },
    records: createRecords({ holder, gate, pump, now, onWarning }),
    archive: createArchive(holder, gate),
    counts: async () =>
      gate.answer(() => {
        const { base, archive } = holder.files;
        return { records: base.data.shelf.size, archive: archive.count() };
      }),
    size: async () => gate.answer(() => sizeOf(holder.files)),
    backlog: async ({ name }: Collection<unknown>) =>
      gate.answer(() => backlogOf(holder.files.base.data.shelf.inCollection(name), now())),
    dump: () => dump(copying),
    load: loader.load,
    freeze: gate.freeze,
    markMoved: async () => markMoved(holder, gate, now()),
    check: () => checkFiles(holder, gate),
    async close() {
      pump.drain();
      gate.close();
      loader.abandon();
      holder.files.close();
      unlock();
    },
  };
}

/** Bars writing first: what comes later must not be lost with this store. */
function markMoved({ files }: Holder, gate: Gate, now: number): void {
  gate.checkReadable();
  const unfreeze = gate.freeze("The store was moved.");
  try {
    const date = new Date(now).toISOString().slice(0, 10);
    files.recordFile.transaction(() => setMeta(files.recordFile, "moved", date));
  } catch (error) {
    unfreeze();
    throw gate.refusal(error);
  }
}

/** Says once that there are many records. */
function createWatch(holder: Holder, onWarning: OnWarning): () => void {
  let hasSaid = false;
  return () => {
    const { size } = holder.files.base.data.shelf;
    if (hasSaid || size <= MANY_RECORDS) return;
    hasSaid = true;
    onWarning(`The store holds more than ${MANY_RECORDS} records; consider DATABASE_URL.`);
  };
}
