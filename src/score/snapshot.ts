import { FACTORS, type Factor, type Reading } from "../factors/reading.ts";
import type { Instrument } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";
import { type Composite, type Readings, WEIGHTS } from "./composite.ts";
import type { SessionScore, SignalState } from "./direction.ts";

/** Version of formulas, weights and thresholds together; it changes whenever a score could. */
export const METHOD_VERSION = "0.1.0";

/**
 * How complete an answer is. `ok`: all four factors measured well. `partial`: a factor is missing
 * or weak. `stale`: the price is older than the last session. `insufficient_data`: too short a
 * history, or no factor at all.
 */
export const STATUSES = ["ok", "partial", "stale", "insufficient_data"] as const;
type Status = (typeof STATUSES)[number];

/** Confidence in [0, 1] below which a measured factor is called weak. */
const WEAK_CONFIDENCE = 0.2;

/** A factor's reading with its part in the composite. */
export interface FactorResult extends Reading {
  /** Base weight in the composite. */
  readonly weight: number;
  /** Points of score; all four add up to score - 50. */
  readonly contribution: number;
}

/** What the service believed about one instrument at one instant. Immutable. */
export interface Snapshot {
  readonly instrument: Instrument;
  /** Unix milliseconds; nothing that became known later was used. */
  readonly at: number;
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
}

/** One instrument's readings at one instant, with what its signal needs to know. */
export interface Evaluation {
  readonly instrument: Instrument;
  /** Unix milliseconds. */
  readonly at: number;
  readonly readings: Readings;
  /** Known bars, oldest first. */
  readonly bars: readonly Bar[];
  readonly missedSessions: number;
}

/** What the signal needs to know of an evaluation. */
export const sessionScore = (
  { instrument, at, bars, missedSessions }: Evaluation,
  { score, confidence }: Composite,
): SessionScore => ({
  at,
  assetClass: instrument.assetClass,
  score,
  confidence,
  bars: bars.length,
  missedSessions,
});

/** Assembles the snapshot of an evaluation. */
export function createSnapshot(
  evaluation: Evaluation,
  composite: Composite,
  signal: SignalState,
): Snapshot {
  const { instrument, at, readings, bars } = evaluation;
  const newestBar = bars.at(-1);
  const weights = WEIGHTS[instrument.assetClass];
  const result = (factor: Factor): FactorResult => ({
    ...readings[factor],
    weight: weights[factor],
    contribution: composite.contributions[factor],
  });
  return {
    instrument,
    at,
    status: statusOf(evaluation, composite, signal),
    score: composite.score,
    confidence: composite.confidence,
    coverage: composite.coverage,
    signal,
    missingFactors: FACTORS.filter((factor) => readings[factor].z === null),
    price: newestBar ? { value: newestBar.close, at: newestBar.availableAt } : null,
    factors: {
      momentum: result("momentum"),
      valuation: result("valuation"),
      social: result("social"),
      darkpool: result("darkpool"),
    },
  };
}

function statusOf(
  { readings, missedSessions }: Evaluation,
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
