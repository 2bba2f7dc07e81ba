/** A row of the archive. */
export interface ArchiveRow {
  /** Kind of the row, for example `audit`. */
  readonly kind: string;
  /** When it happened, in milliseconds since the epoch. */
  readonly at: number;
  /** Unique within kind and instant. */
  readonly id: string;
  /** Subject of the row, for example a symbol. */
  readonly subject?: string;
  /** JSON. */
  readonly body: unknown;
}

/** Selects rows. */
export interface ArchiveSelection {
  readonly subject?: string;
  /** Earliest instant, inclusive. */
  readonly from?: number;
  /** Latest instant, inclusive. */
  readonly to?: number;
  /** Read order. */
  readonly order: "oldest" | "newest";
  /** Continues after this row. */
  readonly after?: Pick<ArchiveRow, "at" | "id">;
  /** Maximum rows, from 1 to 10,000. */
  readonly limit: number;
}

/**
 * Immutable events: on disk, never all in memory. Rows that commit together with records are steps of
 * that commit (`append` in operations.ts).
 *
 * Every method rejects with the problem `store_unavailable` if the store cannot answer.
 */
export interface Archive {
  /**
   * Adds rows, all or none, durably. A row that already exists, by kind, instant and id, is left
   * unchanged.
   *
   * @returns How many were new.
   */
  append(rows: readonly ArchiveRow[]): Promise<number>;

  /** Rows of one kind by instant, then id (in the order of UTF-8 bytes). */
  read(kind: string, selection: ArchiveSelection): Promise<readonly ArchiveRow[]>;

  /**
   * Deletes the rows of a kind before an instant.
   *
   * @returns How many were deleted.
   */
  prune(kind: string, before: number): Promise<number>;
}
