import type { Provider } from "./provider.ts";
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

/** Every provider; where several have the same, the first that can be used is asked. */
export const providers: readonly Provider[] = [
  coinbase,
  kraken,
  coinMetrics,
  massive,
  unusualWhales,
  alpaca,
  deribit,
  finraDaily,
  finraWeekly,
  edgar,
  jetstream,
  stocktwits,
  gdelt,
];

/** Their ids. */
export const providerIds: readonly string[] = providers.map(({ id }) => id);
