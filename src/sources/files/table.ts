import Papa from "papaparse";
import type { Column } from "./columns.ts";
import { malformed, quoted } from "./malformed.ts";

/** A file in memory. */
export interface TextFile {
  readonly path: string;
  readonly content: string;
}

type Columns = Readonly<Record<string, Column<unknown>>>;
type Row<C extends Columns> = {
  readonly [Name in keyof C]: C[Name] extends Column<infer T> ? T : never;
};

/** Rows of a table start below its header. */
const FIRST_ROW_LINE = 2;

/** Line of the file that a row of its table stands on. */
export const lineOf = (rowIndex: number): number => rowIndex + FIRST_ROW_LINE;

/**
 * Reads a CSV file whose header is exactly the names of `columns`, in their order.
 *
 * @throws {Error} with file and line at the first header, row or cell that is not as it should be.
 */
export function readTable<C extends Columns>({ path, content }: TextFile, columns: C): Row<C>[] {
  const names = Object.keys(columns);
  const [header, ...rows] = splitCsv({ path, content });
  if (header?.join(",") !== names.join(",")) {
    throw malformed({
      file: path,
      line: 1,
      wrong: `the header is ${quoted(header?.join(",") ?? "")}`,
      expected: `it must be ${names.join(",")}`,
    });
  }
  const entries = Object.entries(columns);
  return rows.map((cells, index) => readRow<C>(entries, cells, { path, line: lineOf(index) }));
}

/** Cells by line; a line break inside a quoted cell would shift the lines, so it is refused. */
function splitCsv({ path, content }: TextFile): string[][] {
  const { data, errors } = Papa.parse<string[]>(content, { delimiter: "," });
  const [error] = errors;
  if (error !== undefined) {
    const line = (error.row ?? 0) + 1;
    throw malformed({ file: path, line, wrong: error.message, expected: "quote cells as \"a, b\"" });
  }
  if (data.at(-1)?.join() === "") data.pop();
  return data;
}

interface Place {
  readonly path: string;
  readonly line: number;
}

function readRow<C extends Columns>(
  columns: readonly (readonly [string, Column<unknown>])[],
  cells: readonly string[],
  { path, line }: Place,
): Row<C> {
  if (cells.length !== columns.length) {
    throw malformed({
      file: path,
      line,
      wrong: `the line has ${cells.length} columns`,
      expected: `it must have ${columns.length}`,
    });
  }
  const row: Record<string, unknown> = {};
  for (let index = 0; index < columns.length; index++) {
    const [name, column] = columns[index] as readonly [string, Column<unknown>];
    const cell = cells[index] as string;
    const value = column.parse(cell);
    if (value === undefined) {
      const wrong = `${name} is ${quoted(cell)}`;
      throw malformed({ file: path, line, wrong, expected: `it must be ${column.expected}` });
    }
    row[name] = value;
  }
  return row as Row<C>;
}
