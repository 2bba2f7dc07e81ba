/** First half of the key of our advisory locks, which tells them from those of other programs in
 *  the same database: "MS" in ASCII. */
const CLASS = 0x4d53;

/** What only one at a time may do, in all processes; the number is the second half of the key. */
const locks = { schema: 1, records: 2, archive: 3, migration: 4 } as const;

/** The arguments of PostgreSQL's advisory lock functions for one of our locks. */
export function lockKey(lock: keyof typeof locks): string {
  return `${CLASS}, ${locks[lock]}`;
}
