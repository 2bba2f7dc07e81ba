import { Temporal } from "temporal-polyfill";

/** A time of day, `HH:MM` of 24 hours. */
type TimeOfDay = string;

/** When messages may be sent to a channel. Times of day are wall-clock times of its time zone. */
export interface ChannelSchedule {
  /** IANA time zone, such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** Nothing is sent from `from` until `to`, which is on the next day if it is not later than
   *  `from`; `null` if there are no quiet hours. */
  readonly quietHours: { readonly from: TimeOfDay; readonly to: TimeOfDay } | null;
  /** Time of day of the digest, in which all events are sent together; `null` if each event is sent
   *  as it occurs. */
  readonly digestAt: TimeOfDay | null;
}

/** A channel that is sent everything at once. */
export const AT_ONCE: ChannelSchedule = { timeZone: "UTC", quietHours: null, digestAt: null };

/**
 * The instant until which a message that is ready now has to wait: the next digest, or the end of the
 * quiet hours; for a digest within the quiet hours, their end.
 *
 * @param now Milliseconds since the epoch.
 * @returns Milliseconds since the epoch; `undefined` when it can be sent now.
 */
export function waitsUntil(schedule: ChannelSchedule, now: number): number | undefined {
  const { timeZone, digestAt } = schedule;
  if (digestAt === null) return quietUntil(schedule, now);
  const next = nextTime(digestAt, timeZone, now);
  return quietUntil(schedule, next) ?? next;
}

/**
 * The end of the quiet hours in which an instant lies; `undefined` when it lies in none.
 *
 * @param at Milliseconds since the epoch.
 */
export function quietUntil(
  { timeZone, quietHours }: ChannelSchedule,
  at: number,
): number | undefined {
  if (quietHours === null) return undefined;
  const { from, to } = quietHours;
  const today = dayOf(at, timeZone);
  const lasts = from < to ? 0 : 1;
  // Quiet hours over midnight may have begun the day before.
  for (const begins of [today.subtract({ days: 1 }), today]) {
    const end = instantOf(begins.add({ days: lasts }), to, timeZone);
    if (instantOf(begins, from, timeZone) <= at && at < end) return end;
  }
  return undefined;
}

/** The next instant after `now` at which clocks show a time. */
function nextTime(time: TimeOfDay, timeZone: string, now: number): number {
  const today = dayOf(now, timeZone);
  const atToday = instantOf(today, time, timeZone);
  return atToday > now ? atToday : instantOf(today.add({ days: 1 }), time, timeZone);
}

const dayOf = (at: number, timeZone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone).toPlainDate();

/** If clocks go back, the first of two equal times is used; a time that is skipped when they go
 *  forward is moved later by the skipped interval. */
const instantOf = (day: Temporal.PlainDate, time: TimeOfDay, timeZone: string): number =>
  day.toZonedDateTime({ timeZone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds;

/** Names in the IANA time zone database. Offsets are excluded, since they have no daylight saving
 *  time. */
const ZONE_NAME = /^[A-Za-z][\w+-]*(\/[\w+-]+){0,2}$/;

/** Whether a text is the name of a time zone. */
export function isTimeZone(text: string): boolean {
  if (!ZONE_NAME.test(text)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text);
    return true;
  } catch {
    return false;
  }
}
