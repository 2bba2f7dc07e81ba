import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { ArchiveRow } from "../port/archive.ts";
import { collection } from "../port/records.ts";
import { AUDIT_KIND, type AuditEntry, rowIdAt } from "./entry.ts";

/** A position among the sealed rows. */
export interface SealedPoint {
  /** 1 for the first row ever sealed. */
  readonly position: number;
  /** sha256, in hexadecimal; absent for a leaf of the audit tree. */
  readonly hash?: string;
  /** When that row was sealed, in milliseconds since the epoch. */
  readonly sealedAt: number;
}

/** The end of the chain, and the newest row that retention removed. */
export const sealedPoints = collection<SealedPoint>("audit-chain");

/** Key of the point of the last row of the chain. */
export const HEAD_KEY = "head";

/** Key of the newest row that retention removed, of the chain or of the tree. */
export const PRUNED_KEY = "pruned";

/** The point before the first row. */
export const CHAIN_START: SealedPoint = { position: 0, hash: "0".repeat(64), sealedAt: 0 };

/** A row that an earlier version sealed. */
interface ChainedEntry extends AuditEntry {
  readonly position: number;
  readonly previousHash: string;
  /** sha256, in hexadecimal, of the previous hash and the rest of the row. */
  readonly hash: string;
}

/** @returns The entry, or `undefined` if the row is not in the chain. */
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
  return id === rowIdAt(entry.position) && hash === createHash("sha256").update(text).digest("hex");
}

/**
 * Earlier versions chained audit rows by hash. Follows such rows in archive order, and reports
 * which were changed, removed, inserted or reordered.
 */
export class HashChain {
  readonly #head: SealedPoint;
  readonly #report: (problem: string) => void;
  /** The newest row that retention has removed so far. */
  pruned: SealedPoint = CHAIN_START;
  /** The last row that is in its place. */
  #last: SealedPoint = CHAIN_START;

  /** @param head The recorded end of the chain. */
  constructor(head: SealedPoint, report: (problem: string) => void) {
    this.#head = head;
    this.#report = report;
  }

  /** Checks the next row against its predecessors. */
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
   * Finds a fault between a row and the last one. Rows that retention removed may be missing; if it was
   * interrupted, some of them remain, and the predecessor of the first of these is unknown.
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

/** Message that rows are missing. */
export const missingRowsMessage = (from: number, to: number): string =>
  from === to ? `Row ${from} is missing` : `Rows ${from} to ${to} are missing`;
