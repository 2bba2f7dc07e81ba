import {
  FACTORS,
  type Factor,
  type FactorStatus,
  type Input,
  isShared,
  type Reading,
} from "../factors/reading.ts";
import type { Instrument } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";
import type { CandidateReading } from "./candidate.ts";
import {
  type Composite,
  type Contributions,
  contributionsTo,
  type Readings,
  WEIGHTS,
} from "./composite.ts";
import lock from "./method.lock.json" with { type: "json" };
import type { PeerTables } from "./peers.ts";
import type { SessionScore, SignalState } from "./signal-hysteresis.ts";

/** Release of the method, raised when scores are meant to change. */
export const METHOD_RELEASE = "1.1.0";

/**
 * SHA-256 of the constants of the method and of its outputs on a fixture (`npm run method`): it changes
 * whenever scores change, whatever the release.
 */
export const METHOD_HASH: string = lock.methodHash;

/** Release and first 16 digits of the hash (SemVer build metadata), as named in answers. */
export const METHOD_VERSION = `${METHOD_RELEASE}+${METHOD_HASH.slice(0, 16)}`;

/**
 * How complete an answer is. `ok`: all four factors measured well. `partial`: a factor is missing
 * or weak. `stale`: the price is older than the last session. `insufficient_data`: too short a
 * history, or no factor at all.
 */
export const STATUSES = ["ok", "partial", "stale", "insufficient_data"] as const;
type Status = (typeof STATUSES)[number];

/** Confidence in [0, 1] below which a measured factor is weak. */
const WEAK_CONFIDENCE = 0.2;

/** A factor's reading and its contribution to the composite. */
export interface FactorResult extends Omit<Reading, "listInputs"> {
  /** Base weight in the composite. */
  readonly weight: number;
  /** Points of score; the four contributions add up to score - 50. */
  readonly contribution: number;
  readonly inputs: readonly Input[];
}

/** Score, signal and factors of one instrument at one instant. Immutable. */
export interface Snapshot {
  readonly instrument: Instrument;
  /** Instant of the snapshot, Unix milliseconds; records known later were not used. */
  readonly at: number;
  /** Name of the series (`RecordSeries`) that it belongs to; absent in snapshots that were recorded
   *  before series had names. */
  readonly series?: string | undefined;
  readonly status: Status;
  /** In [0, 100], not rounded. */
  readonly score: number;
  readonly confidence: number;
  readonly coverage: number;
  readonly signal: SignalState;
  /** Factors without a value. */
  readonly missingFactors: readonly Factor[];
  /** Newest close as traded, `null` before the first bar. */
  readonly price: { readonly value: number; readonly at: number } | null;
  readonly factors: Readonly<Record<Factor, FactorResult>>;
  /** Peer tables of the inputs, shared by the instruments of a class and epoch. */
  readonly tables?: PeerTables;
  /** Result of the candidate method at the last close, if the instrument traded then. */
  readonly candidate?: CandidateReading | undefined;
}

/** What a composite is made of: each factor's z and how much weight it carries. */
export type Evidence = Readonly<Record<Factor, Pick<Reading, "z" | "confidence">>>;

/** A snapshot whose factors may no longer be stored. */
export interface PastSnapshot extends Omit<Snapshot, "factors"> {
  readonly factors?: Snapshot["factors"];
  /** Summary that is stored when the factors themselves are not. */
  readonly evidence?: Evidence;
  /** The method of a recorded snapshot, if it is not the one in use. */
  readonly methodVersion?: string;
}

/** The evidence of a snapshot; `undefined` where it was recorded by another method. */
export const evidenceOf = ({ factors, evidence }: PastSnapshot): Evidence | undefined =>
  factors ?? evidence;

/** Points by factor, which add up to score - 50; `undefined` where another method recorded it. */
export function contributionsOf(snapshot: PastSnapshot): Contributions | undefined {
  const evidence = evidenceOf(snapshot);
  if (evidence === undefined) return undefined;
  return contributionsTo(snapshot.score, evidence, WEIGHTS[snapshot.instrument.assetClass]);
}

