import type { Keyring } from "./keys/keyring.ts";
import { applyRetention, type Kept } from "./retention.ts";

/** Expired records that are purged in one step, so that no commit waits long. */
const PURGE_LIMIT = 1_000;

/** What is kept in order. */
export interface HousekeepingOptions extends Kept {
  readonly keyring: Pick<Keyring, "removeEnded">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Does one step of removing what is no longer wanted: expired records, then keys and archive
 * rows that were kept long enough.
 *
 * @returns How many records went when there are probably more, otherwise 0.
 */
export async function keepHouse(options: HousekeepingOptions): Promise<number> {
  const { records, keyring, now } = options;
  const purged = await records.purgeExpired(PURGE_LIMIT);
  if (purged === PURGE_LIMIT) return purged;

  await keyring.removeEnded();
  await applyRetention(options, now());
  return 0;
}
