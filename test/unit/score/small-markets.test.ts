import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { AssetClass } from "../../../src/market/instrument.ts";
import type { Bar, InstrumentRecords } from "../../../src/market/records.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { randomAt } from "../../../src/statistics/random.ts";
import { dailyMarket } from "./markets.ts";

const DAYS = 330;

/** Bars of a price that follows a random walk, and a market that all share. */
function barsOf(seed: number, drift: number): readonly Bar[] {
  let close = 100;
  return Array.from({ length: DAYS }, (_, day) => {
    const before = close;
    const move = 0.01 * (randomAt(1, day) - 0.5) + 0.03 * (randomAt(seed, day) - 0.5) + drift;
    close *= Math.exp(move);
    const [high, low] = [Math.max(before, close) * 1.002, Math.min(before, close) * 0.998];
    return {
      ...{ session: String(1000 + day), availableAt: (day + 1) * DAY_MS, volume: 1_000 },
      ...{ open: before, high, low, close, dividend: 0, split: 1 },
      logReturn: day === 0 ? null : move,
    };
  });
}

const recordsOf = (symbol: string, seed: number, assetClass: AssetClass): InstrumentRecords => ({
  instrument: {
    ...{ symbol, name: symbol, exchange: null, currency: "USD", sector: null },
    assetClass,
  },
  bars: barsOf(seed, symbol === "S0" ? 0.001 : 0),
});

/** The snapshots at the last close of a market with this number of stocks, by symbol. */
function snapshotsOf(
  count: number,
  funds: readonly string[] = [],
  cut = (records: InstrumentRecords, _index: number) => records,
): ReadonlyMap<string, Snapshot> {
  const records = [
    ...Array.from({ length: count }, (_, index) =>
      cut(recordsOf(`S${index}`, 10 + index, "stock"), index),
    ),
    ...funds.map((symbol, index) => recordsOf(symbol, 900 + index, "etf")),
  ];
  const market = dailyMarket(records, (DAYS - 3) * DAY_MS);
  const found = new Map<string, Snapshot>();
  const keep = (snapshot: Snapshot) => void found.set(snapshot.instrument.symbol, snapshot);
  new ScoringEngine(market, { clear() {}, addClosed: keep, setNewest: keep }).refresh(
    DAYS * DAY_MS,
  );
  return found;
}

const inputsOf = (snapshot: Snapshot | undefined) =>
  new Map(snapshot?.factors.momentum.inputs.map((input) => [input.name, input]));

describe("a market with few stocks", () => {
  it.each([5, 29])("is ranked in the reference tables with %d of them, and says so", (count) => {
    const found = snapshotsOf(count);
    for (const { score, ranking, steadiness, factors } of found.values()) {
      expect(ranking).toMatchObject({ isReference: true, place: { of: 1_001 } });
      expect(steadiness?.isReference).toBe(true);
      expect(score).not.toBeNull();
      const points = Object.values(factors).reduce((sum, one) => sum + one.contribution, 0);
      expect(points).toBeCloseTo((score ?? 0) - 50, 9);
    }
    const scores = [...found.values()].map(({ score }) => score ?? 0);
    expect(Math.max(...scores) - Math.min(...scores)).toBeGreaterThan(20);
  });

  it("is ranked among its own stocks from 30 on, and keeps nearly their order", () => {
    const [few, enough] = [snapshotsOf(29), snapshotsOf(30)];
    for (const { ranking } of enough.values()) {
      expect(ranking).toMatchObject({ isReference: false, place: { of: 30 } });
    }
    const order = (found: ReadonlyMap<string, Snapshot>) =>
      [...found]
        .filter(([symbol]) => few.has(symbol))
        .sort(([, a], [, b]) => (a.score ?? 0) - (b.score ?? 0))
        .map(([symbol]) => symbol);
    const after = order(enough);
    const moves = order(few).map((symbol, place) => Math.abs(after.indexOf(symbol) - place));
    expect(Math.max(...moves)).toBeLessThanOrEqual(5);
  });

  it("measures its stocks against a broad fund if one is covered", () => {
    const [alone, beside] = [snapshotsOf(1), snapshotsOf(1, ["SPY"])];
    // A lone stock is its own market, from which it cannot differ.
    expect(inputsOf(alone.get("S0")).get("residualMomentum")?.value).toBeNull();
    expect(inputsOf(alone.get("S0")).get("reversal")?.relative).toBeCloseTo(0, 6);
    expect(alone.get("S0")?.signal.forcedWait).toBe("no_momentum");
    const inputs = inputsOf(beside.get("S0"));
    expect(inputs.get("residualMomentum")?.value).not.toBeNull();
    const fund = [...barsOf(900, 0)].slice(-21).reduce((sum, bar) => sum + (bar.logReturn ?? 0), 0);
    const { value, relative } = inputs.get("reversal") ?? {};
    expect(relative).toBeCloseTo(-((value ?? 0) - fund), 6);
  });

  it("is not measured against a fund of another kind, nor with 30 stocks", () => {
    const scores = (found: ReadonlyMap<string, Snapshot>) =>
      [...found.values()]
        .filter(({ instrument }) => instrument.assetClass === "stock")
        .map(({ score }) => score);
    expect(scores(snapshotsOf(5, ["GLD"]))).toEqual(scores(snapshotsOf(5)));
    expect(scores(snapshotsOf(30, ["SPY"]))).toEqual(scores(snapshotsOf(30)));
  });

  it("keeps the ranks of the close before when most bars of a close are missing", () => {
    const lose = (count: number) => (one: InstrumentRecords, index: number) =>
      index < count ? { ...one, bars: [...one.bars].slice(0, -1) } : one;
    for (const [lost, isKept] of [
      [20, false],
      [21, true],
      [40, true],
    ] as const) {
      const found = snapshotsOf(40, ["SPY"], lose(lost));
      const close = (isKept ? DAYS - 1 : DAYS) * DAY_MS;
      for (const { instrument, ranking, score, signal, at } of found.values()) {
        if (instrument.assetClass !== "stock") continue;
        expect(at).toBe(DAYS * DAY_MS);
        expect(ranking).toMatchObject({ close, isReference: !isKept && 40 - lost < 30 });
        expect(score).not.toBeNull();
        expect(signal.mean).toBeDefined();
      }
    }
  });
});
