import { randomUUID } from "node:crypto";
import type { ArchiveRow } from "../port/archive.ts";
import { announce, insert } from "../port/operations.ts";
import { collection, type Operation } from "../port/records.ts";

/** Kind of the archive rows that say who did what. */
export const AUDIT_KIND = "audit";

/** Audit rows that wait to be chained, as which they enter the archive. */
export const unsealedAudit = collection<ArchiveRow>("unsealed-audit");

/** Topic that is announced when audit rows wait to be chained. */
export const AUDIT_TOPIC = "audit";

/** An action, its actor and its target. Never holds a secret; addresses only as hashes. */
export interface AuditEntry {
  /** What was done, for example `client.registered`. */
  readonly action: string;
  /** The id of a client, an account or a key, or `system`. */
  readonly actor: string;
  /** What it was done to, for example the id of a client. */
  readonly target: string;
  /** The caller's network address as the keyring hashes it. */
  readonly addressHash?: string;
  readonly requestId?: string;
  readonly detail?: Readonly<Record<string, string | number | boolean>>;
}

/**
 * The steps that record an entry together with the rest of a commit. While a process leads, the row
 * stands in the archive within a second, chained to the ones before it (audit-chain.ts); after a
 * leader was killed, once another leads.
 *
 * @param at When it was done, in milliseconds since the epoch.
 */
export function audited(entry: AuditEntry, at: number): readonly Operation[] {
  const body = storable(entry);
  const row: ArchiveRow = { kind: AUDIT_KIND, at, id: randomUUID(), subject: body.target, body };
  return [insert(unsealedAudit, { key: `${at}:${row.id}`, value: row }), announce(AUDIT_TOPIC)];
}

/** What a stranger sent may be part of an entry. A row that an engine or RFC 8785 refuses would
 *  hold up every row behind it, so NUL and halves of surrogate pairs become U+FFFD. */
function storable(entry: AuditEntry): AuditEntry {
  return JSON.parse(JSON.stringify(entry), (_name, value: unknown) =>
    typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\uFFFD") : value,
  );
}
