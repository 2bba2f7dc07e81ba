import { randomBytes } from "node:crypto";
import canonicalize from "canonicalize";
import { type AuditEntry, auditRowId, unsealedAudit } from "../../store/audit-entry.ts";
import type { ArchiveRow } from "../../store/port/archive.ts";
import { collection, type Records } from "../../store/port/records.ts";
import { transactOnce } from "../../store/transact.ts";
import { verifierText } from "../../tree/note-keys.ts";
import { type SigningKeys, signCheckpoint, signersOf } from "../../tree/signers.ts";
import { appendLeaves, type StoredTree } from "../../tree/tree-store.ts";

/** The Merkle tree of the audit rows (RFC 6962), in its most recently signed state. */
export interface AuditTree extends StoredTree {
  /** Origin: the first line of the tree's checkpoints. */
  readonly origin: string;
  /**
   * Position of the row that is the first leaf: 1, or a later one in a store that began before
   * version 1.0.0.
   */
  readonly first: number;
  /** Position of the row that is the last leaf. */
  readonly last: number;
  /** The checkpoint as a signed note (C2SP tlog-checkpoint). */
  readonly checkpoint: string;
  /**
   * The public keys that have signed checkpoints of this tree, newest first (C2SP signed-note,
   * "Verifier keys").
   */
  readonly keys: readonly string[];
  /** When the newest row was sealed, in milliseconds since the epoch. */
  readonly sealedAt: number;
}

/** Collection with the audit tree as its only record. */
export const auditTrees = collection<AuditTree>("audit-tree");

/** Key of the only record in `auditTrees`. */
export const AUDIT_TREE_KEY = "tree";

/** A position in the sequence of sealed rows. */
interface SealedPoint {
  /** Number of the row, counted from 1 for the first row ever sealed. */
  readonly position: number;
  /** When the row at this position was sealed, in milliseconds since the epoch. */
  readonly sealedAt: number;
}

/** Collection with the newest row that retention has removed as its only record. */
export const prunedAudit = collection<SealedPoint>("audit-chain");

/** Key of the only record in `prunedAudit`. */
export const PRUNED_KEY = "pruned";

/** Number of random bytes in the id of a tree. */
const ID_BYTES = 6;

/** Maximum number of rows sealed per commit. */
const BATCH = 500;

/** The leaf of a sealed row: canonical JSON (RFC 8785) of the whole row. */
export const auditLeafOf = ({ kind, at, id, subject, body }: ArchiveRow): string =>
  canonicalize({ kind, at, id, subject, body }) as string;

/**
 * Archives the oldest pending audit rows as leaves of the tree, in one transaction with the tree
 * and its signed checkpoint. If another process has sealed rows in the meantime, nothing is written
 * and the rows stay pending. A crash or a second sealing process therefore cannot lose or duplicate
 * a row, or fork the tree.
 *
 * @param now The current time, in milliseconds since the epoch.
 * @returns The number of rows that were pending, at most 500.
 */
export async function sealAudit(
  { records, keyring }: { readonly records: Records; readonly keyring: SigningKeys },
  now: () => number,
): Promise<number> {
  const waiting = await records.list(unsealedAudit, { limit: BATCH });
  if (waiting.length === 0) return 0;
  const stored = await records.get(auditTrees, AUDIT_TREE_KEY);
  const before = stored?.value ?? newTree();
  const sealedAt = Math.max(now(), before.sealedAt);
  const rows = waiting.map(({ value }, at) => sealedRow(value, before.last + 1 + at, sealedAt));
  const { tree, edge, tileRows } = appendLeaves(before, rows.map(auditLeafOf));
  const { origin } = before;
  const value: AuditTree = {
    ...before,
    edge,
    last: before.last + rows.length,
    checkpoint: signCheckpoint(keyring, { origin, size: tree.size, root: tree.root() }),
    keys: signersOf(keyring, origin).map(verifierText),
    sealedAt,
  };
  await transactOnce(records, (tx) => {
    if (stored) tx.update(auditTrees, stored, { value });
    else tx.insert(auditTrees, { key: AUDIT_TREE_KEY, value });
    for (const row of [...rows, ...tileRows]) tx.append(row);
    for (const each of waiting) {
      tx.check(unsealedAudit, each);
      tx.remove(unsealedAudit, each.key);
    }
  });
  return waiting.length;
}

function newTree() {
  const id = randomBytes(ID_BYTES).toString("hex");
  return { id, origin: `audit/${id}`, edge: [], first: 1, last: 0, sealedAt: 0 };
}

/**
 * A row in its sealed form. Its `at` is the time of sealing, which never decreases, so that the
 * archive returns rows in order of position.
 */
const sealedRow = (row: ArchiveRow, position: number, at: number): ArchiveRow => ({
  ...row,
  at,
  id: auditRowId(position),
  body: { ...(row.body as AuditEntry), doneAt: row.at },
});
