/** The value below which a part of the values lies. @param part From 0 to 1. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

/** The value in the middle; of an even number, the upper of the two there. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** A number with about three digits that count, for people. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value.toFixed(size >= 10 ? 1 : 2);
}
