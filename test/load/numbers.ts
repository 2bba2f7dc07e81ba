/**
 * Returns the value below which a given fraction of the values lies; NaN if there are no values.
 *
 * @param part The fraction, from 0 to 1.
 */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** The median. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);
