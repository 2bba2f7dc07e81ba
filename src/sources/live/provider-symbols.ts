/**
 * How providers spell symbols. Here, a class of shares is spelled `BRK-B` and a coin `BTC-USD`.
 */

/** `BRK.B`: Alpaca, Massive, StockTwits. */
export const withDot = (symbol: string): string => symbol.replace("-", ".");

/** `BRK/B`: FINRA. Preferred shares, such as `ABRpD`, are not followed. */
export const withSlash = (symbol: string): string => symbol.replace("-", "/");

/** `BTC`: the coin of a pair against the dollar. */
export const coinOf = (symbol: string): string => symbol.replace(/-USD$/, "");
