import { DAY_MS } from "./market-day.ts";

/** ISO date of the UTC day that contains an instant (Unix milliseconds). */
export const utcDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** First moment after a UTC day, Unix milliseconds. */
export const utcDayEnd = (day: string): number => Date.parse(day) + DAY_MS;
