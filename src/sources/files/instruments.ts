import { AssetClass, type Instrument } from "../../market/instrument.ts";
import { filledText, matching, oneOf, optional } from "./columns.ts";
import { readCsv, type TextFile } from "./csv-table.ts";
import { uniqueness } from "./data-error.ts";

const COLUMNS = {
  // A symbol names files, so it must not hold a path.
  symbol: matching(/^[A-Z0-9][A-Z0-9.-]{0,19}$/, "a symbol such as AAPL, BRK-B or BTC-USD"),
  name: filledText,
  assetClass: oneOf(AssetClass.options),
  exchange: optional(filledText),
  currency: matching(/^[A-Z]{3}$/, "an ISO 4217 code such as USD"),
  sector: optional(filledText),
};

/** The instruments of instruments.csv, in its order; an unnamed exchange or sector is `null`. */
export function readInstruments(file: TextFile): Instrument[] {
  const requireNew = uniqueness("symbol");
  return readCsv(file, COLUMNS, (instrument, place): Instrument => {
    requireNew(instrument.symbol, place);
    return instrument;
  });
}
