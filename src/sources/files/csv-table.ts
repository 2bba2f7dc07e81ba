import Papa from "papaparse";
import type { Column } from "./columns.ts";
import { dataError, type FileLocation, quoted } from "./data-error.ts";

/** A file in memory. */
export interface TextFile {
  readonly path: string;
  readonly content: string;
}

type Columns = Readonly<Record<string, Column<unknown>>>;
type CsvRow<C extends Columns> = {
  readonly [Name in keyof C]: C[Name] extends Column<infer T> ? T : never;
};

/** Turns one row into a record, given the record made of the row above, if any. */
type RowMapper<C extends Columns, R> = (
  row: CsvRow<C>,
  place: FileLocation,
  above: R | undefined,
) => R;

/**
 * Reads a CSV file whose header is exactly the names of `columns`, in their order, into one record
 * per row. Rows are mapped one by one, so that a large file is never held twice.
 *
 * @throws {Error} with file and line at the first header, row or cell that is malformed.
 */
export function readCsv<C extends Columns, R>(
  { path, content }: TextFile,
  columns: C,
  map: RowMapper<C, R>,
): R[] {
  const lines = splitCsv({ path, content });
  requireHeader(lines[0] ?? [], Object.keys(columns), path);

  const entries = Object.entries(columns);
  const records: R[] = [];
  for (let index = 1; index < lines.length; index++) {
    const place = { file: path, line: index + 1 };
    const row = readRow<C>(entries, lines[index] as string[], place);
    records.push(map(row, place, records.at(-1)));
  }
  return records;
}

/** Cells by line. A cell that spans lines would shift the count of lines, so it is refused. */
function splitCsv({ path, content }: TextFile): string[][] {
  const unix = content.replaceAll("\r\n", "\n");
  const { data, errors } = Papa.parse<string[]>(unix, { delimiter: ",", newline: "\n" });
  const spanning = content.includes('"') ? data.findIndex(spansLines) : -1;
  if (spanning >= 0) {
    const place = { file: path, line: spanning + 1 };
    throw dataError(place, "a quoted cell does not end on its line", "close it with a quote");
  }
  const [error] = errors;
  if (error !== undefined) {
    const place = { file: path, line: (error.row ?? 0) + 1 };
    throw dataError(place, error.message, 'write "a, b" for a cell with a comma');
  }
  const last = data.at(-1);
  const endsWithLineBreak = last?.length === 1 && last[0] === "";
  return endsWithLineBreak ? data.slice(0, -1) : data;
}

const spansLines = (cells: readonly string[]) => cells.some((cell) => /[\r\n]/.test(cell));

function requireHeader(header: readonly string[], names: readonly string[], file: string) {
  const expected = names.join(",");
  if (header.join(",") === expected) return;
  throw dataError({ file, line: 1 }, `the header is ${quoted(header.join(","))}`, expected);
}

function readRow<C extends Columns>(
  columns: readonly (readonly [string, Column<unknown>])[],
  cells: readonly string[],
  place: FileLocation,
): CsvRow<C> {
  if (cells.length !== columns.length) {
    const names = columns.map(([name]) => name).join(",");
    throw dataError(place, `the line has ${cells.length} of ${columns.length} columns`, names);
  }
  const row: Record<string, unknown> = {};
  for (let index = 0; index < columns.length; index++) {
    const [name, { parse, expected }] = columns[index] as readonly [string, Column<unknown>];
    const cell = cells[index] as string;
    const value = parse(cell);
    if (value === undefined) throw dataError(place, `${name} is ${quoted(cell)}`, expected);
    row[name] = value;
  }
  return row as CsvRow<C>;
}
