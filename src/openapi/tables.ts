import { z } from "zod";
import type { ColumnHead } from "../tables/table.ts";
import type { Content } from "./operation.ts";

/** The part of a query that chooses the form of an answer. */
export const FormatQuery = z.object({
  format: z
    .enum(["json", "csv"])
    .optional()
    .describe(
      "csv: the rows alone; without limit all of them, of events and deliveries 100. Default: by Accept, else json.",
    ),
});

/** What every table has in common. */
const CONVENTIONS =
  "RFC 4180 with a header line; an empty cell has no value; texts that begin like a formula have an apostrophe in front. With limit, the header Link names the next page. Columns may be added at the end.";

/** The representation of an answer as CSV. @param kinds Columns by the name of the table. */
export function csvContent(kinds: Readonly<Record<string, readonly ColumnHead[]>>): Content {
  const tables = Object.entries(kinds).map(
    ([name, columns]) => `Columns of ${name}: ${columns.map(columnText).join("; ")}.`,
  );
  const schema = z.string().meta({ description: [CONVENTIONS, ...tables].join("\n\n") });
  return { mediaType: "text/csv", schema };
}

const columnText = ({ name, type, about }: ColumnHead): string =>
  `\`${name}\` (${type}${about === undefined ? "" : `; ${about.replace(/\.$/, "")}`})`;

/** A representation as a binary file. */
export const binaryContent = (mediaType: string): Content => ({
  mediaType,
  schema: z.string().meta({ format: "binary" }),
});
