import { AUDIT_KIND, positionOf } from "./audit/entry.ts";
import { chainedEntry, PRUNED_KEY, sealedPoints } from "./audit/hash-chain.ts";
import type { Archive } from "./port/archive.ts";
import { insert, replace, update } from "./port/operations.ts";
import type { Records } from "./port/records.ts";

const DAY_MS = 86_400_000;

/** Retention of audit rows, in milliseconds: a year plus the time for a yearly review. */
export const AUDIT_RETENTION_MS = 400 * DAY_MS;

/** Retention of archive kinds, in milliseconds; other kinds are kept forever. */
export type RetentionMs = Readonly<Record<string, number>>;

/** Dependencies of the retention. */
export interface RetentionOptions {
  readonly records: Records;
  readonly archive: Archive;
  /** For kinds that the store does not write itself. */
  readonly retentionMs?: RetentionMs | undefined;
  /**
   * For irreplaceable kinds: counted back from the newest row of the kind, so that a clock that is
   * briefly ahead deletes nothing.
   */
  readonly retentionBeforeNewestMs?: RetentionMs | undefined;
}

/**
 * Deletes archive rows past their retention.
 *
 * @param now Milliseconds since the epoch.
 * @throws {Error} If the oldest audit rows were not written by the service; they are kept.
 */
export async function applyRetention(
  { records, archive, retentionMs, retentionBeforeNewestMs = {} }: RetentionOptions,
  now: number,
): Promise<void> {
  for (const [kind, ms] of Object.entries(retentionBeforeNewestMs)) {
    const [newest] = await archive.read(kind, { order: "newest", limit: 1 });
    if (newest !== undefined) await archive.prune(kind, Math.min(now, newest.at) - ms);
  }
  for (const [kind, ms] of Object.entries({ ...retentionMs, [AUDIT_KIND]: AUDIT_RETENTION_MS })) {
    const before = now - ms;
    if (kind === AUDIT_KIND) await noteEndOfPruned(records, archive, before);
    await archive.prune(kind, before);
  }
}

/**
 * Records the newest audit row to be removed, so that its successors can be verified and a removal by
 * others is distinguished from retention.
 */
async function noteEndOfPruned(records: Records, archive: Archive, before: number): Promise<void> {
  const selection = { to: before - 1, order: "newest", limit: 1 } as const;
  const [newest] = await archive.read(AUDIT_KIND, selection);
  if (newest === undefined) return;
  const position = positionOf(newest);
  if (position === undefined) {
    throw new Error(`audit row "${newest.id}" was not written by the service; none is removed`);
  }
  const hash = chainedEntry(newest)?.hash;
  const value = { position, ...(hash !== undefined && { hash }), sealedAt: newest.at };
  await update(records, { collection: sealedPoints, key: PRUNED_KEY }, (noted) => {
    if (noted === undefined) return [insert(sealedPoints, { key: PRUNED_KEY, value })];
    return position > noted.value.position ? [replace(sealedPoints, noted, { value })] : undefined;
  });
}
