import type { Archive } from "./archive.ts";
import type { Counters } from "./counters.ts";
import type { Collection, Records } from "./records.ts";

/** Modes of the market that a store can belong to. */
export type StoreMode = "sandbox" | "files" | "replay" | "live";

/** A record or an archive row as it is copied from store to store; `text` is JSON. */
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

/** How much there is. */
export interface Counts {
  readonly records: number;
  readonly archive: number;
}

/** How much room a store takes. */
export interface StoreSize {
  /** On PostgreSQL an estimate, as its statistics have it. */
  readonly records: number;
  /** On disk, with indexes and logs. */
  readonly bytes: number;
}

/** The records of a collection that wait to be worked on. */
export interface Backlog {
  /** Those that fall due at some time. */
  readonly waiting: number;
  /** Those that are due and that nobody has taken. */
  readonly due: number;
  /** How long the first of these has been due, in milliseconds; 0 when there is none. */
  readonly oldestDueMs: number;
}

/** What a store is, apart from what is in it. */
export interface StoreIdentity {
  /** Made up when the store was created; copies keep it. */
  readonly id: string;
  readonly mode: StoreMode;
}

/** One opened store, whatever the engine. */
export interface Store {
  readonly engine: "embedded" | "postgres";
  readonly identity: StoreIdentity;
  readonly records: Records;
  readonly archive: Archive;
  /** Counts that several processes share; absent where only one can have the store open. */
  readonly counters?: Counters;

  /** Counts every row, which takes long when there are many. */
  counts(): Promise<Counts>;

  /** Tells fast how much room is taken. */
  size(): Promise<StoreSize>;

  backlog(of: Collection<unknown>): Promise<Backlog>;

  /**
   * Everything as it was at one instant, in batches: records by revision, then archive rows in the
   * order they came. Writes go on meanwhile.
   */
  dump(): AsyncIterable<readonly DumpRow[]>;

  /**
   * Replaces everything, the identity too, by what a dump gave. When it fails, what was there
   * before is still there. The revisions of the dump are kept and later ones are higher.
   */
  load(identity: StoreIdentity, batches: AsyncIterable<readonly DumpRow[]>): Promise<void>;

  /** Ends what is under way, then lets go of files and connections. Calling it again does nothing. */
  close(): Promise<void>;
}
