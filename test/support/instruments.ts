import type { AssetClass, Instrument } from "../../src/market/instrument.ts";

/** An instrument in US dollars: a coin such as `BTC-USD`, else a stock unless a class is given. */
export const namedInstrument = (
  symbol: string,
  name: string,
  assetClass: AssetClass = symbol.endsWith("-USD") ? "crypto" : "stock",
): Instrument => ({ symbol, name, assetClass, exchange: null, currency: "USD", sector: null });

/** An instrument whose name is its symbol. */
export const instrument = (symbol: string): Instrument => namedInstrument(symbol, symbol);
