import { describe, expect, it } from "vitest";
import { missingReading } from "../../../src/factors/reading.ts";
import type { VolatilityReading } from "../../../src/factors/volatility.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { AssetClass } from "../../../src/market/instrument.ts";
import {
  detectSignalShift,
  detectVolatilityAlert,
  EVENT_RULES,
  type EventRules,
  type ShiftState,
  type VolatilityState,
} from "../../../src/score/shift-and-volatility-events.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { namedInstrument } from "../../support/instruments.ts";

const { listInputs: _, ...absent } = missingReading("not_observed");
const missing = { ...absent, inputs: [], weight: 0.25, contribution: 0 };

const snapshot = (
  at: number,
  score: number,
  direction: Snapshot["signal"]["direction"],
  assetClass: AssetClass,
): Snapshot => ({
  instrument: namedInstrument("A", "A", assetClass),
  at,
  status: "partial",
  score,
  confidence: 1,
  coverage: 1,
  signal: {
    direction,
    since: 0,
    previous: null,
    smoothed: score,
    frozen: false,
    forcedWait: null,
  },
  missingFactors: [],
  price: null,
  factors: {
    momentum: { ...missing, contribution: score - 50 },
    valuation: missing,
    social: missing,
    darkpool: missing,
  },
});

type Step = readonly [hours: number, score: number, direction?: "LONG" | "SHORT" | "WAIT"];

/** Evaluates a series of snapshots. @returns The hour and the reason of each event. */
function eventsOf(
  steps: readonly Step[],
  assetClass: AssetClass = "stock",
  rules: EventRules = EVENT_RULES,
) {
  let state: ShiftState | undefined;
  const told: string[] = [];
  for (const [hours, score, direction = "WAIT"] of steps) {
    const at = hours * 3_600_000;
    const sighting = {
      snapshot: snapshot(at, score, direction, assetClass),
      session: String(Math.floor(at / DAY_MS)),
      dayMs: DAY_MS,
    };
    const next = detectSignalShift(state, sighting, rules);
    state = next.state;
    if (next.event !== undefined) told.push(`${hours} ${next.event.reason}`);
  }
  return told;
}

