import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type {
  AlertKind,
  AlertThresholds,
  InstrumentSelector,
} from "../../../../src/alerts/alert.ts";
import {
  alertConditionOf,
  type ConditionGroup,
  type ConditionState,
  evaluateCondition,
  groupAlertsByCondition,
  receivesEventsOf,
  type StoredResolvedAlert,
} from "../../../../src/alerts/rules/condition.ts";
import type { ResolvedAlert } from "../../../../src/alerts/watchlists/watchlist.ts";
import type { VolatilityReading } from "../../../../src/factors/volatility.ts";
import { DAY_MS } from "../../../../src/lib/day.ts";
import { AssetClass } from "../../../../src/market/instrument.ts";
import { EVENT_RULES } from "../../../../src/score/shift-and-volatility-events.ts";
import { DIRECTIONS } from "../../../../src/score/signal-hysteresis.ts";
import type { Snapshot } from "../../../../src/score/snapshot.ts";
import {
  type AlertOverrides,
  alertOf,
  type SnapshotOverrides,
  snapshotOf,
  symbolSelector,
} from "../../../support/scripted-market.ts";

const METHOD: AlertThresholds = { scoreMove: 15, volatilityZ: 2.5, cooldownDays: null };

const reading = (z: number): VolatilityReading => ({ q: 0, z, slowSigma: 1, logReturn: 0 });

/** Evaluates one session per day. @returns The days on which an event fires. */
function daysOf(
  kind: AlertKind,
  thresholds: Partial<AlertThresholds>,
  sessions: readonly (SnapshotOverrides & { readonly z?: number })[],
): readonly number[] {
  const watch = alertConditionOf(kind, { ...METHOD, ...thresholds });
  let state: ConditionState | undefined;
  const days: number[] = [];
  for (const [day, { z, ...said }] of sessions.entries()) {
    const { state: after, event } = evaluateCondition(watch, state, {
      snapshot: snapshotOf("A", day * DAY_MS, said),
      ...{ session: String(day), dayMs: DAY_MS },
      reading: z === undefined ? undefined : reading(z),
    });
    state = after;
    if (event !== undefined) days.push(day);
  }
  return days;
}

describe("an alert condition", () => {
  it("is shared by alerts of the same kind with the same thresholds for that kind", () => {
    const keyOf = (kind: AlertKind, different: Partial<AlertThresholds> = {}) =>
      alertConditionOf(kind, { ...METHOD, ...different }).key;
    const shift = keyOf("signal_shift");
    expect(keyOf("signal_shift", { volatilityZ: 3 })).toBe(shift);
    expect(keyOf("volatility", { scoreMove: 20 })).toBe(keyOf("volatility"));
    const different = [
      keyOf("volatility"),
      keyOf("signal_shift", { scoreMove: 16 }),
      keyOf("signal_shift", { scoreMove: null }),
      keyOf("signal_shift", { cooldownDays: 1 }),
      keyOf("signal_shift", { cooldownDays: 0.25 }),
      keyOf("volatility", { volatilityZ: 3 }),
      keyOf("volatility", { cooldownDays: 1 }),
      keyOf("report"),
      keyOf("report", { reportSessions: 1 }),
      keyOf("steadiness"),
      keyOf("steadiness", { steadinessLevel: 30 }),
    ];
    expect(new Set([shift, ...different]).size).toBe(12);
    expect(keyOf("steadiness", { steadinessLevel: 20 })).toBe(keyOf("steadiness"));
    expect(keyOf("report", { reportSessions: 5 })).toBe(keyOf("report"));
    for (const key of [shift, ...different]) expect(key).not.toContain(" ");
  });

  it("follows the scoring method's event rules when it has the method's thresholds", () => {
    const { coinQuietDays: _, ...rules } = EVENT_RULES;
    for (const kind of ["signal_shift", "volatility"] as const) {
      expect(alertConditionOf(kind, METHOD).rules).toMatchObject(rules);
    }
  });

  it("fires when the score moves by at least the threshold, which is 5 to 50 points", () => {
    const moved = (scoreMove: number, score: number) =>
      daysOf("signal_shift", { scoreMove }, [{ score: 50 }, { score }]);
    expect(moved(5, 54.99)).toEqual([]);
    expect(moved(5, 45)).toEqual([1]);
    expect(moved(50, 0.01)).toEqual([]);
    expect(moved(50, 0)).toEqual([1]);
  });

  it("can be set to fire only on a new signal, whatever the score is", () => {
    const days = [
      { score: 50 },
      { score: 100 },
      { score: 0, direction: "SHORT" },
      { score: 100, direction: "SHORT" },
    ] as const;
    expect(daysOf("signal_shift", { scoreMove: null }, days)).toEqual([2]);
  });

  it("rearms when the score is again near its value at the last event, within a third of the threshold", () => {
    const back = (score: number) =>
      daysOf("signal_shift", { scoreMove: 30 }, [
        { score: 40 },
        { score: 70 },
        { score },
        { score: 40 },
      ]);
    expect(back(59.9)).toEqual([1]);
    expect(back(60)).toEqual([1, 3]);
  });

  it("fires when volatility reaches its threshold, a z-score of 1.5 to 4", () => {
    const risen = (volatilityZ: number, z: number) =>
      daysOf("volatility", { volatilityZ }, [{ z: 0 }, { z }]);
    expect(risen(1.5, 1.49)).toEqual([]);
    expect(risen(1.5, 1.5)).toEqual([1]);
    expect(risen(4, 3.99)).toEqual([]);
    expect(risen(4, 4)).toEqual([1]);
  });

  it("does not fire during its cooldown, which lasts a quarter of a day to 30 days", () => {
    const flips: SnapshotOverrides[] = Array.from({ length: 40 }, (_, day) =>
      day % 2 === 0 ? {} : { direction: "LONG" },
    );
    expect(daysOf("signal_shift", { cooldownDays: 0.25 }, flips)).toHaveLength(39);
    expect(daysOf("signal_shift", { cooldownDays: 30 }, flips)).toEqual([1, 32]);
    const storms = flips.map((_, day) => ({ z: day % 2 === 0 ? 0 : 3 }));
    expect(daysOf("volatility", { cooldownDays: 0.25 }, storms)).toHaveLength(20);
    expect(daysOf("volatility", { cooldownDays: 30 }, storms)).toEqual([1, 31]);
  });

  it("stores no volatility state without a volatility reading or without trading", () => {
    expect(daysOf("volatility", {}, [{}, {}, { z: 5 }, { z: 5 }])).toEqual([]);
    const stale = { status: "stale", z: 5 } as const;
    expect(daysOf("volatility", {}, [{ z: 0 }, stale, { z: 5 }])).toEqual([2]);
  });

  it("returns the same state object when nothing has changed", () => {
    const watch = alertConditionOf("signal_shift", METHOD);
    const at = (day: number) => ({
      snapshot: snapshotOf("A", day * DAY_MS),
      ...{ session: String(day), dayMs: DAY_MS, reading: undefined },
    });
    const { state: after } = evaluateCondition(watch, undefined, at(1));
    expect(after?.at).toBe(DAY_MS);
    expect(evaluateCondition(watch, after, at(2)).state).toBe(after);
  });
});

