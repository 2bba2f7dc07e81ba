import { insert, replace } from "./port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "./port/records.ts";

/**
 * Serializes commits that add records up to a limit: each reads the version of the lock, counts the
 * records, and commits with `incrementVersion`. Of two concurrent commits the second fails, and
 * counts again.
 */
export interface OptimisticLock {
  readonly key: string;
  /** Groups whose removal deletes the counted records. */
  readonly groups: readonly string[];
}

/** A version of a lock; `undefined`: nobody has incremented it lately. */
export type LockVersion = Stored<object> | undefined;

/** Locks by their key. */
const locks = collection<object>("optimistic-locks");

/** Lifetime in milliseconds: longer than any request takes from its count to its commit. */
const LOCK_MS = 3_600_000;

/** Reads the version of a lock, to be called before counting. */
export function readVersion(records: Records, { key }: OptimisticLock): Promise<LockVersion> {
  return records.get(locks, key);
}

/** The operation that fails unless the lock still has the version that was read. */
export function incrementVersion({ key, groups }: OptimisticLock, version: LockVersion): Operation {
  const value = {};
  return version === undefined
    ? insert(locks, { key, groups, value, ttlMs: LOCK_MS })
    : replace(locks, version, { value, ttlMs: LOCK_MS });
}
