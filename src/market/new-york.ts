import { Temporal } from "temporal-polyfill";

/** Time zone of the US exchanges and of every "ET" in the market's rules. */
const ZONE = "America/New_York";

/** One calendar day in New York, of 23, 24 or 25 hours. */
interface Day {
  /** ISO date. */
  readonly date: string;
  /** First moment, Unix milliseconds. */
  readonly startsAt: number;
  /** First moment of the next day, Unix milliseconds. */
  readonly endsAt: number;
}

/**
 * The instant of a wall-clock time in New York, Unix milliseconds.
 *
 * @param date ISO date, for example `2014-06-09`.
 * @param time 24-hour `HH:MM`. When clocks go back, it means the first of two equal times; when
 *   they go forward, a skipped time counts as an hour later.
 * @throws {RangeError} when there is no such date or time.
 */
export function newYorkInstant(date: string, time: string): number {
  return Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(ZONE).epochMilliseconds;
}

/** ISO date in New York at an instant (Unix milliseconds). */
export function newYorkDate(at: number): string {
  return newYorkDay(at).date;
}

/**
 * Creates a `newYorkDate` for many instants. It remembers the bounds of the last day, so that
 * another instant of that day costs only two comparisons.
 */
export function newYorkDates(): (at: number) => string {
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
