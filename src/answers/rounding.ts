import { THRESHOLDS } from "../score/signal-hysteresis.ts";

/** Decimals of points of score, and of fractions and standard deviations, in brief answers. */
const POINT_DECIMALS = 2;
const FRACTION_DECIMALS = 4;

/** Significant digits of products and sums of prices and counts: digits beyond come from binary
 *  arithmetic. */
const TICK_DIGITS = 14;

/** Thresholds of the rules of the signal: lower bounds (`floors`) and upper bounds (`ceilings`). */
interface Thresholds {
  readonly floors: readonly number[];
  readonly ceilings: readonly number[];
}

const OF_POINTS: Thresholds = {
  floors: [THRESHOLDS.enterLong, THRESHOLDS.exitLong],
  ceilings: [THRESHOLDS.enterShort, THRESHOLDS.exitShort],
};

const OF_FRACTIONS: Thresholds = {
  floors: [THRESHOLDS.enterConfidence, THRESHOLDS.holdConfidence, THRESHOLDS.minCoverage],
  ceilings: [],
};

/** A number rounded to a fixed number of decimals. */
export const rounded = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/**
 * A number rounded to a fixed number of decimals, on the same side of every threshold: 69.996 is 69.99
 * and not 70, where LONG begins.
 */
function roundedWithin(value: number, decimals: number, { floors, ceilings }: Thresholds): number {
  const near = rounded(value, decimals);
  const step = 10 ** -decimals;
  if (floors.includes(near) && value < near) return rounded(near - step, decimals);
  if (ceilings.includes(near) && value > near) return rounded(near + step, decimals);
  return near;
}

/** A score as a whole number, on the same side of every threshold. */
export const wholePoints = (score: number): number => roundedWithin(score, 0, OF_POINTS);

/** Points of score with two decimals, on the same side of every threshold. */
export const points = (value: number): number => roundedWithin(value, POINT_DECIMALS, OF_POINTS);

/** A fraction with four decimals, on the same side of every threshold. */
export const fraction = (value: number): number =>
  roundedWithin(value, FRACTION_DECIMALS, OF_FRACTIONS);

/** Points of a difference or of a contribution, with two decimals. */
export const pointDifference = (value: number): number => rounded(value, POINT_DECIMALS);

/** A ratio, return, average price or number of standard deviations with four decimals. */
export const ratio = (value: number): number => rounded(value, FRACTION_DECIMALS);

/** `ratio` of a number that may be `null`. */
export const ratioOrNull = (value: number | null): number | null =>
  value === null ? null : ratio(value);

/** A product or sum of prices and counts, without the artefacts of binary arithmetic. */
export const withoutFloatNoise = (value: number): number => Number(value.toPrecision(TICK_DIGITS));
