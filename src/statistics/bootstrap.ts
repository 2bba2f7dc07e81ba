import { randomAt } from "./random.ts";
import { mean } from "./statistics.ts";

/** Bounds of a confidence interval, in the unit of the estimate. */
export interface ConfidenceInterval {
  readonly low: number;
  readonly high: number;
}

/** Default share of the resampled means outside the interval: 2.5 % on either side. */
const OUTSIDE = 0.05;
const DRAWS = 2_000;

/**
 * Confidence interval of a mean by the stationary block bootstrap (Politis & Romano, 1994): blocks
 * of random length are drawn with replacement, which preserves autocorrelation.
 *
 * @param values In chronological order.
 * @param block Expected block length, at least 1.
 * @param seed The same seed gives the same interval.
 * @param outside Share of the resampled means outside the interval, half on either side.
 * @returns `undefined` with fewer than two values.
 */
export function bootstrapInterval(
  values: readonly number[],
  block: number,
  seed: number,
  outside: number = OUTSIDE,
): ConfidenceInterval | undefined {
  if (values.length < 2) return undefined;
  const means = Float64Array.from({ length: DRAWS }, (_, draw) =>
    mean(resampled(values, block, seed + draw)),
  ).sort();
  const at = (share: number) => means[Math.round(share * (DRAWS - 1))] as number;
  return { low: at(outside / 2), high: at(1 - outside / 2) };
}

/**
 * Draws one bootstrap series of the same length as `values`; a block that reaches the end continues
 * at the start.
 */
function resampled(values: readonly number[], block: number, seed: number): readonly number[] {
  const { length } = values;
  let place = 0;
  return values.map((_, index) => {
    const isNewRun = index === 0 || randomAt(seed, 2 * index) * block < 1;
    place = isNewRun ? Math.floor(randomAt(seed, 2 * index + 1) * length) : (place + 1) % length;
    return values[place] as number;
  });
}
