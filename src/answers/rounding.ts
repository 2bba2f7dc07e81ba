import { SIGNAL_THRESHOLDS, type SignalThresholds } from "../score/signal-hysteresis.ts";

/** Decimals in brief answers: of score points, and of fractions and z values. */
const POINT_DECIMALS = 2;
const FRACTION_DECIMALS = 4;

/**
 * Significant digits of products and sums of prices and counts; further digits are floating-point
 * noise.
 */
const TICK_DIGITS = 14;

/** Thresholds of the signal rules: lower bounds (`floors`) and upper bounds (`ceilings`). */
interface Thresholds {
  readonly floors: readonly number[];
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

/** Rounds a number to a fixed number of decimals. */
export const roundTo = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/**
 * Rounds a number without moving it across a threshold: 69.996 becomes 69.99, not 70, where LONG
 * begins.
 */
function roundedWithin(value: number, decimals: number, { floors, ceilings }: Thresholds): number {
  const near = roundTo(value, decimals);
  const step = 10 ** -decimals;
  if (floors.includes(near) && value < near) return roundTo(near - step, decimals);
  if (ceilings.includes(near) && value > near) return roundTo(near + step, decimals);
  return near;
}

/** Rounds a score to a whole number without moving it across a signal threshold. */
export const roundToWholePoints = <T extends number | null>(score: T): T =>
  (score === null ? null : roundedWithin(score, 0, WHOLE_POINT_THRESHOLDS)) as T;

/** Rounds score points to two decimals without moving them across a signal threshold. */
export const roundScorePoints = <T extends number | null>(value: T): T =>
  (value === null ? null : roundedWithin(value, POINT_DECIMALS, POINT_THRESHOLDS)) as T;

/** Rounds a confidence or coverage to four decimals without moving it across a signal threshold. */
export const roundFraction = (value: number): number =>
  roundedWithin(value, FRACTION_DECIMALS, FRACTION_THRESHOLDS);

/** Rounds a score difference or contribution, in points, to two decimals. */
export const roundPointDifference = (value: number): number => roundTo(value, POINT_DECIMALS);

/** Rounds a ratio, return, average price or z value to four decimals. */
export const roundRatio = (value: number): number => roundTo(value, FRACTION_DECIMALS);

/** Like `roundRatio`, but accepts `null` and returns it. */
export const roundRatioOrNull = (value: number | null): number | null =>
  value === null ? null : roundRatio(value);

/** Removes floating-point noise from a product or sum of prices and counts. */
export const withoutFloatNoise = (value: number): number => Number(value.toPrecision(TICK_DIGITS));
