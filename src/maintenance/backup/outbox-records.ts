import { AUDIT_KIND, unsealedAudit } from "../../store/audit-entry.ts";
import type { ArchiveRow } from "../../store/port/archive.ts";
import type { DumpRow } from "../../store/port/store.ts";
import { chainedEntry } from "../audit/hash-chain.ts";

type RecordRow = Extract<DumpRow, { table: "record" }>;

/**
 * Whether a row is an outbox record. Earlier versions committed archive rows as records of the
 * collection `outbox` and archived them later; stores and backups of these versions may still
 * contain such records.
 */
export function isOutboxRecord(row: DumpRow): row is RecordRow {
  return row.table === "record" && row.collection === "outbox";
}

/** Converts an outbox record to its current form: a pending audit row, or an archive row. */
export function upgradeOutboxRecord(record: RecordRow): DumpRow {
  const row = JSON.parse(record.text) as ArchiveRow;
  const isUnsealed = row.kind === AUDIT_KIND && chainedEntry(row) === undefined;
  if (isUnsealed) return { ...record, collection: unsealedAudit.name };
  const { kind, at, id, subject = null, body } = row;
  return { table: "archive", kind, at, id, subject, text: JSON.stringify(body) };
}
