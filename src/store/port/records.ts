import type { ArchiveRow } from "./archive.ts";

declare const shape: unique symbol;

/** How the records of a collection are placed, in addition to what a write says. */
export interface CollectionRules<T> {
  /**
   * Groups of a new record, as its value and key tell them. A change keeps the groups that the
   * record has.
   */
  groups?(value: T, key: string): readonly string[];
  /** Lifetime of a new record in milliseconds. Absent: the record does not expire. */
  readonly ttlMs?: number;
  /** Delay until a new record is due, in milliseconds. Absent: it is never due. */
  readonly dueInMs?: number;
}

/** A named set of records whose values have the same type. */
export interface Collection<T> extends CollectionRules<T> {
  readonly name: string;
  /** Carries the value type for the compiler; absent at run time. */
  readonly [shape]?: T;
}

/**
 * Defines a collection. The code that writes its records is responsible for the type of their
 * values.
 */
export function collection<T>(name: string, rules: CollectionRules<T> = {}): Collection<T> {
  return { ...rules, name };
}

/** A stored record. Instants are milliseconds since the epoch, by the store's clock. */
export interface Stored<T> {
  readonly key: string;
  readonly value: T;
  /**
   * Number of the write that last changed the record. The number grows with every write to any
   * record of the store, and is never reused.
   */
  readonly revision: number;
  /** Groups of the record, by which records of any collection can be found or removed together. */
  readonly groups: readonly string[];
  /** Instant from which the record is treated as absent; `undefined` if it does not expire. */
  readonly expiresAt: number | undefined;
  /** Instant from which `claimDue` returns the record; `undefined` if it is never due. */
  readonly dueAt: number | undefined;
  /** When the single-use record was consumed; `undefined` if the record was not consumed. */
  readonly consumedAt: number | undefined;
}

/** Key and revision of a stored record. */
export type RecordRevision = Pick<Stored<unknown>, "key" | "revision">;

/** Properties of a record that is written, in addition to its value. */
export interface WriteOptions {
  /**
   * Groups of the record, in addition to those that the collection declares: those that its value
   * and key do not tell, such as an owner that only the writer knows.
   */
  readonly groups?: readonly string[];
  /** Lifetime in milliseconds. Absent: the one that the collection declares. */
  readonly ttlMs?: number;
  /**
   * Delay until the record is due, in milliseconds. Absent: the one that the collection declares.
   */
  readonly dueInMs?: number;
}

/**
 * Properties of an existing record that is changed. Absent members stay unchanged; `null` removes
 * the lifetime or due time.
 */
export interface ReplaceOptions {
  readonly groups?: readonly string[];
  readonly ttlMs?: number | null;
  readonly dueInMs?: number | null;
}

/**
 * One operation of a commit. Keys and groups are well-formed text without NUL, of at most 512
 * characters and 1,000 bytes in UTF-8; values are JSON. Anything else throws a `RangeError` or
 * `TypeError`.
 */
export type Operation =
  /** Creates or overwrites the record. */
  | {
      readonly kind: "put";
      readonly collection: string;
      readonly key: string;
      readonly value: unknown;
      readonly placing: WriteOptions;
    }
  /** Creates the record; fails if it exists. */
  | {
      readonly kind: "insert";
      readonly collection: string;
      readonly key: string;
      readonly value: unknown;
      readonly placing: WriteOptions;
    }
  /** Changes the record; fails unless its revision is still `revision`. */
  | {
      readonly kind: "replace";
      readonly collection: string;
      readonly key: string;
      readonly revision: number;
      readonly value: unknown;
      readonly placing: ReplaceOptions;
    }
  /** Changes nothing; fails unless the record exists and its revision is still `revision`. */
  | {
      readonly kind: "check";
      readonly collection: string;
      readonly key: string;
      readonly revision: number;
    }
  /** Changes nothing; fails if the record exists. */
  | { readonly kind: "checkAbsent"; readonly collection: string; readonly key: string }
  /**
   * Changes nothing; fails unless `list` with the same `after` would return the same records again.
   * Revisions only grow and are never reused, so the records are the same if their number and their
   * newest revision are.
   */
  | {
      readonly kind: "checkList";
      readonly collection: string;
      /** Absent: the list is of the whole collection. */
      readonly group?: string;
      readonly after: number;
      /** Number of listed records. */
      readonly count: number;
      /** Revision of the last listed record; `after` if there is none. */
      readonly newest: number;
      /** Whether no record follows the last one. */
      readonly isWhole: boolean;
    }
  /** Marks a single-use record as consumed; fails if the record is absent or already consumed. */
  | { readonly kind: "consume"; readonly collection: string; readonly key: string }
  /**
   * Removes the record, if it exists. With `revision`, fails unless the record still has that
   * revision.
   */
  | {
      readonly kind: "remove";
      readonly collection: string;
      readonly key: string;
      readonly revision?: number;
    }
  /** Removes every record of the group, in all collections. */
  | { readonly kind: "removeGroup"; readonly group: string }
  /** Adds a row to the archive, unless a row with the same kind, instant and id exists. */
  | { readonly kind: "append"; readonly row: ArchiveRow }
  /** Notifies the listeners of `topic` in every process, once the commit is durable. */
  | { readonly kind: "announce"; readonly topic: string; readonly text: string };

