import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StoredAlert, Watched } from "../../../../src/alerts/alert.ts";
import {
  type ConditionGroup,
  groupByCondition,
  isSubscribed,
} from "../../../../src/alerts/rules/matching.ts";
import { AssetClass } from "../../../../src/market/instrument.ts";
import { DIRECTIONS } from "../../../../src/score/signal-hysteresis.ts";
import type { Snapshot } from "../../../../src/score/snapshot.ts";
import { alertOf, named, snapshotOf, type Wanted } from "../../../support/scripted-market.ts";

const stored = (key: string, wanted: Wanted): StoredAlert => ({
  ...{ key, value: alertOf(wanted), revision: 1, groups: [] },
  ...{ expiresAt: undefined, dueAt: undefined, consumedAt: undefined },
});

const symbols = ["A", "B", "C"];
const watched: fc.Arbitrary<Watched> = fc.oneof(
  fc.record({
    by: fc.constant("symbols" as const),
    symbols: fc.array(fc.constantFrom(...symbols), { minLength: 1 }),
  }),
  fc.record({
    by: fc.constant("filter" as const),
    assetClass: fc.constantFrom(null, ...AssetClass.options),
    signal: fc.constantFrom(null, ...DIRECTIONS),
  }),
);
const wanted: fc.Arbitrary<Wanted> = fc.record({
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
  audience: ConditionGroup,
  alerts: readonly StoredAlert[],
  seen: Snapshot,
): void {
  const meant = alerts.filter(({ value }) => isSubscribed(value, audience.watch, seen));
  expect(audience.listeners(seen)).toEqual(meant.map(({ key }) => key).sort());
  const isWatched = audience.watches(seen.instrument);
  expect(isWatched || meant.length === 0).toBe(true);
  const shown = audience.watched(new Map([[seen.instrument.symbol, seen]]));
  expect(shown).toEqual(isWatched ? [seen] : []);
}

describe("the alerts that share a watch", () => {
  it("are told apart from others by what each of them is meant to hear", () => {
    fc.assert(
      fc.property(fc.array(wanted, { maxLength: 8 }), snapshot, (all, seen) => {
        const alerts = all.map((one, index) => stored(`a${index}`, one));
        const audiences = groupByCondition(alerts, 0);
        for (const audience of audiences) expectMeant(audience, alerts, seen);
      }),
      { seed: 6, numRuns: 500 },
    );
  });

  it("are all those that have not expired", () => {
    const paused = stored("paused", { isPaused: true });
    const expired = stored("expired", { expiresAt: 10 });
    const later = stored("later", { expiresAt: 11 });
    const [audience, ...others] = groupByCondition([paused, expired, later], 10);
    expect(others).toEqual([]);
    expect(audience?.listeners(snapshotOf("A", 1))).toEqual(["later", "paused"]);
  });

  it("are told an instrument once each, in the order of their ids", () => {
    const alerts = [
      stored("b", { watched: named("A", "A"), kinds: ["volatility", "volatility"] }),
      stored("a", { watched: named("A", "B"), kinds: ["volatility"] }),
    ];
    const audiences = groupByCondition(alerts, 0);
    expect(audiences).toHaveLength(1);
    expect(audiences[0]?.listeners(snapshotOf("A", 1))).toEqual(["a", "b"]);
    expect(audiences[0]?.listeners(snapshotOf("C", 1))).toEqual([]);
  });
});
