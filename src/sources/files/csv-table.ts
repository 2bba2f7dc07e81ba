import Papa from "papaparse";
import type { CsvColumn } from "./columns.ts";
import {
  dataError,
  type FileLocation,
  type OnRefused,
  quoted,
  unlessRefused,
} from "./data-error.ts";

/** A text file read into memory. */
export interface TextFile {
  readonly path: string;
  readonly content: string;
  /** Told of every invalid row. Absent: the first one is thrown. */
  readonly onRefused?: OnRefused | undefined;
}

type Columns = Readonly<Record<string, CsvColumn<unknown>>>;
type CsvRow<C extends Columns> = {
  readonly [Name in keyof C]: C[Name] extends CsvColumn<infer T> ? T : never;
};

/**
 * Reads a CSV file into one record per row. The header must be exactly the names of `columns`, in
 * their order. Rows are mapped one by one, so that a large file is never in memory twice.
 *
 * @param map Maps a row to a record, given the record of the previous row, if any.
 * @throws {Error} With file and line, at a malformed header, and at the first malformed row or cell
 * unless `onRefused` of the file is told.
 */
export function readCsv<C extends Columns, R>(
  { path, content, onRefused }: TextFile,
  columns: C,
  map: (row: CsvRow<C>, place: FileLocation, above: R | undefined) => R,
): R[] {
  const unix = content.replaceAll("\r\n", "\n");
  const lines = unix.includes('"') ? quotedLines(unix, path) : plainLines(unix);
  const header = lines.next();
  requireHeader(header.done ? [] : cellsOf(header.value), Object.keys(columns), path);

  const readRow = rowReader(columns);
  const records: R[] = [];
  let line = 1;
  for (const cells of lines) {
    const place = { file: path, line: ++line };
    const record = unlessRefused(
      () => map(readRow(cells, place), place, records.at(-1)),
      onRefused,
    );
    if (record !== undefined) records.push(record);
  }
  return records;
}

/** The cells of a line: the cell at `index` is [starts[index], ends[index]) of the text. */
interface Cells {
  readonly text: string;
  count: number;
  readonly starts: number[];
  readonly ends: number[];
}

const cellsOf = ({ text, count, starts, ends }: Cells): readonly string[] =>
  Array.from({ length: count }, (_, index) => text.slice(starts[index], ends[index]));

const [COMMA, LINE_FEED, BYTE_ORDER_MARK] = [44, 10, 0xfeff];

/**
 * The lines of a text that contains no quotation marks. The yielded object is reused for each line.
 */
function* plainLines(text: string): Generator<Cells, void, void> {
  const cells: Cells = { text, count: 0, starts: [], ends: [] };
  let start = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  // A text may end after the comma before an empty last cell.
  for (let at = start; start < text.length || cells.count > 0; at++) {
    const code = at < text.length ? text.charCodeAt(at) : LINE_FEED;
    if (code !== COMMA && code !== LINE_FEED) continue;
    cells.starts[cells.count] = start;
    cells.ends[cells.count++] = at;
    start = at + 1;
    if (code === COMMA) continue;
    yield cells;
    cells.count = 0;
  }
}

/** The lines of a text with quoted cells. A cell that spans lines is rejected, since it would shift
 *  line numbers. */
function* quotedLines(text: string, path: string): Generator<Cells, void, void> {
  const { data, errors } = Papa.parse<string[]>(text, { delimiter: ",", newline: "\n" });
  const spanning = data.findIndex((cells) => cells.some((cell) => /[\r\n]/.test(cell)));
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
  for (const cells of endsWithLineBreak ? data.slice(0, -1) : data) {
    const starts: number[] = [];
    const ends: number[] = [];
    for (const cell of cells)
      ends.push((starts[starts.push(ends.at(-1) ?? 0) - 1] as number) + cell.length);
    yield { text: cells.join(""), count: cells.length, starts, ends };
  }
}

function requireHeader(header: readonly string[], names: readonly string[], file: string) {
  const expected = names.join(",");
  if (header.join(",") === expected) return;
  const unknown = header.filter((name) => !names.includes(name)).map(quoted);
  const missing = names.filter((name) => !header.includes(name));
  const details = [
    ...(unknown.length > 0 ? [`${unknown.join(", ")} is not known`] : []),
    ...(missing.length > 0 ? [`${missing.join(", ")} is missing`] : []),
  ];
  const detail = details.length > 0 ? ` (${details.join("; ")})` : "";
  const wrong = `the header is ${quoted(header.join(","))}${detail}`;
  throw dataError({ file, line: 1 }, wrong, expected);
}

/** Creates a reader for the rows of one file. */
function rowReader<C extends Columns>(columns: C) {
  const entries = Object.entries(columns);
  const names = Object.keys(columns);
  // Rows that are copied from one object share its layout in memory; adding members one by one is
  // slow.
  const empty = Object.fromEntries(names.map((name): [string, unknown] => [name, undefined]));
  return (cells: Cells, place: FileLocation): CsvRow<C> => {
    const { text, count, starts, ends } = cells;
    if (count !== entries.length) {
      const wrong = `the line has ${count} of ${entries.length} columns`;
      throw dataError(place, wrong, names.join(","));
    }
    const row = { ...empty };
    for (let index = 0; index < entries.length; index++) {
      const [name, { parse, expected }] = entries[index] as [string, CsvColumn<unknown>];
      const [start, end] = [starts[index] as number, ends[index] as number];
      const value = parse(text, start, end);
      if (value === undefined) {
        throw dataError(place, `${name} is ${quoted(text.slice(start, end))}`, expected);
      }
      row[name] = value;
    }
    return row as CsvRow<C>;
  };
}
