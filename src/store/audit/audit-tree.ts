import { randomBytes } from "node:crypto";
import canonicalize from "canonicalize";
import { verifierText } from "../../log/note-keys.ts";
import { type SigningKeys, signCheckpoint, signersOf } from "../../log/signers.ts";
import { appendLeaves, type StoredTree } from "../../log/tree-store.ts";
import type { ArchiveRow } from "../port/archive.ts";
import { append, insert, removeAt, replace } from "../port/operations.ts";
import { collection, type Records } from "../port/records.ts";
import { AUDIT_KIND, type AuditEntry, rowIdAt, unsealedAudit } from "./entry.ts";
import { CHAIN_START, HEAD_KEY, type SealedPoint, sealedPoints } from "./hash-chain.ts";

/** The tree of the audit rows (RFC 6962), as it was signed last. */
export interface AuditTree extends StoredTree {
  /** First line of its checkpoints. */
  readonly origin: string;
  /** Position of the row of its first leaf: 1, or after the last row of the hash chain. */
  readonly first: number;
  /** Position of the row of its last leaf. */
  readonly last: number;
  /** The signed note (C2SP tlog-checkpoint). */
  readonly checkpoint: string;
  /** The public keys that have signed it, newest first (C2SP signed-note, "Verifier keys"). */
  readonly keys: readonly string[];
  /** When the newest row was sealed, in milliseconds since the epoch. */
  readonly sealedAt: number;
}

/** The record of the tree. */
export const auditTrees = collection<AuditTree>("audit-tree");

/** Key of the record of the tree. */
export const TREE = "tree";

/** Random bytes in the id of a tree. */
const ID_BYTES = 6;

/** Rows sealed per commit. */
const BATCH = 500;

/** The leaf of a sealed row: canonical JSON (RFC 8785) of all of it. */
export const leafOf = ({ kind, at, id, subject, body }: ArchiveRow): string =>
  canonicalize({ kind, at, id, subject, body }) as string;

/** The first row of a tree that follows a hash chain: it names the last row of the chain. */
const chainRow = ({ position, hash = "" }: SealedPoint, at: number): ArchiveRow => {
  const entry = { action: "audit.tree_started", actor: "system", target: hash };
  return { kind: AUDIT_KIND, at, id: "", subject: hash, body: { ...entry, detail: { position } } };
};

/** What audit rows are sealed with. */
export interface Sealing {
  readonly records: Records;
  readonly keyring: SigningKeys;
}

/**
 * Archives the oldest pending audit rows as leaves of the tree, in one commit with the tree and its signed
 * checkpoint. If another process has sealed meanwhile, the commit fails and the rows stay pending. A crash
 * or a second sealer therefore neither loses nor duplicates a row, nor forks the tree.
 *
 * @param now Milliseconds since the epoch.
 * @returns How many rows were pending, at most 500.
 */
export async function sealAudit({ records, keyring }: Sealing, now: () => number): Promise<number> {
  const waiting = await records.list(unsealedAudit, { limit: BATCH });
  if (waiting.length === 0) return 0;
  const stored = await records.get(auditTrees, TREE);
  const chain = stored ? undefined : (await records.get(sealedPoints, HEAD_KEY))?.value;
  const before = stored?.value ?? newTree(chain);
  const sealedAt = Math.max(now(), before.sealedAt);
  const rows = [
    ...(chain === undefined ? [] : [chainRow(chain, sealedAt)]),
    ...waiting.map(({ value }) => value),
  ].map((row, at) => sealedRow(row, before.last + 1 + at, sealedAt));
  const { tree, edge, steps } = appendLeaves(before, rows.map(leafOf));
  const { origin } = before;
  const value: AuditTree = {
    ...before,
    edge,
    last: before.last + rows.length,
    checkpoint: signCheckpoint(keyring, { origin, size: tree.size, root: tree.root() }),
    keys: signersOf(keyring, origin).map(verifierText),
    sealedAt,
  };
  await records.commit([
    stored ? replace(auditTrees, stored, { value }) : insert(auditTrees, { key: TREE, value }),
    ...rows.map(append),
    ...steps,
    ...waiting.map((each) => removeAt(unsealedAudit, each)),
  ]);
  return waiting.length;
}

/** A tree without leaves, which continues the positions of the chain. */
function newTree({ position, sealedAt }: SealedPoint = CHAIN_START) {
  const id = randomBytes(ID_BYTES).toString("hex");
  return { id, origin: `audit/${id}`, edge: [], first: position + 1, last: position, sealedAt };
}

/** The row as sealed. Its instant is that of the sealing, which never decreases, so that the
 *  archive returns rows in the order of their positions. */
const sealedRow = (row: ArchiveRow, position: number, at: number): ArchiveRow => ({
  ...row,
  at,
  id: rowIdAt(position),
  body: { ...(row.body as AuditEntry), doneAt: row.at },
});
