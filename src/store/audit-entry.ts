import { randomUUID } from "node:crypto";
import { DAY_MS } from "../lib/day.ts";
import type { ArchiveRow } from "./port/archive.ts";
import { collection } from "./port/records.ts";
import type { Transaction } from "./transact.ts";

/** Archive kind of audit rows. */
export const AUDIT_KIND = "audit";

/** Retention of audit rows, in milliseconds: 400 days, one year plus time for a yearly review. */
export const AUDIT_RETENTION_MS = 400 * DAY_MS;

/** Audit rows that are not sealed yet, in the form in which they will be archived. */
export const unsealedAudit = collection<ArchiveRow>("unsealed-audit");

/** Topic that announces pending audit rows. */
export const AUDIT_TOPIC = "audit";

/**
 * An audited action with its actor and target. It contains no secrets. Network addresses are stored
 * only as hashes.
 */
export interface AuditEntry {
  /** What was done, for example `client.registered`. */
  readonly action: string;
  /** The id of a client, an account or a key, or `system`. */
  readonly actor: string;
  /** The target, for example the id of a client. */
  readonly target: string;
  /** The caller's network address, hashed by the keyring. */
  readonly addressHash?: string;
  readonly requestId?: string;
  readonly detail?: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Archive id of the row at a position. Sixteen digits are enough for every safe integer, and zero
 * padding makes text order equal to numeric order.
 */
export const auditRowId = (position: number): string => String(position).padStart(16, "0");

/** The position of a sealed row, starting at 1; `undefined` if the row's id is not a position. */
export function auditPositionOf({ id }: Pick<ArchiveRow, "id">): number | undefined {
  const position = Number(id);
  const isPosition = Number.isSafeInteger(position) && position > 0 && id === auditRowId(position);
  return isPosition ? position : undefined;
}

/**
 * Records an entry in the transaction of the audited action. The leader archives the row within a
 * second as a leaf of the audit tree (audit-tree.ts). If the leader crashes, the next leader
 * archives the row.
 *
 * @param at When the action was performed, in milliseconds since the epoch.
 */
export function writeAuditEntry(tx: Transaction, entry: AuditEntry, at: number): void {
  const body = storable(entry);
  const value: ArchiveRow = { kind: AUDIT_KIND, at, id: randomUUID(), subject: body.target, body };
  tx.insert(unsealedAudit, { key: `${at}:${value.id}`, value });
  tx.announce(AUDIT_TOPIC);
}

/**
 * Replaces NUL and lone surrogates with U+FFFD. An entry can contain client input, and a row that a
 * storage engine or RFC 8785 rejects would block all later rows.
 */
function storable(entry: AuditEntry): AuditEntry {
  return JSON.parse(JSON.stringify(entry), (_name, value: unknown) =>
    typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\uFFFD") : value,
  );
}
