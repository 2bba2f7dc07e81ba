import type { AssetClass } from "../../market/instrument.ts";
import { createNewYorkDateReader } from "../../market/new-york.ts";
import { compareByTimeAndId } from "../../market/point-in-time.ts";
import type { Print } from "../../market/records.ts";
import { filledTextColumn, instantColumn, positiveColumn, textColumn } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { createUniquenessCheck } from "./data-error.ts";
import { type PublicationCalendar, requireTradingDay } from "./publication-calendar.ts";

const COLUMNS = {
  tradedAt: instantColumn,
  price: positiveColumn,
  size: positiveColumn,
  venue: filledTextColumn,
  conditions: textColumn,
  flags: textColumn,
  id: filledTextColumn,
};

/**
 * Reads off-exchange prints, sorted by time and then by id. A print counts as known at the time of
 * the trade, and belongs to the session of its New York date. The layout has no quotes, and the
 * meaning of `conditions` and `flags` depends on the vendor. Therefore no print is signable, i.e.
 * its side cannot be estimated, and none counts as canceled.
 *
 * @throws {Error} For a repeated id, a print of a stock or fund on a day on which New York was
 * closed, or a malformed cell.
 */
export function readPrints(
  file: TextFile,
  assetClass: AssetClass,
  calendar: PublicationCalendar,
): Print[] {
  const requireNew = createUniquenessCheck("print");
  const sessionOf = createNewYorkDateReader();
  const prints = readCsv(file, COLUMNS, (row, place): Print => {
    requireNew(row.id, place);
    const session = sessionOf(row.tradedAt);
    if (assetClass !== "crypto") requireTradingDay(calendar, session, place);
    return {
      id: row.id,
      session,
      tradedAt: row.tradedAt,
      availableAt: row.tradedAt,
      price: row.price,
      sizeShares: row.size,
      venue: row.venue,
      conditions: row.conditions,
      bid: null,
      ask: null,
      canceled: false,
      signable: false,
    };
  });
  return prints.sort(compareByTimeAndId);
}
