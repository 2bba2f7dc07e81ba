import { AUDIT_KIND, auditPositionOf } from "../../store/audit-entry.ts";
import type { Archive, ArchiveRow } from "../../store/port/archive.ts";
import type { Records } from "../../store/port/records.ts";
import { CheckFailure } from "../../tree/check.ts";
import { type Hash, isSameHash, leafHash } from "../../tree/merkle.ts";
import { type EntryBundle, tilePath } from "../../tree/tile-path.ts";
import { splitHashes, TILE_WIDTH, type Tile, widthAt } from "../../tree/tiles.ts";
import { readStoredTile } from "../../tree/tree-store.ts";
import type { BundleContent, TreeReader } from "../../tree/tree-walk.ts";
import {
  AUDIT_TREE_KEY,
  type AuditTree,
  auditLeafOf,
  auditTrees,
  PRUNED_KEY,
  prunedAudit,
} from "./audit-tree.ts";

/** Number of rows read per page. */
const PAGE = 1_000;

/** Dependencies of `AuditRows`. */
interface AuditRowsOptions {
  readonly records: Records;
  readonly archive: Archive;
  /** The audit tree as it was when verification began; absent if no row has been sealed. */
  readonly tree: AuditTree | undefined;
  readonly report: (problem: string) => void;
  /** Called with the number of rows read so far and the approximate total. */
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Reads the sealed rows in archive order, and provides the rows of the audit tree by position for
 * the tree walk. Reports rows that are missing, inserted or reordered; the tree walk finds rows
 * that were changed in place.
 */
export class AuditRows implements TreeReader {
  readonly #options: AuditRowsOptions;
  /** Positions of the first and the last leaf of the audit tree. */
  readonly #first: number;
  readonly #last: number;
  #page: readonly ArchiveRow[] = [];
  #at = 0;
  #isEnd = false;
  #pruned = 0;
  /** The position up to which the tree walk has read. */
  #passed: number;
  readonly #missing: number[] = [];
  /** The row read ahead, once it is confirmed to be a leaf of the tree. */
  #leaf: ArchiveRow | undefined;
  #rows = 0;
  #beforeTree = 0;
  #oldest: number | undefined;
  #newest: number | undefined;

  constructor(options: AuditRowsOptions) {
    const { tree } = options;
    this.#options = options;
    this.#first = tree?.first ?? 1;
    this.#last = tree?.last ?? 0;
    this.#passed = this.#first - 1;
  }

  /** Position of the newest row that retention has removed so far. */
  get pruned(): number {
    return this.#pruned;
  }

  /** Numbers of rows that were read, and the positions of the oldest and newest of these rows. */
  get counts() {
    return {
      rows: this.#rows,
      beforeTree: this.#beforeTree,
      firstPosition: this.#oldest,
      lastPosition: this.#newest,
    };
  }

  async hashes(tile: Tile): Promise<readonly Hash[]> {
    const { archive, records, tree } = this.#options;
    const current = async () => (await records.get(auditTrees, AUDIT_TREE_KEY))?.value;
    const stored = readStoredTile(archive, { id: tree?.id ?? "", ...tile }, current);
    const found = await stored.catch((error: unknown) => {
      if (error instanceof RangeError) return undefined;
      throw error;
    });
    if (found?.width === tile.width) return splitHashes(found.bytes);
    const entry = tile.index * TILE_WIDTH ** (tile.level + 1);
    throw new CheckFailure(`tile ${tilePath(tile)} is not whole`, entry);
  }

  async entries({ index, width }: EntryBundle): Promise<BundleContent> {
    const entries: (string | undefined)[] = [];
    for (let at = 0; at < width; at++) {
      const row = await this.#rowAt(this.#first + index * TILE_WIDTH + at);
      entries.push(row && auditLeafOf(row));
    }
    return { entries };
  }