describe("a signal shift", () => {
  it("fires when LONG, SHORT or WAIT changes, but never for the first snapshot", () => {
    expect(eventsOf([[0, 90, "LONG"]])).toEqual([]);
    expect(
      eventsOf([
        [0, 50],
        [24, 52],
        [48, 53, "LONG"],
        [72, 53, "LONG"],
        [96, 53, "SHORT"],
      ]),
    ).toEqual(["48 direction", "96 direction"]);
  });

  it("fires when the score has moved 15 points since the last event", () => {
    const first: Step = [0, 50];
    expect(eventsOf([first, [24, 64.9]])).toEqual([]);
    expect(eventsOf([first, [24, 65]])).toEqual(["24 score"]);
    expect(eventsOf([first, [24, 58], [48, 65]])).toEqual(["48 score"]);
    expect(eventsOf([first, [24, 35]])).toEqual(["24 score"]);
  });

  it("fires again only after the score has been within 5 points of the score at the last event", () => {
    const moved: Step[] = [
      [0, 50],
      [24, 65],
    ];
    expect(eventsOf([...moved, [48, 81]])).toEqual(["24 score"]);
    expect(eventsOf([...moved, [48, 70.1], [72, 81]])).toEqual(["24 score"]);
    expect(eventsOf([...moved, [48, 70], [72, 81]])).toEqual(["24 score", "72 score"]);
  });

  it("is suppressed for the rest of a session after an event, and fires afterwards if the change persists", () => {
    const steps: Step[] = [
      [0, 50],
      [24, 50, "LONG"],
      [30, 50, "SHORT"],
    ];
    expect(eventsOf(steps)).toEqual(["24 direction"]);
    expect(eventsOf([...steps, [48, 50, "SHORT"]])).toEqual(["24 direction", "48 direction"]);
    expect(eventsOf([...steps, [48, 50, "LONG"]])).toEqual(["24 direction"]);
  });

  it("is suppressed for six hours after an event of a coin", () => {
    const steps: Step[] = [
      [0, 50],
      [24, 50, "LONG"],
      [29.9, 50, "SHORT"],
      [30, 50, "SHORT"],
    ];
    expect(eventsOf(steps, "crypto")).toEqual(["24 direction", "30 direction"]);
  });

  it("supports the smallest and the largest configurable score threshold", () => {
    const rules = (scoreMove: number) => ({
      ...EVENT_RULES,
      ...{ scoreMove, rearmWithin: scoreMove / 3 },
    });
    const moved = (to: number): Step[] => [
      [0, 50],
      [24, to],
    ];
    expect(eventsOf(moved(54.9), "stock", rules(5))).toEqual([]);
    expect(eventsOf(moved(55), "stock", rules(5))).toEqual(["24 score"]);
    expect(eventsOf([...moved(55), [48, 56.7], [72, 60]], "stock", rules(5))).toEqual(["24 score"]);
    expect(eventsOf([...moved(55), [48, 56.6], [72, 60]], "stock", rules(5))).toHaveLength(2);
    expect(eventsOf(moved(99.9), "stock", rules(50))).toEqual([]);
    expect(eventsOf(moved(100), "stock", rules(50))).toEqual(["24 score"]);
  });

  it("has a configurable cooldown in market days", () => {
    const steps: Step[] = [
      [0, 50],
      [24, 50, "LONG"],
      [48, 50, "WAIT"],
      [72, 50, "WAIT"],
      [96, 50, "WAIT"],
    ];
    const quiet = (quietDays: number) => ({ ...EVENT_RULES, quietDays });
    expect(eventsOf(steps, "stock", quiet(0.25))).toEqual(["24 direction", "48 direction"]);
    expect(eventsOf(steps, "crypto", quiet(1))).toEqual(["24 direction", "48 direction"]);
    expect(eventsOf(steps, "etf", quiet(2))).toEqual(["24 direction", "72 direction"]);
    expect(eventsOf(steps, "crypto", quiet(30))).toEqual(["24 direction"]);
    const backAgain: Step[] = [...steps.slice(0, 3), [72, 50, "LONG"]];
    expect(eventsOf(backAgain, "stock", quiet(2))).toEqual(["24 direction"]);
  });

  it("keeps the same state object while nothing changes", () => {
    const sight = (score: number) => ({
      snapshot: snapshot(score, score, "WAIT", "stock"),
      ...{ session: String(score), dayMs: DAY_MS },
    });
    const { state } = detectSignalShift(undefined, sight(50));
    expect(detectSignalShift(state, sight(60)).state).toBe(state);
    const moved = detectSignalShift(state, sight(65)).state;
    expect(detectSignalShift(moved, sight(75)).state).toBe(moved);
    const armed = detectSignalShift(moved, sight(70)).state;
    expect(armed).toEqual({ ...moved, isArmed: true });
    expect(detectSignalShift(armed, sight(66)).state).toBe(armed);
  });

  it("contains the snapshots before and after the shift, with their contributions", () => {
    const sight = (at: number, score: number) => ({
      snapshot: snapshot(at, score, "WAIT", "stock"),
      session: String(at),
      dayMs: DAY_MS,
    });
    const { state } = detectSignalShift(undefined, sight(1, 50));
    const { event } = detectSignalShift(state, sight(2, 70));
    expect(event).toMatchObject({
      kind: "signal.shift",
      before: { at: 1, score: 50, direction: "WAIT", contributions: { momentum: 0 } },
      after: { at: 2, score: 70, direction: "WAIT", contributions: { momentum: 20 } },
    });
  });
});

