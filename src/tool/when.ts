import { z } from "zod";
import { DAY_MS } from "../lib/day.ts";
import type { MarketView } from "../market/market-view.ts";

const Day = z.iso.date();
const Moment = z.iso.datetime({ offset: true });

/** A requested day or instant. */
export const DayOrInstantInput = z
  .string()
  .max(40)
  .refine(
    (text) => Day.safeParse(text).success || Moment.safeParse(text).success,
    "Expected an ISO 8601 date, for example 2015-06-30, or an instant with a zone, for example 2015-06-30T21:00:00Z.",
  );

/**
 * The instant at which a range from `when` begins, Unix milliseconds. For a day, it is half a
 * market day after the start of that day in UTC: after the closes of the previous day's sessions
 * and before the closes of that day's sessions.
 */
export const rangeStartInstant = (when: string, { dayMs }: Pick<MarketView, "dayMs">): number =>
  isIsoDate(when) ? Date.parse(when) + dayMs / 2 : Date.parse(when);

/**
 * The instant at which a range to `when` ends, Unix milliseconds. For a day, it is half a market
 * day after the end of that day in UTC: by then the closes of that day's sessions are known, and
 * the closes of the next day's sessions are not.
 */
export const rangeEndInstant = (when: string, { dayMs }: Pick<MarketView, "dayMs">): number =>
  isIsoDate(when) ? Date.parse(when) + DAY_MS + dayMs / 2 : Date.parse(when);

/** Whether the value of a `DayOrInstantInput` is a day, not an instant. */
export const isIsoDate = (when: string): boolean => Day.safeParse(when).success;

/**
 * An answer member that repeats a day given as `asOf`, since the instant of the answer can be on
 * the next day.
 */
export const requestedDayMember = (asOf: string | undefined): { readonly date?: string } =>
  asOf !== undefined && isIsoDate(asOf) ? { date: asOf } : {};