/** Inputs of a snapshot. */
export interface SnapshotInputs {
  readonly instrument: Instrument;
  /** Unix milliseconds. */
  readonly at: number;
  readonly readings: Readings;
  /** Number of known bars, and the newest one. */
  readonly bars: number;
  readonly newestBar: Bar | undefined;
  readonly missedSessions: number;
  readonly series: string;
  readonly tables: PeerTables;
  readonly candidate: CandidateReading | undefined;
}

/** The part of a snapshot that determines the signal. */
export const sessionScore = (
  { instrument, at, bars, missedSessions }: SnapshotInputs,
  { score, confidence, coverage }: Composite,
): SessionScore => ({
  at,
  assetClass: instrument.assetClass,
  score,
  confidence,
  coverage,
  bars,
  missedSessions,
});

/** Assembles a snapshot. */
export function createSnapshot(
  inputs: SnapshotInputs,
  composite: Composite,
  signal: SignalState,
): Snapshot {
  const { instrument, at, series, readings, newestBar, tables, candidate } = inputs;
  const weights = WEIGHTS[instrument.assetClass];
  const contributions = contributionsTo(composite.score, readings, weights);
  const result = (factor: Factor): FactorResult =>
    resultOf(readings[factor], weights[factor], contributions[factor]);
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
  };
}

/** The sixteen possible lists of missing factors, by bit mask. */
const missingLists = new Map<number, readonly Factor[]>();

function missingOf(readings: Readings): readonly Factor[] {
  const key = FACTORS.reduce((sum, factor) => 2 * sum + (readings[factor].z === null ? 1 : 0), 0);
  const known = missingLists.get(key) ?? FACTORS.filter((factor) => readings[factor].z === null);
  missingLists.set(key, known);
  return known;
}

/** Results of shared readings, by reading and weight. */
const sharedResults = new WeakMap<Reading, Map<number, FactorResult>>();

function resultOf(reading: Reading, weight: number, contribution: number): FactorResult {
  if (!isShared(reading)) return new LazyFactorResult(reading, weight, contribution);
  const byWeight = sharedResults.get(reading) ?? new Map<number, FactorResult>();
  sharedResults.set(reading, byWeight);
  const known = byWeight.get(weight) ?? new LazyFactorResult(reading, weight, 0);
  byWeight.set(weight, known);
  return known;
}

/**
 * Computes its inputs on read: most snapshots are replaced before their inputs are read.
 */
class LazyFactorResult implements FactorResult {
  readonly z: number | null;
  readonly confidence: number;
  readonly status: FactorStatus;
  readonly asOf: number | null;
  readonly staleAfter: number | null;
  readonly weight: number;
  readonly contribution: number;
  readonly #listInputs: () => readonly Input[];

  constructor(reading: Reading, weight: number, contribution: number) {
    this.z = reading.z;
    this.confidence = reading.confidence;
    this.status = reading.status;
    this.asOf = reading.asOf;
    this.staleAfter = reading.staleAfter;
    this.weight = weight;
    this.contribution = contribution;
    this.#listInputs = reading.listInputs;
  }

  get inputs(): readonly Input[] {
    return this.#listInputs();
  }

  toJSON(): FactorResult {
    return { ...this, inputs: this.inputs };
  }
}

function statusOf(
  { readings, missedSessions }: SnapshotInputs,
  { coverage }: Composite,
  { forcedWait }: SignalState,
): Status {
  if (forcedWait === "too_young") return "insufficient_data";
  if (missedSessions > 0) return "stale";
  if (coverage === 0) return "insufficient_data";
  const isComplete = FACTORS.every((factor) => {
    const { status, confidence } = readings[factor];
    return status === "ok" && confidence >= WEAK_CONFIDENCE;
  });
  return isComplete ? "ok" : "partial";
}
