import { newYorkInstant } from "../../market/new-york.ts";
import { type Column, date } from "./columns.ts";
import { malformed, type Place, quoted } from "./malformed.ts";

/** One calendar day of UTC, in milliseconds. */
export const DAY_MS = 86_400_000;

/** Delay of a consolidated daily bar behind the close at 16:00 (scoring method 1.1). */
const BAR_TIME = "16:15";
/** FINRA publishes the daily short volume by this time (scoring method 1.1). */
const SHORT_VOLUME_TIME = "18:00";

/**
 * Dates of one reading and the instants they stand for, in Unix milliseconds. The files of a
 * folder share a few thousand dates, so each is worked out once.
 */
export interface Calendar {
  readonly date: Column<string>;
  /** When the bar of a US session is known: 16:15 New York. */
  readonly barKnown: (date: string) => number;
  /** When the short volume of a session is known: 18:00 New York. */
  readonly shortVolumeKnown: (date: string) => number;
  /** When a filing of which only the date is known counts: the next midnight in New York. */
  readonly filingKnown: (date: string) => number;
}

/** An empty calendar, filled as it is asked. */
export function createCalendar(): Calendar {
  return {
    date: { expected: date.expected, parse: once(date.parse) },
    barKnown: once((day) => newYorkInstant(day, BAR_TIME)),
    shortVolumeKnown: once((day) => newYorkInstant(day, SHORT_VOLUME_TIME)),
    filingKnown: once((day) => newYorkInstant(nextDate(day), "00:00")),
  };
}

function once<T>(compute: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const value = compute(key);
    known.set(key, value);
    return value;
  };
}

const nextDate = (day: string): string => utcDate(utcEnd(day));

/** ISO date in UTC at an instant (Unix milliseconds). */
export const utcDate = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** First moment after a UTC day, Unix milliseconds. */
export const utcEnd = (day: string): number => Date.parse(day) + DAY_MS;

/** Refuses a session that does not come after the one on the line above. */
export function requireLater(session: string, above: string | undefined, place: Place): void {
  if (above === undefined || session > above) return;
  const wrong = `date ${quoted(session)} follows ${quoted(above)}`;
  throw malformed(place, wrong, "dates must ascend, each once");
}
