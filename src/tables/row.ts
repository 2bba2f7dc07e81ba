import { z } from "zod";
import { type Cell, type Column, type ColumnType, cellOf } from "./table.ts";

/** A column of a row: a cell of tables, and the member of the same name in JSON answers. */
interface RowColumn<R, S extends z.ZodType = z.ZodType> extends Omit<Column<R>, "name"> {
  /** Schema of the value in JSON answers. */
  readonly schema: S;
}

/** What a column says besides its value. */
export interface ColumnNotes extends Pick<Column<never>, "round" | "display"> {
  /** Unit, range and the meaning of null, which tables show as an empty cell. */
  readonly description?: string;
  /** The same for tables alone, in place of `description`. */
  readonly about?: string;
}

/**
 * Creates the function that defines the columns of a kind of records. The type of a column follows
 * from the schema of its values.
 */
export const columnOf =
  <R>() =>
  <S extends z.ZodType>(
    schema: S,
    cell: (record: R) => z.input<S> & Cell,
    { description, about = description && ofEmptyCells(description), ...notes }: ColumnNotes = {},
  ): RowColumn<R, S> => ({
    type: columnTypeOf(schema),
    ...(about !== undefined && { about }),
    ...notes,
    schema: description === undefined ? schema : schema.describe(description),
    cell,
  });

/** Columns that show members of a JSON answer as they are. */
export const memberColumns = <
  S extends z.ZodObject,
  const N extends readonly (keyof z.input<S> & string)[],
>(
  answer: S,
  names: N,
  notes: { readonly [K in N[number]]?: ColumnNotes } = {},
) =>
  Object.fromEntries(
    names.map((name) => [
      name,
      columnOf<z.input<S>>()(
        answer.shape[name] as z.ZodType,
        (record) => record[name] as Cell,
        notes[name as N[number]],
      ),
    ]),
  ) as unknown as { readonly [K in N[number]]: RowColumn<z.input<S>> };

/** A description in words of tables, whose cells are empty where JSON has null. */
const ofEmptyCells = (description: string): string =>
  description.replace(/^null\b/, "Empty").replace(/\bnull\b/, "empty");

function columnTypeOf(schema: z.ZodType): ColumnType {
  if (schema instanceof z.ZodNullable) return columnTypeOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodNumber) return schema.isInt ? "integer" : "number";
  if (schema instanceof z.ZodBoolean) return "boolean";
  return schema.meta()?.format === "date-time" ? "instant" : "text";
}

/** The names of the columns of a row, in their order. */
export const namesOf = <N extends string>(row: Readonly<Record<N, unknown>>): readonly N[] =>
  Object.keys(row) as N[];

/**
 * The columns of a table: all of a row in their order, or the named ones.
 *
 * @param row The columns by name.
 */
export const columnsOf = <R, N extends string>(
  row: Readonly<Record<N, RowColumn<R>>>,
  names: readonly N[] = namesOf(row),
): readonly Column<R>[] => names.map((name) => ({ name, ...row[name] }));

/** Columns by name. */
type Row = Readonly<Record<string, RowColumn<never>>>;

/** Schema of an answer: the members of a full answer; those that a brief one omits are optional. */
export function membersSchema<W extends Row, F extends keyof W & string, B extends F>(
  row: W,
  { full, brief }: { readonly full: readonly F[]; readonly brief: readonly B[] },
) {
  const isBrief = (name: string) => brief.some((one) => one === name);
  const schemaOf = (name: F) => {
    const { schema } = row[name] as Row[string];
    return isBrief(name) ? schema : schema.optional();
  };
  return z.object(Object.fromEntries(full.map((name) => [name, schemaOf(name)]))) as z.ZodObject<{
    [N in F]: N extends B ? W[N]["schema"] : z.ZodOptional<W[N]["schema"]>;
  }>;
}

/** The named members of a record in an answer. */
export const membersOf = <W extends Row, N extends keyof W & string>(
  row: W,
  names: readonly N[],
  record: Parameters<W[N]["cell"]>[0],
  detail: "brief" | "full",
) =>
  Object.fromEntries(
    names.map((name) => [name, cellOf<typeof record>(row[name] as W[N], record, detail)]),
  ) as { [K in N]: z.input<W[K]["schema"]> };

/** Schema of an answer that has a list of records as columns: the values of each, in one order. */
export const seriesSchema = <W extends Row, N extends keyof W & string>(
  row: W,
  names: readonly N[],
) =>
  z.object(
    Object.fromEntries(names.map((name) => [name, listOf((row[name] as Row[string]).schema)])),
  ) as z.ZodObject<{ [K in N]: z.ZodArray<W[K]["schema"]> }>;

/** Schema of a list of values; what is said of a value is said of the list. */
function listOf(schema: z.ZodType): z.ZodArray<z.ZodType> {
  const { description, ...meta } = schema.meta() ?? {};
  if (description === undefined) return z.array(schema);
  return z.array(schema.meta({ ...meta, description: undefined })).describe(description);
}
