import { z } from "zod";
import type { Bar } from "../../market/records.ts";
import { cursorText, type DayQuery } from "./cursor.ts";
import type { Observation, ParsedResponse, Rejected } from "./provider.ts";
import {
  addDays,
  coinBarAsked,
  coinBarKnown,
  isFuture,
  lastDayKnown,
} from "./publication-times.ts";

/** Pause before a day that a venue does not have yet is requested again, in milliseconds: before the
 *  day counts, and afterwards. */
const AGAIN_MS = { early: 60_000, late: 10 * 60_000 } as const;

/** Pause after a venue did not know a coin, in milliseconds. */
const NOT_TRADED_MS = 86_400_000;

/** Start of a day, in Unix seconds, up to the year 9999. */
export const Seconds = z.int().min(0).max(253_402_300_799);

/** A bar of a UTC day; `volume` in quote currency. */
export type CoinDay = Pick<Bar, "session" | "open" | "high" | "low" | "close" | "volume">;

/** Answer of a venue for a coin. */
interface CoinPage extends DayQuery {
  /** Days in any order, possibly with the current one, which is incomplete. */
  readonly days: readonly CoinDay[];
  /** Last day that is complete even if the answer has no later one. */
  readonly surelyOver?: string;
  /** When the answer arrived, Unix milliseconds. */
  readonly receivedAt: number;
}

/**
 * The bars of complete days. A day is complete when the venue has begun a later one, or by
 * `surelyOver`. The end of the day by our clock is not enough: if that clock were ahead, half a day
 * would become a bar.
 */
export function readCoinDays(page: CoinPage): ParsedResponse {
  const { symbol, from, through, surelyOver = "", receivedAt } = page;
  const days = page.days.toSorted((one, other) => (one.session < other.session ? -1 : 1));
  const isEarly = ({ session }: CoinDay) => isFuture(Date.parse(session), receivedAt);
  const newest = days.findLast((day) => !isEarly(day));
  const ended = newest ? addDays(newest.session, -1) : "";
  const over = ended > surelyOver ? ended : surelyOver;
  const last = over < through ? over : through;
  const isInTime = receivedAt < coinBarKnown(through);
  const wanted = days.filter(({ session }) => session >= from && session <= last);
  return {
    data: wanted.map((day) => barOf(day, symbol)),
    rejected: days.filter(isEarly).map((day) => earlyDay(day, symbol)),
    cursor: cursorText(last < from ? from : addDays(last, 1)),
    ...(last < through && { notBefore: receivedAt + (isInTime ? AGAIN_MS.early : AGAIN_MS.late) }),
  };
}

/** The result for a coin that the venue does not trade; it may trade the coin later. */
export const readNotTraded = (
  { symbol, from }: Pick<DayQuery, "symbol" | "from">,
  receivedAt: number,
): ParsedResponse => ({
  data: [],
  cursor: cursorText(from),
  unknown: [symbol],
  notBefore: receivedAt + NOT_TRADED_MS,
});

function barOf(day: CoinDay, symbol: string): Observation {
  const { session, open, high, low, close, volume } = day;
  const availableAt = coinBarKnown(session);
  const record = { session, availableAt, open, high, low, close, volume, dividend: 0, split: 1 };
  return { ...place(day, symbol), record };
}

const earlyDay = (day: CoinDay, symbol: string): Rejected => ({
  ...place(day, symbol),
  reason: "it has not begun",
});

const place = ({ session }: CoinDay, symbol: string) =>
  ({ feed: "bars", symbol, at: Date.parse(session), id: session }) as const;

/** The last day of which there can be a bar at an instant, Unix milliseconds. */
export const lastCoinDay = (at: number): string => lastDayKnown(at, coinBarAsked);
