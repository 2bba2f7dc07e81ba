import { describe, expect, it } from "vitest";
import { createBlockPressureTracker } from "../../../src/factors/block-pressure.ts";
import { combineDarkpoolEvidence, computeDarkpoolReading } from "../../../src/factors/darkpool.ts";
import {
  addPrintToDay,
  estimatedSide,
  type OffExchangeDay,
} from "../../../src/factors/off-exchange.ts";
import { createShortPressureTracker } from "../../../src/factors/short-pressure.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { isBlockTrade } from "../../../src/market/block-size.ts";
import type { Print, ShortVolume } from "../../../src/market/records.ts";
import { normalCdf } from "../../../src/statistics/normal.ts";
import { clippedZ } from "../../../src/statistics/statistics.ts";

function print(values: Partial<Print>): Print {
  return {
    id: "1",
    session: "0",
    tradedAt: 0,
    availableAt: 0,
    price: 100,
    sizeShares: 100,
    venue: "TEST",
    conditions: "",
    bid: null,
    ask: null,
    canceled: false,
    signable: true,
    ...values,
  };
}

/** The prints of the worked example. */
const worked = [
  print({ price: 100.02, sizeShares: 15_000, bid: 100, ask: 100.04 }),
  print({ price: 100.04, sizeShares: 20_000, bid: 100, ask: 100.04 }),
  print({ price: 99.99, sizeShares: 12_000, bid: 99.98, ask: 100.04 }),
  print({ price: 100.05, sizeShares: 30_000, bid: 100.02, ask: 100.06 }),
];

/** Measures the pressure of prints by session. The last session is still open. */
const bySession = (...sessions: readonly (readonly Print[])[]) => {
  const pressure = createBlockPressureTracker();
  for (const prints of sessions) {
    pressure.closeSession();
    pressure.beginSession();
    prints.forEach(pressure.add);
  }
  return pressure.read();
};

const blocks = (prints: readonly Print[]) => bySession(prints);

const shorts = (volumes: readonly ShortVolume[]) => {
  const pressure = createShortPressureTracker();
  volumes.forEach(pressure.add);
  return pressure.read();
};

describe("the estimated side of a print", () => {
  it("follows from the price's position between the quotes, as in the worked example", () => {
    const sides = worked.map(estimatedSide);
    expect(sides[0]).toBe(0);
    expect(sides[1]).toBeCloseTo(1, 9);
    expect(sides[2]).toBeCloseTo(-0.666667, 6);
    expect(sides[3]).toBeCloseTo(0.5, 9);
  });

  it("is unknown without quotes, in locked markets and under excluded sale conditions", () => {
    expect(estimatedSide(print({}))).toBeNull();
    expect(estimatedSide(print({ bid: 100, ask: 100 }))).toBeNull();
    expect(estimatedSide(print({ bid: 99, ask: 101, signable: false }))).toBeNull();
  });

  it("is limited to -1 and 1 for prices outside the quotes", () => {
    expect(estimatedSide(print({ price: 105, bid: 99, ask: 101 }))).toBe(1);
    expect(estimatedSide(print({ price: 95, bid: 99, ask: 101 }))).toBe(-1);
  });
});

describe("an off-exchange day", () => {
  it("classifies a print of 10,000 shares or USD 200,000 as a block", () => {
    expect(isBlockTrade(print({ sizeShares: 9_999, price: 1 }))).toBe(false);
    expect(isBlockTrade(print({ sizeShares: 10_000, price: 1 }))).toBe(true);
    expect(isBlockTrade(print({ sizeShares: 2_000, price: 100 }))).toBe(true);
  });

  it("counts canceled prints separately", () => {
    const days = new Map<string, OffExchangeDay>();
    addPrintToDay(days, print({ sizeShares: 500 }));
    addPrintToDay(days, print({ id: "2", canceled: true }));
    expect(days.get("0")).toMatchObject({ prints: 1, shares: 500, canceled: 1 });
  });
});

describe("block pressure", () => {
  it("matches the worked example: imbalance .350748, shrunk to .058458 because of only four blocks", () => {
    const reading = blocks(worked);
    expect(reading.blocks).toBe(4);
    expect(reading.imbalance).toBeCloseTo(0.058458, 6);
    expect((reading.imbalance ?? 0) * 6).toBeCloseTo(0.350748, 6);
  });

  it("decays with a half-life of three sessions", () => {
    const reading = bySession(worked, [], [], []);
    expect(reading.blocks).toBeCloseTo(2, 12);
    expect(reading.imbalance).toBeCloseTo((0.3507477 * 2) / 22, 6);
  });

  it("is standardized against the sessions before the current session", () => {
    const day = (price: number) => [print({ price, sizeShares: 20_000, bid: 99, ask: 101 })];
    const habit = [...Array(30).keys()].map((session) => day(session % 2 ? 99.5 : 100.5));
    expect(bySession(...habit.slice(0, 20)).z).toBeNull();
    expect(bySession(...habit, day(101)).z).toBeGreaterThan(1);
    expect(bySession(...habit, day(99)).z).toBeLessThan(-1);
  });

  it("ignores canceled blocks, and assigns blocks reported after the close to the next session", () => {
    const [first] = worked;
    if (first === undefined) throw new Error("the example has prints");
    expect(blocks([{ ...first, canceled: true }]).blocks).toBe(0);
    const late = createBlockPressureTracker();
    late.add(first);
    late.closeSession();
    expect(late.read().blocks).toBe(1);
    late.add(first);
    expect(late.read().blocks).toBeCloseTo(1 + 2 ** (-1 / 3), 12);
    late.beginSession();
    expect(late.read().blocks).toBeCloseTo(1 + 2 ** (-1 / 3), 12);
  });
});

