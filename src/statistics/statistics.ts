/** Clips a value to [-bound, bound]. */
export const clip = (value: number, bound: number): number =>
  Math.min(bound, Math.max(-bound, value));

/** Maximum |z| of any sub-signal. */
export const Z_BOUND = 3;

/** Number of past sessions with which an off-exchange value is compared. */
export const BASELINE_SESSIONS = 60;
/** Minimum number of past sessions with which an off-exchange value is compared. */
export const MIN_BASELINE_SESSIONS = 20;

/** Arithmetic mean of at least one value. */
export function mean(values: readonly number[]): number {
  let sum = 0;
  // A loop by index, since iterating over an array whose first elements were removed is slow.
  for (let index = 0; index < values.length; index++) sum += values[index] as number;
  return sum / values.length;
}

/** Arithmetic mean of the known values; `NaN` if all are missing (`NaN`). */
export function meanOfKnown(values: readonly number[]): number {
  let sum = 0;
  let known = 0;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += value;
    known++;
  }
  return sum / known;
}

/** Sample standard deviation (divisor n - 1) of at least two values. */
export const sampleSd = (values: readonly number[]): number => sdAround(mean(values), values);

function sdAround(center: number, values: readonly number[]): number {
  let squares = 0;
  for (let index = 0; index < values.length; index++) {
    squares += ((values[index] as number) - center) ** 2;
  }
  return Math.sqrt(squares / (values.length - 1));
}

/** Number of elements of `values`, which must be ascending, that are less than `value`. */
export function countBelow(values: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Weight that remains after `elapsed`, in the unit of `halfLife`: 2^(-elapsed/halfLife). */
export const decayFactor = (elapsed: number, halfLife: number): number =>
  2 ** (-elapsed / halfLife);

/**
 * One step of an exponentially weighted mean: lambda * previous + (1 - lambda) * value. The first
 * value is the initial mean; there is no bias correction.
 *
 * @param lambda `decay(1, halfLife)`, the weight of the past.
 */
export function ewmaStep(previous: number | undefined, value: number, lambda: number): number {
  return previous === undefined ? value : lambda * previous + (1 - lambda) * value;
}

/**
 * z-score of a value against its own past: (value - mean) / sd of `past`, clipped to [-3, 3].
 *
 * @returns `undefined` if `past` has fewer than `minObservations` values, does not vary, or has
 * squares that overflow.
 */
export function zAgainstHistory(
  value: number,
  past: readonly number[],
  minObservations: number,
): number | undefined {
  return past.length < minObservations ? undefined : clippedZ(value, meanAndSd(past));
}

/** Mean and standard deviation of a reference distribution. */
export interface MeanAndSd {
  readonly mean: number;
  readonly sd: number;
}

/** Mean and sample standard deviation of at least two values. */
export function meanAndSd(values: readonly number[]): MeanAndSd {
  const center = mean(values);
  return { mean: center, sd: sdAround(center, values) };
}

/**
 * (value - mean) / sd clipped to [-3, 3]; `undefined` unless sd is positive and mean and sd are
 * finite.
 */
export function clippedZ(value: number, { mean, sd }: MeanAndSd): number | undefined {
  const isUsable = sd > 0 && Number.isFinite(sd) && Number.isFinite(mean);
  return isUsable ? clip((value - mean) / sd, Z_BOUND) : undefined;
}
