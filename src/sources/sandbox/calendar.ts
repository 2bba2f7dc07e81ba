import type { MissingDataTraits } from "./universe.ts";

/**
 * Number of sessions in a sandbox year, the same as in a year of US sessions; every simulated day
 * is a session.
 */
const YEAR_DAYS = 252;

/** Number of days in a fiscal quarter, and between two dividends. */
export const QUARTER_DAYS = 91;

/**
 * Number of days by which the first served day moves forward at a time: 63, a quarter of a year.
 */
const SERVED_STEP_DAYS = YEAR_DAYS / 4;

/** Number of days of bars, filings and on-chain figures before the first scored day of a year. */
const HISTORY_DAYS = 3 * YEAR_DAYS;

/**
 * Number of days of messages, prints and short volumes before the first scored day: 60 for their
 * norms, plus a margin.
 */
const FEED_MEMORY_DAYS = 70;

/**
 * A sandbox year and the first days of its records, in days since the Unix epoch. The first days
 * are the same all year long, so that every process gives the same scores.
 */
export interface SandboxYear {
  /** Number of the year, counted in sandbox years from the Unix epoch. */
  readonly number: number;
  /** First day of bars, filings and on-chain figures. */
  readonly historyDay: number;
  /** First day of messages, prints and short volumes. */
  readonly feedDay: number;
}

/** The sandbox year that contains a day. */
export function sandboxYearOf(day: number): SandboxYear {
  const number = Math.floor(day / YEAR_DAYS);
  const firstScored = firstScoredDay(number * YEAR_DAYS);
  return {
    number,
    historyDay: firstScored - HISTORY_DAYS,
    feedDay: firstScored - FEED_MEMORY_DAYS,
  };
}

/**
 * The first scored day when the current day is `day`: one year before the start of the current
 * year.
 */
export const firstScoredDay = (day: number): number =>
  Math.floor(day / YEAR_DAYS) * YEAR_DAYS - YEAR_DAYS;

/**
 * The first day whose scores are served when the current day is `day`: one year before the start of
 * the current quarter.
 */
export const firstServedDay = (day: number): number =>
  Math.floor(day / SERVED_STEP_DAYS) * SERVED_STEP_DAYS - YEAR_DAYS;

/**
 * First day of an instrument's current listing. The records of a year contain only one listing: in
 * the year of a new listing, the old one is absent from the first day on, because lists never
 * shrink.
 */
export function firstListedDay({ listing }: MissingDataTraits, year: number): number {
  if (listing === null) return Number.NEGATIVE_INFINITY;
  const isListingYear = Math.abs(year % 2) === listing.parity;
  return (isListingYear ? year : year - 1) * YEAR_DAYS + listing.dayOfYear;
}
