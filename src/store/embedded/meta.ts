import { crc32 } from "node:zlib";
import type { SqliteFile } from "./sqlite-file.ts";

/** Facts about a file, in the file. */
export const META_SCHEMA =
  "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID";

/** Version of the tables; another one is not opened. */
export const FORMAT = "1";

/** What a file may say about itself. */
export type MetaName = "format" | "id" | "mode" | "created" | "revision" | "moved";

/** A column as SQLite takes and gives it. */
export type Column = string | number | null;

/** Sum over the columns of a row, so that a flipped bit within a text is found. */
export function sumOf(columns: readonly Column[]): number {
  return crc32(columns.join("\0"));
}

/** Sets a fact. */
export function setMeta(file: SqliteFile, name: MetaName, value: string): void {
  file
    .statement(
      `INSERT INTO meta VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value, crc = excluded.crc`,
    )
    .run(name, value, sumOf([name, value]));
}

/** The facts of a file. @throws {Error} When one was changed by other means. */
export function readMeta(file: SqliteFile): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (const { name, value, crc } of file.statement("SELECT * FROM meta").all()) {
    if (crc !== sumOf([name as Column, value as Column])) throw new Error("a fact is not whole");
    facts.set(String(name), String(value));
  }
  return facts;
}

/** @throws {Error} When the tables and indexes of a file are not the ones it was created with. */
export function checkSchema(file: SqliteFile, schema: readonly string[]): void {
  const rows = file
    .statement("SELECT sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL")
    .all();
  const found = new Set(rows.map(({ sql }) => sql));
  if (found.size !== schema.length || !schema.every((sql) => found.has(sql))) {
    throw new Error("its tables are not the ones it was created with");
  }
}
