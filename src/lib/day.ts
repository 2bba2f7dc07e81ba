/** Length of a calendar day, in milliseconds. */
export const DAY_MS = 86_400_000;

/**
 * Name of a market day: its ISO date, or its first instant if market days are shorter than a
 * calendar day.
 *
 * @param startsAt First instant of the market day, Unix milliseconds.
 * @param dayMs Length of a market day, in milliseconds.
 */
export function marketDayName(startsAt: number, dayMs: number): string {
  const instant = new Date(startsAt).toISOString();
  return dayMs < DAY_MS ? instant : instant.slice(0, "2020-01-31".length);
}

/** ISO date of the UTC day that contains an instant (Unix milliseconds). */
export const utcDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** First moment after a UTC day, Unix milliseconds. */
export const utcDayEnd = (day: string): number => Date.parse(day) + DAY_MS;
