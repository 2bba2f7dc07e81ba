import { statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { Archive } from "../port/archive.ts";
import type { Collection } from "../port/records.ts";
import type {
  Backlog,
  DumpRow,
  Store,
  StoreCounts,
  StoreIdentity,
  StoreSize,
} from "../port/store.ts";
import { storeUnavailableProblem } from "../port/unavailable.ts";
import { createSqliteArchive } from "./archive.ts";
import { runInBackground } from "./background.ts";
import {
  createFolder,
  lockFolder,
  recoverNextStore,
  type StorePaths,
  storePathsIn,
  walPathOf,
} from "./folder.ts";
import { type OnWarning, StoreGate } from "./gate.ts";
import { GroupCommit } from "./group-commit.ts";
import { NextStore, REVISION_GAP } from "./next-store.ts";
import {
  checkHoldsStore,
  type OpenedFile,
  openFile,
  openOrCreate,
  type WantedStore,
} from "./opened-file.ts";
import { SqliteRecords } from "./records.ts";
import { StoreSnapshot } from "./snapshot.ts";
import { damagedFileError, isSqliteError, sqliteErrorAsProblem } from "./sqlite-errors.ts";
import { truncateWal } from "./write-ahead-log.ts";

/** Options of `openEmbedded`. */
interface EmbeddedOptions extends WantedStore {
  /** Folder of the store file. */
  readonly folder: string;
  /**
   * Current time, in milliseconds since the epoch. Setting this clock shifts all due times (see
   * steady-clock.ts).
   */
  readonly now: () => number;
  readonly onWarning?: OnWarning;
}

/** A store in a local file that only this process uses. */
export interface EmbeddedStore extends Store {
  readonly engine: "embedded";
  /**
   * Rejects all writes, including queued ones.
   *
   * @param reason Public reason for the callers.
   * @returns A function that allows writes again.
   */
  freeze(reason: string): () => void;
  /**
   * Marks the store as moved to PostgreSQL. The store then accepts no writes and cannot be opened
   * again.
   */
  markMoved(): Promise<void>;
  /**
   * Checks the whole file on disk.
   *
   * @returns Problems, with the file name; empty if there are none.
   */
  check(): Promise<readonly string[]>;
}

/**
 * Opens the store in a folder exclusively.
 *
 * @throws {Error} If the store is open elsewhere, damaged, moved to PostgreSQL, missing or of
 * another mode; the message names the file and says what to do.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const paths = storePathsIn(options.folder);
  if (options.mode === undefined) checkHoldsStore(paths);
  createFolder(paths.folder);
  const unlock = lockFolder(paths);
  try {
    recoverNextStore(paths);
    return new SqliteStore(openOrCreate(paths, options), { ...options, paths, unlock });
  } catch (error) {
    unlock();
    throw error;
  }
}

interface Opening extends EmbeddedOptions {
  readonly paths: StorePaths;
  readonly unlock: () => void;
}

/** The open store. Its methods are own properties, because callers wrap a store by spreading it. */
class SqliteStore implements EmbeddedStore {
  readonly engine = "embedded";
  /** The identity of the store, which changes when another store is loaded. */
  declare readonly identity: StoreIdentity;
  readonly records: SqliteRecords;
  readonly archive: Archive;
  readonly #paths: StorePaths;
  readonly #now: () => number;
  readonly #unlock: () => void;
  readonly #onWarning: OnWarning;
  readonly #gate: StoreGate;
  readonly #commits: GroupCommit;
  readonly #snapshots = new Set<StoreSnapshot>();
  /** Ends what runs in the background. */
  readonly #background = new AbortController();
  #opened: OpenedFile;
  #next: NextStore | undefined;

  constructor(opened: OpenedFile, { paths, now, unlock, onWarning = () => undefined }: Opening) {
    this.#opened = opened;
    this.#paths = paths;
    this.#now = now;
    this.#unlock = unlock;
    this.#onWarning = onWarning;
    this.#gate = new StoreGate(onWarning, () => truncateWal(this.#opened.file));
    const tables = () => this.#opened;
    this.#commits = new GroupCommit(
      {
        transaction: (works) => this.#written(() => this.#opened.records.transaction(works)),
        part: (work) => this.#opened.records.part(work),
        undoablePart: (work) => this.#opened.records.undoablePart(work),
      },
      this.#gate,
    );
    const [gate, commits] = [this.#gate, this.#commits];
    this.records = new SqliteRecords({ tables, gate, commits, now, onWarning });
    this.archive = createSqliteArchive(() => this.#opened.archive, gate, commits);
    const identity = { enumerable: true, get: () => this.#opened.identity };
    Object.defineProperty(this, "identity", identity);
    if (opened.hasCrashed) void this.#checkAfterCrash(onWarning);
  }

  /**
   * Runs a transaction. What it wrote counts only if the files are still in their folder.
   *
   * @throws {Problem} If the files of the store were removed or replaced.
   */
  #written<T>(transaction: () => T): T {
    const result = transaction();
    const { file } = this.#opened;
    if (file.isInPlace()) return result;
    const reason = "The files of the store are gone; it waits for a restart.";
    this.#gate.freeze(reason);
    this.#onWarning(
      `${file.path} was removed or replaced: nothing is written until the service is restarted. Put the last backup back: market-signal store restore <backup file>`,
    );
    throw storeUnavailableProblem(reason);
  }

  readonly counts = async (): Promise<StoreCounts> => {
    const records = this.#gate.answer(() => this.#opened.records.count());
    try {
      return { records, archive: await this.#opened.archive.count() };
    } catch (error) {
      this.#gate.checkReadable();
      throw this.#gate.refusal(error);
    }
  };

  readonly size = async (): Promise<StoreSize> => {
    return this.#gate.answer(() => {
      const { file, records } = this.#opened;
      const files = [file.path, walPathOf(file.path)];
      const sizes = files.map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
      return { records: records.count(), bytes: sizes.reduce((sum, size) => sum + size) };
    });
  };

  readonly backlog = async ({ name }: Collection<unknown>): Promise<Backlog> => {
    return this.#gate.answer(() => this.#opened.records.backlog(name, this.#now()));
  };

  /**
   * Yields a snapshot of the store at the time of the first batch. It contains expired records that
   * have not been purged.
   */
  readonly dump = (): AsyncIterable<readonly DumpRow[]> => this.#dumped();

  async *#dumped(): AsyncGenerator<readonly DumpRow[]> {
    const snapshot = this.#gate.answer(() => new StoreSnapshot(this.#opened.file.path));
    this.#snapshots.add(snapshot);
    try {
      yield* snapshot.batches();
    } catch (error) {
      throw this.#gate.refusal(error);
    } finally {
      this.#snapshots.delete(snapshot);
      snapshot.close();
    }
  }

  readonly copyTo = async (
    path: string,
    createdAt: string,
    signal: AbortSignal,
  ): Promise<StoreCounts> => {
    const { path: from } = this.#gate.answer(() => this.#opened.file);
    const ends = AbortSignal.any([signal, this.#background.signal]);
    const copy = { task: "copy", args: [from, path, createdAt] } as const;
    const counts = await runInBackground(copy, ends);
    if (counts !== undefined) return counts;
    signal.throwIfAborted();
    throw storeUnavailableProblem("The store is closed.");
  };

  /**
   * Writes the new store to a separate file, and swaps the files once the new file is complete.
   * Meanwhile the current file serves reads.
   */
  readonly load = async (
    identity: StoreIdentity,
    batches: AsyncIterable<readonly DumpRow[]>,
  ): Promise<void> => {
    this.#gate.checkWritable();
    const unfreeze = this.#gate.freeze("The store is being replaced.");
    const revision = Math.max(this.#opened.records.revision, REVISION_GAP);
    try {
      this.#next = new NextStore(this.#paths, { identity, revision });
      await this.#addAll(this.#next, batches);
      this.#next.finish();
    } catch (error) {
      this.#next?.discard();
      unfreeze();
      throw sqliteErrorAsProblem(error);
    } finally {
      this.#next = undefined;
    }
    this.#changeOver();
    await this.#refuseEarlierReaders();
    unfreeze();
  };

  async #addAll(next: NextStore, batches: AsyncIterable<readonly DumpRow[]>): Promise<void> {
    for await (const batch of batches) {
      this.#gate.checkReadable();
      for (const row of batch) next.add(row);
      await setImmediate();
    }
    this.#gate.checkReadable();
  }

  /**
   * Swaps the files. The new file is already valid, so if the swap fails, the next start completes
   * the swap.
   */
  #changeOver(): void {
    try {
      this.#closeFile();
      recoverNextStore(this.#paths);
      this.#opened = openFile(this.#paths);
    } catch (error) {
      this.#gate.close();
      throw storeUnavailableProblem("The store waits for a restart.", error);
    }
  }

  /**
   * Rejects writes for two turns of the event loop, because the callers may have based their writes
   * on data of the old store.
   */
  async #refuseEarlierReaders(): Promise<void> {
    await setImmediate();
    await setImmediate();
    this.#commits.drain();
  }

  readonly freeze = (reason: string): (() => void) => {
    return this.#gate.freeze(reason);
  };

  readonly settle = async (): Promise<void> => {
    const { file, identity, isSettled } = this.#opened;
    if (isSettled) return;
    this.#gate.checkWritable();
    try {
      file.transaction(() => file.setMeta("mode", identity.mode));
    } catch (error) {
      throw this.#gate.refusal(error);
    }
    this.#opened = { ...this.#opened, isSettled: true };
  };

  /** Blocks writes before recording the move, because later writes to this store would be lost. */
  readonly markMoved = async (): Promise<void> => {
    this.#gate.checkReadable();
    const unfreeze = this.#gate.freeze("The store was moved.");
    try {
      const { file } = this.#opened;
      const date = new Date(this.#now()).toISOString().slice(0, 10);
      file.transaction(() => file.setMeta("moved", date));
    } catch (error) {
      unfreeze();
      throw this.#gate.refusal(error);
    }
  };

  readonly check = async (): Promise<readonly string[]> => {
    this.#gate.checkReadable();
    return this.#problems();
  };

  /** Checks the file in the background. */
  async #problems(): Promise<readonly string[]> {
    const check = { task: "check", args: [this.#opened.file.path] } as const;
    return (await runInBackground(check, this.#background.signal)) ?? [];
  }

  /**
   * Checks in the background for damage from a crash. If the file is damaged, writes are blocked to
   * prevent further loss.
   */
  async #checkAfterCrash(onWarning: OnWarning): Promise<void> {
    const { path } = this.#opened.file;
    try {
      const [problem] = await this.#problems();
      if (problem === undefined) return;
      this.#gate.freeze("The store is damaged.");
      onWarning(damagedFileError(path, problem).message);
    } catch (error) {
      onWarning(`${path} could not be checked.`, error);
    }
  }

  readonly close = async (): Promise<void> => {
    this.#commits.drain();
    this.#gate.close();
    this.#background.abort();
    this.#next?.discard();
    this.#closeFile();
    this.#unlock();
  };

  /**
   * Closes all connections before the files are renamed. Changes that cannot be written back stay
   * in the write-ahead log, which the next start reads.
   */
  #closeFile(): void {
    for (const snapshot of this.#snapshots) snapshot.close();
    const { file } = this.#opened;
    if (!file.database.isOpen) return;
    try {
      file.checkpoint();
    } catch (error) {
      if (!isSqliteError(error)) throw error;
    } finally {
      file.close();
    }
  }
}
