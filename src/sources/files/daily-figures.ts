import { utcDayEnd } from "../../lib/day.ts";
import type { OnChainFigures, ShortVolume } from "../../market/records.ts";
import { nonNegativeColumn, optionalColumn, positiveColumn } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { dataError } from "./data-error.ts";
import {
  type PublicationCalendar,
  requireLaterSession,
  requireTradingDay,
} from "./publication-calendar.ts";

/**
 * Delay after which network figures count as known, in milliseconds from the end of their UTC day:
 * they are published by 06:00 of the next day.
 */
const ON_CHAIN_DELAY_MS = 6 * 3_600_000;

/**
 * Reads FINRA Reg SHO volumes, known at 18:00 New York time on their date. `shortVolume` already
 * includes the exempt shares.
 *
 * @throws {Error} For a date out of order or on which New York was closed, a short volume above the
 * total, or a malformed cell.
 */
export function readShortVolumes(file: TextFile, calendar: PublicationCalendar): ShortVolume[] {
  const columns = {
    date: calendar.date,
    shortVolume: nonNegativeColumn,
    shortExemptVolume: nonNegativeColumn,
    totalVolume: nonNegativeColumn,
  };
  return readCsv(file, columns, (row, place, above: ShortVolume | undefined): ShortVolume => {
    requireLaterSession(row.date, above?.session, place);
    requireTradingDay(calendar, row.date, place);
    if (row.shortVolume > row.totalVolume) {
      const wrong = `shortVolume ${row.shortVolume} is over totalVolume ${row.totalVolume}`;
      throw dataError(place, wrong, "it must be a part of it");
    }
    return {
      session: row.date,
      availableAt: calendar.shortVolumeKnown(row.date),
      shortShares: row.shortVolume,
      totalShares: row.totalVolume,
    };
  });
}

/** Reads network figures of a coin, known at 06:00 UTC on the following day. */
export function readOnChain(file: TextFile, calendar: PublicationCalendar): OnChainFigures[] {
  const columns = {
    date: calendar.date,
    priceUsd: optionalColumn(positiveColumn),
    marketCapUsd: optionalColumn(nonNegativeColumn),
    realizedCapUsd: optionalColumn(nonNegativeColumn),
    mvrv: optionalColumn(positiveColumn),
    nvt: optionalColumn(nonNegativeColumn),
    activeAddresses: optionalColumn(nonNegativeColumn),
    transactions: optionalColumn(nonNegativeColumn),
  };
  return readCsv(file, columns, (row, place, above: OnChainFigures | undefined): OnChainFigures => {
    requireLaterSession(row.date, above?.session, place);
    return {
      session: row.date,
      availableAt: utcDayEnd(row.date) + ON_CHAIN_DELAY_MS,
      mvrv: row.mvrv,
      nvt: row.nvt,
      marketCapUsd: row.marketCapUsd,
    };
  });
}
