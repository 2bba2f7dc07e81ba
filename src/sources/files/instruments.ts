import { AssetClass, type Instrument } from "../../market/instrument.ts";
import { enumColumn, filledTextColumn, optionalColumn, patternColumn } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { createUniquenessCheck, dataError, quoted } from "./data-error.ts";

const COLUMNS = {
  // A symbol is part of file names, so it must not contain a path.
  symbol: patternColumn(/^[A-Z0-9][A-Z0-9.-]{0,19}$/, "a symbol such as AAPL, BRK-B or BTC-USD"),
  name: filledTextColumn,
  assetClass: enumColumn(AssetClass.options),
  exchange: optionalColumn(filledTextColumn),
  currency: patternColumn(/^[A-Z]{3}$/, "an ISO 4217 code such as USD"),
  sector: optionalColumn(filledTextColumn),
};

/**
 * Exchanges whose stocks and funds can be read, in lower case. They keep the hours and holidays of
 * New York, by which bars become known and sessions close.
 */
const NEW_YORK_EXCHANGES: ReadonlySet<string> = new Set([
  "nyse",
  "nasdaq",
  "nyse american",
  "nyse arca",
  "cboe",
  "otc",
]);

/**
 * The instruments of instruments.csv, in file order; an empty exchange or sector is `null`.
 *
 * @throws {Error} For a stock or fund of an exchange with other hours, a repeated symbol, or a
 * malformed cell.
 */
export function readInstruments(file: TextFile): Instrument[] {
  const requireNew = createUniquenessCheck("symbol");
  return readCsv(file, COLUMNS, (instrument, place): Instrument => {
    requireNew(instrument.symbol, place);
    const { assetClass, exchange } = instrument;
    const isCoin = assetClass === "crypto";
    if (!isCoin && exchange !== null && !NEW_YORK_EXCHANGES.has(exchange.toLowerCase())) {
      const wrong = `exchange ${quoted(exchange)} may keep other hours than New York`;
      throw dataError(place, wrong, "NYSE, Nasdaq, NYSE American, NYSE Arca, Cboe, OTC or nothing");
    }
    return instrument;
  });
}
