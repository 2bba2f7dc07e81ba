/** A cell; `null` where there is no value. */
export type Cell = string | number | boolean | null;

/** Types of columns. `date`: ISO 8601 date; `instant`: ISO 8601 in UTC, with milliseconds. */
export type ColumnType = "text" | "integer" | "number" | "boolean" | "date" | "instant";

/** A column as readers see it. */
export interface ColumnHead {
  /** Unique in its table; never renamed. */
  readonly name: string;
  readonly type: ColumnType;
  /** Unit, range and what an empty cell means, where the name does not say it. */
  readonly about?: string;
}

/** A column with the cell that a record has in it. */
export interface Column<R> extends ColumnHead {
  readonly cell: (record: R) => Cell;
  /** Rounds the numbers of a brief answer; absent: they are exact. */
  readonly round?: (value: number) => number;
}

/** Rows of one kind; identity columns come first. */
export interface Table {
  readonly columns: readonly ColumnHead[];
  /** Cells in the order of the columns. Created when they are read, so that no table is held in
   *  memory as a whole. */
  readonly rows: Iterable<readonly Cell[]>;
}

/** One page of a table; `nextCursor` is `null` on the last one. */
export interface TablePage extends Table {
  readonly nextCursor: string | null;
}

/** Creates columns whose cells are the members of records by the same names. */
export const memberColumn =
  <R>() =>
  <N extends CellName<R>>(
    name: N,
    type: ColumnType,
    about?: string,
    round?: (value: number) => number,
  ): Column<R> => ({
    name,
    type,
    ...(about !== undefined && { about }),
    cell: (record) => record[name] as Cell,
    ...(round && { round }),
  });

/** Names of the members that fit into a cell. */
type CellName<R> = { [N in keyof R & string]: R[N] extends Cell ? N : never }[keyof R & string];

/** The table of records. */
export const tableOf = <R>(columns: readonly Column<R>[], records: Iterable<R>): Table => ({
  columns,
  rows: rowsOf(columns, records),
});

function* rowsOf<R>(
  columns: readonly Column<R>[],
  records: Iterable<R>,
): Generator<readonly Cell[], void> {
  for (const record of records) yield columns.map(({ cell }) => cell(record));
}

/** Splits rows into batches of at most `size`. */
export function* inBatches(
  rows: Iterable<readonly Cell[]>,
  size: number,
): Generator<readonly (readonly Cell[])[], void> {
  let part: (readonly Cell[])[] = [];
  for (const row of rows) {
    part.push(row);
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
