import { SIGNAL_THRESHOLDS, type SignalThresholds } from "../score/signal-hysteresis.ts";
import type { PastSnapshot } from "../score/snapshot.ts";

/**
 * The precision of the numbers in leaves. It is apart from that of answers, because what is signed
 * stays as it is when an answer is rounded in another way.
 */

/** Decimals of score points, percentiles and steadiness. */
const POINT_DECIMALS = 2;
/** Decimals of confidence and coverage. */
const FRACTION_DECIMALS = 4;
/** Decimals of the values of the parts of a score. */
const PART_DECIMALS = 6;

/** Thresholds of the rules of signals: a value does not reach one by being rounded. */
interface Thresholds {
  /** Lower bounds, such as 70, at which LONG begins. */
  readonly floors: readonly number[];
  /** Upper bounds, such as 30, at which SHORT begins. */
  readonly ceilings: readonly number[];
}

const thresholdsOf = (...all: readonly SignalThresholds[]): Thresholds => ({
  floors: all.flatMap(({ enterLong, exitLong }) => [enterLong, exitLong]),
  ceilings: all.flatMap(({ enterShort, exitShort }) => [enterShort, exitShort]),
});

const POINT_THRESHOLDS = thresholdsOf(...Object.values(SIGNAL_THRESHOLDS));

/** For whole points; the score of a stock is not what its signal follows. */
const WHOLE_POINT_THRESHOLDS = thresholdsOf(SIGNAL_THRESHOLDS.etf, SIGNAL_THRESHOLDS.crypto);

const FRACTION_THRESHOLDS: Thresholds = {
  floors: Object.values(SIGNAL_THRESHOLDS).flatMap(
    ({ enterConfidence, holdConfidence, minCoverage }) =>
      [enterConfidence, holdConfidence, minCoverage].filter((one) => one !== null),
  ),
  ceilings: [],
};

const rounded = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/** Rounds a number without moving it onto a threshold: 69.996 becomes 69.99, not 70. */
function roundedWithin(value: number, decimals: number, { floors, ceilings }: Thresholds): number {
  const near = rounded(value, decimals);
  const step = 10 ** -decimals;
  if (floors.includes(near) && value < near) return rounded(near - step, decimals);
  if (ceilings.includes(near) && value > near) return rounded(near + step, decimals);
  return near;
}

const points = (value: number | null, decimals: number, thresholds: Thresholds): number | null =>
  value === null ? null : roundedWithin(value, decimals, thresholds);

const fraction = (value: number): number =>
  roundedWithin(value, FRACTION_DECIMALS, FRACTION_THRESHOLDS);

/** The members of a signal leaf that say what the method decided. */
export const signalMembers = ({ score, confidence, coverage, signal }: PastSnapshot) => ({
  signal: signal.direction,
  score: points(score, 0, WHOLE_POINT_THRESHOLDS),
  scoreRaw: points(score, POINT_DECIMALS, POINT_THRESHOLDS),
  scoreSmoothed: points(signal.smoothed, POINT_DECIMALS, POINT_THRESHOLDS),
  confidence: fraction(confidence),
  coverage: fraction(coverage),
});

/** A percentile or a steadiness. */
export const percentile = (value: number | null): number | null =>
  value === null ? null : rounded(value, POINT_DECIMALS);

/** The value of a part of a score. */
export const partValue = (value: number): number => rounded(value, PART_DECIMALS);
