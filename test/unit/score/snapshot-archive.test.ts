import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FACTOR_STATUSES, FACTORS, missingReading } from "../../../src/factors/reading.ts";
import { DIRECTIONS, FORCED_WAIT_REASONS } from "../../../src/score/signal-hysteresis.ts";
import { SNAPSHOT_STATUSES, type Snapshot } from "../../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { instrument } from "../../support/instruments.ts";

const missing = { ...missingReading("not_observed"), weight: 0.25, contribution: 0, inputs: [] };

const snapshot = (symbol: string, at: number): Snapshot => ({
  instrument: instrument(symbol),
  at,
  status: "insufficient_data",
  score: 50,
  confidence: 0,
  coverage: 0,
  signal: {
    direction: "WAIT",
    since: 0,
    previous: null,
    smoothed: 50,
    frozen: false,
    forcedWait: "low_confidence",
  },
  missingFactors: ["momentum", "valuation", "social", "darkpool"],
  price: null,
  factors: { momentum: missing, valuation: missing, social: missing, darkpool: missing },
});

describe("the snapshot archive", () => {
  it("returns the latest snapshot at or before an instant, and none before the first", () => {
    const archive = createSnapshotArchive();
    for (const at of [10, 20, 30]) archive.addClosed(snapshot("A", at));
    expect(archive.lastAt("A", 9)).toBeUndefined();
    expect(archive.lastAt("A", 20)?.at).toBe(20);
    expect(archive.lastAt("A", 29)?.at).toBe(20);
    expect(archive.lastAt("A", 99)?.at).toBe(30);
    expect(archive.lastAt("B", 99)).toBeUndefined();
  });

  it("replaces an interim snapshot and excludes it from the history", () => {
    const archive = createSnapshotArchive();
    archive.addClosed(snapshot("A", 10));
    archive.setNewest(snapshot("A", 12));
    archive.setNewest(snapshot("A", 14));
    expect(archive.newest("A")?.at).toBe(14);
    archive.addClosed(snapshot("A", 20));
    expect([...archive.history("A", 0, 99)].map(({ at }) => at)).toEqual([10, 20]);
    expect([...archive.history("A", 11, 20)].map(({ at }) => at)).toEqual([20]);
  });

  it("keeps factors for the last 30 sessions, and signals for all sessions", () => {
    const archive = createSnapshotArchive();
    for (let at = 1; at <= 100; at++) archive.addClosed(snapshot("A", at));
    const kept = [...archive.history("A", 0, 100)].filter((record) => "factors" in record);
    expect(kept.map(({ at }) => at)).toEqual(Array.from({ length: 30 }, (_, i) => i + 71));
    expect(archive.history("A", 0, 100)).toHaveLength(100);
  });

  it("contains the same snapshots whether or not the caller states how many sessions follow", () => {
    const [told, untold] = [createSnapshotArchive(), createSnapshotArchive()];
    for (let at = 1; at <= 100; at++) {
      told.addClosed(snapshot("A", at), 100 - at);
      untold.addClosed(snapshot("A", at));
    }
    expect([...told.history("A", 0, 100)]).toEqual([...untold.history("A", 0, 100)]);
    expect(told.newest("A")).toEqual(untold.newest("A"));
  });

  it("keeps the factors of the newest 30 sessions readable during a bulk load", () => {
    const archive = createSnapshotArchive();
    for (let at = 1; at <= 40; at++) archive.addClosed(snapshot("A", at));
    for (let at = 41; at <= 100; at++) {
      archive.addClosed(snapshot("A", at), 100 - at);
      expect(archive.lastAt("A", at - 29)).toHaveProperty("factors");
    }
  });

  it("preserves every figure of an old snapshot except its factors", () => {
    const orNull = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null });
    const figure = fc.double();
    const result = fc
      .record({
        z: orNull(fc.double({ noNaN: true })),
        confidence: figure,
        contribution: figure,
        status: fc.constantFrom(...FACTOR_STATUSES),
      })
      .map((drawn) => ({ ...missing, ...drawn }));
    const record = fc.record({
      status: fc.constantFrom(...SNAPSHOT_STATUSES),
      score: orNull(fc.double({ noNaN: true })),
      confidence: figure,
      coverage: figure,
      signal: fc.record(
        {
          mean: fc.record({ value: figure, sessions: fc.integer({ min: 1, max: 1e9 }) }),
          direction: fc.constantFrom(...DIRECTIONS),
          since: figure,
          previous: orNull(fc.constantFrom(...DIRECTIONS)),
          smoothed: orNull(fc.double({ noNaN: true })),
          frozen: fc.boolean(),
          forcedWait: orNull(fc.constantFrom(...FORCED_WAIT_REASONS)),
        },
        { requiredKeys: ["direction", "since", "previous", "smoothed", "frozen", "forcedWait"] },
      ),
      missingFactors: fc.subarray([...FACTORS]),
      price: orNull(fc.record({ value: figure, at: fc.integer({ min: 0 }) })),
      factors: fc.record({
        momentum: result,
        valuation: result,
        social: result,
        darkpool: result,
      }),
    });
    fc.assert(
      fc.property(record, (drawn) => {
        const archive = createSnapshotArchive();
        const first = { ...snapshot("A", 1), ...drawn };
        archive.addClosed(first);
        for (let at = 2; at <= 31; at++) archive.addClosed(snapshot("A", at));
        const { factors, ...kept } = first;
        const evidence = Object.fromEntries(
          FACTORS.map((factor) => {
            const { z, confidence, contribution, status } = factors[factor];
            return [factor, { z, confidence, contribution, status }];
          }),
        );
        expect(archive.lastAt("A", 1)).toEqual({ ...kept, evidence });
      }),
      { seed: 5, numRuns: 100 },
    );
  });

  // The replay of the method in use would have said LONG since the second session, or would change
  // to LONG in the sixth, the first that it decides.
  it.each([2, 6])(
    "begins no signal before the method that decided it, and shows what was recorded before (%i)",
    (since) => {
      const archive = createSnapshotArchive();
      const decided = (at: number, since: number): Snapshot => {
        const one = snapshot("A", at);
        return { ...one, signal: { ...one.signal, direction: "LONG", since, previous: "SHORT" } };
      };
      for (let at = 1; at <= 8; at++) archive.addClosed(decided(at, at < 6 ? 2 : since));
      archive.addClosed(decided(9, 9));
      for (const at of [4, 5]) {
        const one = snapshot("A", at);
        const { factors: _, ...rest } = one;
        const signal = {
          ...one.signal,
          direction: "WAIT" as const,
          since: 3,
          previous: "LONG" as const,
        };
        archive.addRecorded({ ...rest, signal, methodVersion: "1.1.0+f0dc5dcb6c4877bb" });
      }
      const told = (at: number) => archive.lastAt("A", at)?.signal;
      expect(told(5)).toMatchObject({ direction: "WAIT", since: 3, previous: "LONG" });
      for (const at of [6, 8]) {
        expect(told(at)).toMatchObject({ direction: "LONG", since: 6, previous: "WAIT" });
      }
      expect(told(9)).toMatchObject({ direction: "LONG", since: 9, previous: "SHORT" });
      expect(archive.newest("A")?.signal).toEqual(told(9));
    },
  );

  it("returns the snapshots that closed after an instant, with or without factors", () => {
    const archive = createSnapshotArchive();
    for (let at = 1; at <= 40; at++) archive.addClosed(snapshot("A", at));
    const closedAfter = (at: number) => archive.closedAfter("A", at).map((closed) => closed.at);
    expect(closedAfter(0)).toHaveLength(40);
    expect(closedAfter(8.5)).toEqual(Array.from({ length: 32 }, (_, index) => index + 9));
    expect(closedAfter(38)).toEqual([39, 40]);
    expect(closedAfter(40)).toEqual([]);
    expect(archive.closedAfter("B", 0)).toEqual([]);
  });

  it("lists the newest snapshot of each instrument, sorted by symbol", () => {
    const archive = createSnapshotArchive();
    for (const symbol of ["B", "A", "C"]) archive.addClosed(snapshot(symbol, 1));
    expect(archive.allNewest().map(({ instrument }) => instrument.symbol)).toEqual(["A", "B", "C"]);
  });

  it("serves the previous content until a rebuild is complete", () => {
    const archive = createSnapshotArchive();
    for (const symbol of ["A", "B"]) archive.addClosed(snapshot(symbol, 1));
    archive.clear();
    archive.addClosed(snapshot("A", 2));
    expect(archive.allNewest().map(({ at }) => at)).toEqual([1, 1]);
    expect([...archive.history("A", 0, 9)].map(({ at }) => at)).toEqual([1]);
    archive.clear();
    archive.addClosed(snapshot("A", 3));
    archive.publish?.();
    expect(archive.allNewest().map(({ at }) => at)).toEqual([3]);
    expect([...archive.history("A", 0, 9)].map(({ at }) => at)).toEqual([3]);
    archive.addClosed(snapshot("A", 4));
    expect(archive.newest("A")?.at).toBe(4);
    expect(archive.newest("B")).toBeUndefined();
  });
});
