import type { Cell, ColumnHead, ColumnType } from "./table.ts";
import type { TableEncoder } from "./table-encoder.ts";

/** Media type of Parquet, as registered with IANA. */
export const PARQUET_MEDIA_TYPE = "application/vnd.apache.parquet";

/**
 * Encodes a table as Parquet; every cell may be null. The writer library is loaded with the first
 * table, because most processes never encode Parquet. Rows are encoded in groups of `rowsPerGroup`.
 */
export async function parquetEncoder(
  columns: readonly ColumnHead[],
  { rowsPerGroup }: { readonly rowsPerGroup: number },
): Promise<TableEncoder> {
  const { ByteWriter, ParquetWriter } = await import("hyparquet-writer");
  const writer = new ByteWriter();
  const schema = [{ name: "root", num_children: columns.length }, ...columns.map(elementOf)];
  const file = new ParquetWriter({ writer, schema });
  const columnData = columns.map(({ name, type }) => ({
    name,
    data: [] as unknown[],
    convert: VALUES[type],
  }));
  let gathered = 0;
  const encode = (): void => {
    if (gathered > 0) file.write({ columnData, rowGroupSize: gathered });
    for (const column of columnData) column.data = [];
    gathered = 0;
  };
  const take = (): Uint8Array => {
    const taken = writer.getBytes().slice();
    writer.index = 0;
    return taken;
  };
  return {
    add(rows) {
      for (const row of rows) {
        for (let at = 0; at < columnData.length; at++) {
          const { data, convert } = columnData[at] as (typeof columnData)[number];
          data.push(convert(row[at] as Cell));
        }
        gathered += 1;
        if (gathered === rowsPerGroup) encode();
      }
      return take();
    },
    end() {
      encode();
      file.finish();
      return take();
    },
  };
}

/** The Parquet schema element of a column. */
const elementOf = ({ name, type }: ColumnHead) => ({
  name,
  repetition_type: "OPTIONAL" as const,
  ...ELEMENTS[type],
});

const ELEMENTS = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  integer: { type: "INT64" },
  number: { type: "DOUBLE" },
  boolean: { type: "BOOLEAN" },
  date: { type: "INT32", converted_type: "DATE" },
  instant: {
    type: "INT64",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
} as const satisfies Readonly<Record<ColumnType, object>>;

const same = (cell: Cell): unknown => cell;
const timeOf = (cell: Cell): Date | null => (cell === null ? null : new Date(cell as string));

/** Functions that convert a cell to the value that the writer library expects, by column type. */
const VALUES: Readonly<Record<ColumnType, (cell: Cell) => unknown>> = {
  text: same,
  integer: (cell) => (cell === null ? null : BigInt(cell as number)),
  number: same,
  boolean: same,
  date: timeOf,
  instant: timeOf,
};
