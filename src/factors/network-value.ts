import type { OnChain } from "../market/records.ts";
import { type Reading, unread } from "./reading.ts";
import { ownHistoryZ } from "./statistics.ts";

/** Newest daily observations that a coin is compared with, and the fewest for it. */
const WINDOW_DAYS = 730;
const MIN_DAYS = 365;
/** MVRV is one of the two network ratios of the method, hence half of the evidence. */
const CONFIDENCE = 0.5;
/** Figures older than this are not used. */
const MAX_AGE_DAYS = 3;

/** Follows the market value of a coin over its realised value (MVRV), day by day. */
export interface NetworkValue {
  /** Takes a day in, oldest first. */
  add(figures: OnChain): void;
  /**
   * Minus the z of ln(MVRV) against the coin's own last 730 days, newest included.
   *
   * @param at Unix milliseconds.
   * @param dayMs Length of a market day in milliseconds.
   */
  read(at: number, dayMs: number): Reading;
}

/** Starts before the first day. Days without a published ratio do not count. */
export function createNetworkValue(): NetworkValue {
  const logs: number[] = [];
  let newest: { readonly mvrv: number; readonly asOf: number } | undefined;
  return {
    add({ mvrv, availableAt }) {
      if (mvrv === null || mvrv <= 0) return;
      newest = { mvrv, asOf: availableAt };
      if (logs.push(Math.log(mvrv)) > WINDOW_DAYS) logs.shift();
    },
    read(at, dayMs) {
      if (newest === undefined) return unread("not_observed");
      const { mvrv, asOf } = newest;
      const unusual = ownHistoryZ(logs.at(-1) as number, logs, MIN_DAYS);
      const z = unusual === undefined ? null : -unusual;
      const weight = z === null ? 0 : 1;
      const inputs = [{ name: "mvrv", value: mvrv, unit: "ratio", z, weight, observedAt: asOf }];
      const seen = { asOf, staleAfter: asOf + MAX_AGE_DAYS * dayMs, inputs };
      if (at > seen.staleAfter) return unread("stale", seen);
      if (z === null) return unread("insufficient_data", seen);
      return { z, confidence: CONFIDENCE, status: "ok", ...seen };
    },
  };
}
