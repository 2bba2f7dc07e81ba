import type { Provider } from "./provider.ts";
import { providerIds } from "./provider-ids.ts";
import { alpaca } from "./providers/alpaca.ts";
import { coinMetrics } from "./providers/coin-metrics.ts";
import { coinbase } from "./providers/coinbase.ts";
import { deribit } from "./providers/deribit.ts";
import { edgar } from "./providers/edgar.ts";
import { finraDaily } from "./providers/finra-daily.ts";
import { finraWeekly } from "./providers/finra-weekly.ts";
import { gdelt } from "./providers/gdelt.ts";
import { jetstream } from "./providers/jetstream.ts";
import { kraken } from "./providers/kraken.ts";
import { massive } from "./providers/massive.ts";
import { stocktwits } from "./providers/stocktwits.ts";
import { unusualWhales } from "./providers/unusual-whales.ts";

const byId: Readonly<Record<(typeof providerIds)[number], Provider>> = {
  coinbase,
  kraken,
  massive,
  alpaca,
  deribit,
  edgar,
  jetstream,
  stocktwits,
  gdelt,
  "coin-metrics": coinMetrics,
  "unusual-whales": unusualWhales,
  "finra-daily": finraDaily,
  "finra-weekly": finraWeekly,
};

/**
 * Every provider, in the order of `providerIds`. The ids are in a separate file, because this file
 * loads the code of every provider, and the configuration needs only the ids.
 */
export const providers: readonly Provider[] = providerIds.map((id) => byId[id]);
