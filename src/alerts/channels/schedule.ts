import { Temporal } from "temporal-polyfill";

/** A time of day, `HH:MM` on the 24-hour clock. */
type TimeOfDay = string;

/**
 * When messages may be sent to a channel. Times of day are wall-clock times in the channel's time
 * zone.
 */
export interface ChannelSchedule {
  /** IANA time zone, such as `Europe/Berlin`. */
  readonly timeZone: string;
  /**
   * Quiet hours, during which nothing is sent. If `to` is not later than `from`, they end on the
   * next day. `null` if there are no quiet hours.
   */
  readonly quietHours: { readonly from: TimeOfDay; readonly to: TimeOfDay } | null;
  /**
   * Time of day at which all events are sent together in one digest; `null` if each event is sent
   * as it occurs.
   */
  readonly digestAt: TimeOfDay | null;
}

/** The schedule of a channel that receives every event immediately. */
export const IMMEDIATE_SCHEDULE: ChannelSchedule = {
  timeZone: "UTC",
  quietHours: null,
  digestAt: null,
};

/**
 * The instant until which a message that is ready now must wait: the next digest time or the end of
 * the quiet hours. A digest time that falls into quiet hours is moved to their end.
 *
 * @param now Milliseconds since the epoch.
 * @returns Milliseconds since the epoch; `undefined` when the message can be sent now.
 */
export function scheduledWaitEnd(schedule: ChannelSchedule, now: number): number | undefined {
  const { timeZone, digestAt } = schedule;
  if (digestAt === null) return quietHoursEnd(schedule, now);
  const next = nextTime(digestAt, timeZone, now);
  return quietHoursEnd(schedule, next) ?? next;
}

/**
 * The end of the quiet hours that contain an instant, in milliseconds since the epoch; `undefined`
 * when the instant is outside quiet hours.
 *
 * @param at Milliseconds since the epoch.
 */
export function quietHoursEnd(
  { timeZone, quietHours }: ChannelSchedule,
  at: number,
): number | undefined {
  if (quietHours === null) return undefined;
  const { from, to } = quietHours;
  const today = dayOf(at, timeZone);
  const lasts = from < to ? 0 : 1;
  // Quiet hours that span midnight may have begun the day before.
  for (const begins of [today.subtract({ days: 1 }), today]) {
    const end = instantOf(begins.add({ days: lasts }), to, timeZone);
    if (instantOf(begins, from, timeZone) <= at && at < end) return end;
  }
  return undefined;
}

/**
 * The next instant after `now` at which local clocks show a time of day, in milliseconds since the
 * epoch.
 */
function nextTime(time: TimeOfDay, timeZone: string, now: number): number {
  const today = dayOf(now, timeZone);
  const atToday = instantOf(today, time, timeZone);
  return atToday > now ? atToday : instantOf(today.add({ days: 1 }), time, timeZone);
}

const dayOf = (at: number, timeZone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone).toPlainDate();

/**
 * The instant of a time of day. When clocks are set back and a time occurs twice, the first
 * occurrence is used. When clocks are set forward, a skipped time moves later by the length of the
 * gap.
 */
const instantOf = (day: Temporal.PlainDate, time: TimeOfDay, timeZone: string): number =>
  day.toZonedDateTime({ timeZone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds;

/**
 * Pattern of names in the IANA time zone database. UTC offsets are excluded, because they do not
 * observe daylight saving time.
 */
const ZONE_NAME = /^[A-Za-z][\w+-]*(\/[\w+-]+){0,2}$/;

/** Whether a text is an IANA time zone name that the runtime knows. */
export function isTimeZone(text: string): boolean {
  if (!ZONE_NAME.test(text)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text);
    return true;
  } catch {
    return false;
  }
}
