import { sessionsBetween } from "../../market/calendar.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";

/** When live data are published, Unix milliseconds. */

/** Time until a vendor has a bar, in milliseconds: the free plan of Alpaca delays trades by 15
 *  minutes, and requests for a whole universe take minutes. */
const BAR_DELAY_MS = 30 * 60_000;

/** Time until a vendor has a coin's bar, in milliseconds; venues of coins publish without a delay. */
const COIN_BAR_DELAY_MS = 5 * 60_000;

const DAY_MS = 86_400_000;

/** UTC day of an instant, an ISO date. */
export const utcDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The UTC day a number of days after another, before it when negative. */
export const addDays = (day: string, days: number): string =>
  utcDay(Date.parse(day) + days * DAY_MS);

/** First moment after a UTC day. */
export const utcEnd = (day: string): number => Date.parse(day) + DAY_MS;

/** When the bar of a US session counts as known: 16:45 New York time, also on half days. */
export const stockBarKnown = (session: string): number =>
  newYorkInstant(session, "16:15") + BAR_DELAY_MS;

/** When the bar of a coin counts as known: five minutes after its UTC day. */
export const coinBarKnown = (day: string): number => utcEnd(day) + COIN_BAR_DELAY_MS;

/**
 * When the bar of a US session is requested: it has to arrive before it counts, so that it is part
 * of the session's close. Closing prices are published by 16:15 and free 15 minutes later, and
 * requests for a whole universe take minutes.
 */
export const stockBarAsked = (session: string): number => newYorkInstant(session, "16:31");

/** When the bar of a coin is requested: venues have begun the next day by then. */
export const coinBarAsked = (day: string): number => utcEnd(day) + 2 * 60_000;

/** When FINRA's daily short volume is published: 18:00 New York time on its session. */
export const shortVolumeKnown = (session: string): number => newYorkInstant(session, "18:00");

/** When a record such as a filing counts as known if only its date is known: the next midnight in
 *  New York. */
export const dateKnown = (date: string): number => newYorkInstant(addDays(date, 1), "00:00");

/** When network figures of a UTC day are published: 06:00 UTC on the next. */
export const onChainKnown = (day: string): number => utcEnd(day) + 6 * 3_600_000;

/**
 * The last UTC day that is known by an instant.
 *
 * @param known When a day is known, at most a day after it has ended.
 */
export function lastDayKnown(at: number, known: (day: string) => number): string {
  const yesterday = addDays(utcDay(at), -1);
  return known(yesterday) <= at ? yesterday : addDays(yesterday, -1);
}

/** Maximum lead of a provider's clock over ours, in milliseconds. */
const CLOCK_SKEW_MS = 5 * 60_000;

/** Whether an instant is later than the arrival of the record that contains it. */
export const isFuture = (at: number, receivedAt: number): boolean =>
  at > receivedAt + CLOCK_SKEW_MS;

/** How long a final answer is cached, in milliseconds. */
export const FINAL_MS = 30 * DAY_MS;

/** When the bars of sessions are due in (after, until], Unix milliseconds, ascending: by the
 *  exchanges' calendar, and by UTC days. */
export const barsDue = (after: number, until: number, assetClass: AssetClass): readonly number[] =>
  (assetClass === "crypto" ? daysFrom(after, until) : sessionsFrom(after, until)).filter(
    (at) => at > after && at <= until,
  );

const sessionsFrom = (after: number, until: number): readonly number[] =>
  sessionsBetween(newYorkDate(after), newYorkDate(until)).map(stockBarKnown);

function daysFrom(after: number, until: number): readonly number[] {
  const first = Math.floor(after / DAY_MS) - 1;
  const count = Math.max(0, Math.floor(until / DAY_MS) - first + 1);
  return Array.from({ length: count }, (_, index) =>
    coinBarKnown(utcDay((first + index) * DAY_MS)),
  );
}
