import { Temporal } from "temporal-polyfill";

/** Time zone of the US exchanges, written "ET" in their rules. */
const ZONE = "America/New_York";

/** A calendar day in New York, of 23, 24 or 25 hours. */
interface Day {
  /** ISO date of the day. */
  readonly date: string;
  /** First instant of the day, Unix milliseconds. */
  readonly startsAt: number;
  /** First instant of the next day, Unix milliseconds. */
  readonly endsAt: number;
}

/**
 * Converts a wall-clock time in New York to Unix milliseconds.
 *
 * @param date ISO date, for example `2014-06-09`.
 * @param time 24-hour `HH:MM`. A time that occurs twice, when clocks go back, means the first
 * occurrence; a time that is skipped, when clocks go forward, counts as an hour later.
 * @throws {RangeError} If there is no such date or time.
 */
export function newYorkInstant(date: string, time: string): number {
  return Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(ZONE).epochMilliseconds;
}

/** The ISO date in New York at an instant (Unix milliseconds). */
export function newYorkDate(at: number): string {
  return newYorkDay(at).date;
}

/**
 * Creates a `newYorkDate` for many instants. It remembers the bounds of the last day, so that
 * another instant on that day costs only two comparisons.
 */
export function createNewYorkDateReader(): (at: number) => string {
  let day: Day | undefined;
  return (at) => {
    if (day === undefined || at < day.startsAt || at >= day.endsAt) day = newYorkDay(at);
    return day.date;
  };
}

function newYorkDay(at: number): Day {
  const start = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(ZONE).startOfDay();
  return {
    date: start.toPlainDate().toString(),
    startsAt: start.epochMilliseconds,
    endsAt: start.add({ days: 1 }).startOfDay().epochMilliseconds,
  };
}
