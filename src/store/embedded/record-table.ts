import type { LowSync, SyncAdapter } from "lowdb";
import { documentFrom, type Entry, entryOf } from "./entry.ts";
import { type Column, META_SCHEMA, readMeta, setMeta, sumOf } from "./meta.ts";
import { type Change, createDraft, createShelf, type Draft, older, type Shelf } from "./shelf.ts";
import type { SqliteFile } from "./sqlite-file.ts";

/** What lowdb holds: the records, and the changes that its next write makes durable. */
interface Data {
  readonly shelf: Shelf;
  draft: Draft;
}

/** The records in memory over their table. */
export type RecordBase = LowSync<Data>;

/**
 * Rows are numbered as they come and memory knows the number of each, so that the table needs no
 * index by name: new records go to the end of the file whatever their keys are.
 */
export const RECORD_SCHEMA: readonly string[] = [
  META_SCHEMA,
  `CREATE TABLE record (
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, "key" TEXT NOT NULL, text TEXT NOT NULL,
    revision INTEGER NOT NULL, groups TEXT NOT NULL, expires_at INTEGER, due_at INTEGER,
    consumed_at INTEGER, crc INTEGER NOT NULL
  )`,
  "CREATE INDEX record_due ON record (collection, due_at) WHERE due_at IS NOT NULL",
  "CREATE INDEX record_expiry ON record (expires_at) WHERE expires_at IS NOT NULL",
];

const UPSERT = `
  INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET
    text = excluded.text, revision = excluded.revision, groups = excluded.groups,
    expires_at = excluded.expires_at, due_at = excluded.due_at,
    consumed_at = excluded.consumed_at, crc = excluded.crc`;

/** Where a record is. */
interface Place {
  readonly collection: string;
  readonly key: string;
}

/** The table of records: what lowdb reads and writes, and what only an index answers fast. */
export interface RecordTable extends SyncAdapter<Data> {
  /** @throws {Error} When a row is not as it was written. */
  read(): Data;
  /** Makes the draft durable, all of it or nothing. */
  write(data: Data): void;
  /** Keys of the records that are due and have not expired, the longest due first. */
  due(collection: string, now: number, limit: number): readonly string[];
  /** Where records are that have expired, the longest expired first. */
  expired(now: number, limit: number): readonly Place[];
  /** Reads rows from disk. @param after Row number of the last row that was read. */
  check(after: number, limit: number): RowsChecked;
}

/** What came of reading some rows. */
interface RowsChecked {
  /** What is wrong with them. */
  readonly problems: readonly string[];
  /** Row number of the last; none when there are no more. */
  readonly last: number | undefined;
}

/** The table of a file. */
export function createRecordTable(file: SqliteFile): RecordTable {
  let lastRow = 0;
  const write = ({ collection, key, entry }: Change, shelf: Shelf): void => {
    const row = shelf.get(collection, key)?.row;
    if (entry !== undefined) {
      entry.row = row ?? ++lastRow;
      insertRecord(file, entry, entry.row);
    } else if (row !== undefined) {
      file.statement("DELETE FROM record WHERE id = ?").run(row);
    }
  };
  return {
    read() {
      const shelf = readShelf(file);
      lastRow = Number(file.statement("SELECT max(id) AS id FROM record").get()?.id ?? 0);
      return { shelf, draft: createDraft(shelf) };
    },
    write({ shelf, draft }) {
      file.transaction(() => {
        for (const change of draft.changes()) write(change, shelf);
        setMeta(file, "revision", String(draft.revision));
      });
    },
    due: (collection, now, limit) =>
      file
        .statement(
          `SELECT "key" FROM record
           WHERE collection = ? AND due_at <= ? AND (expires_at IS NULL OR expires_at > ?)
           ORDER BY due_at, revision LIMIT ?`,
        )
        .all(collection, now, now, limit)
        .map(({ key }) => String(key)),
    expired: (now, limit) =>
      file
        .statement(
          `SELECT collection, "key" FROM record
           WHERE expires_at <= ? ORDER BY expires_at, revision LIMIT ?`,
        )
        .all(now, limit)
        .map(({ collection, key }) => ({ collection: String(collection), key: String(key) })),
    check: (after, limit) => checkRows(file, after, limit),
  };
}

function checkRows(file: SqliteFile, after: number, limit: number): RowsChecked {
  const select = file.database.prepare("SELECT * FROM record WHERE id > ? ORDER BY id LIMIT ?");
  select.setReturnArrays(true);
  const rows = select.all(after, limit) as unknown as readonly (readonly Column[])[];
  const broken = rows.filter(([, ...columns]) => sumOf(columns.slice(0, -1)) !== columns.at(-1));
  return {
    problems: broken.map(([row]) => `the record in row ${row} is not as it was written`),
    last: rows.length < limit ? undefined : Number(rows.at(-1)?.[0]),
  };
}

/** Writes a row of the table. */
export function insertRecord(file: SqliteFile, { collection, stored, text }: Entry, row: number) {
  const { key, revision, groups, expiresAt, dueAt, consumedAt } = stored;
  const columns = [
    ...[collection, key, text, revision, JSON.stringify(groups)],
    ...[expiresAt ?? null, dueAt ?? null, consumedAt ?? null],
  ];
  file.statement(UPSERT).run(row, ...columns, sumOf(columns));
}

function readShelf(file: SqliteFile): Shelf {
  const select = file.database.prepare("SELECT * FROM record");
  select.setReturnArrays(true);
  const entries: Entry[] = [];
  for (const row of select.iterate()) entries.push(entryFrom(row as unknown as Column[]));
  const shelf = createShelf();
  for (const entry of entries.sort(older)) {
    const { collection, stored } = entry;
    if (shelf.get(collection, stored.key) !== undefined) throw new Error("a record is there twice");
    shelf.write({ collection, key: stored.key, entry });
  }
  const newest = entries.at(-1)?.stored.revision ?? 0;
  shelf.revision = Math.max(newest, Number(readMeta(file).get("revision") ?? 0));
  return shelf;
}

type RecordColumns = [string, string, string, number, string, ...(number | null)[]];

function entryFrom([row, ...columns]: readonly Column[]): Entry {
  const crc = columns.pop();
  if (sumOf(columns) !== crc) throw new Error("a record is not as it was written");

  const [collection, key, text, revision, groups, ...instants] = columns as RecordColumns;
  const [expiresAt, dueAt, consumedAt] = instants.map((at) => at ?? undefined);
  const document = documentFrom(text);
  const parts = { collection, key, document, revision, groups: JSON.parse(groups) as string[] };
  const entry = entryOf({ ...parts, expiresAt, dueAt, consumedAt });
  entry.row = Number(row);
  return entry;
}
