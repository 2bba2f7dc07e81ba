import fc from "fast-check";
import { Temporal } from "temporal-polyfill";
import { describe, expect, it } from "vitest";
import {
  type ChannelSchedule,
  IMMEDIATE_SCHEDULE,
  isTimeZone,
  quietHoursEnd,
  scheduledWaitEnd,
} from "../../../../src/alerts/channels/schedule.ts";

const HOUR = 3_600_000;

const at = (iso: string): number => Date.parse(iso);

const iso = (instant: number | undefined): string | undefined =>
  instant === undefined ? undefined : new Date(instant).toISOString();

const nightIn = (timeZone: string): ChannelSchedule => ({
  ...IMMEDIATE_SCHEDULE,
  timeZone,
  quietHours: { from: "22:00", to: "07:00" },
});

const digestIn = (timeZone: string, digestAt: string): ChannelSchedule => ({
  ...IMMEDIATE_SCHEDULE,
  timeZone,
  digestAt,
});

/** Time zones with one-hour, half-hour and no daylight saving time. */
const ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"];

/** Start of the year 2026 in UTC. */
const YEAR = at("2026-01-01T00:00:00Z");

describe("quiet hours", () => {
  it.each([
    ["2026-01-15T20:59:59Z", undefined],
    ["2026-01-15T21:00:00Z", "2026-01-16T06:00:00.000Z"],
    ["2026-01-16T05:59:59Z", "2026-01-16T06:00:00.000Z"],
    ["2026-01-16T06:00:00Z", undefined],
    // The clocks go forward at 01:00 UTC, so the quiet hours last 8 hours.
    ["2026-03-28T21:00:00Z", "2026-03-29T05:00:00.000Z"],
    ["2026-03-29T01:30:00Z", "2026-03-29T05:00:00.000Z"],
    ["2026-03-29T05:00:00Z", undefined],
    // The clocks go back at 01:00 UTC, so the quiet hours last 10 hours.
    ["2026-10-24T20:00:00Z", "2026-10-25T06:00:00.000Z"],
    ["2026-10-25T05:59:59Z", "2026-10-25T06:00:00.000Z"],
    ["2026-10-25T06:00:00Z", undefined],
  ])("from 22:00 to 07:00 in Berlin, computed at %s, end at %s", (now, until) => {
    expect(iso(quietHoursEnd(nightIn("Europe/Berlin"), at(now)))).toBe(until);
  });

  it("can begin and end on the same day", () => {
    const lunch = { ...IMMEDIATE_SCHEDULE, quietHours: { from: "12:00", to: "13:00" } };
    expect(iso(quietHoursEnd(lunch, at("2026-05-05T12:30:00Z")))).toBe("2026-05-05T13:00:00.000Z");
    expect(quietHoursEnd(lunch, at("2026-05-05T13:00:00Z"))).toBeUndefined();
  });

  it("end at an instant that is not quiet, whatever the time zone and the hours", () => {
    const time = fc.integer({ min: 0, max: 1_439 }).map(timeOf);
    const property = fc.property(
      fc.constantFrom(...ZONES),
      time,
      time,
      fc.integer({ min: 0, max: 365 * 24 * 60 }),
      (timeZone, from, to, minutes) => {
        fc.pre(from !== to);
        const schedule = { ...IMMEDIATE_SCHEDULE, timeZone, quietHours: { from, to } };
        const end = quietHoursEnd(schedule, YEAR + minutes * 60_000);
        if (end === undefined) return;
        expect(end).toBeGreaterThan(YEAR + minutes * 60_000);
        expect(end - (YEAR + minutes * 60_000)).toBeLessThanOrEqual(25 * HOUR);
        expect(quietHoursEnd(schedule, end)).toBeUndefined();
      },
    );
    fc.assert(property, { seed: 23, numRuns: 1_000 });
  });
});

describe("a daily digest", () => {
  it.each([
    [
      "at its time of day on the next day",
      "08:30",
      "2026-01-15T12:00:00Z",
      "2026-01-16T07:30:00.000Z",
    ],
    [
      "on the same day if its time of day is still ahead",
      "08:30",
      "2026-01-15T07:29:59Z",
      "2026-01-15T07:30:00.000Z",
    ],
    [
      "on the next day if its time of day is now",
      "08:30",
      "2026-01-15T07:30:00Z",
      "2026-01-16T07:30:00.000Z",
    ],
    [
      "an hour later on a day whose clock change skips its time of day",
      "02:30",
      "2026-03-28T12:00:00Z",
      "2026-03-29T01:30:00.000Z",
    ],
    [
      "at the first occurrence on a day whose clock change repeats its time of day",
      "02:30",
      "2026-10-24T12:00:00Z",
      "2026-10-25T00:30:00.000Z",
    ],
    [
      "only once on a day whose clock change repeats its time of day",
      "02:30",
      "2026-10-25T00:30:00Z",
      "2026-10-26T01:30:00.000Z",
    ],
  ])("is sent %s", (_, digest, now, until) => {
    expect(iso(scheduledWaitEnd(digestIn("Europe/Berlin", digest), at(now)))).toBe(until);
  });

  it("is sent once on every day of a year in every time zone, even on days of 23 or 25 hours", () => {
    for (const timeZone of ZONES) {
      for (const digestAt of ["00:00", "02:30", "08:00", "23:59"]) {
        const days = new Set<string>();
        let now = YEAR;
        for (let day = 0; day < 365; day++) {
          now = scheduledWaitEnd(digestIn(timeZone, digestAt), now) ?? 0;
          const local = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone);
          days.add(local.toPlainDate().toString());
        }
        expect(days.size, `${timeZone} ${digestAt}`).toBe(365);
      }
    }
  });

  it("waits for the end of the quiet hours when its time falls within them", () => {
    const schedule = { ...nightIn("Europe/Berlin"), digestAt: "06:00" };
    expect(iso(scheduledWaitEnd(schedule, at("2026-01-15T12:00:00Z")))).toBe(
      "2026-01-16T06:00:00.000Z",
    );
  });
});

describe("the validation of a time zone", () => {
  it.each(["Europe/Berlin", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+5"])(
    "accepts %s",
    (name) => {
      expect(isTimeZone(name)).toBe(true);
    },
  );

  it.each(["", "Mars/Olympus", "+02:00", "../../etc/passwd", "x".repeat(10_000)])(
    "rejects %j",
    (name) => {
      expect(isTimeZone(name)).toBe(false);
    },
  );
});

/** Formats a time of day, `HH:MM`. @param minutes Minutes since midnight. */
function timeOf(minutes: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
