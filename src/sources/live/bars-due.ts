import { sessionsBetween } from "../../market/calendar.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { newYorkDate } from "../../market/new-york.ts";
import { coinBarKnown, stockBarKnown, utcDay } from "./when.ts";

const DAY_MS = 86_400_000;

/** When the bars of sessions are due in (after, until], Unix milliseconds, ascending: by the
 *  exchanges' calendar, and by UTC days. */
export const barsDue = (after: number, until: number, assetClass: AssetClass): readonly number[] =>
  (assetClass === "crypto" ? daysFrom(after, until) : sessionsFrom(after, until)).filter(
    (at) => at > after && at <= until,
  );

const sessionsFrom = (after: number, until: number): readonly number[] =>
  sessionsBetween(newYorkDate(after), newYorkDate(until)).map(stockBarKnown);

function daysFrom(after: number, until: number): readonly number[] {
  const first = Math.floor(after / DAY_MS) - 1;
  const count = Math.max(0, Math.floor(until / DAY_MS) - first + 1);
  return Array.from({ length: count }, (_, index) =>
    coinBarKnown(utcDay((first + index) * DAY_MS)),
  );
}
