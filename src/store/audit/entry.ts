import { randomUUID } from "node:crypto";
import type { ArchiveRow } from "../port/archive.ts";
import { announce, insert } from "../port/operations.ts";
import { collection, type Operation } from "../port/records.ts";

/** Kind of the archive rows of the audit log. */
export const AUDIT_KIND = "audit";

/** Audit rows that are not sealed yet, in their archive form. */
export const unsealedAudit = collection<ArchiveRow>("unsealed-audit");

/** Topic announced when audit rows are pending. */
export const AUDIT_TOPIC = "audit";

/** An action, its actor and its target. Contains no secrets; addresses only as hashes. */
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

/** Id of the row at a position. Sixteen digits hold every safe integer, so that text order equals numeric
 *  order. */
export const rowIdAt = (position: number): string => String(position).padStart(16, "0");

/** The position of a sealed row, from 1; `undefined` if its id is not a position. */
export function positionOf({ id }: Pick<ArchiveRow, "id">): number | undefined {
  const position = Number(id);
  return Number.isSafeInteger(position) && id === rowIdAt(position) ? position : undefined;
}

/**
 * The steps that record an entry in the same commit as the action. The leader archives the row
 * within a second, as a leaf of the audit tree (audit-tree.ts); if the leader crashes, the next one
 * archives it.
 *
 * @param at When it was done, in milliseconds since the epoch.
 */
export function audited(entry: AuditEntry, at: number): readonly Operation[] {
  const body = storable(entry);
  const row: ArchiveRow = { kind: AUDIT_KIND, at, id: randomUUID(), subject: body.target, body };
  return [insert(unsealedAudit, { key: `${at}:${row.id}`, value: row }), announce(AUDIT_TOPIC)];
}

/**
 * Replaces NUL and lone surrogates with U+FFFD. An entry can contain client input, and a row that an
 * engine or RFC 8785 rejects would block every row behind it.
 */
function storable(entry: AuditEntry): AuditEntry {
  return JSON.parse(JSON.stringify(entry), (_name, value: unknown) =>
    typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\uFFFD") : value,
  );
}