describe("a volatility alert", () => {
  const reading = (z: number | null, sigmas = 0): VolatilityReading => ({
    q: 0,
    z,
    slowSigma: 0.01,
    logReturn: sigmas * 0.01,
  });

  const calm: VolatilityState = { level: "calm", told: null };
  const sight = (each: VolatilityReading, day: number) => ({
    snapshot: snapshot(day * DAY_MS, 50, "WAIT", "stock"),
    ...{ session: String(day), dayMs: DAY_MS, reading: each },
  });

  const told = (readings: readonly VolatilityReading[], rules: EventRules = EVENT_RULES) => {
    let state = calm;
    return readings.map((each, day) => {
      const next = detectVolatilityAlert(state, sight(each, day), rules);
      state = next.state;
      return next.event?.severity;
    });
  };

  it("is high at a z-score of 2.5, and extreme at a z-score of 4 or a move of four slow standard deviations", () => {
    expect(told([reading(2.49)])).toEqual([undefined]);
    expect(told([reading(2.5)])).toEqual(["high"]);
    expect(told([reading(4)])).toEqual(["extreme"]);
    expect(told([reading(0, -4)])).toEqual(["extreme"]);
    expect(told([reading(null, 4)])).toEqual(["extreme"]);
    expect(told([reading(null, 3.99)])).toEqual([undefined]);
  });

  it("reports the z-score as its cause if the z-score determines the severity, and the return of the session if not", () => {
    const reasonOf = (each: VolatilityReading) =>
      detectVolatilityAlert(calm, sight(each, 0), EVENT_RULES).event?.reason;
    expect(reasonOf(reading(2.5))).toBe("volatility");
    expect(reasonOf(reading(4, 4))).toBe("volatility");
    expect(reasonOf(reading(2.5, -4))).toBe("return");
    expect(reasonOf(reading(null, 4))).toBe("return");
  });

  it("fires once, fires again when volatility becomes extreme, and then fires only after the z-score has been below 1", () => {
    expect(told([reading(3), reading(3.5), reading(1), reading(3)])).toEqual([
      "high",
      undefined,
      undefined,
      undefined,
    ]);
    expect(told([reading(3), reading(4.5), reading(4.5)])).toEqual(["high", "extreme", undefined]);
    expect(told([reading(3), reading(0.99), reading(3)])).toEqual(["high", undefined, "high"]);
  });

  it("never fires for the first session", () => {
    const begun = detectVolatilityAlert(undefined, sight(reading(3), 0));
    expect(begun).toEqual({ state: { level: "high", told: null } });
    expect(detectVolatilityAlert(begun.state, sight(reading(3.5), 1)).event).toBeUndefined();
    expect(detectVolatilityAlert(begun.state, sight(reading(4), 1)).event).toMatchObject({
      severity: "extreme",
      at: DAY_MS,
    });
    expect(detectVolatilityAlert(undefined, sight(reading(0), 0)).state).toEqual(calm);
  });

  it("supports the smallest and the largest configurable z-score threshold", () => {
    const from = (highZ: number) => ({ ...EVENT_RULES, highZ });
    expect(told([reading(1.49)], from(1.5))).toEqual([undefined]);
    expect(told([reading(1.5)], from(1.5))).toEqual(["high"]);
    expect(told([reading(3.99)], from(4))).toEqual([undefined]);
    expect(told([reading(4)], from(4))).toEqual(["extreme"]);
  });

  it("has a cooldown in market days, after which it fires if the change persists", () => {
    const rules = { ...EVENT_RULES, quietDays: 3 };
    const [high, extreme, low] = [reading(3), reading(5), reading(0)];
    const never = undefined;
    expect(told([high, extreme, extreme, extreme], rules)).toEqual([
      ...["high", never, never],
      "extreme",
    ]);
    expect(told([high, extreme, high, high], rules)).toEqual(["high", never, never, never]);
    expect(told([high, low, high, high], rules)).toEqual(["high", never, never, "high"]);
  });

  it("keeps the same state object while nothing changes", () => {
    const high = detectVolatilityAlert(calm, sight(reading(3), 0)).state;
    expect(detectVolatilityAlert(calm, sight(reading(2), 0)).state).toBe(calm);
    expect(detectVolatilityAlert(high, sight(reading(1), 1)).state).toBe(high);
    expect(detectVolatilityAlert(high, sight(reading(0), 1)).state).toEqual({
      ...high,
      level: "calm",
    });
  });
});
