import { describe, expect, it } from "vitest";
import { FACTORS, type Factor } from "../../../src/factors/reading.ts";
import type { Market } from "../../../src/market/market.ts";
import type { InstrumentRecords } from "../../../src/market/records.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { marketOf } from "./markets.ts";

/** The newest snapshot of every instrument at an instant. */
function snapshotsAt(market: Market, at: number): ReadonlyMap<string, Snapshot> {
  const archive = createSnapshotArchive();
  new ScoringEngine(market, archive).refresh(at);
  return new Map(archive.allNewest().map((one) => [one.instrument.symbol, one]));
}

describe("the loss of a data feed", () => {
  const DAY_MS = 60_000;
  const at = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS + DAY_MS / 2;
  const sandbox = createSandbox({ seed: 3, sessionSeconds: DAY_MS / 1000 });
  const all = sandbox.recordsUntil(at);
  // There are too few instruments for peer tables, so no z-score depends on missing data of other
  // instruments.
  const isCoin = ({ instrument }: InstrumentRecords) => instrument.assetClass === "crypto";
  const few = [...all.filter((one) => !isCoin(one)).slice(0, 25), ...all.filter(isCoin)];
  const scored = (records: readonly InstrumentRecords[]) =>
    snapshotsAt(marketOf(sandbox, records, at - 2 * DAY_MS), at);
  const whole = scored(few);

  const losses: readonly (readonly [Factor, (records: InstrumentRecords) => InstrumentRecords])[] =
    [
      ["social", ({ mentions: _, ...rest }) => rest],
      ["darkpool", ({ prints: _, shortVolumes: __, ...rest }) => rest],
      ["valuation", ({ fundamentals: _, onChain: __, ...rest }) => rest],
    ];

  /** The z-score and confidence of the other factors. */
  const restOf = ({ factors }: Snapshot, factor: Factor) =>
    FACTORS.filter((name) => name !== factor).map((name) => {
      const { z, confidence } = factors[name];
      return { name, z, confidence };
    });
  const isOneSided = ({ factors }: Snapshot) => {
    const sides = FACTORS.map((name) => Math.sign(factors[name].contribution));
    return !(sides.includes(1) && sides.includes(-1));
  };

  const distance = ({ score }: Snapshot) => Math.abs((score ?? 50) - 50);

  it.each(losses)(
    "removes the factor %s from every score and leaves the other factors unchanged",
    (factor, lose) => {
      const without = scored(few.map(lose));
      const pairs = [...whole.values()].map(
        (before) => [before, without.get(before.instrument.symbol) as Snapshot] as const,
      );
      for (const [before, after] of pairs) {
        expect(after.factors[factor]).toMatchObject({ z: null, confidence: 0 });
        expect(restOf(after, factor)).toEqual(restOf(before, factor));
      }
      const lost = pairs.filter(([before]) => before.factors[factor].z !== null);
      expect(lost.length).toBeGreaterThan(3);
      for (const [before, after] of lost) expect(after.confidence).toBeLessThan(before.confidence);
      const uncontradicted = lost.filter(([before]) => isOneSided(before));
      expect(uncontradicted.length).toBeGreaterThan(0);
      for (const [before, after] of uncontradicted) {
        // The parts of a stock's score are averaged over those that are known.
        if (factor === "valuation" && before.instrument.assetClass === "stock") continue;
        expect(distance(after)).toBeLessThanOrEqual(distance(before));
      }
    },
  );
});
