/** The value below which a part of the sorted values lies; NaN of none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** The middle one. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);
