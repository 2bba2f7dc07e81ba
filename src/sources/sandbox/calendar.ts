import type { Traits } from "./cast.ts";

/** Every day is a session; a sandbox year has as many as a year of US sessions. */
const YEAR_DAYS = 252;

/** A fiscal quarter, and the pace of dividends. */
export const QUARTER_DAYS = 91;

/** A window serves this many days, a quarter of a year: so a start never scores more than five quarters,
 *  and every 63 days scores are walked again from a later beginning. */
const WINDOW_DAYS = YEAR_DAYS / 4;

/** How far bars, filings and on-chain figures reach back before the walk: three years. */
const HISTORY_DAYS = 3 * YEAR_DAYS;

/** How far messages, prints and short volumes reach back before the walk: their 60-day norms and a margin. */
const FEED_MEMORY_DAYS = 70;

/** The days that are remembered for a while, counted since the Unix epoch. */
export interface Window {
  /** The sandbox year in which it lies. */
  readonly year: number;
  /** First day from which scores are walked forward. */
  readonly walkDay: number;
  /** First day of bars, filings and on-chain figures. */
  readonly historyDay: number;
  /** First day of messages, prints and short volumes. */
  readonly feedDay: number;
}

/** The window that serves a day: it reaches back a year from the first of the days that it serves. */
export function windowOf(day: number): Window {
  const firstDay = Math.floor(day / WINDOW_DAYS) * WINDOW_DAYS;
  const walkDay = firstDay - YEAR_DAYS;
  return {
    year: Math.floor(day / YEAR_DAYS),
    walkDay,
    historyDay: walkDay - HISTORY_DAYS,
    feedDay: walkDay - FEED_MEMORY_DAYS,
  };
}

/**
 * The first day of an instrument's present life. A window shows one life only: in the year of a new
 * listing the old life is gone from the first day on, because a list of records never shrinks.
 */
export function listedFrom({ listing }: Traits, year: number): number {
  if (listing === null) return Number.NEGATIVE_INFINITY;
  const isListingYear = Math.abs(year % 2) === listing.parity;
  return (isListingYear ? year : year - 1) * YEAR_DAYS + listing.dayOfYear;
}
