/**
 * Conversion to the symbols of providers. In this service, a share class is spelled `BRK-B` and a
 * coin `BTC-USD`.
 */

/** Spelling `BRK.B`, used by Alpaca, Massive and StockTwits. */
export const dottedSymbol = (symbol: string): string => symbol.replace("-", ".");

/** Spelling `BRK/B`, used by FINRA. Preferred shares, such as `ABRpD`, are not covered. */
export const slashedSymbol = (symbol: string): string => symbol.replace("-", "/");

/** Ticker of a coin without its quote currency: `BTC` for `BTC-USD`. */
export const coinTicker = (symbol: string): string => symbol.replace(/-USD$/, "");
