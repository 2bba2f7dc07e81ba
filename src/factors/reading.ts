/** The four factors, in the order in which they are published. */
export const FACTORS = ["momentum", "valuation", "social", "darkpool"] as const;
/** The name of a factor. */
export type Factor = (typeof FACTORS)[number];

/**
 * Why a factor has a value or has none. `ok`: measured. `stale`: the newest data are older than
 * they should be. `no_activity`: a feed looked and found nothing. `not_observed`: no feed for
 * this instrument. `insufficient_data`: the feed works, but its history or peer group is still
 * too short for the formula.
 */
export const FACTOR_STATUSES = [
  "ok",
  "stale",
  "no_activity",
  "not_observed",
  "insufficient_data",
] as const;
/** One of the reasons above. */
export type FactorStatus = (typeof FACTOR_STATUSES)[number];

/** One number that a factor was made from, or shows beside it with weight 0. */
export interface Input {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  /** Normalised value in [-3, 3], `null` when only shown. */
  readonly z: number | null;
  /** Share of the factor's z in [-1, 1]; 0 when only shown. */
  readonly weight: number;
  /** Unix milliseconds at which the newest datum behind it became known. */
  readonly observedAt: number | null;
}

/** What one factor says about one instrument. */
export interface Reading {
  /** About N(0,1) over the peer group, `null` when it could not be measured: never 0 instead. */
  readonly z: number | null;
  /** Weight of the evidence in [0, 1]; 0 exactly when z is `null`. */
  readonly confidence: number;
  readonly status: FactorStatus;
  /** When the newest datum used became known, Unix milliseconds. */
  readonly asOf: number | null;
  /** After this instant, without newer data, the factor counts as stale. Unix milliseconds. */
  readonly staleAfter: number | null;
  readonly inputs: readonly Input[];
}

/** A reading without a value: the reason, and what could be seen all the same. */
export function unread(
  status: Exclude<FactorStatus, "ok">,
  seen: Partial<Pick<Reading, "asOf" | "staleAfter" | "inputs">> = {},
): Reading {
  return { z: null, confidence: 0, status, asOf: null, staleAfter: null, inputs: [], ...seen };
}
