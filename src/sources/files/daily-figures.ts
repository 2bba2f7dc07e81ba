import type { OnChain, ShortVolume } from "../../market/records.ts";
import { nonNegative, optional, positive } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { dataError } from "./data-error.ts";
import { type PublicationCalendar, requireLater, utcEnd } from "./publication-calendar.ts";

/** Network figures of a UTC day are published by 06:00 of the next. */
const ON_CHAIN_DELAY_MS = 6 * 3_600_000;

/**
 * FINRA Reg SHO volumes, known at 18:00 New York time on their date. `shortVolume` already includes
 * the exempt shares.
 *
 * @throws {Error} For a date out of order, a short volume above the total, or a malformed cell.
 */
export function readShortVolumes(file: TextFile, calendar: PublicationCalendar): ShortVolume[] {
  const columns = {
    date: calendar.date,
    shortVolume: nonNegative,
    shortExemptVolume: nonNegative,
    totalVolume: nonNegative,
  };
  return readCsv(file, columns, (row, place, above: ShortVolume | undefined): ShortVolume => {
    requireLater(row.date, above?.session, place);
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

/** Network figures of a coin, known at 06:00 UTC on the day after theirs. */
export function readOnChain(file: TextFile, calendar: PublicationCalendar): OnChain[] {
  const columns = {
    date: calendar.date,
    priceUsd: optional(positive),
    marketCapUsd: optional(nonNegative),
    realizedCapUsd: optional(nonNegative),
    mvrv: optional(positive),
    nvt: optional(nonNegative),
    activeAddresses: optional(nonNegative),
    transactions: optional(nonNegative),
  };
  return readCsv(file, columns, (row, place, above: OnChain | undefined): OnChain => {
    requireLater(row.date, above?.session, place);
    return {
      session: row.date,
      availableAt: utcEnd(row.date) + ON_CHAIN_DELAY_MS,
      mvrv: row.mvrv,
      nvt: row.nvt,
      marketCapUsd: row.marketCapUsd,
    };
  });
}
