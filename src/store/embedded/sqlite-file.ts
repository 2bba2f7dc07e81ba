import { DatabaseSync, type StatementSync } from "node:sqlite";

/** How a database file is opened. */
export interface FileOptions {
  readonly path: string;
  /** Who may have the file open: `one` connection, or several of this process (`process`). */
  readonly sharing: "one" | "process";
}

/** An open database file. */
export interface SqliteFile {
  readonly path: string;
  readonly database: DatabaseSync;
  /** Prepares a statement once. */
  statement(sql: string): StatementSync;
  /** Does all of the work or none of it; what it wrote is on disk when this returns. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** Pages in the write-ahead log before it is written back: a stall of some 10 ms at most. */
const CHECKPOINT_PAGES = 1_000;

/** Size of a page, set when a file is created. */
export const PAGE_BYTES = 4_096;

/** Page cache, in KiB. */
const CACHE_KIB = 32 * 1_024;

/**
 * Opens a database file that exists, so that every transaction is on disk when it ends.
 * `fullfsync` is for macOS, where a plain sync stops at the cache of the disk.
 *
 * @throws {Error} Of SQLite, when another process holds the file or it is damaged.
 */
export function openSqliteFile({ path, sharing }: FileOptions): SqliteFile {
  const file = fileOf(path, new DatabaseSync(path));
  return closingOnError(file, () => {
    file.database.exec(`
      PRAGMA locking_mode = ${sharing === "one" ? "EXCLUSIVE" : "NORMAL"};
      PRAGMA cell_size_check = ON;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA fullfsync = ON;
      PRAGMA checkpoint_fullfsync = ON;
      PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
      PRAGMA cache_size = -${CACHE_KIB};
      BEGIN IMMEDIATE;
      COMMIT;
    `);
    return file;
  });
}

/** An open database as a file with its statements. */
export function fileOf(path: string, database: DatabaseSync): SqliteFile {
  const statements = new Map<string, StatementSync>();
  return {
    path,
    database,
    statement(sql) {
      const statement = statements.get(sql) ?? database.prepare(sql);
      statements.set(sql, statement);
      return statement;
    },
    transaction(work) {
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    },
    close() {
      if (database.isOpen) database.close();
    },
  };
}

/** Does something with a file that nobody else will close when that fails. */
export function closingOnError<T>(file: SqliteFile, work: () => T): T {
  try {
    return work();
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Writes the write-ahead log back, so that the file is whole without it. */
export function checkpoint({ database }: SqliteFile): void {
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}
