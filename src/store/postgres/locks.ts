/**
 * First half of the keys of this program's advisory locks, "MS" in ASCII. It separates them from
 * locks of other programs in the same database.
 */
const CLASS = 0x4d53;

/**
 * Operations that are serialized across all processes. The number is the second half of the lock
 * key.
 */
const locks = { schema: 1, records: 2, archive: 3 } as const;

/** Arguments for PostgreSQL's advisory lock functions, as SQL. */
export function lockKeySql(lock: keyof typeof locks): string {
  return `${CLASS}, ${locks[lock]}`;
}
