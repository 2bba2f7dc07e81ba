import type { ArchiveRow } from "./archive.ts";

declare const shape: unique symbol;

/** A named set of records of one shape. */
export interface Collection<T> {
  readonly name: string;
  /** Carries the shape for the compiler; never there at run time. */
  readonly [shape]?: T;
}

/** Names a set of records; the shape is what the code that writes them promises. */
export function collection<T>(name: string): Collection<T> {
  return { name };
}

/** A record as it is stored. Instants are milliseconds since the epoch by the store's clock. */
export interface Stored<T> {
  readonly key: string;
  readonly value: T;
  /** Rises with every write to the store, and is never used twice. */
  readonly revision: number;
  /** Names under which records of any collection are found or removed together. */
  readonly groups: readonly string[];
  /** From then on the record counts as absent. */
  readonly expiresAt: number | undefined;
  /** From then on `claimDue` hands the record out. */
  readonly dueAt: number | undefined;
  /** When its one use was made. */
  readonly consumedAt: number | undefined;
}

/** What a write says about a record beside its value. */
export interface Placing {
  /** Absent: none. */
  readonly groups?: readonly string[];
  /** Life from now, in milliseconds. Absent: for ever. */
  readonly ttlMs?: number;
  /** Time until the record is due, in milliseconds. Absent: never. */
  readonly dueInMs?: number;
}

/** Like `Placing`, for a record that exists: what is absent stays, `null` takes it away. */
export interface Replacing {
  readonly groups?: readonly string[];
  readonly ttlMs?: number | null;
  readonly dueInMs?: number | null;
}

/**
 * One step of a commit. Keys and groups are well-formed text without NUL, of at most 512 characters
 * and 1,000 bytes in UTF-8; values are JSON. Anything else is a `RangeError` or `TypeError`.
 */
export type Operation =
  /** Writes the record whatever was there. */
  | {
      readonly kind: "put";
      readonly collection: string;
      readonly key: string;
      readonly value: unknown;
      readonly placing: Placing;
    }
  /** Writes the record; does not hold when there is one. */
  | {
      readonly kind: "insert";
      readonly collection: string;
      readonly key: string;
      readonly value: unknown;
      readonly placing: Placing;
    }
  /** Changes the record; does not hold unless it is still at `revision`. */
  | {
      readonly kind: "replace";
      readonly collection: string;
      readonly key: string;
      readonly revision: number;
      readonly value: unknown;
      readonly placing: Replacing;
    }
  /** Changes nothing; does not hold unless the record is there and still at `revision`. */
  | {
      readonly kind: "check";
      readonly collection: string;
      readonly key: string;
      readonly revision: number;
    }
  /** Makes the one use of a record; does not hold when there is none or it was made before. */
  | { readonly kind: "consume"; readonly collection: string; readonly key: string }
  /** Removes the record, if there is one; with `revision`, does not hold unless it is at that. */
  | {
      readonly kind: "remove";
      readonly collection: string;
      readonly key: string;
      readonly revision?: number;
    }
  /** Removes every record of the group, in all collections. */
  | { readonly kind: "removeGroup"; readonly group: string }
  /** Adds a row to the archive, unless it is there by kind, instant and id. */
  | { readonly kind: "append"; readonly row: ArchiveRow }
  /** Tells the listeners of `topic` in every process, once the commit is durable. */
  | { readonly kind: "announce"; readonly topic: string; readonly text: string };

/** Which records are listed. */
export interface Selection {
  /** Only records of this group. */
  readonly group?: string;
  /** Only records with a higher revision. */
  readonly after?: number;
  /** At most this many, from 1 to 10,000. */
  readonly limit: number;
}

/** What is handed out to be worked on. */
export interface DueSelection {
  /** At most this many, from 1 to 10,000. */
  readonly limit: number;
  /** A record comes again after this many milliseconds unless it was replaced or removed. */
  readonly leaseMs: number;
  /** Records of any of these groups are passed over, as if they were not due. */
  readonly except?: readonly string[];
}

/**
 * Small JSON documents that are promises: clients, tokens, claims, keys, alerts, deliveries due.
 *
 * A commit is all or nothing, takes effect at one instant, and is on disk when it resolves. What
 * was refused is never seen later, with one exception that no protocol avoids: when a database
 * falls silent for longer than the retries last while its answer is on the way, a commit that it
 * has done is refused. A record that has expired counts as absent for every operation. Reads see every commit that was acknowledged before, on every process.
 *
 * Every method rejects with the problem `store_unavailable` when the store cannot answer.
 */
export interface Records {
  get<T>(from: Collection<T>, key: string): Promise<Stored<T> | undefined>;

  /** Oldest change first. A record changed while pages are read comes again at the end. */
  list<T>(from: Collection<T>, selection: Selection): Promise<readonly Stored<T>[]>;

  /** @returns Whether every step held; when one did not, nothing has changed. */
  commit(operations: readonly Operation[]): Promise<boolean>;

  /**
   * Hands out records that are due, the longest due first, each to one caller only: their revision
   * changes and they are due again after the lease. Whoever finishes one replaces or removes it at
   * that revision, which does not hold once the lease has run out and another has it.
   */
  claimDue<T>(from: Collection<T>, selection: DueSelection): Promise<readonly Stored<T>[]>;

  /** Frees what expired records use. @returns How many went, at most `limit`. */
  purgeExpired(limit: number): Promise<number>;

  /**
   * Listens to a topic. Announcements wake and no more: one may be lost with a connection, so
   * whoever listens also looks from time to time.
   *
   * @returns Stops listening.
   */
  onAnnounce(topic: string, listener: (text: string) => void): () => void;
}