const stored = (key: string, wanted: AlertOverrides): StoredResolvedAlert => ({
  ...{ key, value: alertOf(wanted) as ResolvedAlert, revision: 1, groups: [] },
  ...{ expiresAt: undefined, dueAt: undefined, consumedAt: undefined },
});

const symbols = ["A", "B", "C"];
const watched: fc.Arbitrary<InstrumentSelector> = fc.oneof(
  fc.record({
    by: fc.constant("symbols" as const),
    symbols: fc.array(fc.constantFrom(...symbols), { minLength: 1 }),
    signal: fc.constantFrom(null, ...DIRECTIONS),
  }),
  fc.record({
    by: fc.constant("filter" as const),
    assetClass: fc.constantFrom(null, ...AssetClass.options),
    signal: fc.constantFrom(null, ...DIRECTIONS),
  }),
);
const wanted: fc.Arbitrary<AlertOverrides> = fc.record({
  watched,
  kinds: fc.constantFrom(
    ["signal_shift"] as const,
    ["volatility"] as const,
    ["signal_shift", "volatility"] as const,
  ),
  thresholds: fc.record({ scoreMove: fc.constantFrom(15, 20) }),
});
const snapshot = fc
  .tuple(
    fc.constantFrom(...symbols),
    fc.constantFrom(...AssetClass.options),
    fc.constantFrom(...DIRECTIONS),
  )
  .map(([symbol, assetClass, direction]) => snapshotOf(symbol, 1, { assetClass, direction }));

function expectMeant(
  group: ConditionGroup,
  alerts: readonly StoredResolvedAlert[],
  seen: Snapshot,
): void {
  const meant = alerts.filter(({ value }) => receivesEventsOf(value, group.condition, seen));
  expect(group.subscribers(seen)).toEqual(meant.map(({ key }) => key).sort());
  const isWatched = group.covers(seen.instrument);
  expect(isWatched || meant.length === 0).toBe(true);
  const shown = group.covered(new Map([[seen.instrument.symbol, seen]]));
  expect(shown).toEqual(isWatched ? [seen] : []);
}

describe("the alerts grouped by a shared condition", () => {
  it("are subscribed to exactly the instruments that each alert covers", () => {
    fc.assert(
      fc.property(fc.array(wanted, { maxLength: 8 }), snapshot, (all, seen) => {
        const alerts = all.map((one, index) => stored(`a${index}`, one));
        const groups = groupAlertsByCondition(alerts, 0);
        for (const group of groups) expectMeant(group, alerts, seen);
      }),
      { seed: 6, numRuns: 500 },
    );
  });

  it("include every alert that has not expired", () => {
    const paused = stored("paused", { isPaused: true });
    const expired = stored("expired", { expiresAt: 10 });
    const later = stored("later", { expiresAt: 11 });
    const [group, ...others] = groupAlertsByCondition([paused, expired, later], 10);
    expect(others).toEqual([]);
    expect(group?.subscribers(snapshotOf("A", 1))).toEqual(["later", "paused"]);
  });

  it("are listed once each, ordered by alert id", () => {
    const alerts = [
      stored("b", { watched: symbolSelector("A", "A"), kinds: ["volatility", "volatility"] }),
      stored("a", { watched: symbolSelector("A", "B"), kinds: ["volatility"] }),
    ];
    const groups = groupAlertsByCondition(alerts, 0);
    expect(groups).toHaveLength(1);
    expect(groups[0]?.subscribers(snapshotOf("A", 1))).toEqual(["a", "b"]);
    expect(groups[0]?.subscribers(snapshotOf("C", 1))).toEqual([]);
  });
});
