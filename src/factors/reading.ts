/** The four factors, in the order in which they are published. */
export const FACTORS = ["momentum", "valuation", "social", "darkpool"] as const;
/** The name of a factor. */
export type Factor = (typeof FACTORS)[number];

/**
 * Status of a factor:
 * - `ok`: measured
 * - `stale`: the newest data are older than expected
 * - `no_activity`: there is a feed, but it found nothing
 * - `not_observed`: there is no feed for this instrument; answers say `no_feed`, recorded snapshots
 *   and the commitments of the log keep this word
 * - `insufficient_data`: the history or the peer group is still too short for the formula
 */
export const FACTOR_STATUSES = [
  "ok",
  "stale",
  "no_activity",
  "not_observed",
  "insufficient_data",
] as const;
/** A status from `FACTOR_STATUSES`. */
export type FactorStatus = (typeof FACTOR_STATUSES)[number];

/** An input of a factor, or a figure that is only shown and has weight 0. */
export interface FactorInput {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  /** Normalized value in [-3, 3]; `null` for a figure that is only shown. */
  readonly z: number | null;
  /**
   * Signed weight of this input in the factor's z, in [-1, 1]; 0 for a figure that is only shown.
   */
  readonly weight: number;
  /** When the newest data behind this input became known, Unix milliseconds. */
  readonly observedAt: number | null;
  /**
   * What was ranked among the peers: the value itself, or, where it is compared with its sector, the
   * value less the mean of the sector, positive if bullish. Absent if the input is not ranked.
   */
  readonly relative?: number;
  /** Mean rank among the peers, from 1, and number of ranked peers; as `relative`. */
  readonly rank?: number;
  readonly of?: number;
}

/** Evidence from one factor about one instrument. */
export interface FactorReading {
  /** About N(0,1) over the peer group; `null`, never 0, if it could not be measured. */
  readonly z: number | null;
  /** Weight of the evidence in [0, 1]; 0 if and only if z is `null`. */
  readonly confidence: number;
  readonly status: FactorStatus;
  /** When the newest data used became known, Unix milliseconds. */
  readonly asOf: number | null;
  /** Instant after which the factor is stale unless newer data arrive, Unix milliseconds. */
  readonly staleAfter: number | null;
  /** Lists the inputs; computed on request, because most readings are never inspected. */
  readonly listInputs: () => readonly FactorInput[];
}

/** An input that is only shown and has weight 0; `observedAt` is in Unix milliseconds. */
export const unweightedInput = (
  ...[name, value, unit, observedAt]: [string, number | null, string, number | null]
): FactorInput => ({ name, value, unit, z: null, weight: 0, observedAt });

/**
 * Whether a factor has a feed although its recorded status says `not_observed`: the dark pool
 * factor has that status, with the instant of the newest trade, if no block has a known side.
 */
export const isSideUnknown = ({ status, asOf }: Pick<FactorReading, "status" | "asOf">): boolean =>
  status === "not_observed" && asOf !== null;

type Absence = Exclude<FactorStatus, "ok">;

const absent = (status: Absence): FactorReading => ({
  z: null,
  confidence: 0,
  status,
  asOf: null,
  staleAfter: null,
  listInputs: () => [],
});

/**
 * Readings without a value, shared by all instruments to save memory, since most lack some feed.
 */
const ABSENT: Readonly<Record<Absence, FactorReading>> = {
  stale: absent("stale"),
  no_activity: absent("no_activity"),
  not_observed: absent("not_observed"),
  insufficient_data: absent("insufficient_data"),
};

/**
 * A reading without a value.
 *
 * @param status Why there is no value.
 */
export const missingReading = (
  status: Absence,
  seen?: Partial<Pick<FactorReading, "asOf" | "staleAfter" | "listInputs">>,
): FactorReading => (seen === undefined ? ABSENT[status] : { ...ABSENT[status], ...seen });

/** Whether a reading without a value is one of the objects that all instruments share. */
export const isSharedReading = (reading: FactorReading): boolean =>
  reading.status !== "ok" && reading === ABSENT[reading.status];
