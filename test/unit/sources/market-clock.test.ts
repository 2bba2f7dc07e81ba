import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import {
  dailyClock,
  LiveClock,
  type MarketClock,
  ReplayClock,
  stoppedClock,
} from "../../../src/sources/market-clock.ts";

const from = Date.parse("2014-06-02T00:00:00Z");
const START = 5_000_000;

describe("the clock of a replay", () => {
  const twoDays = (): MarketClock =>
    new ReplayClock({ from, to: from + 2 * DAY_MS, daysPerSecond: 1 });

  it("stands still at its first instant until it is started", () => {
    const clock = twoDays();
    expect(clock.advance(START)).toBe(from);
    expect(clock.advance(START + 3_600_000)).toBe(from);
    clock.start(START + 3_600_000);
    expect(clock.now(START + 3_600_000)).toBe(from);
    expect(clock.untilNext(START + 3_600_000)).toBe(250);
  });

  it("advances in four steps per second at the requested speed", () => {
    const clock = twoDays();
    clock.start(START);
    expect(clock.advance(START + 249)).toBe(from);
    expect(clock.advance(START + 250)).toBe(from + 0.25 * DAY_MS);
    expect(clock.untilNext(START + 251)).toBe(249);
    expect(clock.advance(START + 503)).toBe(from + 0.5 * DAY_MS);
    expect(clock.now(START + 504)).toBe(from + 0.5 * DAY_MS);
    // A timer that fires slightly late does not slow down the replay.
    expect(clock.untilNext(START + 503)).toBe(247);
  });

  it("advances one step at a time even after a late step, instead of jumping ahead", () => {
    const clock = twoDays();
    clock.start(START);
    expect(clock.advance(START + 10_000)).toBe(from + 0.25 * DAY_MS);
    expect(clock.untilNext(START + 10_001)).toBe(0);
    expect(clock.advance(START + 10_001)).toBe(from + 0.5 * DAY_MS);
    expect(clock.advance(START + 10_002)).toBe(from + 0.5 * DAY_MS);
    expect(clock.advance(START + 10_251)).toBe(from + 0.75 * DAY_MS);
  });

  it("ends exactly at its last instant and stays there", () => {
    const to = from + 2 * DAY_MS - 1;
    const clock: MarketClock = new ReplayClock({ from, to, daysPerSecond: 4 });
    clock.start(START);
    expect(clock.advance(START + 250)).toBe(from + DAY_MS);
    expect(clock.untilNext(START + 250)).toBe(250);
    expect(clock.advance(START + 500)).toBe(to);
    expect(clock.untilNext(START + 500)).toBeUndefined();
    expect(clock.advance(START + 750)).toBe(to);
    expect(clock.now(START + 750)).toBe(to);
  });

  it("counts whole milliseconds at any speed without drifting", () => {
    const clock: MarketClock = new ReplayClock({ from, to: from + DAY_MS, daysPerSecond: 0.00003 });
    clock.start(START);
    for (let step = 1; step <= 1_000; step++) {
      expect(clock.advance(START + step * 250)).toBe(from + Math.floor(step * 648));
    }
  });
});

describe("the data time of market clocks other than the replay clock", () => {
  it("is the start of the current day in a market that never closes", () => {
    const clock = dailyClock(60_000);
    expect(clock.now(125_000)).toBe(125_000);
    expect(clock.advance(125_000)).toBe(120_000);
    expect(clock.untilNext(125_000)).toBe(55_000);
  });

  it("is two seconds ago in a live market, which checks again every five seconds", () => {
    const clock: MarketClock = new LiveClock({ confirmedAt: () => Number.NEGATIVE_INFINITY });
    clock.start(START);
    expect([clock.now(START), clock.advance(START)]).toEqual([START, START - 2_000]);
    expect(clock.untilNext(START)).toBe(5_000);
  });

  it("follows the drift of the machine's clock, but a jump only when data confirm it", () => {
    let [steady, confirmedAt] = [START, START];
    const clock: MarketClock = new LiveClock({
      steady: () => steady,
      confirmedAt: () => confirmedAt,
    });
    const HOUR_MS = 3_600_000;
    steady += DAY_MS;
    expect(clock.now(steady + 50_000)).toBe(steady + 50_000);
    expect(clock.now(steady + 100_000)).toBe(steady + 100_000);
    // For one minute, the machine's clock is 40 days ahead.
    const wrong = steady + 40 * DAY_MS;
    expect(clock.now(wrong)).toBe(steady + 100_000);
    steady += 60_000;
    expect(clock.advance(wrong + 60_000)).toBe(steady + 98_000);
    expect(clock.now(steady + 100_000)).toBe(steady + 100_000);
    // The machine slept, which its monotonic clock does not include.
    const awake = steady + 8 * HOUR_MS;
    expect(clock.now(awake)).toBe(steady + 100_000);
    confirmedAt = awake;
    expect(clock.now(awake + 5_000)).toBe(awake + 5_000);
    // The machine's clock had been ahead from the start, and is then corrected.
    const right = awake - 365 * DAY_MS;
    expect(clock.now(right)).toBe(awake + 5_000);
    confirmedAt = right;
    expect(clock.now(right)).toBe(right);
  });

  it("stands still when history has ended", () => {
    const clock = stoppedClock(from);
    expect([clock.now(START), clock.advance(START)]).toEqual([from, from]);
    expect(clock.untilNext(START)).toBeUndefined();
  });
});