  /** Reads the remaining rows, and reports problems that can be detected only at the end. */
  async end(): Promise<void> {
    const { records, report } = this.#options;
    for (let row = await this.#peek(); row !== undefined; row = await this.#peek()) {
      const position = this.#take(row);
      // The tree walk ends early if the tree is damaged, so later leaves may not have been read.
      const isUnread = position !== undefined && position > this.#passed && position <= this.#last;
      if (!isUnread) this.#reportMisplaced(row, position);
    }
    for (const { from, to } of ranges(this.#missing)) report(`${missingRowsMessage(from, to)}.`);
    const last = (await records.get(auditTrees, AUDIT_TREE_KEY))?.value.last ?? 0;
    const newest = this.#newest ?? 0;
    if (newest > last) report(`Row ${newest} was inserted: the log ends at row ${last}.`);
  }

  /**
   * Reads rows until a position is reached.
   *
   * @returns The row at the position; `undefined` if it is missing.
   */
  async #rowAt(position: number): Promise<ArchiveRow | undefined> {
    for (;;) {
      const row = await this.#peek();
      if (row === undefined || (await this.#isFurtherOn(row, position))) {
        if (position > this.#pruned) this.#missing.push(position);
        this.#passed = position;
        return undefined;
      }
      const found = this.#take(row);
      if (found === position) {
        this.#passed = position;
        return row;
      }
      this.#reportMisplaced(row, found);
    }
  }

  /** Whether a row is the leaf of a position later than `position`. */
  async #isFurtherOn(row: ArchiveRow, position: number): Promise<boolean> {
    const found = auditPositionOf(row);
    if (found === undefined || found <= position || found > this.#last) return false;
    if (row === this.#leaf) return true;
    const place = found - this.#first;
    const index = Math.floor(place / TILE_WIDTH);
    const width = widthAt(0, index, this.#last - this.#first + 1);
    const hashes = await this.hashes({ level: 0, index, width });
    if (!isSameHash(leafHash(auditLeafOf(row)), hashes[place % TILE_WIDTH] as Hash)) return false;
    this.#leaf = row;
    return true;
  }

  /** Reports why a row is out of place. */
  #reportMisplaced(row: ArchiveRow, position: number | undefined): void {
    const { report } = this.#options;
    if (position === undefined) report(`Row "${row.id}" was inserted: it has no position.`);
    else if (position < this.#first) this.#beforeTree += 1;
    else if (position <= this.#passed) report(`Row ${position} stands after row ${this.#passed}.`);
    else if (position <= this.#last) report(changedRowMessage(position));
  }

  /** The next row, without consuming it; `undefined` at the end. */
  async #peek(): Promise<ArchiveRow | undefined> {
    if (this.#at === this.#page.length && !this.#isEnd) await this.#turn();
    return this.#page[this.#at];
  }

  #take(row: ArchiveRow): number | undefined {
    const position = auditPositionOf(row);
    this.#at += 1;
    if (position === undefined) return undefined;
    this.#rows += 1;
    this.#oldest ??= position;
    this.#newest = Math.max(this.#newest ?? 0, position);
    return position;
  }

  /**
   * Reads the next page. A page that is not full is treated as the last, so that concurrent writes
   * do not prolong the reading indefinitely.
   */
  async #turn(): Promise<void> {
    const { records, archive, onProgress } = this.#options;
    const after = this.#page.at(-1);
    const selection = { order: "oldest", limit: PAGE } as const;
    this.#page = await archive.read(AUDIT_KIND, { ...selection, ...(after && { after }) });
    this.#at = 0;
    this.#isEnd = this.#page.length < PAGE;
    // Retention may run concurrently. It records which rows it is about to remove before removing
    // them.
    this.#pruned = (await records.get(prunedAudit, PRUNED_KEY))?.value.position ?? 0;
    const done = this.#rows + this.#page.length;
    onProgress(done, Math.max(done, this.#last - this.#pruned));
  }
}

/** Message for a row that differs from the sealed row. */
export const changedRowMessage = (position: number): string =>
  `Row ${position} was changed: it is not the one in the tree.`;

/** Message for missing rows. */
const missingRowsMessage = (from: number, to: number): string =>
  from === to ? `Row ${from} is missing` : `Rows ${from} to ${to} are missing`;

/** Combines ascending numbers into contiguous ranges. */
function ranges(numbers: readonly number[]): readonly { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last?.to === number - 1) last.to = number;
    else found.push({ from: number, to: number });
  }
  return found;
}
