import { z } from "zod";
import type { ColumnHead } from "../tables/table.ts";
import type { BodyContent } from "./operation.ts";

/** The query parameter that selects the format of a response. */
export const FormatQuery = z.object({
  format: z
    .enum(["json", "csv"])
    .optional()
    .describe(
      "csv: the rows alone; without limit all of them, of events and deliveries 100. Default: by Accept, else json.",
    ),
});

/** Description of the format of every CSV table. */
const CONVENTIONS =
  "RFC 4180 with a header line; an empty cell has no value; an apostrophe stands before what a spreadsheet would read as a formula. With limit, the header Link names the next page. Columns may be added at the end.";

/**
 * Describes the CSV representation of a response.
 * @param kinds Columns of each table, by the name of the table.
 */
export function csvContent(kinds: Readonly<Record<string, readonly ColumnHead[]>>): BodyContent {
  const tables = Object.entries(kinds).map(
    ([name, columns]) => `Columns of ${name}: ${columns.map(columnText).join("; ")}.`,
  );
  const schema = z.string().meta({ description: [CONVENTIONS, ...tables].join("\n\n") });
  return { mediaType: "text/csv", schema };
}

const columnText = ({ name, type, about }: ColumnHead): string =>
  `\`${name}\` (${type}${about === undefined ? "" : `; ${about.replace(/\.$/, "")}`})`;

/** Describes a representation as a binary file. */
export const binaryContent = (mediaType: string): BodyContent => ({
  mediaType,
  schema: z.string().meta({ format: "binary" }),
});
