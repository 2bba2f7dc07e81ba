import type { AssetClass } from "../../market/instrument.ts";
import type { Bar } from "../../market/records.ts";
import { type PublicationCalendar, requireLater, utcEnd } from "./calendar.ts";
import { nonNegative, positive } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { dataError } from "./data-error.ts";

/**
 * Daily bars as traded. Those of stocks and funds are known at 16:15 New York on their date, those
 * of coins at the end of their UTC day.
 *
 * @throws {Error} at a bar out of order or whose high is under its low, besides malformed cells.
 */
export function readBars(
  file: TextFile,
  assetClass: AssetClass,
  calendar: PublicationCalendar,
): Bar[] {
  const known = assetClass === "crypto" ? utcEnd : calendar.barKnown;
  return readCsv(file, columns(calendar), (row, place, above: Bar | undefined): Bar => {
    requireLater(row.date, above?.session, place);
    if (row.high < row.low) {
      throw dataError(
        place,
        `high ${row.high} is under low ${row.low}`,
        "high must be at least low",
      );
    }
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
      logReturn: above ? Math.log(((row.close + row.dividend) * row.split) / above.close) : null,
    };
  });
}

const columns = ({ date }: PublicationCalendar) => ({
  date,
  open: positive,
  high: positive,
  low: positive,
  close: positive,
  volume: nonNegative,
  dividend: nonNegative,
  split: positive,
});
