import type { AssetClass, Instrument } from "../../src/market/instrument.ts";

/**
 * An instrument in US dollars: a coin if the symbol looks like `BTC-USD`, otherwise of the given
 * class, by default a stock.
 */
export const namedInstrument = (
  symbol: string,
  name: string,
  assetClass: AssetClass = symbol.endsWith("-USD") ? "crypto" : "stock",
): Instrument => ({ symbol, name, assetClass, exchange: null, currency: "USD", sector: null });

/** An instrument whose name equals its symbol. */
export const instrument = (symbol: string): Instrument => namedInstrument(symbol, symbol);
