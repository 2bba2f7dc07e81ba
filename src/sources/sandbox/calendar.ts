import type { Traits } from "./universe.ts";

/** Every day is a session; a sandbox year has as many as a year of US sessions. */
const YEAR_DAYS = 252;

/** A fiscal quarter, and the pace of dividends. */
export const QUARTER_DAYS = 91;

/** The first day that is served moves forward every 63 days, a quarter of a year. */
const SERVED_STEP_DAYS = YEAR_DAYS / 4;

/** Days of bars, filings and on-chain figures before the first scored day of a year. */
const HISTORY_DAYS = 3 * YEAR_DAYS;

/** Days of messages, prints and short volumes before the first scored day: their 60-day norms and a
 *  margin. */
const FEED_MEMORY_DAYS = 70;

/**
 * A sandbox year and the first days of its records, in days since the Unix epoch. The first days
 * are the same all year long, so that every process gives the same scores.
 */
export interface SandboxYear {
  /** Years since the Unix epoch. */
  readonly number: number;
  /** First day of bars, filings and on-chain figures. */
  readonly historyDay: number;
  /** First day of messages, prints and short volumes. */
  readonly feedDay: number;
}

/** The year in which a day lies. */
export function yearOf(day: number): SandboxYear {
  const number = Math.floor(day / YEAR_DAYS);
  const firstScored = firstScoredDay(number * YEAR_DAYS);
  return {
    number,
    historyDay: firstScored - HISTORY_DAYS,
    feedDay: firstScored - FEED_MEMORY_DAYS,
  };
}

/**
 * First day that is scored when the current day is `day`: one year before the current year begins.
 */
export const firstScoredDay = (day: number): number =>
  Math.floor(day / YEAR_DAYS) * YEAR_DAYS - YEAR_DAYS;

/** First day whose scores are served when the current day is `day`: one year before the current
 *  quarter begins. */
export const firstServedDay = (day: number): number =>
  Math.floor(day / SERVED_STEP_DAYS) * SERVED_STEP_DAYS - YEAR_DAYS;

/**
 * First day of an instrument's current listing. The records of a year hold one listing only: in the
 * year of a new listing the old one is absent from the first day on, because lists never shrink.
 */
export function listedFrom({ listing }: Traits, year: number): number {
  if (listing === null) return Number.NEGATIVE_INFINITY;
  const isListingYear = Math.abs(year % 2) === listing.parity;
  return (isListingYear ? year : year - 1) * YEAR_DAYS + listing.dayOfYear;
}
