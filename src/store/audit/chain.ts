import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { ArchiveRow } from "../port/archive.ts";
import { append, insert, removeAt, replace } from "../port/operations.ts";
import type { Records } from "../port/records.ts";
import { collection } from "../port/records.ts";
import { AUDIT_KIND, type AuditEntry, unsealedAudit } from "./entry.ts";
/** A position in the hash chain, with the hash of the row there. */
export interface ChainPoint {
  /** 1 for the first row ever sealed. */
  readonly position: number;
  /** sha256, in hexadecimal. */
  readonly hash: string;
  /** When that row was sealed, in milliseconds since the epoch. */
  readonly sealedAt: number;
}

/** The end of the chain, and where it begins after retention removed older rows. */
export const chainPoints = collection<ChainPoint>("audit-chain");

/** Key of the newest row's point. */
export const HEAD = "head";

/** Key of the newest row that retention removed. */
export const PRUNED = "pruned";

/** The point before the first row. */
export const CHAIN_START: ChainPoint = { position: 0, hash: "0".repeat(64), sealedAt: 0 };

/** A sealed row. */
export interface SealedEntry extends AuditEntry {
  /** When it was done, in milliseconds since the epoch. */
  readonly doneAt: number;
  readonly position: number;
  readonly previousHash: string;
  /** sha256, in hexadecimal, of the previous hash and the rest of the row. */
  readonly hash: string;
}

/** @returns The entry, or `undefined` if the row is not in the chain. */
export function sealedEntry({ kind, body }: ArchiveRow): SealedEntry | undefined {
  if (kind !== AUDIT_KIND) return undefined;
  const { position, previousHash, hash } = (body ?? {}) as Partial<SealedEntry>;
  const isSealed = Number.isSafeInteger(position) && previousHash !== undefined && hash;
  return isSealed ? (body as SealedEntry) : undefined;
}

/** Whether an audit row still has to be chained. */
export function isUnsealed(row: ArchiveRow): boolean {
  return row.kind === AUDIT_KIND && sealedEntry(row) === undefined;
}

/**
 * Chains an audit row to its predecessors. Its instant becomes that of the sealing, which never
 * decreases, and its id its position, so that the archive returns rows in chain order.
 *
 * @param after The end of the chain.
 * @param now Milliseconds since the epoch.
 */
export function sealRow(row: ArchiveRow, after: ChainPoint, now: number): ArchiveRow {
  const position = after.position + 1;
  const entry = {
    ...(row.body as AuditEntry),
    doneAt: row.at,
    position,
    previousHash: after.hash,
  };
  const placed = { ...row, at: Math.max(now, after.sealedAt), id: idOf(position), body: entry };
  return { ...placed, body: { ...entry, hash: hashOf(placed) } };
}

/** The chain point of a sealed row. */
export function chainPointOf({ at, body }: ArchiveRow): ChainPoint {
  const { position, hash } = body as SealedEntry;
  return { position, hash, sealedAt: at };
}

/** Whether a sealed row matches its own hash. */
export function isUnchanged(row: ArchiveRow): boolean {
  const { hash, ...entry } = row.body as SealedEntry;
  return row.id === idOf(entry.position) && hash === hashOf({ ...row, body: entry });
}

/** Sixteen digits hold every safe integer, so that text order equals numeric order. */
const idOf = (position: number): string => String(position).padStart(16, "0");

/** sha256 of the previous hash and the canonical JSON (RFC 8785) of the row without its own hash. */
function hashOf({ kind, at, id, subject, body }: ArchiveRow): string {
  const { previousHash } = body as SealedEntry;
  const text = `${previousHash}${canonicalize({ kind, at, id, subject, body })}`;
  return createHash("sha256").update(text).digest("hex");
}

/** Rows chained per commit. */
const BATCH = 500;

/**
 * Chains the oldest pending audit rows and archives them, in one commit with the new end of the chain.
 * If another process has moved the end meanwhile, the commit fails and the rows stay pending. A crash
 * or a second sealer therefore neither loses nor duplicates a row, nor forks the chain.
 *
 * @param now Milliseconds since the epoch.
 * @returns How many rows were pending, at most 500.
 */
export async function sealAudit(records: Records, now: () => number): Promise<number> {
  const waiting = await records.list(unsealedAudit, { limit: BATCH });
  if (waiting.length === 0) return 0;
  const head = await records.get(chainPoints, HEAD);
  let end = head?.value ?? CHAIN_START;
  const moved = waiting.flatMap((stored) => {
    const row = sealRow(stored.value, end, now());
    end = chainPointOf(row);
    return [append(row), removeAt(unsealedAudit, stored)];
  });
  const noted = head
    ? replace(chainPoints, head, { value: end })
    : insert(chainPoints, { key: HEAD, value: end });
  await records.commit([noted, ...moved]);
  return waiting.length;
}
