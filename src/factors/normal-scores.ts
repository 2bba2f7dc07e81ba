import { normalQuantile } from "./statistics.ts";

/**
 * Normal scores Phi^-1((rank - 0.5) / n) of the known values, with mean ranks for ties; `NaN` for
 * missing values, and for all if there are too few.
 *
 * @param values `NaN` if missing.
 * @param minCount Minimum number of known values.
 */
export function normalScores(values: Float64Array, minCount: number): Float64Array {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const count = sorted.length;
  if (count < minCount) return values.map(() => Number.NaN);
  const scores = new Map<number, number>();
  for (let start = 0, end = 0; start < count; start = end) {
    const value = sorted[start] as number;
    while (sorted[end] === value) end++;
    scores.set(value, normalQuantile((start + end) / 2 / count));
  }
  return values.map((value) => scores.get(value) ?? Number.NaN);
}
