import type { PeerRank } from "../factors/peer-rank.ts";
import {
  FACTORS,
  type Factor,
  type FactorInput,
  type FactorReading,
  type FactorStatus,
  isSharedReading,
} from "../factors/reading.ts";
import type { Instrument } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";
import type { CandidateReading } from "./candidate.ts";
import {
  BASE_FACTOR_WEIGHTS,
  type Composite,
  type FactorContributions,
  type FactorReadings,
  type FactorSplit,
  NO_SPLIT,
} from "./composite.ts";
import type { ExposurePercentiles } from "./exposures.ts";
import type { PeerTables } from "./peers.ts";
import type { SignalState } from "./signal-hysteresis.ts";
import type { SteadinessReading } from "./steadiness.ts";

/** Release of the method, increased when scores are meant to change. */
export const METHOD_RELEASE = "2.0.0";

/**
 * How complete the data behind a snapshot are:
 * - `ok`: all four factors are measured with enough confidence
 * - `partial`: a factor is missing or weak
 * - `stale`: the price is older than the last session
 * - `insufficient_data`: the history is too short, or there is no factor or no score at all
 */
export const SNAPSHOT_STATUSES = ["ok", "partial", "stale", "insufficient_data"] as const;
type Status = (typeof SNAPSHOT_STATUSES)[number];

/** Confidence in [0, 1] below which a measured factor counts as weak. */
const WEAK_CONFIDENCE = 0.2;

/** A factor's reading and its contribution to the composite. */
export interface FactorResult extends Omit<FactorReading, "listInputs"> {
  /** Base weight in the composite. */
  readonly weight: number;
  /** Contribution to the score in points; the four contributions add up to score - 50. */
  readonly contribution: number;
  /**
   * Place of z among the readings of the stocks of the close, by which it enters the score; absent
   * if the inputs are ranked instead, and for funds and coins.
   */
  readonly place?: PeerRank | undefined;
  readonly inputs: readonly FactorInput[];
}

/** What a stock's score was ranked by. */
export interface StockRanking {
  /** The close whose tables rank the stock, Unix milliseconds. */
  readonly close: number;
  /** Evidence Z of the stock, and its place among those of the close; `null` without any part. */
  readonly z: number | null;
  readonly place: PeerRank | null;
  /** Z with which the stock is in the tables itself; `null` if it did not trade in the session. */
  readonly closeZ: number | null;
  /** Whether so few stocks were measured that reference tables ranked Z. */
  readonly isReference: boolean;
}

/** Score, signal and factors of one instrument at one instant; immutable. */
export interface Snapshot {
  readonly instrument: Instrument;
  /** Instant of the snapshot, Unix milliseconds; records known later were not used. */
  readonly at: number;
  /**
   * Series (`RecordSeries`) of the records that were used; absent in snapshots recorded before the
   * series was introduced.
   */
  readonly series?: string | undefined;
  readonly status: Status;
  /** In [0, 100], not rounded; `null` for a stock of which no part of the score could be measured. */
  readonly score: number | null;
  readonly confidence: number;
  readonly coverage: number;
  readonly signal: SignalState;
  /** Factors without a value. */
  readonly missingFactors: readonly Factor[];
  /**
   * Newest close as traded, and when it became known (Unix milliseconds); `null` before the first
   * bar.
   */
  readonly price: { readonly value: number; readonly at: number } | null;
  readonly factors: Readonly<Record<Factor, FactorResult>>;
  /**
   * Peer tables with which the inputs were compared; shared by the instruments of a class and
   * epoch.
   */
  readonly tables?: PeerTables;
  /**
   * Result of the candidate method at the last close; `undefined` if the instrument did not trade
   * in that session.
   */
  readonly candidate?: CandidateReading | undefined;
  /** By what a stock was ranked; absent for funds and coins. */
  readonly ranking?: StockRanking | undefined;
  /** Steadiness at the last close; `undefined` if the instrument was not ranked there. */
  readonly steadiness?: SteadinessReading | undefined;
  /** Exposures at the last close; `undefined` if the instrument did not trade in that session. */
  readonly exposures?: ExposurePercentiles | undefined;
}

/**
 * Summary of a factor. Snapshots that earlier versions recorded can lack status and contribution;
 * only a whole result has `asOf`.
 */
interface FactorSummary
  extends Pick<FactorResult, "z" | "confidence">,
    Partial<Pick<FactorResult, "status" | "contribution" | "asOf">> {
  /** Set for a factor without a value whose feed shows only trades of unknown side. */
  readonly isSideUnknown?: boolean;
}

/** Summaries of the factors. */
export type FactorEvidence = Readonly<Record<Factor, FactorSummary>>;

/** A snapshot whose factors are absent if they are no longer stored. */
export interface PastSnapshot extends Omit<Snapshot, "factors"> {
  readonly factors?: Snapshot["factors"];
  /** Summary of the factors, stored when the factors themselves are not. */
  readonly evidence?: FactorEvidence;
  /** Version of the method that computed a recorded snapshot; absent if it is the method in use. */
  readonly methodVersion?: string;
}

/** The evidence of a snapshot; `undefined` if it was recorded with another method. */
export const factorEvidenceOf = ({ factors, evidence }: PastSnapshot): FactorEvidence | undefined =>
  factors ?? evidence;

