/** Length of a day of the calendar, in milliseconds. */
export const DAY_MS = 86_400_000;

/**
 * Name of a market day: its ISO date, or its first instant where market days are shorter.
 *
 * @param startsAt Its first instant, Unix milliseconds.
 * @param dayMs Length of a market day.
 */
export function dayName(startsAt: number, dayMs: number): string {
  const instant = new Date(startsAt).toISOString();
  return dayMs < DAY_MS ? instant : instant.slice(0, "2020-01-31".length);
}
