import { utcDayEnd } from "../../lib/day.ts";
import type { Fundamental, FundamentalMetric } from "../../market/records.ts";
import { enumColumn, figureColumn } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { createUniquenessCheck } from "./data-error.ts";
import type { PublicationCalendar } from "./publication-calendar.ts";

/** Internal name of each metric of the file layout; `null` for metrics that are not read. */
const METRICS = {
  netIncome: "netIncome",
  equity: "equity",
  sharesOutstanding: "shares",
  dilutedShares: "shares",
  totalAssets: "assets",
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
 * Reads figures as filed, in ascending order of the instant from which they count as known:
 * midnight in New York after the filing date, since the layout gives no time. `periodEnd` is the
 * last millisecond of its UTC day, so that a split on that day belongs to the period, and lags stay
 * whole days. If one filing reports both outstanding and diluted shares, the outstanding shares are
 * used.
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
  const metric = enumColumn(Object.keys(METRICS) as (keyof typeof METRICS)[]);
  const columns = { metric, periodEnd: date, availableDate: date, value: figureColumn };
  const requireNew = createUniquenessCheck("figure");
  return readCsv(file, columns, (row, place): FigureRow => {
    requireNew(`${row.metric} ${filingOf(row)}`, place);
    return row;
  });
}

/**
 * Compares figures, so that their order does not depend on the file, even if they become known at
 * the same instant.
 */
const inOrder = (one: Fundamental, other: Fundamental): number =>
  one.availableAt - other.availableAt ||
  one.periodEnd - other.periodEnd ||
  (one.metric < other.metric ? -1 : 1);

const filingOf = (row: Pick<FigureRow, "periodEnd" | "availableDate">) =>
  `${row.periodEnd} ${row.availableDate}`;

function toFundamental(row: FigureRow, calendar: PublicationCalendar): Fundamental[] {
  const metric = METRICS[row.metric];
  if (metric === null) return [];
  const periodEnd = utcDayEnd(row.periodEnd) - 1;
  const availableAt = calendar.filingKnown(row.availableDate);
  return [{ metric, periodEnd, availableAt, value: row.value }];
}