describe("the dark pool factor", () => {
  it("combines its parts as in the worked example: z .006351, score 50.25", () => {
    const imbalance = blocks(worked).imbalance ?? Number.NaN;
    const imbalanceZ = clippedZ(imbalance, { mean: 0.01, sd: 0.06 }) ?? null;
    const shortZ = clippedZ(0.52, { mean: 0.46, sd: 0.05 }) ?? null;
    expect(imbalanceZ).toBeCloseTo(0.807634, 6);
    expect(shortZ).toBeCloseTo(1.2, 12);
    const combined = combineDarkpoolEvidence(imbalanceZ, shortZ, 4);
    expect(combined?.z).toBeCloseTo(0.006351, 6);
    expect(100 * normalCdf(combined?.z ?? 0)).toBeCloseTo(50.25, 2);
    expect(combined?.confidence).toBeCloseTo(4 / 9, 12);
  });

  it("has less confidence with only one part, and reverses the sign of the short ratio", () => {
    expect(combineDarkpoolEvidence(0.8, null, 5)).toEqual({ z: 0.8, confidence: 0.3 });
    expect(combineDarkpoolEvidence(null, 1.2, 0)).toEqual({ z: -1.2, confidence: 0.4 });
    expect(combineDarkpoolEvidence(null, null, 0)).toBeUndefined();
  });

  it("standardizes a short ratio against the previous sessions, excluding its own session", () => {
    const ratios = [...Array(60).keys()].map((index) => (index % 2 === 0 ? 0.45 : 0.49));
    const volumes = [...ratios, 0.57].map(shortVolume);
    const { ratio, z } = shorts(volumes);
    expect(ratio).toBeCloseTo(0.57, 12);
    expect(z).toBeGreaterThan(1);
    expect(shorts(volumes.slice(0, 20)).z).toBeNull();
  });

  it("halves the weight of an earlier short ratio with every further session", () => {
    const habit = [...Array(60).keys()].map((index) => shortVolume(index % 2 ? 0.49 : 0.45, index));
    const before = shorts(habit).z ?? Number.NaN;
    const after = shorts([...habit, shortVolume(0.47, 60)]).z ?? Number.NaN;
    expect(after).toBeCloseTo(before / 2, 9);
  });

  it("ignores the ratio of a session with fewer than 10,000 off-exchange shares", () => {
    const tiny = { ...shortVolume(0.9, 3), totalShares: 9_000 };
    expect(shorts([shortVolume(0.5, 1), tiny]).ratio).toBe(0.5);
  });

  it("distinguishes a missing feed, a feed without prints, a stale feed and prints without quotes", () => {
    const closesAfter = () => 0;
    const context = { at: 10 * DAY_MS, dayMs: DAY_MS, closesAfter, feedAt: 10 * DAY_MS };
    const statusOf = (availableAt: number, feedAt = context.feedAt) => {
      const block = blocks([print({ sizeShares: 20_000, availableAt })]);
      return computeDarkpoolReading({ block, short: shorts([]) }, { ...context, feedAt }).status;
    };
    const nothing = { block: blocks([]), short: shorts([]) };
    expect(computeDarkpoolReading(nothing, context).status).toBe("not_observed");
    expect(statusOf(DAY_MS)).toBe("no_activity");
    expect(statusOf(DAY_MS, DAY_MS)).toBe("stale");
    expect(statusOf(10 * DAY_MS)).toBe("not_observed");
  });

  it("drops a short ratio once two sessions have closed without a newer ratio", () => {
    const volumes = [...Array(60).keys()].map((index) =>
      shortVolume(index % 2 ? 0.49 : 0.45, index),
    );
    const measurement = { block: blocks([]), short: shorts([...volumes, shortVolume(0.6, 60)]) };
    const at = 61 * DAY_MS;
    const read = (closes: number) =>
      computeDarkpoolReading(measurement, {
        at,
        dayMs: DAY_MS,
        closesAfter: () => closes,
        feedAt: at,
      });
    expect(read(1)).toMatchObject({ status: "ok", confidence: 0.4 });
    expect(read(2)).toMatchObject({ z: null, status: "stale" });
  });

  it("keeps the date of the last short ratio when a newer session has too little volume for a ratio", () => {
    const tiny = { ...shortVolume(0.9, 3), totalShares: 900 };
    expect(shorts([shortVolume(0.5, 1), tiny])).toMatchObject({
      ratioAt: DAY_MS,
      asOf: 3 * DAY_MS,
    });
  });

  it("reports insufficient data, not missing activity, when the short volume is too small", () => {
    const thin = { ...shortVolume(0.5, 10), totalShares: 259 };
    const measurement = { block: blocks([]), short: shorts([thin]) };
    const context = { at: 10 * DAY_MS, dayMs: DAY_MS, closesAfter: () => 0, feedAt: 10 * DAY_MS };
    expect(computeDarkpoolReading(measurement, context).status).toBe("insufficient_data");
  });
});

function shortVolume(ratio: number, index: number): ShortVolume {
  return {
    session: String(index),
    availableAt: index * DAY_MS,
    shortShares: ratio * 100_000,
    totalShares: 100_000,
  };
}
