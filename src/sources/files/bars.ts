import { BarGate, withReturn } from "../../market/bar-gate.ts";
import type { AssetClass } from "../../market/instrument.ts";
import type { Bar, BarDoubt, RecordList, ReportedBar } from "../../market/records.ts";
import { figure, nonNegative, positive } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { type PublicationCalendar, requireLater, utcEnd } from "./publication-calendar.ts";

/** Bars of a file, judged. */
interface FileBars {
  readonly bars: readonly Bar[];
  readonly doubts: RecordList<BarDoubt>;
}

/**
 * Daily bars as traded. Those of stocks and funds are known at 16:15 New York on their date, those
 * of coins at the end of their UTC day. Prices may be any number: bars that cannot be true are
 * doubted, as everywhere.
 *
 * @throws {Error} at a bar out of order, besides malformed cells.
 */
export function readBars(
  file: TextFile,
  assetClass: AssetClass,
  calendar: PublicationCalendar,
): FileBars {
  const known = assetClass === "crypto" ? utcEnd : calendar.barKnown;
  const reported = readCsv(
    file,
    columns(calendar),
    (row, place, above: ReportedBar | undefined): ReportedBar => {
      requireLater(row.date, above?.session, place);
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
  const gate = new BarGate();
  const bars: Bar[] = [];
  for (const one of reported) {
    for (const bar of gate.pass(one)) {
      bars.push(withReturn(bar, bars.at(-1)?.close));
    }
  }
  return { bars, doubts: gate.doubts };
}

const columns = ({ date }: PublicationCalendar) => ({
  date,
  open: figure,
  high: figure,
  low: figure,
  close: figure,
  volume: figure,
  dividend: nonNegative,
  split: positive,
});
