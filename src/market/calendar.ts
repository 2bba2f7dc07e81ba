import { getHolidays } from "nyse-holidays";
import { Temporal } from "temporal-polyfill";
import { newYorkDate, newYorkInstant } from "./new-york.ts";

/**
 * Days since 2009 on which the New York exchanges were closed in addition to regular holidays: the
 * hurricane of 2012, and the days of mourning for presidents Bush (2018) and Carter (2025). A new
 * day is added when the exchanges announce it.
 */
const SPECIAL_CLOSURES: ReadonlySet<string> = new Set([
  "2012-10-29",
  "2012-10-30",
  "2018-12-05",
  "2025-01-09",
]);

/**
 * The trading calendar of the New York exchanges, by the rules in force since 2009; days before
 * 2009 can be wrong. Dates are ISO dates in New York, such as `2014-06-09`. Coins need no calendar,
 * since they trade every UTC day.
 */

/** End of regular trading, New York time. */
const CLOSE = "16:00";
/** End of regular trading on a half day, New York time. */
const EARLY_CLOSE = "13:00";

/** Dates (MM-DD) that are half days if they are sessions: the days before July 4 and Christmas. */
const HALF_DAYS: ReadonlySet<string> = new Set(["07-03", "12-24"]);

const FRIDAY = 5;

/** Whether the exchanges trade on a date. */
export const isTradingDay = (date: string): boolean => sessionsOf(numberOf(date)).has(date);

/**
 * When regular trading of a session ends, Unix milliseconds: at 16:00 in New York, at 13:00 on half
 * days.
 *
 * @throws {RangeError} If the date is not a session.
 */
export function sessionCloseAt(date: string): number {
  if (!isTradingDay(date)) throw new RangeError(`${date} is no session`);
  return newYorkInstant(date, isHalfDay(date) ? EARLY_CLOSE : CLOSE);
}

/**
 * The session to which an instant (Unix milliseconds) belongs: the New York date of the instant, at
 * any time of day, or the next session if the exchanges are closed on that date.
 */
export function sessionOf(at: number): string {
  const date = newYorkDate(at);
  return isTradingDay(date) ? date : nextSession(date);
}

/** The first session after a date. */
export function nextSession(date: string): string {
  const year = numberOf(date);
  const after = [...sessionsOf(year).keys(), ...sessionsOf(year + 1).keys()].find(
    (session) => session > date,
  );
  return after as string;
}

/** The last session before a date. */
export function previousSession(date: string): string {
  const year = numberOf(date);
  const before = [...sessionsOf(year - 1).keys(), ...sessionsOf(year).keys()].findLast(
    (session) => session < date,
  );
  return before as string;
}

/** Number of sessions in (date, other], both ISO dates; negative if `other` is earlier. */
export function countSessionsUntil(date: string, other: string): number {
  if (other < date) return -countSessionsUntil(other, date);
  const [from, to] = [date, other].map((one) =>
    isTradingDay(one) ? one : previousSession(one),
  ) as [string, string];
  let count = positionOf(to) - positionOf(from);
  for (let year = numberOf(from); year < numberOf(to); year++) count += sessionsOf(year).size;
  return count;
}

/** Index of a session in its year. */
const positionOf = (session: string): number =>
  sessionsOf(numberOf(session)).get(session) as number;

/** The sessions in [from, to], ascending; empty if `from` is after `to`. */
export function sessionsBetween(from: string, to: string): readonly string[] {
  const sessions: string[] = [];
  for (let year = numberOf(from); year <= numberOf(to); year++) {
    sessions.push(...sessionsOf(year).keys());
  }
  return sessions.filter((session) => session >= from && session <= to);
}

/**
 * Whether a session is a half day. The argument must be a session, since a holiday can be observed
 * on a date of `HALF_DAYS`.
 */
function isHalfDay(session: string): boolean {
  const { month, day, dayOfWeek } = Temporal.PlainDate.from(session);
  // Thanksgiving is the fourth Thursday of November, from the 22nd to the 28th.
  const isAfterThanksgiving = month === 11 && dayOfWeek === FRIDAY && day >= 23 && day <= 29;
  return isAfterThanksgiving || HALF_DAYS.has(session.slice(5));
}

const numberOf = (date: string): number => Number(date.slice(0, 4));

const known = new Map<number, ReadonlyMap<string, number>>();

/** The sessions of a year, ascending, each with its index in the year; cached. */
function sessionsOf(year: number): ReadonlyMap<string, number> {
  const before = known.get(year);
  if (before !== undefined) return before;
  const holidays = new Set(getHolidays(year).map(({ dateString }) => dateString));
  const isOpen = (date: string) => !holidays.has(date) && !SPECIAL_CLOSURES.has(date);
  const open = weekdays(year).filter(isOpen);
  const sessions = new Map(open.map((date, position) => [date, position] as const));
  known.set(year, sessions);
  return sessions;
}

/** The Mondays to Fridays of a year as ISO dates, ascending. */
function weekdays(year: number): string[] {
  const first = Temporal.PlainDate.from({ year, month: 1, day: 1 });
  return Array.from({ length: first.daysInYear }, (_, days) => first.add({ days }))
    .filter(({ dayOfWeek }) => dayOfWeek <= FRIDAY)
    .map(String);
}
