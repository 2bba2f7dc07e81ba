import { AssetClass, type Instrument } from "../../market/instrument.ts";
import { enumColumn, filledTextColumn, optionalColumn, patternColumn } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { createUniquenessCheck } from "./data-error.ts";

const COLUMNS = {
  // A symbol is part of file names, so it must not contain a path.
  symbol: patternColumn(/^[A-Z0-9][A-Z0-9.-]{0,19}$/, "a symbol such as AAPL, BRK-B or BTC-USD"),
  name: filledTextColumn,
  assetClass: enumColumn(AssetClass.options),
  exchange: optionalColumn(filledTextColumn),
  currency: patternColumn(/^[A-Z]{3}$/, "an ISO 4217 code such as USD"),
  sector: optionalColumn(filledTextColumn),
};

/** The instruments of instruments.csv, in file order; an empty exchange or sector is `null`. */
export function readInstruments(file: TextFile): Instrument[] {
  const requireNew = createUniquenessCheck("symbol");
  return readCsv(file, COLUMNS, (instrument, place): Instrument => {
    requireNew(instrument.symbol, place);
    return instrument;
  });
}
