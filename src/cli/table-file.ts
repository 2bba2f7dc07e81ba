import { createReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import Papa from "papaparse";
import { replaceFile } from "../lib/replace-file.ts";
import { csvEncoder, readCell } from "../tables/csv.ts";
import { parquetEncoder } from "../tables/parquet.ts";
import type { Cell, ColumnHead } from "../tables/table.ts";
import type { TableEncoder } from "../tables/table-encoder.ts";

/** File formats of a table. */
export const TABLE_FILE_FORMATS = ["csv", "parquet"] as const;
export type TableFileFormat = (typeof TABLE_FILE_FORMATS)[number];

/** Number of rows per row group of a Parquet file; large groups can be read fast. */
const ROWS_PER_GROUP = 20_000;

/** Number of rows in each part that is read or written. */
const ROWS_PER_PART = 1_000;

type Rows = readonly (readonly Cell[])[];

/** A table and its target file. */
interface TableFile {
  readonly columns: readonly ColumnHead[];
  /** The rows of the table, in parts. */
  readonly parts: Iterable<Rows> | AsyncIterable<Rows>;
  readonly format: TableFileFormat;
  readonly file: string;
}

/**
 * Writes a table to a file, which exists either completely or not at all.
 * @returns The number of rows.
 */
export async function writeTableFile({ columns, parts, format, file }: TableFile): Promise<number> {
  const encoder = await ENCODERS[format](columns);
  return await replaceFile(file, async (handle) => {
    const rows = await writeParts(handle, parts, encoder);
    await handle.sync();
    return rows;
  });
}

const ENCODERS: Readonly<
  Record<TableFileFormat, (columns: readonly ColumnHead[]) => TableEncoder | Promise<TableEncoder>>
> = {
  csv: csvEncoder,
  parquet: (columns) => parquetEncoder(columns, { rowsPerGroup: ROWS_PER_GROUP }),
};

async function writeParts(
  handle: FileHandle,
  parts: TableFile["parts"],
  encoder: TableEncoder,
): Promise<number> {
  let count = 0;
  const write = async (piece: string | Uint8Array): Promise<void> => {
    if (piece.length > 0) await handle.writeFile(piece);
  };
  for await (const rows of parts) {
    count += rows.length;
    await write(encoder.add(rows));
  }
  await write(encoder.end());
  return count;
}

/**
 * Reads a CSV file that the service wrote.
 *
 * @param known Columns whose cells are converted to their type; cells of other columns are text.
 */
export async function readCsvTable(
  file: string,
  known: readonly ColumnHead[],
): Promise<Pick<TableFile, "columns" | "parts">> {
  const options = { delimiter: ",", newline: "\r\n", skipEmptyLines: true } as const;
  const parser = Papa.parse(Papa.NODE_STREAM_INPUT, options);
  const lines: AsyncIterator<string[]> = createReadStream(file, "utf8")
    .pipe(parser)
    [Symbol.asyncIterator]();
  const { value } = await lines.next();
  const columns = ((value ?? []) as readonly string[]).map(
    (name): ColumnHead => known.find((column) => column.name === name) ?? { name, type: "text" },
  );
  return { columns, parts: partsOf(lines, columns) };
}

async function* partsOf(
  lines: AsyncIterator<string[]>,
  columns: readonly ColumnHead[],
): AsyncGenerator<Rows, void> {
  let rows: Cell[][] = [];
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const texts: readonly string[] = line.value;
    rows.push(columns.map(({ type }, at) => readCell(texts[at] ?? "", type)));
    if (rows.length < ROWS_PER_PART) continue;
    yield rows;
    rows = [];
  }
  yield rows;
}
