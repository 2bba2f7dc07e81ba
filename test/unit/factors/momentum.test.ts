import { describe, expect, it } from "vitest";
import {
  freezeMomentum,
  type MomentumMeasurement,
  measureMomentum,
  readMomentum,
} from "../../../src/factors/momentum.ts";
import type { Bar } from "../../../src/market/records.ts";

const DAY_MS = 86_400_000;

/** The reference series of method 2.1: closes, highs 1 % above, lows 1 % below. */
function referenceBars(length = 300): Bar[] {
  const logClose = (t: number) =>
    4.6 + 0.0006 * t + 0.05 * Math.sin(t / 7) + 0.02 * Math.cos(t / 3) + 0.01 * Math.sin(t / 9);
  return Array.from({ length }, (_, t) => {
    const close = Math.exp(logClose(t));
    const open = t === 0 ? close : Math.exp(logClose(t - 1));
    return {
      session: String(t),
      availableAt: (t + 1) * DAY_MS,
      open,
      high: close * 1.01,
      low: close * 0.99,
      close,
      volume: 1_000,
      dividend: 0,
      split: 1,
      logReturn: t === 0 ? null : logClose(t) - logClose(t - 1),
    };
  });
}

/** The same trading with a split and a dividend on the way, prices as they would have traded. */
function withCorporateActions(bars: readonly Bar[]): Bar[] {
  const splitAt = 250;
  const dividendAt = 120;
  return bars.map((bar, index) => {
    const paid = index >= dividendAt ? 0.98 : 1;
    const factor = paid / (index >= splitAt ? 7 : 1);
    const close = bar.close * factor;
    const dividend = index === dividendAt ? bar.close - bar.close * 0.98 : 0;
    return {
      ...bar,
      open: bar.open * factor,
      high: bar.high * factor,
      low: bar.low * factor,
      close,
      dividend,
      split: index === splitAt ? 7 : 1,
    };
  });
}

const signalValue = (measurement: MomentumMeasurement | undefined, name: string) =>
  measurement?.signals.find((signal) => signal.name === name)?.value;

describe("momentum of a stock", () => {
  const measured = measureMomentum(referenceBars(), "stock", DAY_MS);

  it("equals the worked example: ram 1.767178, hi52 -.071089, sum .18632551", () => {
    expect(signalValue(measured, "ram")).toBeCloseTo(1.767178, 6);
    expect(signalValue(measured, "hi52")).toBeCloseTo(-0.071089, 6);
    expect(measured?.return12m1).toBeCloseTo(0.18632551, 7);
    expect(measured?.observations).toBe(231);
  });

  it("does not notice splits and dividends", () => {
    const adjusted = measureMomentum(withCorporateActions(referenceBars()), "stock", DAY_MS);
    expect(signalValue(adjusted, "ram")).toBeCloseTo(1.767178, 6);
    expect(signalValue(adjusted, "hi52")).toBeCloseTo(-0.071089, 6);
  });

  it("needs 252 closes", () => {
    expect(measureMomentum(referenceBars(251), "stock", DAY_MS)).toBeUndefined();
    expect(measureMomentum(referenceBars(252), "stock", DAY_MS)?.observations).toBe(230);
  });

  it("needs 200 usable returns in the window", () => {
    const broken = referenceBars().map((bar, index) =>
      index >= 60 && index < 95 ? { ...bar, logReturn: 0.9 } : bar,
    );
    expect(measureMomentum(broken, "stock", DAY_MS)).toBeUndefined();
  });

  it("leaves the last month out of ram", () => {
    const crashed = referenceBars().map((bar, index) =>
      index > 278 ? { ...bar, logReturn: -0.5 } : bar,
    );
    expect(signalValue(measureMomentum(crashed, "stock", DAY_MS), "ram")).toBeCloseTo(1.767178, 6);
  });

  it("uses ram in absolute form, clipped at 3, while the peer group is too small", () => {
    const context = { at: 300 * DAY_MS, assetClass: "stock", dayMs: DAY_MS } as const;
    const reading = readMomentum(measured, { ...context, tables: {}, missedSessions: 0 });
    expect(reading.z).toBeCloseTo(1.767178, 6);
    expect(reading.confidence).toBe(1);
    expect(reading.inputs.find(({ name }) => name === "hi52")).toMatchObject({
      z: null,
      weight: 0,
    });
  });

  it("is about standard normal over its peers", () => {
    const peers = Array.from({ length: 200 }, (_, index) => peer(index / 100 - 1));
    const tables = freezeMomentum(peers);
    const context = { at: 0, assetClass: "stock", dayMs: DAY_MS, missedSessions: 0 } as const;
    const zs = peers.map((measurement) => readMomentum(measurement, { ...context, tables }).z ?? 9);
    const average = zs.reduce((sum, z) => sum + z, 0) / zs.length;
    const variance = zs.reduce((sum, z) => sum + z * z, 0) / zs.length - average ** 2;
    expect(average).toBeCloseTo(0, 2);
    expect(variance).toBeGreaterThan(0.9);
    expect(variance).toBeLessThan(1.1);
    expect(zs).toEqual([...zs].sort((a, b) => a - b));
  });

  it("counts half when the last session is missing and not at all after two", () => {
    const context = { at: 301 * DAY_MS, assetClass: "stock", dayMs: DAY_MS, tables: {} } as const;
    const late = readMomentum(measured, { ...context, missedSessions: 1 });
    expect(late).toMatchObject({ status: "stale", confidence: 0.5 });
    const old = readMomentum(measured, { ...context, missedSessions: 2 });
    expect(old).toMatchObject({ status: "stale", confidence: 0, z: null });
  });
});

function peer(value: number): MomentumMeasurement {
  return {
    signals: [
      { name: "ram", value, absoluteZ: value },
      { name: "hi52", value: value - 1, absoluteZ: undefined },
    ],
    return12m1: value,
    observations: 231,
    asOf: 0,
  };
}

describe("momentum of a coin", () => {
  it("is the mean of the windows that its history fills", () => {
    const bars = referenceBars(100);
    const measured = measureMomentum(bars, "crypto", DAY_MS);
    expect(measured?.signals.map(({ name }) => name)).toEqual(["trend28d", "trend90d"]);
    const reading = readMomentum(measured, {
      at: 100 * DAY_MS,
      assetClass: "crypto",
      dayMs: DAY_MS,
      tables: {},
      missedSessions: 0,
    });
    const [a, b] = measured?.signals.map(({ absoluteZ }) => absoluteZ ?? Number.NaN) ?? [];
    expect(reading.z).toBeCloseTo(((a ?? 0) + (b ?? 0)) / 2, 12);
    expect(reading.confidence).toBeCloseTo(99 / 231, 12);
  });

  it("scales the return by EW(30) volatility (annual .110103 on the reference series)", () => {
    const bars = referenceBars();
    const value = signalValue(measureMomentum(bars, "crypto", DAY_MS), "trend28d") ?? Number.NaN;
    const change = bars.slice(-28).reduce((sum, bar) => sum + (bar.logReturn ?? 0), 0);
    const sigmaAnnual = (change / value / Math.sqrt(28)) * Math.sqrt(252);
    expect(sigmaAnnual).toBeCloseTo(0.110103, 6);
  });

  it("needs 28 days", () => {
    expect(measureMomentum(referenceBars(28), "crypto", DAY_MS)).toBeUndefined();
    expect(measureMomentum(referenceBars(29), "crypto", DAY_MS)).toBeDefined();
  });
});
