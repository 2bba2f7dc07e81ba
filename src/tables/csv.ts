import type { Cell, ColumnHead, ColumnType } from "./table.ts";
import type { TableEncoder } from "./table-encoder.ts";

/** Media type of a table with a header line (RFC 4180, section 3). */
export const CSV_MEDIA_TYPE = "text/csv; charset=utf-8; header=present";

/** Matches a text that a spreadsheet would interpret as a formula (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r]/;

/** Matches a text that must be quoted (RFC 4180, section 2). */
const SPECIAL = /[",\r\n]/;

/** Encodes a table as CSV with a header line. */
export function csvEncoder(columns: readonly ColumnHead[]): TableEncoder {
  let text = csvLine(columns.map(({ name }) => name));
  const take = (): string => {
    const taken = text;
    text = "";
    return taken;
  };
  return {
    add(rows) {
      for (const row of rows) text += csvLine(row);
      return take();
    },
    end: take,
  };
}

/**
 * A line of a CSV table (RFC 4180), with its line break. Papa Parse produces the same line in twice
 * the time. A text that a spreadsheet would interpret as a formula is prefixed with an apostrophe;
 * numbers are not. A cell without a value is empty.
 */
export function csvLine(cells: readonly Cell[]): string {
  let line = "";
  for (let at = 0; at < cells.length; at++) {
    if (at > 0) line += ",";
    const cell = cells[at] as Cell;
    if (cell !== null) line += typeof cell === "string" ? csvText(cell) : cell;
  }
  return `${line}\r\n`;
}

/** Matches whatever `FORMULA` or `SPECIAL` matches; most texts match neither. */
const UNUSUAL = /^[=+\-@\t\r]|[",\r\n]/;

function csvText(text: string): string {
  if (!UNUSUAL.test(text)) return text;
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return SPECIAL.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Matches the apostrophe that `csvText` puts before a text that looks like a formula. */
const DISARMED = /^'(?=[=+\-@\t\r])/;

/** Parses the text that `csvLine` wrote for a cell; an empty text means no value. */
export function readCell(text: string, type: ColumnType): Cell {
  if (text === "") return null;
  if (type === "integer" || type === "number") return Number(text);
  if (type === "boolean") return text === "true";
  return text.replace(DISARMED, "");
}
