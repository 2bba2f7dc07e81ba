import { sentimentMeasures } from "../factors/message-counters.ts";
import {
  freezeMomentumTables,
  type MomentumMeasurement,
  type MomentumTables,
} from "../factors/momentum.ts";
import { freezeSocialNorm } from "../factors/social.ts";
import type { MeanAndSd } from "../factors/statistics.ts";
import {
  freezeValuationTables,
  type ValuationTables,
  type ValuedStock,
} from "../factors/valuation.ts";
import type { AssetClass } from "../market/instrument.ts";
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
  readonly momentum: MomentumTables;
  readonly valuation: ValuationTables;
  /** Mean and standard deviation of bullishness, for instruments with a short history. */
  readonly social: MeanAndSd | undefined;
}

/** The empty tables in use before the first close. */
export const emptyPeerTables = (assetClass: AssetClass): PeerTables => ({
  assetClass,
  epoch: null,
  momentum: {},
  valuation: { yields: {} },
  social: undefined,
});

/** Computes the peer tables of a class from the measurements of its instruments. */
export function freezePeerTables(
  group: readonly InstrumentMeasurement[],
  { assetClass, epoch }: { readonly assetClass: AssetClass; readonly epoch: number },
): PeerTables {
  const momentum: MomentumMeasurement[] = [];
  const valuation: ValuedStock[] = [];
  const social: number[] = [];
  for (const one of group) {
    if (one.momentum !== undefined) momentum.push(one.momentum);
    if (one.valuation !== undefined) valuation.push(one.valuation);
    if (one.sentiment.clarity === "clear")
      social.push(sentimentMeasures(one.sentiment.counters).value);
  }
  return {
    assetClass,
    epoch,
    momentum: freezeMomentumTables(momentum),
    valuation: freezeValuationTables(valuation),
    social: freezeSocialNorm(social),
  };
}
