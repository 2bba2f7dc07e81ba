import type { ArchiveRow } from "./archive.ts";

declare const shape: unique symbol;

/** A named set of records of one shape. */
export interface Collection<T> {
  readonly name: string;
  /** Carries the type for the compiler; absent at run time. */
  readonly [shape]?: T;
}

/** Names a set of records; the code that writes them is responsible for the type. */
export function collection<T>(name: string): Collection<T> {
  return { name };
}

/** A stored record. Instants are milliseconds since the epoch by the store's clock. */
export interface Stored<T> {
  readonly key: string;
  readonly value: T;
  /** Increases with every write to the store, and is never reused. */
  readonly revision: number;
  /** Groups, by which records of any collection are found or removed together. */
  readonly groups: readonly string[];
  /** Instant from which the record counts as absent. */
  readonly expiresAt: number | undefined;
  /** Instant from which `claimDue` returns the record. */
  readonly dueAt: number | undefined;
  /** When the single use was consumed. */
  readonly consumedAt: number | undefined;
}

/** Options of a write besides the value. */
export interface WriteOptions {
  /** Absent: none. */
  readonly groups?: readonly string[];
  /** Lifetime in milliseconds. Absent: unlimited. */
  readonly ttlMs?: number;
  /** Delay until the record is due, in milliseconds. Absent: never. */
  readonly dueInMs?: number;
}

/** Like `WriteOptions`, for an existing record: absent members are unchanged, `null` removes one. */
export interface ReplaceOptions {
  readonly groups?: readonly string[];
  readonly ttlMs?: number | null;
  readonly dueInMs?: number | null;
}

/**
 * One step of a commit. Keys and groups are well-formed text without NUL, of at most 512 characters
 * and 1,000 bytes in UTF-8; values are JSON. Anything else is a `RangeError` or `TypeError`.
 */
export type Operation =
  /** Writes the record unconditionally. */
  | {
      readonly kind: "put";
      readonly collection: string;
      readonly key: string;
      readonly value: unknown;
      readonly placing: WriteOptions;
    }
  /** Writes the record; fails if it exists. */
  | {
      readonly kind: "insert";
      readonly collection: string;
      readonly key: string;
      readonly value: unknown;
      readonly placing: WriteOptions;
    }
  /** Changes the record; fails unless it is still at `revision`. */
  | {
      readonly kind: "replace";
      readonly collection: string;
      readonly key: string;
      readonly revision: number;
      readonly value: unknown;
      readonly placing: ReplaceOptions;
    }
  /** Changes nothing; fails unless the record exists and is still at `revision`. */
  | {
      readonly kind: "check";
      readonly collection: string;
      readonly key: string;
      readonly revision: number;
    }
  /** Marks a record as used, once; fails if there is no record or it was used before. */
  | { readonly kind: "consume"; readonly collection: string; readonly key: string }
  /**
   * Removes the record, if it exists; with `revision`, fails unless it is still at that revision.
   */
  | {
      readonly kind: "remove";
      readonly collection: string;
      readonly key: string;
      readonly revision?: number;
    }
  /** Removes every record of the group, in all collections. */
  | { readonly kind: "removeGroup"; readonly group: string }
  /** Adds a row to the archive, unless one with its kind, instant and id exists. */
  | { readonly kind: "append"; readonly row: ArchiveRow }
  /** Notifies the listeners of `topic` in every process, once the commit is durable. */
  | { readonly kind: "announce"; readonly topic: string; readonly text: string };

/** Selects records. */
export interface Selection {
  /** Only records of this group. */
  readonly group?: string;
  /** Only records with a higher revision. */
  readonly after?: number;
  /** Maximum records, from 1 to 10,000. */
  readonly limit: number;
}

/** Selects due records. */
export interface DueSelection {
  /** Maximum records, from 1 to 10,000. */
  readonly limit: number;
  /** A record is returned again after this many milliseconds unless it was replaced or removed. */
  readonly leaseMs: number;
  /** Records in any of these groups are skipped, as if they were not due. */
  readonly except?: readonly string[];
}

/**
 * Small durable JSON documents: clients, tokens, claims, keys, alerts, due deliveries.
 *
 * A commit is atomic, takes effect at one instant, and is on disk when it resolves. A rejected commit
 * never takes effect later, with one exception that no protocol avoids: if a database falls silent for
 * longer than the retries last while its answer is in transit, a completed commit is rejected. An
 * expired record counts as absent for every operation. Reads see every commit acknowledged before, from
 * every process.
 *
 * Every method rejects with the problem `store_unavailable` if the store cannot answer.
 */
export interface Records {
  get<T>(from: Collection<T>, key: string): Promise<Stored<T> | undefined>;

  /** Oldest change first. A record that changes between pages is returned again at the end. */
  list<T>(from: Collection<T>, selection: Selection): Promise<readonly Stored<T>[]>;

  /** @returns Whether every step succeeded; if one failed, nothing was changed. */
  commit(operations: readonly Operation[]): Promise<boolean>;

  /**
   * Claims due records, longest due first, each for one caller only: their revision changes and they
   * become due again after the lease. A worker that finishes one replaces or removes it at that
   * revision, which fails if the lease has expired and another worker has claimed it.
   */
  claimDue<T>(from: Collection<T>, selection: DueSelection): Promise<readonly Stored<T>[]>;

  /**
   * Deletes expired records.
   *
   * @returns How many were deleted, at most `limit`.
   */
  purgeExpired(limit: number): Promise<number>;

  /**
   * Subscribes to a topic. An announcement is only a wake-up call: it may be lost with a connection, so
   * listeners must also poll.
   *
   * @returns A function that unsubscribes.
   */
  onAnnounce(topic: string, listener: (text: string) => void): () => void;
}
