/**
 * Returns the value below which the given fraction of the values lies.
 *
 * @param part Fraction, from 0 to 1.
 */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

/** The median; for an even number of values, the upper of the two middle values. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Formats a number with about three significant digits. */
export function shortNumberText(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value.toFixed(size >= 10 ? 1 : 2);
}

/** The median of measurements, with the lowest and the highest in parentheses. */
export const medianWithSpread = (values: readonly number[]): string =>
  `${shortNumberText(median(values))} (${shortNumberText(Math.min(...values))} to ${shortNumberText(Math.max(...values))})`;
