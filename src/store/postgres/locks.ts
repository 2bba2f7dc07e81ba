/**
 * First half of the keys of this program's advisory locks, which separates them from those of other
 * programs in the same database: "MS" in ASCII.
 */
const CLASS = 0x4d53;

/** Operations serialized across all processes; the number is the second half of the key. */
const locks = { schema: 1, records: 2, archive: 3, migration: 4 } as const;

/** Arguments of PostgreSQL's advisory lock functions. */
export function lockKey(lock: keyof typeof locks): string {
  return `${CLASS}, ${locks[lock]}`;
}
