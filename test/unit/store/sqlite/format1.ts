import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";

type Column = string | number | null;

/** A record in format 1. The members are the columns of its table. */
interface Format1Record {
  readonly collection: string;
  readonly key: string;
  readonly value: unknown;
  readonly revision: number;
  readonly groups?: readonly string[];
  readonly expiresAt?: number;
  readonly dueAt?: number;
  readonly consumedAt?: number;
}

/** An archive row in format 1. */
interface Format1Row {
  readonly kind: string;
  readonly at: number;
  readonly id: string;
  readonly subject?: string;
  readonly body: unknown;
}

/** Content of a store in format 1. */
export interface Format1Content {
  readonly records: readonly Format1Record[];
  readonly archive: readonly Format1Row[];
  /** The newest revision that the store has issued. */
  readonly revision: number;
  /** The date on which the store was moved to PostgreSQL. */
  readonly moved?: string;
}

const META =
  "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID";

const RECORD_SCHEMA = [
  META,
  `CREATE TABLE record (
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, "key" TEXT NOT NULL, text TEXT NOT NULL,
    revision INTEGER NOT NULL, groups TEXT NOT NULL, expires_at INTEGER, due_at INTEGER,
    consumed_at INTEGER, crc INTEGER NOT NULL
  )`,
  "CREATE INDEX record_due ON record (collection, due_at) WHERE due_at IS NOT NULL",
  "CREATE INDEX record_expiry ON record (expires_at) WHERE expires_at IS NOT NULL",
];

const ARCHIVE_SCHEMA = [
  META,
  `CREATE TABLE archive (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, name TEXT NOT NULL,
    subject TEXT, text TEXT NOT NULL, crc INTEGER NOT NULL
  )`,
  "CREATE UNIQUE INDEX archive_name ON archive (kind, at, name)",
  "CREATE INDEX archive_subject ON archive (kind, subject, at, name) WHERE subject IS NOT NULL",
];

const sumOf = (columns: readonly Column[]): number => crc32(columns.join("\0"));

/** Writes the two files of a store in format 1, as left after a regular stop. */
export function writeFormat1(folder: string, content: Format1Content): void {
  const facts = { format: "1", id: "store-of-format-1", created: "2026-11-21T12:00:00.000Z" };
  const { records, archive, revision, moved } = content;
  const recordFacts = {
    ...facts,
    mode: "sandbox",
    revision: String(revision),
    ...(moved && { moved }),
  };
  write(join(folder, "records.sqlite"), RECORD_SCHEMA, recordFacts, (database) => {
    const insert = database.prepare("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const [at, record] of records.entries()) {
      const { collection, key, value, groups = [] } = record;
      const columns: readonly Column[] = [
        ...[collection, key, JSON.stringify(value), record.revision, JSON.stringify(groups)],
        ...[record.expiresAt ?? null, record.dueAt ?? null, record.consumedAt ?? null],
      ];
      insert.run(at + 1, ...columns, sumOf(columns));
    }
  });
  write(join(folder, "archive.sqlite"), ARCHIVE_SCHEMA, facts, (database) => {
    const insert = database.prepare(
      "INSERT INTO archive (kind, at, name, subject, text, crc) VALUES (?, ?, ?, ?, ?, ?)",
    );
    for (const { kind, at, id, subject = null, body } of archive) {
      const columns: readonly Column[] = [kind, at, id, subject, JSON.stringify(body)];
      insert.run(...columns, sumOf(columns));
    }
  });
}

function write(
  path: string,
  schema: readonly string[],
  facts: Readonly<Record<string, string>>,
  fill: (database: DatabaseSync) => void,
): void {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL");
  for (const sql of schema) database.exec(sql);
  const insert = database.prepare("INSERT INTO meta VALUES (?, ?, ?)");
  for (const [name, value] of Object.entries(facts)) insert.run(name, value, sumOf([name, value]));
  fill(database);
  database.close();
}
