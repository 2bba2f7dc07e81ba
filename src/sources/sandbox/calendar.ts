import type { Traits } from "./universe.ts";

/** Every day is a session; a sandbox year has as many as a year of US sessions. */
const YEAR_DAYS = 252;

/** A fiscal quarter, and the pace of dividends. */
export const QUARTER_DAYS = 91;

/** Scores are walked from a later beginning every 63 days, a quarter of a year: so a start never
 *  scores more than five quarters. */
const WALK_DAYS = YEAR_DAYS / 4;

/** How far bars, filings and on-chain figures reach back before the year's first walk: three years. */
const HISTORY_DAYS = 3 * YEAR_DAYS;

/** How far messages, prints and short volumes reach back before it: their 60-day norms and a margin. */
const FEED_MEMORY_DAYS = 70;

/**
 * A sandbox year and its records, in days counted since the Unix epoch. They begin on the same days
 * all year long, so that a later walk finds the same scores.
 */
export interface Year {
  /** Years since the Unix epoch. */
  readonly number: number;
  /** First day of bars, filings and on-chain figures. */
  readonly historyDay: number;
  /** First day of messages, prints and short volumes. */
  readonly feedDay: number;
}

/** The year in which a day lies. */
export function yearOf(day: number): Year {
  const number = Math.floor(day / YEAR_DAYS);
  const firstWalkDay = walkDayOf(number * YEAR_DAYS);
  return {
    number,
    historyDay: firstWalkDay - HISTORY_DAYS,
    feedDay: firstWalkDay - FEED_MEMORY_DAYS,
  };
}

/** First day from which scores are walked forward to a day: a year before its quarter. */
export const walkDayOf = (day: number): number =>
  Math.floor(day / WALK_DAYS) * WALK_DAYS - YEAR_DAYS;

/**
 * The first day of an instrument's present life. A year's records show one life only: in the year of
 * a new listing the old life is gone from the first day on, because a list of records never shrinks.
 */
export function listedFrom({ listing }: Traits, year: number): number {
  if (listing === null) return Number.NEGATIVE_INFINITY;
  const isListingYear = Math.abs(year % 2) === listing.parity;
  return (isListingYear ? year : year - 1) * YEAR_DAYS + listing.dayOfYear;
}
