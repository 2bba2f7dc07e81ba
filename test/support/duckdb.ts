import { DuckDBInstance } from "@duckdb/node-api";

/** A row that DuckDB answers. */
type DuckRow = Readonly<Record<string, unknown>>;

/** Runs statements of DuckDB one after another. @returns The rows of the last one, as JSON has them. */
export async function duckdb(...statements: readonly string[]): Promise<readonly DuckRow[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    let rows: readonly DuckRow[] = [];
    for (const statement of statements) {
      rows = (await connection.runAndReadAll(statement)).getRowObjectsJson();
    }
    return rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
