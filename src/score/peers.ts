import { bullishness } from "../factors/message-counters.ts";
import { freezeMomentum, type MomentumTables } from "../factors/momentum.ts";
import { freezeSocial, type Norm } from "../factors/social.ts";
import {
  freezeValuation,
  NO_VALUATION_TABLES,
  type ValuationTables,
} from "../factors/valuation.ts";
import type { Measurement } from "./track.ts";

/** The cross-section of an asset class, frozen at the close of one session for the next. */
export interface PeerTables {
  readonly momentum: MomentumTables;
  readonly valuation: ValuationTables;
  readonly social: Norm | undefined;
}

/** Before the first close there is nothing to compare with. */
export const NO_PEERS: PeerTables = {
  momentum: {},
  valuation: NO_VALUATION_TABLES,
  social: undefined,
};

/** Freezes the tables of a class from its instruments' measurements. */
export function freezePeers(group: readonly Measurement[]): PeerTables {
  const present = <T>(values: readonly (T | undefined)[]): T[] =>
    values.filter((value) => value !== undefined);
  return {
    momentum: freezeMomentum(present(group.map(({ momentum }) => momentum))),
    valuation: freezeValuation(present(group.map(({ valuation }) => valuation))),
    social: freezeSocial(
      group
        .filter(({ heard }) => heard.clarity === "clear")
        .map(({ heard }) => bullishness(heard.counters).value),
    ),
  };
}
