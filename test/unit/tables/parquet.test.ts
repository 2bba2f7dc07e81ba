import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parquetEncoder } from "../../../src/tables/parquet.ts";
import type { Cell, ColumnType } from "../../../src/tables/table.ts";
import { duckdb } from "../../support/duckdb.ts";
import { temporaryFolder } from "../../support/process.ts";

const columns = (["text", "integer", "number", "boolean", "date", "instant"] as const).map(
  (type: ColumnType) => ({ name: type, type }),
);

const rows: readonly (readonly Cell[])[] = [
  ['=a,"b"\né', 9_007_199_254_740_991, 0.1 + 0.2, true, "2014-06-09", "2014-06-09T20:15:00.123Z"],
  [null, null, null, null, null, null],
  ["", -1, -1e-300, false, "1969-12-31", "1969-12-31T23:59:59.999Z"],
];

/** Writes rows as Parquet in groups of `rowsPerGroup`. @returns The path of the file. */
async function written(all: typeof rows, rowsPerGroup: number): Promise<string> {
  const encoder = await parquetEncoder(columns, { rowsPerGroup });
  const parts = [...all.map((row) => encoder.add([row])), encoder.end()];
  const file = join(temporaryFolder(), "table.parquet");
  await writeFile(file, Buffer.concat(parts.map((part) => Buffer.from(part))));
  return file;
}

describe("a table in Parquet format", () => {
  it.each([1, 2, 100])(
    "is read by DuckDB with the same content when written in groups of %d rows",
    async (rowsPerGroup) => {
      const file = await written(rows, rowsPerGroup);
      const read = await duckdb(
        "SET TimeZone = 'UTC'",
        `SELECT "text", "integer"::DOUBLE AS "integer", "number", "boolean", "date"::VARCHAR AS "date",
       epoch_ms("instant")::DOUBLE AS "instant" FROM '${file}'`,
      );
      expect(read.map((row) => Object.values(row))).toEqual(
        rows.map(([text, integer, number, boolean, date, instant]) => [
          ...[text, integer, number, boolean, date],
          instant === null ? null : Date.parse(String(instant)),
        ]),
      );
    },
  );

  it("has its columns and types even without rows", async () => {
    const file = await written([], 10);
    const described = await duckdb(`DESCRIBE SELECT * FROM '${file}'`);
    expect(described.map(({ column_name, column_type }) => [column_name, column_type])).toEqual([
      ["text", "VARCHAR"],
      ["integer", "BIGINT"],
      ["number", "DOUBLE"],
      ["boolean", "BOOLEAN"],
      ["date", "DATE"],
      ["instant", "TIMESTAMP WITH TIME ZONE"],
    ]);
  });
});
