import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { AUDIT_KIND, type AuditEntry, auditRowId } from "../../store/audit-entry.ts";
import type { ArchiveRow } from "../../store/port/archive.ts";
import { collection } from "../../store/port/records.ts";

/** A position in the sequence of sealed rows. */
export interface SealedPoint {
  /** Number of the row, counted from 1 for the first row ever sealed. */
  readonly position: number;
  /** SHA-256 of the row, in hexadecimal; absent for a leaf of the audit tree. */
  readonly hash?: string;
  /** When the row at this position was sealed, in milliseconds since the epoch. */
  readonly sealedAt: number;
}

/**
 * Two recorded positions: the end of the hash chain, and the newest row that retention has removed.
 */
export const sealedPoints = collection<SealedPoint>("audit-chain");

/** Record key of the position of the last row in the hash chain. */
export const CHAIN_HEAD_KEY = "head";

/**
 * Record key of the position of the newest row that retention has removed, from the chain or from
 * the tree.
 */
export const CHAIN_PRUNED_KEY = "pruned";

/** The position before the first row, with a hash of zeros. */
export const CHAIN_START: SealedPoint = { position: 0, hash: "0".repeat(64), sealedAt: 0 };

/** An audit entry as earlier versions sealed it, in a hash chain. */
interface ChainedEntry extends AuditEntry {
  readonly position: number;
  readonly previousHash: string;
  /** SHA-256 of the previous hash and the rest of the row, in hexadecimal. */
  readonly hash: string;
}

/**
 * Reads the chained entry of a row.
 *
 * @returns `undefined` if the row does not belong to the hash chain.
 */
export function chainedEntry({ kind, body }: ArchiveRow): ChainedEntry | undefined {
  if (kind !== AUDIT_KIND) return undefined;
  const { position, previousHash, hash } = (body ?? {}) as Partial<ChainedEntry>;
  const isChained = Number.isSafeInteger(position) && previousHash !== undefined && hash;
  return isChained ? (body as ChainedEntry) : undefined;
}

/** Whether a row matches its hash, which covers the previous hash and the canonical JSON (RFC 8785)
 *  of the rest of the row. */
function isUnchanged({ kind, at, id, subject, body }: ArchiveRow): boolean {
  const { hash, ...entry } = body as ChainedEntry;
  const text = `${entry.previousHash}${canonicalize({ kind, at, id, subject, body: entry })}`;
  return (
    id === auditRowId(entry.position) && hash === createHash("sha256").update(text).digest("hex")
  );
}

/**
 * Verifies the rows that earlier versions sealed with a hash chain. The rows are passed in archive
 * order; rows that were changed, removed, inserted or reordered are reported.
 */
export class HashChain {
  readonly #head: SealedPoint;
  readonly #report: (problem: string) => void;
  /** The newest row that retention has removed so far. */
  pruned: SealedPoint = CHAIN_START;
  /** The last row that was found in its proper place. */
  #last: SealedPoint = CHAIN_START;

  /** @param head The recorded end of the hash chain. */
  constructor(head: SealedPoint, report: (problem: string) => void) {
    this.#head = head;
    this.#report = report;
  }

  /** Checks the next row against the rows before it. */
  follow(row: ArchiveRow): void {
    const entry = chainedEntry(row);
    if (entry === undefined) {
      this.#report(`Row "${row.id}" was inserted: it has no place in the chain.`);
      return;
    }
    const { position, hash } = entry;
    const last = this.#last.position;
    if (!isUnchanged(row)) {
      this.#report(`Row ${position} was changed: it does not fit its hash.`);
      if (position !== last + 1) return;
    }
    if (position <= last) {
      this.#report(`Row ${position} stands after row ${last}.`);
      return;
    }
    this.#checkLink(entry);
    const isOther = [this.#head, this.pruned].some(
      (noted) => noted.position === position && noted.hash !== hash,
    );
    if (isOther) this.#report(`Row ${position} was replaced: another hash was noted for it.`);
    this.#last = { position, hash, sealedAt: row.at };
  }

  /**
   * Checks the link between a row and the previous one. Rows that retention has removed may be
   * missing. If retention was interrupted, some of the rows that it should have removed remain, and
   * the hash before the first remaining row is unknown.
   */
  #checkLink({ position, previousHash }: ChainedEntry): void {
    const [last, pruned] = [this.#last, this.pruned];
    const hasGap = last.position < position - 1;
    if (hasGap && position <= pruned.position) return;
    const previous = hasGap && last.position < pruned.position ? pruned : last;
    if (previous.position < position - 1) {
      this.#report(`${missingRowsMessage(previous.position + 1, position - 1)}.`);
    } else if (previous.hash !== previousHash) {
      this.#report(
        `Row ${position} does not follow from row ${position - 1}: one of them was replaced.`,
      );
    }
  }

  /** Compares the last row with the recorded end of the chain. */
  end(): void {
    const [end, noted] = [Math.max(this.#last.position, this.pruned.position), this.#head.position];
    if (end < noted) this.#report(`${missingRowsMessage(end + 1, noted)} at the end of the chain.`);
  }
}

/** Message for missing rows. */
export const missingRowsMessage = (from: number, to: number): string =>
  from === to ? `Row ${from} is missing` : `Rows ${from} to ${to} are missing`;
