import { bullishness } from "../factors/message-counters.ts";
import {
  freezeMomentum,
  type MomentumMeasurement,
  type MomentumTables,
} from "../factors/momentum.ts";
import { freezeSocial } from "../factors/social.ts";
import type { Norm } from "../factors/statistics.ts";
import { freezeValuation, type ValuationTables, type ValuedStock } from "../factors/valuation.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Measurement } from "./instrument-state.ts";

/** The cross-section of an asset class, frozen at the close of one session for the next. */
export interface PeerTables {
  readonly assetClass: AssetClass;
  /** The close at which they were frozen, Unix milliseconds; `null` before the first. */
  readonly epoch: number | null;
  readonly momentum: MomentumTables;
  readonly valuation: ValuationTables;
  /** Mean and standard deviation of bullishness, for instruments with a short history. */
  readonly social: Norm | undefined;
}

/** The empty tables before the first close. */
export const noPeers = (assetClass: AssetClass): PeerTables => ({
  assetClass,
  epoch: null,
  momentum: {},
  valuation: { yields: {} },
  social: undefined,
});

/** Freezes the tables of a class from its instruments' measurements. */
export function freezePeers(
  group: readonly Measurement[],
  { assetClass, epoch }: { readonly assetClass: AssetClass; readonly epoch: number },
): PeerTables {
  const momentum: MomentumMeasurement[] = [];
  const valuation: ValuedStock[] = [];
  const social: number[] = [];
  for (const one of group) {
    if (one.momentum !== undefined) momentum.push(one.momentum);
    if (one.valuation !== undefined) valuation.push(one.valuation);
    if (one.sentiment.clarity === "clear") social.push(bullishness(one.sentiment.counters).value);
  }
  return {
    assetClass,
    epoch,
    momentum: freezeMomentum(momentum),
    valuation: freezeValuation(valuation),
    social: freezeSocial(social),
  };
}
