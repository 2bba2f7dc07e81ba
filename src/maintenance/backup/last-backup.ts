import { collection, type Records } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";

/** When the newest backup was started, Unix milliseconds. */
const backups = collection<{ readonly createdAt: number }>("backup");

const KEY = "last";

/** Records that the store was backed up. */
export function recordBackup(tx: Transaction, createdAt: number): void {
  tx.put(backups, { key: KEY, value: { createdAt } });
}

/**
 * When the newest backup that `store backup` wrote of the store was started, Unix milliseconds;
 * `undefined` if there is none. Backups by other programs are not known.
 */
export async function lastBackupAt(records: Records): Promise<number | undefined> {
  return (await records.get(backups, KEY))?.value.createdAt;
}
