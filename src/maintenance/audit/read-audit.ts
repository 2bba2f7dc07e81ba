import { AUDIT_KIND, auditPositionOf, unsealedAudit } from "../../store/audit-entry.ts";
import type { ArchiveRow } from "../../store/port/archive.ts";
import { archivePages, readAll } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import type { Store } from "../../store/port/store.ts";
import { AUDIT_TREE_KEY, auditTrees } from "./audit-tree.ts";

/**
 * Reads the rows of the audit log, sealed or not, newest first. Each is read once, although the
 * leader may seal rows meanwhile.
 *
 * @param from Leaves out rows that were sealed before this instant, in milliseconds since the epoch.
 */
export async function readAudit(
  { records, archive }: Pick<Store, "records" | "archive">,
  from?: number,
): Promise<readonly ArchiveRow[]> {
  const { unsealed, last } = await readUnsealed(records);
  const rows = unsealed.toReversed();
  const selection = { order: "newest", ...(from !== undefined && { from }) } as const;
  for await (const page of archivePages(archive, AUDIT_KIND, selection)) {
    rows.push(...page.filter((row) => (auditPositionOf(row) ?? 0) <= last));
  }
  return rows;
}

/** The rows that are not sealed, with the position of the last sealed row at the same instant. */
async function readUnsealed(records: Records) {
  const lastPosition = async () => (await records.get(auditTrees, AUDIT_TREE_KEY))?.value.last ?? 0;
  for (let last = await lastPosition(); ; ) {
    const unsealed = (await readAll(records, unsealedAudit)).map(({ value }) => value);
    const lastNow = await lastPosition();
    if (lastNow === last) return { unsealed, last };
    last = lastNow;
  }
}
