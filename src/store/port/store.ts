import type { Archive } from "./archive.ts";
import type { Counters } from "./counters.ts";
import type { Collection, Records } from "./records.ts";

/** Market modes. Every store is created for one mode. */
export type StoreMode = "sandbox" | "files" | "replay" | "live";

/**
 * What is stored in place of the mode while no start has settled the store. Such a store counts as
 * absent: the next start makes a new one, for any market.
 */
export const UNSETTLED = "unsettled";

/** A record or an archive row in a dump. `text` is the value as JSON. */
export type DumpRow =
  | {
      readonly table: "record";
      readonly collection: string;
      readonly key: string;
      readonly text: string;
      readonly revision: number;
      readonly groups: readonly string[];
      readonly expiresAt: number | null;
      readonly dueAt: number | null;
      readonly consumedAt: number | null;
    }
  | {
      readonly table: "archive";
      readonly kind: string;
      readonly at: number;
      readonly id: string;
      readonly subject: string | null;
      readonly text: string;
    };

/** Number of rows in a store. */
export interface StoreCounts {
  readonly records: number;
  readonly archive: number;
}

/** Size of a store. */
export interface StoreSize {
  /** Number of records; on PostgreSQL, an estimate from its statistics. */
  readonly records: number;
  /** Size on disk in bytes, including indexes and, in the embedded store, the write-ahead log. */
  readonly bytes: number;
}

/** Number of pending records in a collection. */
export interface Backlog {
  /** Number of records that have a due time. */
  readonly waiting: number;
  /** Number of records that are due and not claimed. */
  readonly due: number;
  /** How long the oldest due record has been due, in milliseconds; 0 if there is none. */
  readonly oldestDueMs: number;
}

/** Identity of a store, independent of its contents. */
export interface StoreIdentity {
  /** Random id that is assigned when the store is created; copies of the store keep it. */
  readonly id: string;
  readonly mode: StoreMode;
}

/** Thrown when a store is opened that must exist, and its folder or database has none. */
export class NoStoreError extends Error {
  override readonly name = "NoStoreError";

  /** @param place The folder or database, and what to do, for the operator. */
  constructor(place: string) {
    super(`there is no store in ${place}`);
  }
}

/** An open store, embedded or on PostgreSQL. */
export interface Store {
  readonly engine: "embedded" | "postgres";
  readonly identity: StoreIdentity;
  readonly records: Records;
  readonly archive: Archive;
  /** Counters shared by all processes; absent if only one process can open the store. */
  readonly counters?: Counters;

  /**
   * Names the other processes that have the store open, for the operator; absent if only one
   * process can open it.
   */
  otherProcesses?(): Promise<readonly string[]>;

  /** Counts all rows, which is slow for large stores. */
  counts(): Promise<StoreCounts>;

  /** Estimates the size quickly. */
  size(): Promise<StoreSize>;

  backlog(of: Collection<unknown>): Promise<Backlog>;

  /**
   * Yields a consistent snapshot in batches: first records by revision, then archive rows in
   * insertion order. The store accepts writes during the dump.
   */
  dump(): AsyncIterable<readonly DumpRow[]>;

  /**
   * Writes one moment of the store into an empty file, as a database file of its own; absent if the
   * store has no file. The store accepts writes meanwhile.
   *
   * @param createdAt When the copy is started, in ISO 8601 format; kept in the copy.
   */
  copyTo?(path: string, createdAt: string, signal: AbortSignal): Promise<StoreCounts>;

  /**
   * Replaces the whole store, including its identity, with a dump. If this fails, the previous
   * contents remain. Records keep the revisions of the dump; revisions assigned later are higher.
   */
  load(identity: StoreIdentity, batches: AsyncIterable<readonly DumpRow[]>): Promise<void>;

  /**
   * Binds a store that was opened with `mustSettle` to its mode. Does nothing for a store that is
   * bound already.
   */
  settle(): Promise<void>;

  /**
   * Finishes the work in progress, then closes files and connections. Can be called more than once.
   */
  close(): Promise<void>;
}
