import type { TerminalLine } from "../../../outbound/terminal-text.ts";

/** Renders a table for a terminal: dim heads, and cells aligned on the right. */
export function tableLines(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): readonly TerminalLine[] {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: readonly string[]) =>
    `  ${row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  ")}`;
  return [[{ styles: ["dim"], text: line(heads) }], ...rows.map(line)];
}
