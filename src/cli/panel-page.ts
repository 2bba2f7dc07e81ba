import Papa from "papaparse";
import { panelColumns } from "../answers/export-table.ts";
import { DAY_MS } from "../lib/day.ts";
import { csvLine, readCell } from "../tables/csv.ts";
import type { ColumnType } from "../tables/table.ts";

/** Maximum length of the header line, in characters; that of the service has some 500. */
const MAX_HEADER_LENGTH = 16_384;

/** Name of a column. A newer service may have columns that this version does not know. */
const COLUMN_NAME = /^\w+$/;

/** Characters that no cell of a panel has: terminals obey them, or they begin another line. */
const CONTROL = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

const COLUMN_TYPES: ReadonlyMap<string, ColumnType> = new Map(
  panelColumns({ dayMs: DAY_MS, hasFactors: true }).map(({ name, type }) => [name, type]),
);

/** A page of a panel from a service that is not trusted. */
interface PanelPage {
  /** Header line, with its line break. */
  readonly header: string;
  /** Lines of the rows, each with its line break, written anew by the CSV encoder. */
  readonly rows: readonly string[];
  /** When the session of each row closed, Unix milliseconds. */
  readonly closes: readonly number[];
}

/**
 * Parses a page of a panel. The rows are written anew, so that a spreadsheet or a terminal that
 * shows the file finds no formula and no control character of the service.
 *
 * @throws {Error} With the end of a sentence about the service, if the text is no page of a panel.
 */
export function parsePanelPage(text: string): PanelPage {
  if (text.indexOf("\r\n") > MAX_HEADER_LENGTH)
    throw new Error("names more columns than a panel has");
  const options = { delimiter: ",", newline: "\r\n", skipEmptyLines: true } as const;
  const { data, errors } = Papa.parse<string[]>(text, options);
  const [names = [], ...lines] = data;
  const asOf = names.indexOf("asOf");
  if (asOf < 0 || !names.every((name) => COLUMN_NAME.test(name))) {
    throw new Error("names other columns than a panel has");
  }
  if (errors.length > 0 || !text.endsWith("\r\n"))
    throw new Error("answers a page that is not whole");
  const types = names.map((name) => COLUMN_TYPES.get(name) ?? "text");
  return {
    header: csvLine(names),
    rows: lines.map((line) => rewritten(line, types)),
    closes: lines.map((line) => Date.parse(line[asOf] ?? "")),
  };
}

function rewritten(line: readonly string[], types: readonly ColumnType[]): string {
  const cells = types.map((type, at) => readCell(line[at] ?? "", type));
  const isRow =
    line.length === types.length &&
    !line.some((text) => CONTROL.test(text)) &&
    !cells.some((cell) => typeof cell === "number" && !Number.isFinite(cell));
  if (!isRow) throw new Error("answers a row that a panel does not have");
  return csvLine(cells);
}
