import { z } from "zod";
import type { Bar } from "../../market/records.ts";
import { type DayQuery, dayCursorText } from "./cursor.ts";
import type { Observation, ParsedResponse, RejectedObservation } from "./provider.ts";
import {
  addDays,
  coinBarKnownAt,
  coinBarRequestAt,
  isLaterThanArrival,
  lastDayKnown,
} from "./publication-times.ts";

/**
 * Pause, in milliseconds, before a day that is missing at a venue is requested again: `early` until
 * the bar of the day counts as known, `late` after that.
 */
const AGAIN_MS = { early: 60_000, late: 10 * 60_000 } as const;

/** Pause after a venue did not know a coin, before the next request for it, in milliseconds. */
const NOT_TRADED_MS = 86_400_000;

/** Start of a day, in Unix seconds, up to the year 9999. */
export const UnixSeconds = z.int().min(0).max(253_402_300_799);

/** A bar of a UTC day; `volume` is in quote currency. */
export type CoinDay = Pick<Bar, "session" | "open" | "high" | "low" | "close" | "volume">;

/** A venue's answer about a coin. */
interface CoinPage extends DayQuery {
  /** Days in any order, possibly including the current, incomplete day. */
  readonly days: readonly CoinDay[];
  /**
   * Last day that is known to be complete without a later day in the answer as proof; an ISO date.
   */
  readonly surelyOver?: string;
  /** When the answer arrived, Unix milliseconds. */
  readonly receivedAt: number;
}

/**
 * Reads the bars of complete days. A day is complete if the answer contains a later day, or if it
 * is not after `surelyOver`. The end of the day by our clock is not enough: if that clock were
 * ahead, half a day would become a bar.
 */
export function readCoinDays(page: CoinPage): ParsedResponse {
  const { symbol, from, through, surelyOver = "", receivedAt } = page;
  const days = page.days.toSorted((one, other) => (one.session < other.session ? -1 : 1));
  const isEarly = ({ session }: CoinDay) => isLaterThanArrival(Date.parse(session), receivedAt);
  const newest = days.findLast((day) => !isEarly(day));
  const ended = newest ? addDays(newest.session, -1) : "";
  const over = ended > surelyOver ? ended : surelyOver;
  const last = over < through ? over : through;
  const isInTime = receivedAt < coinBarKnownAt(through);
  const wanted = days.filter(({ session }) => session >= from && session <= last);
  return {
    data: wanted.map((day) => barOf(day, symbol)),
    rejected: days.filter(isEarly).map((day) => earlyDay(day, symbol)),
    cursor: dayCursorText(last < from ? from : addDays(last, 1)),
    ...(last < through && { notBefore: receivedAt + (isInTime ? AGAIN_MS.early : AGAIN_MS.late) }),
  };
}

/** The result for a coin that the venue does not trade, although it may trade the coin later. */
export const readNotTraded = (
  { symbol, from }: Pick<DayQuery, "symbol" | "from">,
  receivedAt: number,
): ParsedResponse => ({
  data: [],
  cursor: dayCursorText(from),
  unknown: [symbol],
  notBefore: receivedAt + NOT_TRADED_MS,
});

function barOf(day: CoinDay, symbol: string): Observation {
  const { session, open, high, low, close, volume } = day;
  const availableAt = coinBarKnownAt(session);
  const record = { session, availableAt, open, high, low, close, volume, dividend: 0, split: 1 };
  return { ...place(day, symbol), record };
}

const earlyDay = (day: CoinDay, symbol: string): RejectedObservation => ({
  ...place(day, symbol),
  reason: "it has not begun",
});

const place = ({ session }: CoinDay, symbol: string) =>
  ({ feed: "bars", symbol, at: Date.parse(session), id: session }) as const;

/** The last day for which a bar may be available at an instant (Unix milliseconds), an ISO date. */
export const lastCoinDay = (at: number): string => lastDayKnown(at, coinBarRequestAt);
