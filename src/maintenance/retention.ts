import { AUDIT_KIND, AUDIT_RETENTION_MS, auditPositionOf } from "../store/audit-entry.ts";
import type { Archive } from "../store/port/archive.ts";
import type { Records } from "../store/port/records.ts";
import { transact } from "../store/transact.ts";
import { PRUNED_KEY, prunedAudit } from "./audit/audit-tree.ts";

/** Retention by archive kind, in milliseconds. Kinds without a retention are kept forever. */
export type RetentionMsByKind = Readonly<Record<string, number>>;

/** Dependencies of `applyRetention`. */
export interface RetentionOptions {
  readonly records: Records;
  readonly archive: Archive;
  /** Retention of kinds that the store does not write itself, counted back from now. */
  readonly retentionMs?: RetentionMsByKind | undefined;
  /**
   * Retention of archive kinds that cannot be recreated. It is counted back from the newest row of
   * the kind or from the current time, whichever is earlier, so that a clock that is briefly ahead
   * causes no deletion.
   */
  readonly retentionBeforeNewestMs?: RetentionMsByKind | undefined;
}

/**
 * Deletes archive rows whose retention has ended.
 *
 * @param now Milliseconds since the epoch.
 * @throws {Error} If the newest of the audit rows to remove was not written by the service. No
 * audit row is removed then.
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
 * Stores the position of the newest audit row that is about to be removed. The rows after it can
 * then still be verified, and rows that retention removed can be distinguished from rows that
 * someone else removed.
 */
async function noteEndOfPruned(records: Records, archive: Archive, before: number): Promise<void> {
  const selection = { to: before - 1, order: "newest", limit: 1 } as const;
  const [newest] = await archive.read(AUDIT_KIND, selection);
  if (newest === undefined) return;
  const position = auditPositionOf(newest);
  if (position === undefined) {
    throw new Error(`audit row "${newest.id}" was not written by the service; none is removed`);
  }
  const value = { position, sealedAt: newest.at };
  await transact(records, async (tx) => {
    const noted = await tx.get(prunedAudit, PRUNED_KEY);
    if (noted !== undefined && noted.value.position >= position) return;
    tx.put(prunedAudit, { key: PRUNED_KEY, value });
  });
}
