import { utcDayEnd } from "../../lib/day.ts";
import { BarFilter } from "../../market/bar-quality.ts";
import { withLogReturn } from "../../market/bar-return.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { createPackedList, type RecordPacking } from "../../market/packed-list.ts";
import type { Bar, BarDoubt, RecordList, ReportedBar } from "../../market/records.ts";
import { figureColumn, nonNegativeColumn, positiveColumn } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import {
  type PublicationCalendar,
  requireLaterSession,
  requireTradingDay,
} from "./publication-calendar.ts";

/**
 * Reads daily bars as traded, not adjusted for splits. Bars of stocks and funds are known at 16:15
 * New York time on their date, bars of coins at the end of their UTC day. Prices may be any number:
 * an implausible bar counts as doubtful, as in every source.
 *
 * @throws {Error} For a bar out of order, a bar of a stock or fund on a day on which New York was
 * closed, or a malformed cell.
 */
export function readBars(
  file: TextFile,
  assetClass: AssetClass,
  calendar: PublicationCalendar,
): { readonly bars: RecordList<Bar>; readonly doubts: RecordList<BarDoubt> } {
  const isCoin = assetClass === "crypto";
  const known = isCoin ? utcDayEnd : calendar.barKnown;
  const reported = readCsv(
    file,
    columns(calendar),
    (row, place, above: ReportedBar | undefined): ReportedBar => {
      requireLaterSession(row.date, above?.session, place);
      if (!isCoin) requireTradingDay(calendar, row.date, place);
      return {
        session: row.date,
        availableAt: known(row.date),
        open: row.open,
        high: row.high,
        low: row.low,
        close: row.close,
        volume: row.volume,
        dividend: row.dividend,
        split: row.split,
      };
    },
  );
  const filter = new BarFilter();
  const bars = createPackedList(barPacking(calendar));
  let before: number | undefined;
  for (const one of reported) {
    for (const bar of filter.add(one)) {
      bars.push(withLogReturn(bar, before));
      before = bar.close;
    }
  }
  return { bars, doubts: filter.doubts };
}

const columns = ({ date }: PublicationCalendar) => ({
  date,
  open: figureColumn,
  high: figureColumn,
  low: figureColumn,
  close: figureColumn,
  volume: figureColumn,
  dividend: nonNegativeColumn,
  split: positiveColumn,
});

/** Binary layout of a bar, 76 bytes; a folder may have millions of bars. */
const barPacking = ({ numberOf, dateOf }: PublicationCalendar): RecordPacking<Bar, Bar> => ({
  bytes: 76,
  write(view, at, bar) {
    view.setFloat64(at, bar.availableAt);
    view.setFloat64(at + 8, bar.open);
    view.setFloat64(at + 16, bar.high);
    view.setFloat64(at + 24, bar.low);
    view.setFloat64(at + 32, bar.close);
    view.setFloat64(at + 40, bar.volume);
    view.setFloat64(at + 48, bar.dividend);
    view.setFloat64(at + 56, bar.split);
    view.setFloat64(at + 64, bar.logReturn ?? Number.NaN);
    view.setUint32(at + 72, numberOf(bar.session));
  },
  read(view, at) {
    const logReturn = view.getFloat64(at + 64);
    return {
      session: dateOf(view.getUint32(at + 72)),
      availableAt: view.getFloat64(at),
      open: view.getFloat64(at + 8),
      high: view.getFloat64(at + 16),
      low: view.getFloat64(at + 24),
      close: view.getFloat64(at + 32),
      volume: view.getFloat64(at + 40),
      dividend: view.getFloat64(at + 48),
      split: view.getFloat64(at + 56),
      logReturn: Number.isNaN(logReturn) ? null : logReturn,
    };
  },
});
