import { DAY_MS, utcDay, utcDayEnd } from "../../lib/day.ts";
import { isTradingDay, sessionsBetween } from "../../market/calendar.ts";
import type { Market } from "../../market/market.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";
import { type CsvColumn, EXPECTED_DATE_TEXT, parseDate } from "./columns.ts";
import { dataError, type FileLocation, quoted } from "./data-error.ts";

/**
 * When consolidated daily bars are published, New York time: 15 minutes after the close at 16:00.
 * On half days this is later than necessary, but never too early.
 */
const BAR_TIME = "16:15";
/** New York time by which FINRA publishes the daily short volume. */
const SHORT_VOLUME_TIME = "18:00";

/**
 * The dates of a folder and the instants at which their data become known, in Unix milliseconds.
 * The files share a few thousand dates, so each is computed once.
 */
export interface PublicationCalendar {
  readonly date: CsvColumn<string>;
  /** A small integer that represents a date in binary records. */
  readonly numberOf: (date: string) => number;
  readonly dateOf: (number: number) => string;
  /** Whether the New York exchanges traded on a date. */
  readonly isTradingDay: (date: string) => boolean;
  /** When the bar of a US session is known: 16:15 New York time. */
  readonly barKnown: (date: string) => number;
  /** When the short volume of a session is known: 18:00 New York time. */
  readonly shortVolumeKnown: (date: string) => number;
  /** When a filing counts as known if only its date is known: the next midnight in New York. */
  readonly filingKnown: (date: string) => number;
}

/** An empty calendar, filled on demand. */
export function createPublicationCalendar(): PublicationCalendar {
  const dates: string[] = [];
  return {
    numberOf: memoByKey((day) => dates.push(day) - 1),
    dateOf: (number) => dates[number] as string,
    date: dateColumn(),
    isTradingDay: memoByKey(isTradingDay),
    barKnown: memoByKey((day) => newYorkInstant(day, BAR_TIME)),
    shortVolumeKnown: memoByKey((day) => newYorkInstant(day, SHORT_VOLUME_TIME)),
    filingKnown: memoByKey((day) => newYorkInstant(nextDate(day), "00:00")),
  };
}

/**
 * A column of dates in which each distinct date is validated only once. Files list the same dates
 * in the same order, so a cell is first compared, in place, with the date that follows the last
 * date read; a lookup would need a string and its hash for every row.
 */
function dateColumn(): CsvColumn<string> {
  const dates: string[] = [];
  const places = new Map<string, number>();
  let expected = 0;
  return {
    expected: EXPECTED_DATE_TEXT,
    parse(text, from, to) {
      const guess = dates[expected];
      if (guess !== undefined && to - from === guess.length && text.startsWith(guess, from)) {
        expected++;
        return guess;
      }
      const cell = text.slice(from, to);
      const place = places.get(cell) ?? dates.length;
      if (place === dates.length) {
        if (parseDate(cell) === undefined) return undefined;
        dates.push(cell);
        places.set(cell, place);
      }
      expected = place + 1;
      return dates[place];
    },
  };
}

/**
 * Caches the result for each key. The key that follows the last key used is tried first, as in
 * `dateColumn`.
 */
function memoByKey<T>(compute: (key: string) => T): (key: string) => T {
  const keys: string[] = [];
  const values: T[] = [];
  const places = new Map<string, number>();
  let expected = 0;
  return (key) => {
    if (keys[expected] !== key) expected = places.get(key) ?? keys.length;
    if (expected === keys.length) {
      values.push(compute(key));
      places.set(key, keys.push(key) - 1);
    }
    return values[expected++] as T;
  };
}

/**
 * Creates `Market.barsDue` of a folder: securities follow the calendar of the exchanges, coins
 * follow UTC days.
 */
export function createBarsDue({ barKnown }: PublicationCalendar): NonNullable<Market["barsDue"]> {
  const sessionsClosed = (after: number, until: number) =>
    sessionsBetween(newYorkDate(after), newYorkDate(until))
      .map(barKnown)
      .filter((at) => at > after && at <= until);
  return (after, until, assetClass) =>
    assetClass === "crypto" ? daysEnded(after, until) : sessionsClosed(after, until);
}

/** Ends of the UTC days in (after, until], Unix milliseconds. */
function daysEnded(after: number, until: number): readonly number[] {
  const first = Math.floor(after / DAY_MS) + 1;
  const count = Math.max(0, Math.floor(until / DAY_MS) + 1 - first);
  return Array.from({ length: count }, (_, index) => (first + index) * DAY_MS);
}

const nextDate = (day: string): string => utcDay(utcDayEnd(day));

/**
 * Checks that the New York exchanges traded on the date of a row. What is of another day
 * belongs to no session and would vanish.
 *
 * @throws {Error} If they did not.
 */
export function requireTradingDay(
  calendar: Pick<PublicationCalendar, "isTradingDay">,
  date: string,
  place: FileLocation,
): void {
  if (calendar.isTradingDay(date)) return;
  throw dataError(place, `New York was closed on ${date}`, "a trading day of New York");
}

/**
 * Checks that the session of a row comes after that of the previous row.
 *
 * @throws {Error} If it does not.
 */
export function requireLaterSession(
  session: string,
  above: string | undefined,
  place: FileLocation,
): void {
  if (above === undefined || session > above) return;
  const wrong = `date ${quoted(session)} follows ${quoted(above)}`;
  throw dataError(place, wrong, "dates must ascend, each once");
}
