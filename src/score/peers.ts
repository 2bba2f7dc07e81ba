import {
  freezeMomentumTables,
  type MomentumMeasurement,
  type MomentumTables,
} from "../factors/momentum.ts";
import { freezeSocialNorm } from "../factors/social.ts";
import type { AssetClass } from "../market/instrument.ts";
import { sentimentMeasures } from "../messages/message-counters.ts";
import type { MeanAndSd } from "../statistics/statistics.ts";
import type { CloseTables } from "./close-tables.ts";
import type { CoinTables } from "./coin-steadiness.ts";
import type { InstrumentMeasurement } from "./instrument-state.ts";

/**
 * Distributions over the instruments of an asset class, computed at the close of one session and
 * used in the next.
 */
export interface PeerTables {
  readonly assetClass: AssetClass;
  /**
   * The close at which the tables were computed, Unix milliseconds; `null` before the first close.
   */
  readonly epoch: number | null;
  /** Distributions of the momentum of funds and coins. */
  readonly momentum: MomentumTables;
  /** Mean and standard deviation of bullishness, for instruments with a short history. */
  readonly social: MeanAndSd | undefined;
  /** The stocks of the newest close, ranked; absent for funds and coins. */
  readonly stocks?: CloseTables;
  /** The coins of the newest close, ranked for steadiness; absent for stocks and funds. */
  readonly coins?: CoinTables;
}

/** The empty tables in use before the first close. */
export const emptyPeerTables = (assetClass: AssetClass): PeerTables => ({
  assetClass,
  epoch: null,
  momentum: {},
  social: undefined,
});

/** Computes the peer tables of a class from the measurements of its instruments. */
export function freezePeerTables(
  group: readonly InstrumentMeasurement[],
  { assetClass, epoch }: { readonly assetClass: AssetClass; readonly epoch: number },
): PeerTables {
  const momentum: MomentumMeasurement[] = [];
  const social: number[] = [];
  for (const one of group) {
    if (assetClass !== "stock" && one.momentum !== undefined) momentum.push(one.momentum);
    if (one.sentiment.clarity === "clear")
      social.push(sentimentMeasures(one.sentiment.counters).value);
  }
  return {
    assetClass,
    epoch,
    momentum: freezeMomentumTables(momentum),
    social: freezeSocialNorm(social),
  };
}
