/** A row of the archive. */
export interface ArchiveRow {
  /** What it is, for example `audit`. */
  readonly kind: string;
  /** When it happened, in milliseconds since the epoch. */
  readonly at: number;
  /** Names the row within its kind and instant. */
  readonly id: string;
  /** What it is about, for example a symbol. */
  readonly subject?: string;
  /** JSON. */
  readonly body: unknown;
}

/** Which rows are read. */
export interface ArchiveSelection {
  readonly subject?: string;
  /** Earliest instant, included. */
  readonly from?: number;
  /** Latest instant, included. */
  readonly to?: number;
  /** Which end is read first. */
  readonly order: "oldest" | "newest";
  /** Continues after this row. */
  readonly after?: Pick<ArchiveRow, "at" | "id">;
  /** At most this many, from 1 to 10,000. */
  readonly limit: number;
}

/**
 * What has happened and does not change: on disk, never all in memory. Rows that are to commit
 * together with records are steps of that commit (`append` in operations.ts).
 *
 * Every method rejects with the problem `store_unavailable` when the store cannot answer.
 */
export interface Archive {
  /**
   * Adds rows, all or none; on disk when it resolves. A row that is already there, by kind,
   * instant and id, stays as it is.
   *
   * @returns How many were new.
   */
  append(rows: readonly ArchiveRow[]): Promise<number>;

  /** Rows of one kind by instant, then id (in the order of UTF-8 bytes). */
  read(kind: string, selection: ArchiveSelection): Promise<readonly ArchiveRow[]>;

  /** Forgets the rows of a kind that happened before an instant. @returns How many went. */
  prune(kind: string, before: number): Promise<number>;
}
