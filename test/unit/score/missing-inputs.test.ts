import { describe, expect, it } from "vitest";
import { FACTORS, type Factor } from "../../../src/factors/reading.ts";
import type { Market } from "../../../src/market/market.ts";
import type { Bar, Fundamental, InstrumentRecords } from "../../../src/market/records.ts";
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
        expect(Math.abs(after.score - 50)).toBeLessThanOrEqual(Math.abs(before.score - 50));
      }
    },
  );
});

describe("a figure that is missing in a market folder", () => {
  const DAY_MS = 86_400_000;
  const DAYS = 300;
  const days = [...Array(DAYS).keys()];

  const bars = days.map(
    (day): Bar => ({
      ...{ session: String(day).padStart(3, "0"), availableAt: (day + 1) * DAY_MS },
      ...{ open: 10, high: 10, low: 10, close: 10, volume: 1, dividend: 0, split: 1 },
      logReturn: day === 0 ? null : 0,
    }),
  );
  /**
   * Four quarters of figures, the last of them 15 days old. The figures are larger for a stock with
   * a higher index.
   */
  const filed = (index: number, metrics: readonly Fundamental["metric"][]): Fundamental[] =>
    [5, 95, 185, 275].flatMap((end) =>
      metrics.map((metric) => ({
        ...{ metric, periodEnd: end * DAY_MS, availableAt: (end + 10) * DAY_MS },
        value: metric === "shares" ? 1_000 : 10 + index,
      })),
    );
  const EVERY = ["netIncome", "freeCashFlow", "equity", "shares"] as const;
  const WITH_EBITDA = [...EVERY, "ebitda", "debt", "cash"] as const;

  /**
   * Returns the valuation of one stock with the metrics `own` among 40 stocks with the metrics
   * `rest`.
   */
  const valuationOf = (
    rest: readonly Fundamental["metric"][],
    own: readonly Fundamental["metric"][],
  ) => {
    const records = Array.from({ length: 40 }, (_, index): InstrumentRecords => {
      const symbol = `S${index}`;
      const identity = { symbol, name: symbol, exchange: null, currency: "USD", sector: "Tools" };
      const fundamentals = filed(index, index === 35 ? own : rest);
      return { instrument: { ...identity, assetClass: "stock" }, bars, fundamentals };
    });
    const market: Market = {
      mode: "files",
      source: { id: "test", name: "Test", terms: "", simulated: false },
      dayMs: DAY_MS,
      recordsUntil: () => records,
      sessionAt: (at) => String(Math.floor(at / DAY_MS)),
      scoredFrom: () => (DAYS - 1) * DAY_MS,
      servedFrom: () => (DAYS - 1) * DAY_MS,
    };
    const snapshot = snapshotsAt(market, DAYS * DAY_MS).get("S35") as Snapshot;
    return { ...snapshot.factors.valuation, score: snapshot.score };
  };

  it("does not reduce the confidence if the figure is missing for every peer as well", () => {
    expect(valuationOf(EVERY, EVERY)).toMatchObject({ status: "ok", confidence: 1 });
    expect(valuationOf(WITH_EBITDA, WITH_EBITDA)).toMatchObject({ status: "ok", confidence: 1 });
  });

  it.each(["netIncome", "freeCashFlow", "equity"] as const)(
    "reduces the confidence by a third and moves the score toward 50 if it is %s",
    (metric) => {
      const whole = valuationOf(EVERY, EVERY);
      const less = valuationOf(
        EVERY,
        EVERY.filter((name) => name !== metric),
      );
      expect(less.confidence).toBeCloseTo(2 / 3, 12);
      expect(whole.score).toBeGreaterThan(60);
      expect(less.score).toBeGreaterThan(50);
      expect(less.score).toBeLessThan(whole.score);
    },
  );

  it.each(["ebitda", "debt", "cash"] as const)(
    "reduces the confidence by a quarter if it is %s and the peers have it",
    (metric) => {
      const own = WITH_EBITDA.filter((name) => name !== metric);
      expect(valuationOf(WITH_EBITDA, own).confidence).toBeCloseTo(3 / 4, 12);
    },
  );

  it("makes valuation undefined if only one yield or no share count remains", () => {
    expect(valuationOf(EVERY, ["equity", "shares"])).toMatchObject({ z: null, confidence: 0 });
    expect(valuationOf(EVERY, ["netIncome", "equity"])).toMatchObject({ z: null, confidence: 0 });
  });
});
