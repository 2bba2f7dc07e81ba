/** The four factors, in the order in which they are published. */
export const FACTORS = ["momentum", "valuation", "social", "darkpool"] as const;
/** The name of a factor. */
export type Factor = (typeof FACTORS)[number];

/**
 * Status of a factor. `ok`: measured. `stale`: the newest data are older than
 * expected. `no_activity`: a feed looked and found nothing. `not_observed`: no feed for
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
/** One of `FACTOR_STATUSES`. */
export type FactorStatus = (typeof FACTOR_STATUSES)[number];

/** An input of a factor, or a figure shown with weight 0. */
export interface Input {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  /** Normalized value in [-3, 3], `null` for a figure that is shown and not scored. */
  readonly z: number | null;
  /** Signed share of this input in the factor's z, in [-1, 1]; 0 for a figure that is shown and not
   *  scored. */
  readonly weight: number;
  /** Unix milliseconds at which the newest datum behind it became known. */
  readonly observedAt: number | null;
}

/** Evidence of one factor about one instrument. */
export interface Reading {
  /** About N(0,1) over the peer group, `null` when it could not be measured: never 0 instead. */
  readonly z: number | null;
  /** Weight of the evidence in [0, 1]; 0 exactly when z is `null`. */
  readonly confidence: number;
  readonly status: FactorStatus;
  /** When the newest datum used became known, Unix milliseconds. */
  readonly asOf: number | null;
  /** The factor is stale after this instant unless newer data arrive. Unix milliseconds. */
  readonly staleAfter: number | null;
  /** Lists the inputs; computed on request, because most readings are never inspected. */
  readonly listInputs: () => readonly Input[];
}

/** A figure shown with weight 0; `observedAt` in Unix milliseconds. */
export const unweightedInput = (
  ...[name, value, unit, observedAt]: [string, number | null, string, number | null]
): Input => ({ name, value, unit, z: null, weight: 0, observedAt });

type Absence = Exclude<FactorStatus, "ok">;

const absent = (status: Absence): Reading => ({
  z: null,
  confidence: 0,
  status,
  asOf: null,
  staleAfter: null,
  listInputs: () => [],
});

/** Shared by all instruments, most of which lack some feed. */
const ABSENT: Readonly<Record<Absence, Reading>> = {
  stale: absent("stale"),
  no_activity: absent("no_activity"),
  not_observed: absent("not_observed"),
  insufficient_data: absent("insufficient_data"),
};

/** A reading without a value: the reason, and any available details. */
export const missingReading = (
  status: Absence,
  seen?: Partial<Pick<Reading, "asOf" | "staleAfter" | "listInputs">>,
): Reading => (seen === undefined ? ABSENT[status] : { ...ABSENT[status], ...seen });

/** Whether a reading is one of the shared readings without a value. */
export const isShared = (reading: Reading): boolean =>
  reading.status !== "ok" && reading === ABSENT[reading.status];
