import { describe, expect, it } from "vitest";
import { offExchangeView } from "../../../src/factors/off-exchange.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Print, WeeklyVolume } from "../../../src/market/records.ts";
import { atsShareAnswer } from "../../../tools/get-darkpool.ts";
import { instrument } from "../../support/instruments.ts";

const INSTRUMENT = instrument("ACME");

const week = (weekStart: string, atsShares: number, otcShares: number): WeeklyVolume => ({
  weekStart,
  atsShares,
  otcShares,
  availableAt: Date.parse(weekStart) + 22 * DAY_MS,
});

/**
 * Returns the weekly volume share of alternative trading systems that is shown for a range of seven
 * days up to noon of `to`, as known at noon of `day`.
 */
function shown(weeklyVolumes: readonly WeeklyVolume[] | undefined, day: string, to = day) {
  const [at, until] = [Date.parse(`${day}T12:00:00Z`), Date.parse(`${to}T12:00:00Z`)];
  const records = { instrument: INSTRUMENT, bars: [], ...(weeklyVolumes && { weeklyVolumes }) };
  return atsShareAnswer(
    offExchangeView(records, { at, from: until - 7 * DAY_MS, to: until, dayMs: DAY_MS }).week,
  );
}

describe("the reported volume share of alternative trading systems", () => {
  const WEEKS = [week("2026-05-04", 25, 75), week("2026-05-11", 40, 60), week("2026-05-18", 1, 1)];

  it("is taken from the newest published week", () => {
    expect(shown(WEEKS, "2026-06-05")).toEqual({
      weekStart: "2026-05-11",
      value: 0.4,
      atsShares: 40,
      otcShares: 60,
      knownAt: "2026-06-02T00:00:00.000Z",
    });
    expect(shown(WEEKS, "2026-06-01")?.weekStart).toBe("2026-05-04");
  });

  it("is taken from an earlier week when an earlier end date is requested", () => {
    expect(shown(WEEKS, "2026-06-30", "2026-05-10")?.weekStart).toBe("2026-05-04");
  });

  it("is taken from the latest week even if an earlier week was published later", () => {
    const late = { ...week("2026-05-04", 9, 1), availableAt: Date.parse("2026-06-29") };
    const weeks = [...WEEKS.slice(1), late];
    expect(shown(weeks, "2026-06-30")?.weekStart).toBe("2026-05-18");
  });

  it("is null as a whole when no week is known, and contains a null value when nothing was traded in the week", () => {
    expect(shown(undefined, "2026-06-05")).toBeNull();
    expect(shown(WEEKS, "2026-05-20")).toBeNull();
    expect(shown([week("2026-05-04", 0, 0)], "2026-06-05")).toMatchObject({ value: null });
  });
});

describe("a query for off-exchange prints by session date", () => {
  const print = (session: string, time: string): Print => ({
    ...{ id: time, session, price: 1, sizeShares: 1, bid: null, ask: null, signable: true },
    ...{ venue: "X", conditions: "", canceled: false },
    tradedAt: Date.parse(time),
    availableAt: Date.parse(time),
  });

  it("returns the prints of the requested sessions, whatever their UTC time", () => {
    const prints = [
      print("2026-05-03", "2026-05-04T00:30:00Z"),
      print("2026-05-04", "2026-05-04T08:00:00Z"),
      print("2026-05-04", "2026-05-05T00:30:00Z"),
      print("2026-05-05", "2026-05-05T08:00:00Z"),
    ];
    const at = Date.parse("2026-06-01");
    const range = { at, from: 0, to: at, dayMs: DAY_MS };
    const dates = { fromDate: "2026-05-04", toDate: "2026-05-04" };
    const records = { instrument: INSTRUMENT, bars: [], prints };
    const { prints: found, days } = offExchangeView(records, { ...range, ...dates });
    expect(found.map(({ id }) => id)).toEqual(["2026-05-04T08:00:00Z", "2026-05-05T00:30:00Z"]);
    expect(days().map(({ session }) => session)).toEqual(["2026-05-04"]);
  });
});