/** Selection of records. */
export interface RecordSelection {
  /** Selects only records of this group. */
  readonly group?: string;
  /** Selects only records whose revision is higher than this. */
  readonly after?: number;
  /** Maximum number of records, from 1 to 10,000. */
  readonly limit: number;
}

/** Selection of due records. */
export interface DueRecordSelection {
  /** Maximum number of records, from 1 to 10,000. */
  readonly limit: number;
  /**
   * Lease in milliseconds. A claimed record is returned again after this time, unless it was
   * replaced or removed.
   */
  readonly leaseMs: number;
  /** Skips records in any of these groups, as if they were not due. */
  readonly except?: readonly string[];
}

/** Reads records: the store, or a transaction, which notes what it has read. */
export interface RecordReader {
  get<T>(from: Collection<T>, key: string): Promise<Stored<T> | undefined>;

  /**
   * Lists records, oldest change first. A record that changes between two pages is returned again
   * at the end.
   */
  list<T>(from: Collection<T>, selection: RecordSelection): Promise<readonly Stored<T>[]>;
}

/**
 * Small durable JSON documents: clients, tokens, claims of agents, keys, alerts, due deliveries.
 *
 * A commit is atomic, takes effect at one instant, and is on disk when its promise resolves. A
 * rejected commit never takes effect later, with one exception that no protocol can avoid: if the
 * database completes a commit and then stops responding for longer than this process retries, the
 * commit is rejected although it took effect. Expired records are treated as absent by every
 * operation. A read sees every commit that any process acknowledged before the read.
 *
 * Every method rejects with the problem `store_unavailable` if the store cannot answer.
 */
export interface Records extends RecordReader {
  /**
   * Lists keys and revisions of records like `list`, without reading the values. A reader that has
   * kept values learns which of them have changed or are gone.
   */
  listRevisions(
    from: Collection<unknown>,
    selection: Omit<RecordSelection, "group">,
  ): Promise<readonly RecordRevision[]>;

  /**
   * Performs all operations, or none.
   *
   * @returns Whether all operations succeeded; if one failed, nothing was changed.
   */
  commit(operations: readonly Operation[]): Promise<boolean>;

  /**
   * Claims due records for this caller alone, longest due first: their revisions change, and they
   * become due again when the lease ends. A worker that has finished with a record replaces or
   * removes it at the claimed revision. That commit fails if the lease has expired and another
   * worker has claimed the record.
   */
  claimDue<T>(from: Collection<T>, selection: DueRecordSelection): Promise<readonly Stored<T>[]>;

  /**
   * Deletes expired records.
   *
   * @returns The number of deleted records, at most `limit`.
   */
  purgeExpired(limit: number): Promise<number>;

  /**
   * Subscribes to a topic. An announcement only hints at new work: it can be lost when a connection
   * breaks, so listeners must also poll.
   *
   * @returns A function that unsubscribes.
   */
  onAnnounce(topic: string, listener: (text: string) => void): () => void;
}
