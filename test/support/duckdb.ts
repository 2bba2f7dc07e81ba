import { DuckDBInstance } from "@duckdb/node-api";

/** A row of a DuckDB result. */
type DuckRow = Readonly<Record<string, unknown>>;

/**
 * Runs DuckDB statements in order.
 *
 * @returns The rows of the last statement, with JSON values.
 */
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
