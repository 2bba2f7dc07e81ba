import { newYorkDates } from "../../market/new-york.ts";
import { byTimeAndId } from "../../market/point-in-time.ts";
import type { Print } from "../../market/records.ts";
import { filledText, instant, positive, text } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { uniqueness } from "./data-error.ts";

const COLUMNS = {
  tradedAt: instant,
  price: positive,
  size: positive,
  venue: filledText,
  conditions: text,
  flags: text,
  id: filledText,
};

/**
 * Off-exchange prints by time, equal times by id, each known when traded and in the session of its
 * New York date. The layout has no quotes and leaves the meaning of `conditions` and `flags` to the
 * vendor. So no print is signable, since nothing says that quotes set its price,
 * and none counts as canceled.
 *
 * @throws {Error} For a repeated id or a malformed cell.
 */
export function readPrints(file: TextFile): Print[] {
  const requireNew = uniqueness("print");
  const sessionOf = newYorkDates();
  const prints = readCsv(file, COLUMNS, (row, place): Print => {
    requireNew(row.id, place);
    return {
      id: row.id,
      session: sessionOf(row.tradedAt),
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
  return prints.sort(byTimeAndId);
}
