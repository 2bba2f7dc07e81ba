import { BLOCK_SIZE_TEXT } from "../../../market/block-size.ts";
import type { PolledProvider } from "../provider.ts";
import { barSeries } from "./alpaca/bars.ts";
import { ALPACA_KEY_SETTINGS } from "./alpaca/stock-request.ts";
import { tradeSeries } from "./alpaca/trades.ts";

/** Number of symbols per request; their `WindowEdges` must fit into a cursor. */
const BATCH = 20;

/**
 * Daily bars and off-exchange blocks of US stocks and funds, from the consolidated tape. Bars
 * account for splits but not for dividends. Trades come without quotes, so the side of a block
 * cannot be estimated.
 */
export const alpaca: PolledProvider = {
  id: "alpaca",
  name: "Alpaca Market Data",
  terms: `Alpaca Market Data agreement: for your own use, not to be passed on; off-exchange prints of regular trading from ${BLOCK_SIZE_TEXT} on, without quotes; dividends are not told and count as 0.`,
  isForOwnUse: true,
  origin: "https://data.alpaca.markets",
  feeds: ["bars", "prints"],
  classes: ["stock", "etf"],
  needs: ALPACA_KEY_SETTINGS,
  kind: "polled",
  // The documented limit is 200 requests a minute per account.
  budget: { requests: 180, perMs: 60_000 },
  series(options) {
    const { instruments, feeds } = options;
    const symbols = instruments.map(({ symbol }) => symbol);
    const bars = batches(symbols).map((batch) => barSeries(batch, options));
    const trades = symbols.map((symbol) => tradeSeries(symbol, options));
    return [...(feeds.has("bars") ? bars : []), ...(feeds.has("prints") ? trades : [])];
  },
};

function batches(symbols: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(symbols.length / BATCH);
  return Array.from({ length: count }, (_, index) =>
    symbols.slice(index * BATCH, (index + 1) * BATCH),
  );
}
