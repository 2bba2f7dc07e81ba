/** The value of a cell; `null` if there is no value. */
export type Cell = string | number | boolean | null;

/** Types of columns. `date`: ISO 8601 date; `instant`: ISO 8601 in UTC, with milliseconds. */
export type ColumnType = "text" | "integer" | "number" | "boolean" | "date" | "instant";

/** A column as it is described to readers of the table. */
export interface ColumnHead {
  /** Name of the column; unique in its table, and never changed. */
  readonly name: string;
  readonly type: ColumnType;
  /** Unit, range and the meaning of an empty cell, if the name does not make them clear. */
  readonly about?: string;
  readonly display?: ColumnDisplay;
}

/** How programs that show tables to people present a column. */
export interface ColumnDisplay {
  /** Heading of the column. */
  readonly header: string;
  /**
   * `percent` shows a fraction as a percentage; `int` shows no decimals. Default: the value
   * unchanged.
   */
  readonly format?: "percent" | "int";
  readonly decimals?: number;
  /** Whether values above 0 are green and values below 0 are red. */
  readonly isSigned?: true;
  /** Color of the cell by its text. */
  readonly colors?: Readonly<Record<string, string>>;
  /** Whether the column is hidden at first; people can show it. */
  readonly isHidden?: true;
}

/** A column with the function that computes the cell for a record. */
export interface Column<R> extends ColumnHead {
  readonly cell: (record: R) => Cell;
  /** Rounds the numbers of a brief response; absent if they are never rounded. */
  readonly round?: (value: number) => number;
}

/** The cell of a record, rounded in a brief answer. */
export function cellOf<R>(
  { cell, round }: Pick<Column<R>, "cell" | "round">,
  record: R,
  detail: "brief" | "full",
): Cell {
  const value = cell(record);
  return detail === "brief" && round && typeof value === "number" ? round(value) : value;
}

/** Rows of the same kind; the columns that identify a row come first. */
interface Table {
  readonly columns: readonly ColumnHead[];
  /**
   * Cells in the order of the columns. The rows are created while they are read, so that no table
   * is in memory as a whole.
   */
  readonly rows: Iterable<readonly Cell[]>;
}

/** One page of a table; `nextCursor` is `null` on the last page. */
export interface TablePage extends Table {
  readonly nextCursor: string | null;
}

/** Creates a table from columns and records. */
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
export function* rowBatches(
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
