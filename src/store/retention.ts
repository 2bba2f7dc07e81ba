import { chainPoints, PRUNED, pointOf, sealedEntry } from "./audit/chain.ts";
import { AUDIT_KIND } from "./audit/entry.ts";
import type { Archive } from "./port/archive.ts";
import { insert, replace, update } from "./port/operations.ts";
import type { Records } from "./port/records.ts";

const DAY_MS = 86_400_000;

/** How long audit rows are kept, in milliseconds: a year and what a yearly review needs. */
export const AUDIT_RETENTION_MS = 400 * DAY_MS;

/** How long the rows of a kind stay in the archive, in milliseconds; other kinds stay for ever. */
export type RetentionMs = Readonly<Record<string, number>>;

/** What retention applies to. */
export interface RetentionOptions {
  readonly records: Records;
  readonly archive: Archive;
  /** Of the kinds that the store does not write itself. */
  readonly retentionMs?: RetentionMs | undefined;
  /** Of kinds that cannot be had again: counted back from the newest row of the kind, so that a clock
   *  that is ahead for a minute takes nothing with it. */
  readonly retentionBeforeNewestMs?: RetentionMs | undefined;
}

/**
 * Removes what the archive need not keep any longer.
 *
 * @param now Milliseconds since the epoch.
 * @throws {Error} When the oldest audit rows are not as the service writes them; they stay.
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

/** Notes the newest audit row that is going to be removed, so that what follows it can be verified
 *  and a removal by somebody else is not taken for this. */
async function noteEndOfPruned(records: Records, archive: Archive, before: number): Promise<void> {
  const selection = { to: before - 1, order: "newest", limit: 1 } as const;
  const [newest] = await archive.read(AUDIT_KIND, selection);
  if (newest === undefined) return;
  if (sealedEntry(newest) === undefined) {
    throw new Error(`audit row "${newest.id}" was not written by the service; none is removed`);
  }
  const value = pointOf(newest);
  await update(records, { collection: chainPoints, key: PRUNED }, (noted) => {
    if (noted === undefined) return [insert(chainPoints, { key: PRUNED, value })];
    return value.position > noted.value.position
      ? [replace(chainPoints, noted, { value })]
      : undefined;
  });
}
