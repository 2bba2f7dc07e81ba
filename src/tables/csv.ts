import type { Cell, ColumnHead, ColumnType } from "./table.ts";
import type { TableEncoder } from "./table-encoder.ts";

/** Media type of a table with a header line (RFC 4180, section 3). */
export const CSV_MEDIA_TYPE = "text/csv; charset=utf-8; header=present";

/**
 * Matches the places of a text at which a spreadsheet would begin a formula (OWASP, CSV injection):
 * before an operator, also of full width, a tab or a carriage return. They are at the start, and
 * after every character that a program may take for a separator in place of the comma, since it
 * then ignores quotes inside of what it splits. Quotes and spaces before the operator do not
 * prevent it.
 */
const FORMULA = /(?<=^|[;|\t\r\n])(?=['"\p{Zs}]*[=+\-@\t\r＝＋－＠])/gu;

/** Matches the apostrophes that `csvText` puts at these places. */
const DISARMED = /(?<=^|[;|\t\r\n])'(?=['"\p{Zs}]*[=+\-@\t\r＝＋－＠])/gu;

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
 * the time. In a text, an apostrophe is put before all that a spreadsheet would interpret as a
 * formula; numbers stay as they are. A cell without a value is empty.
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

/** Matches every text that `FORMULA` or `SPECIAL` matches; most texts do not match. */
const UNUSUAL = /^['\p{Zs}=+\-@＝＋－＠]|[",;|\t\r\n]/u;

function csvText(text: string): string {
  if (!UNUSUAL.test(text)) return text;
  const harmless = text.replace(FORMULA, "'");
  return SPECIAL.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Parses the text that `csvLine` wrote for a cell; an empty text means no value. */
export function readCell(text: string, type: ColumnType): Cell {
  if (text === "") return null;
  if (type === "integer" || type === "number") return Number(text);
  if (type === "boolean") return text === "true";
  return text.replace(DISARMED, "");
}
