import { insert, replace } from "./port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "./port/records.ts";

/**
 * Serializes commits that add records up to a limit. Each writer reads the version of the lock,
 * counts the records, and commits with `incrementVersion`. If two writers do this concurrently, the
 * second commit fails, and its writer must count again.
 */
export interface OptimisticLock {
  readonly key: string;
  /**
   * Groups of the lock's record. These should be the groups whose removal also deletes the counted
   * records.
   */
  readonly groups: readonly string[];
}

/** A version of a lock; `undefined` if the lock has not been incremented for `LOCK_MS`. */
export type LockVersion = Stored<object> | undefined;

/** Locks by key. */
const locks = collection<object>("optimistic-locks");

/**
 * Lifetime of a lock version in milliseconds; longer than any request takes from counting the
 * records to the end of its commit.
 */
const LOCK_MS = 3_600_000;

/** Reads the version of a lock. Must be called before the records are counted. */
export function readVersion(records: Records, { key }: OptimisticLock): Promise<LockVersion> {
  return records.get(locks, key);
}

/** The operation that makes a commit fail unless the lock still has the version that was read. */
export function incrementVersion({ key, groups }: OptimisticLock, version: LockVersion): Operation {
  const value = {};
  return version === undefined
    ? insert(locks, { key, groups, value, ttlMs: LOCK_MS })
    : replace(locks, version, { value, ttlMs: LOCK_MS });
}
