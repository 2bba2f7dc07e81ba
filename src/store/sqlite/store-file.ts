import { statSync } from "node:fs";
import { DatabaseSync, type StatementResultingChanges, type StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { walPathOf } from "./folder.ts";

/**
 * Version of the file format, incremented when older programs cannot read the records. In format 3
 * the URLs of webhooks are sealed; the start of the service seals those of format 2. In format 4
 * the members of groups are listed by collection and revision.
 */
export const FORMAT_VERSION = "4";

/** SQL that creates the table with facts about the file. */
const META =
  "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID";

/**
 * SQL that creates the record table. Rows keep their id when they change, so that a change does not
 * rewrite the key.
 */
const RECORDS: readonly string[] = [
  `CREATE TABLE record (
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, "key" TEXT NOT NULL,
    revision INTEGER NOT NULL, groups TEXT NOT NULL, expires_at INTEGER, due_at INTEGER,
    consumed_at INTEGER, text TEXT NOT NULL, crc INTEGER NOT NULL
  )`,
  `CREATE UNIQUE INDEX record_key ON record (collection, "key")`,
  "CREATE UNIQUE INDEX record_revision ON record (collection, revision)",
  "CREATE INDEX record_due ON record (collection, due_at, revision) WHERE due_at IS NOT NULL",
  `CREATE INDEX record_due_by_groups ON record (collection, groups, due_at, revision)
    WHERE due_at IS NOT NULL`,
  "CREATE INDEX record_expiry ON record (expires_at) WHERE expires_at IS NOT NULL",
];

/**
 * SQL that creates the table of groups, which a record has as JSON in its row, too. A list of a
 * group reads as many rows as it returns, and so does its check, however large the group is in this
 * and in other collections.
 */
const GROUPS = `CREATE TABLE record_group (
    name TEXT NOT NULL, collection TEXT NOT NULL, revision INTEGER NOT NULL,
    record INTEGER NOT NULL, PRIMARY KEY (name, collection, revision)
  ) WITHOUT ROWID`;

/** SQL that created the table of groups up to format 3. */
const GROUPS_OF_FORMAT_3 = `CREATE TABLE record_group (
    name TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (name, record)
  ) WITHOUT ROWID`;

/** SQL that creates the archive table. Row ids are the places of the rows. */
const ARCHIVE: readonly string[] = [
  `CREATE TABLE archive (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, name TEXT NOT NULL,
    subject TEXT, text TEXT NOT NULL, crc INTEGER NOT NULL
  )`,
  "CREATE UNIQUE INDEX archive_name ON archive (kind, at, name)",
  "CREATE INDEX archive_subject ON archive (kind, subject, at, name) WHERE subject IS NOT NULL",
];

/** Tables that are checked at every start: all except the archive. */
export const START_CHECKED_TABLES: readonly string[] = ["meta", "record", "record_group"];

/** All SQL statements that create the tables and indexes of a file. */
export const SCHEMA_SQL: readonly string[] = [META, ...RECORDS, GROUPS, ...ARCHIVE];

const SCHEMA_OF_FORMAT_3: readonly string[] = [META, ...RECORDS, GROUPS_OF_FORMAT_3, ...ARCHIVE];

/** For each format that is opened, the statements that created the tables and indexes of a file. */
export const SCHEMAS: ReadonlyMap<string, readonly string[]> = new Map([
  ["2", SCHEMA_OF_FORMAT_3],
  ["3", SCHEMA_OF_FORMAT_3],
  [FORMAT_VERSION, SCHEMA_SQL],
]);

/** SQL statements that bring the tables of earlier formats into this one. */
export const UPGRADE_SQL: readonly string[] = [
  "DROP TABLE record_group",
  GROUPS,
  `INSERT INTO record_group
    SELECT DISTINCT value, collection, revision, record.id FROM record, json_each(record.groups)`,
];

/**
 * Checkpoint interval, in pages of the write-ahead log (16 MB). With a longer log, writes are
 * cheaper, because a page that changes often is written back only once, but opening after a crash
 * is slower.
 */
const CHECKPOINT_PAGES = 4_000;

/**
 * Size in bytes to which the write-ahead log is truncated when it restarts; needed because the log
 * grows during a backup.
 */
const LOG_BYTES = 16 * 2 ** 20;

/** Page size in bytes, which is set when a file is created. */
export const PAGE_BYTES = 4_096;

/** Size of the page cache, in KiB. */
const CACHE_KIB = 32 * 1_024;

/** Names of the facts that are kept in a database file. */
type MetaName = "format" | "id" | "mode" | "revision" | "moved" | "copy";

const SET_META = `INSERT INTO meta VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value, crc = excluded.crc`;

/** A column value of SQLite. */
export type SqlValue = string | number | null;

/** Checksum over the columns of a row, which detects flipped bits in its texts. */
export function checksumOf(columns: readonly SqlValue[]): number {
  return crc32(columns.join("\0"));
}

/** An open database file. */
export class StoreFile {
  readonly path: string;
  readonly database: DatabaseSync;
  /** Ids of the files on disk when they were opened. */
  #onDisk: readonly string[] = [];
  readonly #statements = new Map<string, StatementSync>();
  #writes = 0;

  constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.database = database;
  }

  /**
   * Opens a file such that every transaction is durable when it ends. `fullfsync` is needed on
   * macOS, where a plain fsync reaches only the disk's cache.
   *
   * @throws {Error} An SQLite error, if another program has locked the file or the file is damaged.
   */
  static open(path: string): StoreFile {
    const file = new StoreFile(path, new DatabaseSync(path));
    return file.closingOnError(() => {
      file.database.exec(`
        PRAGMA cell_size_check = ON;
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        PRAGMA fullfsync = ON;
        PRAGMA checkpoint_fullfsync = ON;
        PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
        PRAGMA journal_size_limit = ${LOG_BYTES};
        PRAGMA cache_size = -${CACHE_KIB};
        BEGIN IMMEDIATE;
        COMMIT;
      `);
      file.#onDisk = file.#filesOnDisk();
      return file;
    });
  }

  /**
   * Whether the file and its write-ahead log are still where they were opened. A file that was
   * removed or replaced can be written as before, but what is written is lost when it is closed.
   */
  isInPlace(): boolean {
    return this.#filesOnDisk().every((id, at) => id === this.#onDisk[at]);
  }

  /** Device and inode of each file, as text; `undefined` for a file that is missing. */
  #filesOnDisk(): readonly string[] {
    return [this.path, walPathOf(this.path)].map((path) => {
      const found = statSync(path, { bigint: true, throwIfNoEntry: false });
      return `${found?.dev}:${found?.ino}`;
    });
  }

  /** Prepares a statement, or returns it if it was prepared before. */
  statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Number of statements of `write` so far that changed at least one row. */
  get writes(): number {
    return this.#writes;
  }

  /** Runs a statement that writes, and increments `writes` if it changed a row. */
  write(sql: string, ...values: readonly SqlValue[]): StatementResultingChanges {
    const result = this.statement(sql).run(...values);
    if (result.changes !== 0) this.#writes += 1;
    return result;
  }

  /** Runs work in a transaction. Everything that it wrote is on disk when this returns. */
  transaction<T>(work: () => T): T {
    this.statement("BEGIN IMMEDIATE").run();
    try {
      const result = work();
      this.statement("COMMIT").run();
      return result;
    } catch (error) {
      if (this.database.isTransaction) this.database.exec("ROLLBACK");
      throw error;
    }
  }

  /**
   * Reads the facts about the file.
   *
   * @throws {Error} If the checksum of a fact does not match.
   */
  meta(): ReadonlyMap<string, string> {
    const facts = new Map<string, string>();
    for (const { name, value, crc } of this.statement("SELECT * FROM meta").all()) {
      if (crc !== checksumOf([name as SqlValue, value as SqlValue]))
        throw new Error("a fact is not whole");
      facts.set(String(name), String(value));
    }
    return facts;
  }

  setMeta(name: MetaName, value: string): void {
    this.statement(SET_META).run(name, value, checksumOf([name, value]));
  }

  /**
   * Checks the schema of the file.
   *
   * @throws {Error} If its tables or indexes differ from the given schema.
   */
  checkSchema(schema: readonly string[]): void {
    const sql =
      "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL";
    const found = new Set(
      this.statement(sql)
        .all()
        .map((row) => row.sql),
    );
    if (found.size !== schema.length || !schema.every((each) => found.has(each))) {
      throw new Error("its tables are not the ones it was created with");
    }
  }

  /**
   * Runs one of SQLite's built-in checks and returns the problems found.
   *
   * @param pragma For example `integrity_check`, optionally limited to one table.
   */
  faults(pragma: string): readonly string[] {
    const rows = this.database.prepare(`PRAGMA ${pragma}`).all();
    return rows.flatMap((row) => Object.values(row).map(String)).filter((text) => text !== "ok");
  }

  /**
   * Writes all changes in the write-ahead log back to the file, so that the file is complete
   * without the log.
   */
  checkpoint(): void {
    this.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  close(): void {
    if (this.database.isOpen) this.database.close();
  }

  /** Runs work, and closes the file if the work throws. */
  closingOnError<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.close();
      throw error;
    }
  }
}
