/** A row of the archive. */
export interface ArchiveRow {
  /** Kind of the row, for example `audit`. Rows are read by kind. */
  readonly kind: string;
  /** When the event occurred, in milliseconds since the epoch. */
  readonly at: number;
  /** Id of the row, unique among rows of the same kind and instant. */
  readonly id: string;
  /** Subject of the row, for example a symbol. */
  readonly subject?: string;
  /** Content of the row, as a JSON value. */
  readonly body: unknown;
}

/** Selection of archive rows. */
export interface ArchiveSelection {
  readonly subject?: string;
  /** Earliest instant, inclusive, in milliseconds since the epoch. */
  readonly from?: number;
  /** Latest instant, inclusive, in milliseconds since the epoch. */
  readonly to?: number;
  /** Whether to start with the oldest or the newest rows. */
  readonly order: "oldest" | "newest";
  /** Continues after this row, in the chosen order. */
  readonly after?: Pick<ArchiveRow, "at" | "id">;
  /** Maximum number of rows, from 1 to 10,000. */
  readonly limit: number;
}

/** The rows that follow a place of the archive. */
export interface FollowingRows {
  /** Rows of the wanted kinds, in the order of their commits. */
  readonly rows: readonly ArchiveRow[];
  /**
   * The place to continue after. If it is the one that was asked for, no row of any kind follows.
   */
  readonly place: number;
}

/**
 * Storage for immutable events, which are kept on disk and not in memory. To commit rows together
 * with records, use the operation `appendToArchive` (operations.ts).
 *
 * Every method rejects with the problem `store_unavailable` if the store cannot answer.
 */
export interface Archive {
  /**
   * Adds rows durably, either all of them or none. A row that already exists, with the same kind,
   * instant and id, is left unchanged.
   *
   * @returns The number of rows that were new.
   */
  append(rows: readonly ArchiveRow[]): Promise<number>;

  /** Reads rows of one kind, ordered by instant and then by id (in the order of UTF-8 bytes). */
  read(kind: string, selection: ArchiveSelection): Promise<readonly ArchiveRow[]>;

  /**
   * Reads the rows that were committed after a place, whatever their instants. Each row has a
   * place: a number that grows in the order in which rows become readable and is never reused, also
   * after rows were deleted or the store was loaded. A reader that goes on from place to place
   * reads every row once.
   *
   * @param kinds Kinds of the rows to return; others are passed over.
   * @param limit Maximum number of rows of any kind to look at, from 1 to 10,000.
   */
  follow(kinds: ReadonlySet<string>, after: number, limit: number): Promise<FollowingRows>;

  /** Place of the newest row that is readable; 0 without any. */
  lastPlace(): Promise<number>;

  /**
   * Deletes the rows of one kind that are older than an instant.
   *
   * @returns The number of deleted rows.
   */
  prune(kind: string, before: number): Promise<number>;
}
