import type { PolledProvider } from "../provider.ts";
import { coinTicker } from "../provider-symbols.ts";
import { rfqSeries } from "./deribit/rfqs.ts";
import { tradeSeries } from "./deribit/trades.ts";

/** Coins whose futures are settled in the coin and sized in USD. */
const COINS: readonly string[] = ["BTC", "ETH"];

/**
 * Block trades in futures on Deribit: negotiated between two parties, or from a request for quote
 * (RFQ). Options are excluded, because their prices are not prices of the coin.
 */
export const deribit: PolledProvider = {
  id: "deribit",
  name: "Deribit",
  terms: "Deribit Terms of Service: for your own use, not to be passed on.",
  isForOwnUse: true,
  origin: "https://www.deribit.com",
  feeds: ["prints"],
  classes: ["crypto"],
  needs: [],
  kind: "polled",
  // An account may send 20 requests a second; no limit is documented for an address, so the budget
  // stays far below.
  budget: { requests: 5, perMs: 1_000 },
  series: ({ instruments, historyFrom }) =>
    instruments
      .filter(({ symbol }) => COINS.includes(coinTicker(symbol)))
      .flatMap(({ symbol }) => [tradeSeries(symbol, historyFrom), rfqSeries(symbol, historyFrom)]),
};
