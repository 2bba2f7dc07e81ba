import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBenchmark, momentumGate } from "../../../src/factors/benchmark.ts";
import { addCoinBar, createCoinHistory } from "../../../src/factors/coin-history.ts";
import {
  computeMomentumReading,
  freezeMomentumTables,
  type ListedMomentum,
  type MomentumContext,
  type MomentumMeasurement,
  measureCoinMomentum,
  measureListedMomentum,
} from "../../../src/factors/momentum.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Bar } from "../../../src/market/records.ts";
import { historyOf, referenceBars } from "./reference.ts";

const context: MomentumContext = {
  at: 300 * DAY_MS,
  assetClass: "stock",
  dayMs: DAY_MS,
  tables: {},
  marketVolatility: undefined,
};
const fresh = { asOf: 300 * DAY_MS, missedSessions: 0 };

const read = (
  measurement: MomentumMeasurement | undefined,
  some: Partial<MomentumContext> = {},
  age = fresh,
) => computeMomentumReading(measurement, age, { ...context, ...some });

const peer = (value: number): ListedMomentum => ({
  ram: value,
  res: value / 2,
  hi52: value - 3,
  return12m1: value,
  observations: 231,
});

describe("momentum of a stock", () => {
  const measured = measureListedMomentum(historyOf(referenceBars()));

  it("uses ram and res without peer ranks, clipped at 3, while the peer group is too small", () => {
    const reading = read(measured);
    expect(reading.z).toBeCloseTo((1.767178 + 1.308312) / 2, 6);
    expect(reading.confidence).toBe(1);
    const hi52 = reading.listInputs().find(({ name }) => name === "hi52");
    expect(hi52).toMatchObject({ z: null, weight: 0 });
    expect(read(peer(9)).z).toBe(3);
  });

  it("is approximately standard normal across its peers", () => {
    const peers = Array.from({ length: 200 }, (_, index) => peer(index / 100 - 1));
    const tables = freezeMomentumTables(peers);
    const zs = peers.map((measurement) => read(measurement, { tables }).z ?? 9);
    const average = zs.reduce((sum, z) => sum + z, 0) / zs.length;
    const variance = zs.reduce((sum, z) => sum + z * z, 0) / zs.length - average ** 2;
    expect(average).toBeCloseTo(0, 2);
    expect(variance).toBeGreaterThan(0.9);
    expect(variance).toBeLessThan(1.1);
    expect(zs).toEqual([...zs].sort((a, b) => a - b));
  });

  it("has half the confidence when the last session is missing, and none when two are missing", () => {
    const late = read(measured, {}, { ...fresh, missedSessions: 1 });
    expect(late).toMatchObject({ status: "stale", confidence: 0.5 });
    const old = read(measured, {}, { ...fresh, missedSessions: 2 });
    expect(old).toMatchObject({ status: "stale", confidence: 0, z: null });
  });

  it("has less confidence while the whole market is volatile", () => {
    expect(read(measured, { marketVolatility: 0.32 }).confidence).toBeCloseTo(0.25, 12);
    expect(read(measured, { marketVolatility: 0.1 }).confidence).toBe(1);
    const inputs = read(measured, { marketVolatility: 0.32 }).listInputs();
    expect(inputs.find(({ name }) => name === "gate")).toMatchObject({ value: 0.25, weight: 0 });
  });

  it("lists inputs whose weighted z-scores add up to the mean that is looked up in the combined table", () => {
    const peers = Array.from({ length: 60 }, (_, index) => peer(index / 20 - 1));
    const { combined: _, ...tables } = freezeMomentumTables(peers);
    const reading = read(peer(0.7), { tables });
    const sum = reading.listInputs().reduce((all, { z, weight }) => all + weight * (z ?? 0), 0);
    expect(sum).toBeCloseTo(reading.z ?? Number.NaN, 12);
  });

  it("rises with ram and stays within 3 for any finite input", () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    const peers = Array.from({ length: 60 }, (_, index) => peer(index / 20 - 1));
    const tables = [{}, freezeMomentumTables(peers)];
    fc.assert(
      fc.property(finite, finite, finite, finite, (ram, res, hi52, more) => {
        for (const each of tables) {
          const low = { ...peer(0), ram: Math.min(ram, more), res, hi52 };
          const [a, b] = [low, { ...low, ram: Math.max(ram, more) }].map(
            (measurement) => read(measurement, { tables: each }).z ?? Number.NaN,
          );
          expect(Math.abs(a ?? Number.NaN)).toBeLessThanOrEqual(3);
          expect(b).toBeGreaterThanOrEqual((a ?? Number.NaN) - 1e-12);
        }
      }),
      { seed: 5, numRuns: 300 },
    );
  });
});

