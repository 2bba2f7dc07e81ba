import type { Fundamental, FundamentalMetric } from "../../market/records.ts";
import { figure, oneOf } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { uniqueness } from "./data-error.ts";
import { type PublicationCalendar, utcEnd } from "./publication-calendar.ts";

/** The method's name for each metric of the layout; `null` for metrics that it does not read. */
const METRICS = {
  netIncome: "netIncome",
  equity: "equity",
  sharesOutstanding: "shares",
  dilutedShares: "shares",
  totalAssets: null,
  operatingCashFlow: null,
  capitalExpenditure: null,
  freeCashFlow: "freeCashFlow",
  revenue: null,
} as const satisfies Record<string, FundamentalMetric | null>;

interface FigureRow {
  readonly metric: keyof typeof METRICS;
  readonly periodEnd: string;
  readonly availableDate: string;
  readonly value: number;
}

/**
 * Figures as filed, ascending by the instant from which they count: midnight in New York after the
 * filing date, since the layout gives no time. `periodEnd` is the last millisecond of its UTC day,
 * so a split on that day belongs to the period and whole days of lag stay whole. Where one filing
 * counts shares both outstanding and diluted, the outstanding ones are kept.
 *
 * @throws {Error} For a figure repeated within one filing, or a malformed cell.
 */
export function readFundamentals(file: TextFile, calendar: PublicationCalendar): Fundamental[] {
  const rows = readRows(file, calendar);
  const outstanding = new Set(
    rows.filter(({ metric }) => metric === "sharesOutstanding").map(filingOf),
  );
  return rows
    .filter((row) => row.metric !== "dilutedShares" || !outstanding.has(filingOf(row)))
    .flatMap((row) => toFundamental(row, calendar))
    .sort(inOrder);
}

function readRows(file: TextFile, { date }: PublicationCalendar): FigureRow[] {
  const metric = oneOf(Object.keys(METRICS) as (keyof typeof METRICS)[]);
  const columns = { metric, periodEnd: date, availableDate: date, value: figure };
  const requireNew = uniqueness("figure");
  return readCsv(file, columns, (row, place): FigureRow => {
    requireNew(`${row.metric} ${filingOf(row)}`, place);
    return row;
  });
}

/** Figures known at one instant stand in one order, whatever that of the file. */
const inOrder = (one: Fundamental, other: Fundamental): number =>
  one.availableAt - other.availableAt ||
  one.periodEnd - other.periodEnd ||
  (one.metric < other.metric ? -1 : 1);

const filingOf = (row: Pick<FigureRow, "periodEnd" | "availableDate">) =>
  `${row.periodEnd} ${row.availableDate}`;

function toFundamental(row: FigureRow, calendar: PublicationCalendar): Fundamental[] {
  const metric = METRICS[row.metric];
  if (metric === null) return [];
  const periodEnd = utcEnd(row.periodEnd) - 1;
  const availableAt = calendar.filingKnown(row.availableDate);
  return [{ metric, periodEnd, availableAt, value: row.value }];
}
