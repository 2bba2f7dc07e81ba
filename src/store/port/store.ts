import type { Archive } from "./archive.ts";
import type { Counters } from "./counters.ts";
import type { Collection, Records } from "./records.ts";

/** Modes of the market that a store can belong to. */
export type StoreMode = "sandbox" | "files" | "replay" | "live";

/** A record or an archive row in a dump; `text` is JSON. */
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

/** Number of rows. */
export interface StoreCounts {
  readonly records: number;
  readonly archive: number;
}

/** Size of a store. */
export interface StoreSize {
  /** On PostgreSQL an estimate from its statistics. */
  readonly records: number;
  /** On disk, with indexes and logs. */
  readonly bytes: number;
}

/** Pending records of a collection. */
export interface Backlog {
  /** Records with a due instant. */
  readonly waiting: number;
  /** Records that are due and not claimed. */
  readonly due: number;
  /** How long the first of these has been due, in milliseconds; 0 if there is none. */
  readonly oldestDueMs: number;
}

/** Identity of a store, independent of its contents. */
export interface StoreIdentity {
  /** Random id from the store's creation; copies keep it. */
  readonly id: string;
  readonly mode: StoreMode;
}

/** An open store of either engine. */
export interface Store {
  readonly engine: "embedded" | "postgres";
  readonly identity: StoreIdentity;
  readonly records: Records;
  readonly archive: Archive;
  /** Shared counters; absent if only one process can open the store. */
  readonly counters?: Counters;

  /** Counts every row, which is slow for large stores. */
  counts(): Promise<StoreCounts>;

  /** Estimates the size quickly. */
  size(): Promise<StoreSize>;

  backlog(of: Collection<unknown>): Promise<Backlog>;

  /**
   * A consistent snapshot in batches: records by revision, then archive rows in insertion order. Writes
   * continue meanwhile.
   */
  dump(): AsyncIterable<readonly DumpRow[]>;

  /**
   * Replaces everything, including the identity, with a dump. On failure, the previous contents remain.
   * The revisions of the dump are kept, and later ones are higher.
   */
  load(identity: StoreIdentity, batches: AsyncIterable<readonly DumpRow[]>): Promise<void>;

  /** Finishes the work in progress, then closes files and connections. Idempotent. */
  close(): Promise<void>;
}
