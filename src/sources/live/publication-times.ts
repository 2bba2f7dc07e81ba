import { DAY_MS, utcDay, utcDayEnd } from "../../lib/day.ts";
import { sessionsBetween } from "../../market/calendar.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";

/** Times at which live data are published, in Unix milliseconds. */

/**
 * Time after publication by which a bar has arrived from a vendor, in milliseconds: the free plan
 * of Alpaca delays trades by 15 minutes, and requests for a whole universe take minutes.
 */
const BAR_DELAY_MS = 30 * 60_000;

/**
 * Time after the end of the day by which the bar of a coin has arrived, in milliseconds; coin
 * venues publish without a delay.
 */
const COIN_BAR_DELAY_MS = 5 * 60_000;

/**
 * The UTC day that is a number of days after the given day; a negative number gives an earlier day.
 */
export const addDays = (day: string, days: number): string =>
  utcDay(Date.parse(day) + days * DAY_MS);

/** When the bar of a US session counts as known: 16:45 New York time, also on half days. */
export const stockBarKnownAt = (session: string): number =>
  newYorkInstant(session, "16:15") + BAR_DELAY_MS;

/** When the bar of a coin counts as known: five minutes after the end of its UTC day. */
export const coinBarKnownAt = (day: string): number => utcDayEnd(day) + COIN_BAR_DELAY_MS;

/**
 * When the bar of a US session is requested: early enough to arrive before it counts as known, so
 * that it is part of the session's close. Closing prices are published by 16:15 and become free of
 * charge 15 minutes later, and requests for a whole universe take minutes.
 */
export const stockBarRequestAt = (session: string): number => newYorkInstant(session, "16:31");

/**
 * When the bar of a coin is requested: two minutes after the end of its UTC day, when venues have
 * begun the next day.
 */
export const coinBarRequestAt = (day: string): number => utcDayEnd(day) + 2 * 60_000;

/**
 * When FINRA's daily short volume is published: at 18:00 New York time on the day of the session.
 */
export const shortVolumeKnownAt = (session: string): number => newYorkInstant(session, "18:00");

/**
 * When a record with a date but no time of day, such as a filing, counts as known: at the next
 * midnight in New York.
 */
export const datedRecordKnownAt = (date: string): number =>
  newYorkInstant(addDays(date, 1), "00:00");

/** When network figures of a UTC day are published: at 06:00 UTC on the following day. */
export const onChainKnownAt = (day: string): number => utcDayEnd(day) + 6 * 3_600_000;

/**
 * The last UTC day that is known at an instant.
 *
 * @param known Returns when a day becomes known, which is at most a day after the day ends.
 */
export function lastDayKnown(at: number, known: (day: string) => number): string {
  const yesterday = addDays(utcDay(at), -1);
  return known(yesterday) <= at ? yesterday : addDays(yesterday, -1);
}

/** Maximum lead of a provider's clock over ours, in milliseconds. */
const CLOCK_SKEW_MS = 5 * 60_000;

/**
 * Whether an instant is later than the arrival of the record that contains it, by more than the
 * tolerated clock difference.
 */
export const isLaterThanArrival = (at: number, receivedAt: number): boolean =>
  at > receivedAt + CLOCK_SKEW_MS;

/** How long an answer that never changes is cached, in milliseconds. */
export const FINAL_ANSWER_CACHE_MS = 30 * DAY_MS;

/**
 * The instants in (after, until] at which bars are due, Unix milliseconds, ascending: by the
 * exchanges' calendar for securities, and by UTC days for coins.
 */
export const barDueTimes = (
  after: number,
  until: number,
  assetClass: AssetClass,
): readonly number[] =>
  (assetClass === "crypto" ? daysFrom(after, until) : sessionsFrom(after, until)).filter(
    (at) => at > after && at <= until,
  );

const sessionsFrom = (after: number, until: number): readonly number[] =>
  sessionsBetween(newYorkDate(after), newYorkDate(until)).map(stockBarKnownAt);

function daysFrom(after: number, until: number): readonly number[] {
  const first = Math.floor(after / DAY_MS) - 1;
  const count = Math.max(0, Math.floor(until / DAY_MS) - first + 1);
  return Array.from({ length: count }, (_, index) =>
    coinBarKnownAt(utcDay((first + index) * DAY_MS)),
  );
}
