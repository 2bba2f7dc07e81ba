import { z } from "zod";
import type { DetailLevel } from "../answers/shared-members.ts";
import { Problem } from "../lib/problem.ts";
import type { RecordList } from "../market/records.ts";
import { type Cell, type Column, cellOf } from "../tables/table.ts";
import { type PageRequest, readablePage } from "./pagination.ts";

/** Requested column names. */
export const FieldsInput = z
  .array(z.string().max(40))
  .min(1)
  .max(30)
  .optional()
  .describe("Rows of these columns; an unknown one names all.");

/** The rows that replace the list of an answer when the query has `fields`. */
export const FieldTable = z.object({
  fields: z.array(z.string()).optional().describe("With fields: the columns of rows."),
  rows: z
    .array(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])))
    .optional()
    .describe("With fields: the list as rows of these columns."),
});

/**
 * The columns that a query requests; all columns if it requests none.
 *
 * @throws {Problem} `invalid_request` for an unknown column name; the message lists the valid
 * names.
 */
export function chosenColumns<R>(
  columns: readonly Column<R>[],
  fields: readonly string[] | undefined,
): readonly Column<R>[] {
  if (fields === undefined) return columns;
  return [...new Set(fields)].map((field) => {
    const column = columns.find(({ name }) => name === field);
    if (column !== undefined) return column;
    throw new Problem("invalid_request", {
      detail: `fields: there is no column ${JSON.stringify(field)}.`,
      next: `Use some of: ${columns.map(({ name }) => name).join(", ")}.`,
    });
  });
}

/** The cells of a record, rounded in a brief answer. */
export const cellsOfRecord = <R>(
  columns: readonly Column<R>[],
  record: R,
  detail: DetailLevel,
): Cell[] => columns.map((column) => cellOf(column, record, detail));

/**
 * A request for a page of a list. Items are shown by `render`, or as table rows if the query has
 * `fields`.
 */
interface ListRequest<T, R, I> extends PageRequest<T> {
  readonly query: { readonly fields?: readonly string[] | undefined; readonly detail: DetailLevel };
  readonly render: (item: T) => I;
  readonly columns: readonly Column<R>[];
  readonly recordOf: (item: T) => R;
}

/** A page of a list, short enough for a language model to read at once. */
interface ListPage<T, I> {
  /** Items of the page, before rendering. */
  readonly seen: readonly T[];
  /** The rendered items; absent if the query has `fields`. */
  readonly items?: I[];
  /** The rows of the requested columns; absent if the query has no `fields`. */
  readonly table?: z.input<typeof FieldTable>;
  readonly nextCursor: string | null;
}

/**
 * Returns a page of a list, as table rows if the query has `fields`.
 *
 * @throws {Problem} In the same cases as `paginate` and `chosenColumns`.
 */
export function createListPage<T, R, I>(
  list: RecordList<T>,
  { query: { fields, detail }, render, columns, recordOf, ...request }: ListRequest<T, R, I>,
): ListPage<T, I> {
  const pageOf = <S>(show: (item: T) => S) => {
    const { items, nextCursor } = readablePage(list, {
      ...request,
      render: (item) => ({ item, shown: show(item) }),
      shown: ({ shown }) => shown,
    });
    return {
      seen: items.map(({ item }) => item),
      shown: items.map((one) => one.shown),
      nextCursor,
    };
  };
  if (fields === undefined) {
    const { shown: items, ...page } = pageOf(render);
    return { ...page, items };
  }
  const chosen = chosenColumns(columns, fields);
  const { shown: rows, ...page } = pageOf((item) => cellsOfRecord(chosen, recordOf(item), detail));
  return { ...page, table: { fields: chosen.map(({ name }) => name), rows } };
}

/**
 * Refuses `fields` for an answer that has no rows.
 *
 * @throws {Problem} `invalid_request` if the query has `fields`.
 */
export function rejectFieldsQuery(fields: readonly string[] | undefined, next: string): void {
  if (fields === undefined) return;
  throw new Problem("invalid_request", { detail: "fields: this answer has no rows.", next });
}