describe("the benchmark of an asset class", () => {
  const bar = (session: number, logReturn: number | null): Bar => ({
    ...(referenceBars(1)[0] as Bar),
    session: String(session),
    logReturn,
  });

  it("is the mean return of a session, excluding errors and returns that arrive late", () => {
    const benchmark = createBenchmark("stock");
    for (const value of [0.01, 0.03, 1.9, null]) benchmark.note(bar(1, value));
    benchmark.close();
    benchmark.note(bar(1, 0.5));
    benchmark.close();
    expect(benchmark.returns[benchmark.sessionOf(bar(1, 0))]).toBeCloseTo(0.02, 12);
  });

  it("has an annualized EW(20) volatility of its returns after 20 sessions", () => {
    const volatilityAfter = (sessions: number) => {
      const benchmark = createBenchmark("stock");
      for (let session = 0; session < sessions; session++) {
        benchmark.note(bar(session, session % 2 === 0 ? 0.01 : -0.01));
        benchmark.close();
      }
      return benchmark.volatility;
    };
    expect(volatilityAfter(19)).toBeUndefined();
    expect(volatilityAfter(60)).toBeCloseTo(0.01 * Math.sqrt(252), 12);
  });

  it("multiplies momentum by (s/sigma)^2, bounded to [.1, 1], where s is .16 for stocks and .60 for coins", () => {
    expect(momentumGate(0.32, "stock")).toBeCloseTo(0.25, 12);
    expect(momentumGate(0.32, "crypto")).toBe(1);
    expect(momentumGate(1.2, "crypto")).toBeCloseTo(0.25, 12);
    expect(momentumGate(5, "stock")).toBe(0.1);
    expect(momentumGate(0, "stock")).toBe(1);
    expect(momentumGate(undefined, "stock")).toBe(1);
  });
});

describe("momentum of a coin", () => {
  const coin = (length: number) => {
    const history = createCoinHistory();
    for (const bar of referenceBars(length)) addCoinBar(history, bar);
    return measureCoinMomentum(history, DAY_MS);
  };

  it("is the mean over the windows that the coin's history fills", () => {
    const measured = coin(100);
    expect(measured?.trends.map(({ days }) => days)).toEqual([28, 90]);
    const age = { asOf: 100 * DAY_MS, missedSessions: 0 };
    const reading = read(measured, { at: 100 * DAY_MS, assetClass: "crypto" }, age);
    const [a, b] = measured?.trends.map(({ value }) => Math.max(-3, Math.min(3, value))) ?? [];
    expect(reading.z).toBeCloseTo(((a ?? 0) + (b ?? 0)) / 2, 12);
    expect(reading.confidence).toBeCloseTo(99 / 231, 12);
  });

  it("divides the return by EW(30) volatility (.110103 per year on the reference series)", () => {
    const value = coin(300)?.trends[0]?.value ?? Number.NaN;
    const change = referenceBars()
      .slice(-28)
      .reduce((sum, bar) => sum + (bar.logReturn ?? 0), 0);
    const sigmaAnnual = (change / value / Math.sqrt(28)) * Math.sqrt(252);
    expect(sigmaAnnual).toBeCloseTo(0.110103, 6);
  });

  it("requires 28 days of returns", () => {
    expect(coin(28)).toBeUndefined();
    expect(coin(29)).toBeDefined();
  });

  it("uses windows of 28, 90 and 365 days, however long the history is", () => {
    expect(coin(5_000)?.trends.map(({ days }) => days)).toEqual([28, 90, 365]);
  });
});
