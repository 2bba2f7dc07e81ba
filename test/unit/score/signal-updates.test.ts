import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SignalUpdates } from "../../../src/score/refresh.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { snapshotOf } from "../../support/scripted-market.ts";

/** Signal updates with a listener whose notifications are recorded. */
function listened() {
  const updates = new SignalUpdates();
  const told: string[] = [];
  const stop = updates.onUpdate((symbol) => told.push(symbol));
  const look = (...snapshots: readonly Snapshot[]) => {
    told.length = 0;
    updates.compare(snapshots);
    return [...told];
  };
  return { updates, look, stop };
}

describe("notices of changed signals", () => {
  it("report signals that changed since the last check, and none at the first check", () => {
    const { look } = listened();
    expect(look(snapshotOf("A", 1), snapshotOf("B", 1))).toEqual([]);
    expect(look(snapshotOf("A", 2), snapshotOf("B", 2, { score: 60 }))).toEqual(["B"]);
    expect(look(snapshotOf("A", 3, { score: 40 }), snapshotOf("B", 3))).toEqual(["A", "B"]);
    expect(look(snapshotOf("A", 3, { score: 40 }), snapshotOf("B", 3))).toEqual([]);
  });

  it.each<[what: string, before: Snapshot, after: Snapshot, isNews: boolean]>([
    ["a later instant", snapshotOf("A", 1), snapshotOf("A", 2), false],
    ["a changed score", snapshotOf("A", 1), snapshotOf("A", 1, { score: 50.01 }), true],
    [
      "a score change too small to be shown",
      snapshotOf("A", 1),
      snapshotOf("A", 1, { score: 50.001 }),
      false,
    ],
    ["a changed signal", snapshotOf("A", 1), snapshotOf("A", 1, { direction: "LONG" }), true],
    ["a changed status", snapshotOf("A", 1), snapshotOf("A", 1, { status: "stale" }), true],
    ["a changed confidence", snapshotOf("A", 1), { ...snapshotOf("A", 1), confidence: 0.7 }, true],
  ])("report a change only if it is visible in an answer: %s", (_, before, after, isNews) => {
    const { look } = listened();
    look(before);
    expect(look(after)).toEqual(isNews ? ["A"] : []);
  });

  it("ignore an instrument that appears, disappears, or returns unchanged", () => {
    const { look } = listened();
    look(snapshotOf("A", 1));
    expect(look(snapshotOf("A", 2), snapshotOf("B", 2))).toEqual([]);
    expect(look(snapshotOf("B", 3))).toEqual([]);
    expect(look(snapshotOf("A", 4), snapshotOf("B", 4))).toEqual([]);
    look(snapshotOf("B", 5));
    expect(look(snapshotOf("A", 6, { score: 10 }), snapshotOf("B", 6))).toEqual(["A"]);
  });

  it("reach every listener that has not unsubscribed, even a listener that was added twice", () => {
    const { updates, look, stop } = listened();
    const told: string[] = [];
    const listener = (symbol: string) => void told.push(symbol);
    const stops = [updates.onUpdate(listener), updates.onUpdate(listener)];
    look(snapshotOf("A", 1));
    expect(look(snapshotOf("A", 2, { score: 1 }))).toEqual(["A"]);
    expect(told).toEqual(["A", "A"]);
    stop();
    stops[0]?.();
    stops[0]?.();
    expect(look(snapshotOf("A", 3, { score: 2 }))).toEqual([]);
    expect(told).toEqual(["A", "A", "A"]);
  });

  it("report each change exactly once, for any series of snapshots", () => {
    const series = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 60 });
    const changesOf = (scores: readonly number[]) =>
      scores.slice(1).filter((score, index) => score !== scores[index]).length;
    const property = fc.property(series, (scores) => {
      const { look } = listened();
      const told = scores.flatMap((score, at) => look(snapshotOf("A", at, { score })));
      expect(told).toHaveLength(changesOf(scores));
    });
    fc.assert(property, { seed: 11, numRuns: 200 });
  });
});
