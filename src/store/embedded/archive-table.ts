import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { ArchiveRow, ArchiveSelection } from "../archive.ts";
import type { DumpRow } from "../store.ts";
import { storeUnavailable } from "../unavailable.ts";
import { damaged } from "./failure.ts";
import { META_SCHEMA, sumOf } from "./meta.ts";
import { fileOf, type SqliteFile } from "./sqlite-file.ts";

/** An archive row as it is copied from store to store. */
export type ArchiveDumpRow = Extract<DumpRow, { table: "archive" }>;

/** Rows are numbered in the order they came. */
export const ARCHIVE_SCHEMA: readonly string[] = [
  META_SCHEMA,
  `CREATE TABLE archive (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, name TEXT NOT NULL,
    subject TEXT, text TEXT NOT NULL, crc INTEGER NOT NULL
  )`,
  "CREATE UNIQUE INDEX archive_name ON archive (kind, at, name)",
  "CREATE INDEX archive_subject ON archive (kind, subject, at, name) WHERE subject IS NOT NULL",
];

/** Rows that go in one transaction when rows are forgotten; the event loop turns between them. */
const PRUNE_ROWS = 2_000;

/** The table of the archive. */
export interface ArchiveTable {
  readonly file: SqliteFile;
  /** Adds rows, all or none. @returns How many were new. */
  append(rows: readonly ArchiveDumpRow[]): number;
  read(kind: string, selection: ArchiveSelection): readonly ArchiveRow[];
  /** Forgets at most `PRUNE_ROWS` rows of a kind. @returns How many went. */
  pruneSome(kind: string, before: number): number;
  count(): number;
  /** The table as it is now, until it is closed. */
  snapshot(): ArchiveSnapshot;
  /** Ends the snapshots: their connections must not outlive the names of the files. */
  closeSnapshots(): void;
}

/** The rows of one instant, whatever is written since. */
export interface ArchiveSnapshot {
  readonly isOpen: boolean;
  /** Rows in the order they came. @param after Row number of the last row that was read. */
  batch(after: number, limit: number): ArchiveBatch;
  /** Lets go of the instant: until then the write-ahead log grows. */
  close(): void;
}

/** Some rows. */
interface ArchiveBatch {
  readonly rows: readonly ArchiveDumpRow[];
  /** Row number of the last. */
  readonly last: number;
}

/** The table of a file. */
export function createArchiveTable(file: SqliteFile): ArchiveTable {
  const snapshots = new Set<ArchiveSnapshot>();
  return {
    file,
    append: (rows) =>
      file.transaction(() => rows.reduce((added, row) => added + insertArchived(file, row), 0)),
    read(kind, selection) {
      const { sql, values } = selectionOf(kind, selection);
      return file
        .statement(sql)
        .all(...values)
        .map((row) => archiveRowOf(file, row));
    },
    pruneSome(kind, before) {
      const { changes } = file
        .statement(
          `DELETE FROM archive WHERE id IN
             (SELECT id FROM archive WHERE kind = ? AND at < ? ORDER BY at LIMIT ${PRUNE_ROWS})`,
        )
        .run(kind, before);
      return Number(changes);
    },
    count: () => Number(file.statement("SELECT count(*) AS rows FROM archive").get()?.rows),
    snapshot() {
      const snapshot = snapshotOf(file.path, () => snapshots.delete(snapshot));
      snapshots.add(snapshot);
      return snapshot;
    },
    closeSnapshots: () => snapshots.forEach((snapshot) => void snapshot.close()),
  };
}

/** Forgets every row of a kind from before an instant. @returns How many went. */
export async function pruneAll(prune: () => number): Promise<number> {
  let pruned = 0;
  for (;;) {
    const some = prune();
    pruned += some;
    if (some < PRUNE_ROWS) return pruned;
    await setImmediate();
  }
}

/** Adds a row unless it is there. @returns How many were new. */
export function insertArchived(file: SqliteFile, row: ArchiveDumpRow): number {
  const columns = columnsOf(row);
  const { changes } = file
    .statement(
      `INSERT INTO archive (kind, at, name, subject, text, crc) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, at, name) DO NOTHING`,
    )
    .run(...columns, sumOf(columns));
  return Number(changes);
}

/** A second connection that has begun to read: SQLite shows it that instant until it ends. */
function snapshotOf(path: string, onClosed: () => void): ArchiveSnapshot {
  const file = fileOf(path, new DatabaseSync(path, { readOnly: true }));
  file.database.exec("BEGIN; SELECT id FROM archive LIMIT 1");
  return {
    get isOpen() {
      return file.database.isOpen;
    },
    batch(after, limit) {
      const rows = file
        .statement("SELECT * FROM archive WHERE id > ? ORDER BY id LIMIT ?")
        .all(after, limit);
      return {
        rows: rows.map((row) => dumpRowOf(file, row)),
        last: Number(rows.at(-1)?.id ?? after),
      };
    },
    close() {
      file.close();
      onClosed();
    },
  };
}

/** Statement and values of a selection; the same statement for the same members. */
function selectionOf(kind: string, selection: ArchiveSelection) {
  const { subject, from, to, order, after, limit } = selection;
  const [direction, beyond] = order === "oldest" ? ["ASC", ">"] : ["DESC", "<"];
  const terms = [
    { sql: "kind = ?", values: [kind] },
    { sql: "subject = ?", values: subject === undefined ? undefined : [subject] },
    { sql: "at >= ?", values: from === undefined ? undefined : [from] },
    { sql: "at <= ?", values: to === undefined ? undefined : [to] },
    { sql: `(at, name) ${beyond} (?, ?)`, values: after && [after.at, after.id] },
  ].filter(({ values }) => values !== undefined);
  return {
    sql: `SELECT * FROM archive WHERE ${terms.map((term) => term.sql).join(" AND ")}
          ORDER BY at ${direction}, name ${direction} LIMIT ?`,
    values: [...terms.flatMap((term) => term.values ?? []), limit],
  };
}

type Row = Readonly<Record<string, unknown>>;

/** @throws {Problem} When the row is not as it was written. */
function dumpRowOf({ path }: SqliteFile, { kind, at, name, subject, text, crc }: Row) {
  const row = { table: "archive", kind, at, id: name, subject, text } as ArchiveDumpRow;
  if (sumOf(columnsOf(row)) === crc) return row;
  const cause = damaged(path, "a row is not as it was written");
  throw storeUnavailable("A part of the archive is damaged.", cause);
}

function archiveRowOf(file: SqliteFile, row: Row): ArchiveRow {
  const { kind, at, id, subject, text } = dumpRowOf(file, row);
  return { kind, at, id, ...(subject === null ? {} : { subject }), body: JSON.parse(text) };
}

function columnsOf({ kind, at, id, subject, text }: ArchiveDumpRow) {
  return [kind, at, id, subject, text] as const;
}