/**
 * Contribution of each factor in points, which add up to score - 50; `undefined` if the snapshot
 * was recorded with another method.
 */
export function contributionsOf(snapshot: PastSnapshot): FactorContributions | undefined {
  const evidence = factorEvidenceOf(snapshot);
  const points = FACTORS.map((factor) => evidence?.[factor].contribution);
  const [momentum, valuation, social, darkpool] = points;
  if (momentum === undefined || valuation === undefined) return undefined;
  if (social === undefined || darkpool === undefined) return undefined;
  return { momentum, valuation, social, darkpool };
}

/** Inputs from which a snapshot is assembled. */
export interface SnapshotInputs {
  readonly instrument: Instrument;
  /** Instant of the snapshot, Unix milliseconds. */
  readonly at: number;
  readonly readings: FactorReadings;
  readonly split: FactorSplit;
  readonly newestBar: Bar | undefined;
  readonly missedSessions: number;
  readonly series: string;
  readonly tables: PeerTables;
  readonly candidate: CandidateReading | undefined;
  readonly ranking: StockRanking | undefined;
  readonly steadiness: SteadinessReading | undefined;
  readonly exposures: ExposurePercentiles | undefined;
}

/** Assembles a snapshot from its inputs, the composite and the signal. */
export function createSnapshot(
  inputs: SnapshotInputs,
  composite: Composite,
  signal: SignalState,
): Snapshot {
  const { instrument, at, series, readings, split, newestBar } = inputs;
  const { tables, candidate, ranking, steadiness, exposures } = inputs;
  const weights = BASE_FACTOR_WEIGHTS[instrument.assetClass];
  const result = (factor: Factor): FactorResult =>
    resultOf(readings[factor], { factor, weight: weights[factor], split });
  return {
    instrument,
    at,
    series,
    status: statusOf(inputs, composite, signal),
    score: composite.score,
    confidence: composite.confidence,
    coverage: composite.coverage,
    signal,
    missingFactors: missingOf(readings),
    price: newestBar ? { value: newestBar.close, at: newestBar.availableAt } : null,
    factors: {
      momentum: result("momentum"),
      valuation: result("valuation"),
      social: result("social"),
      darkpool: result("darkpool"),
    },
    tables,
    candidate,
    ranking,
    steadiness,
    exposures,
  };
}

/** The sixteen possible lists of missing factors, cached by bit mask. */
const missingLists = new Map<number, readonly Factor[]>();

function missingOf(readings: FactorReadings): readonly Factor[] {
  const key = FACTORS.reduce((sum, factor) => 2 * sum + (readings[factor].z === null ? 1 : 0), 0);
  const known = missingLists.get(key) ?? FACTORS.filter((factor) => readings[factor].z === null);
  missingLists.set(key, known);
  return known;
}

/** Cached results of shared readings, by reading and weight. */
const sharedResults = new WeakMap<FactorReading, Map<number, FactorResult>>();

/** The part of a factor in a score. */
interface FactorShare {
  readonly factor: Factor;
  readonly weight: number;
  readonly split: FactorSplit;
}

function resultOf(reading: FactorReading, share: FactorShare): FactorResult {
  if (!isSharedReading(reading)) return new LazyFactorResult(reading, share);
  const { factor, weight } = share;
  const byWeight = sharedResults.get(reading) ?? new Map<number, FactorResult>();
  sharedResults.set(reading, byWeight);
  const known =
    byWeight.get(weight) ?? new LazyFactorResult(reading, { factor, weight, split: NO_SPLIT });
  byWeight.set(weight, known);
  return known;
}

/**
 * A factor result that computes its inputs and its contribution when they are read, since most
 * snapshots are replaced before anyone reads them.
 */
class LazyFactorResult implements FactorResult {
  readonly z: number | null;
  readonly confidence: number;
  readonly status: FactorStatus;
  readonly asOf: number | null;
  readonly staleAfter: number | null;
  readonly weight: number;
  readonly #factor: Factor;
  readonly #split: FactorSplit;
  readonly #listInputs: () => readonly FactorInput[];

  constructor(reading: FactorReading, { factor, weight, split }: FactorShare) {
    this.z = reading.z;
    this.confidence = reading.confidence;
    this.status = reading.status;
    this.asOf = reading.asOf;
    this.staleAfter = reading.staleAfter;
    this.weight = weight;
    this.#factor = factor;
    this.#split = split;
    this.#listInputs = reading.listInputs;
  }

  get contribution(): number {
    return this.#split.contributions[this.#factor];
  }

  get place(): PeerRank | undefined {
    return this.#split.places?.[this.#factor];
  }

  get inputs(): readonly FactorInput[] {
    return this.#listInputs();
  }

  toJSON(): FactorResult {
    const { contribution, place, inputs } = this;
    return { ...this, contribution, place, inputs };
  }
}

function statusOf(
  { readings, missedSessions }: SnapshotInputs,
  { coverage, score }: Composite,
  { forcedWait }: SignalState,
): Status {
  if (forcedWait === "too_young") return "insufficient_data";
  if (missedSessions > 0) return "stale";
  if (coverage === 0 || score === null) return "insufficient_data";
  const isComplete = FACTORS.every((factor) => {
    const { status, confidence } = readings[factor];
    return status === "ok" && confidence >= WEAK_CONFIDENCE;
  });
  return isComplete ? "ok" : "partial";
}
