import { describe, expect, it } from "vitest";
import { readFilings, sharesOutstanding } from "../../../src/factors/filings.ts";
import { createNetworkValue } from "../../../src/factors/network-value.ts";
import {
  freezeValuation,
  measureValuation,
  NO_VALUATION_TABLES,
  readValuation,
  type ValuationMeasurement,
} from "../../../src/factors/valuation.ts";
import type { Bar, Fundamental, OnChain } from "../../../src/market/records.ts";

const DAY_MS = 86_400_000;
const day = (count: number) => count * DAY_MS;

const filed = (
  metric: Fundamental["metric"],
  periodDay: number,
  filedDay: number,
  value: number,
): Fundamental => ({ metric, periodEnd: day(periodDay), availableAt: day(filedDay), value });

/** Four quarters with earnings 1 to 4, equity and shares. */
const filings: readonly Fundamental[] = [
  filed("netIncome", 91, 120, 1),
  filed("netIncome", 182, 211, 2),
  filed("netIncome", 273, 302, 3),
  filed("netIncome", 364, 393, 4),
  filed("equity", 364, 393, 50),
  filed("shares", 364, 393, 10),
];

const bar = (count: number, close: number, split = 1): Bar => ({
  session: String(count),
  availableAt: day(count),
  open: close,
  high: close,
  low: close,
  close,
  volume: 1,
  dividend: 0,
  split,
  logReturn: null,
});

const measure = (fundamentals: readonly Fundamental[], bars: readonly Bar[], at: number) =>
  measureValuation({
    filings: readFilings(fundamentals, DAY_MS),
    bars,
    sector: "Tools",
    at: day(at),
    dayMs: DAY_MS,
  });

describe("the yields of a stock", () => {
  it("are trailing earnings and book equity over shares times price", () => {
    const measured = measure(filings, [bar(400, 20)], 400);
    expect(measured?.marketCapUsd).toBe(200);
    expect(measured?.yields).toEqual({ earningsYield: 10 / 200, bookYield: 50 / 200 });
    expect(measured?.asOf).toBe(day(393));
  });

  it("keep the market value across a split after the filing", () => {
    const bars = [bar(400, 20), bar(401, 5, 4)];
    expect(measure(filings, bars, 401)?.marketCapUsd).toBe(200);
  });

  it("do not multiply a count that already restates a split before its filing", () => {
    const next = [...filings, filed("shares", 455, 480, 40)];
    const bars = [bar(400, 20), bar(470, 5, 4), bar(481, 5)];
    expect(sharesOutstanding(readFilings(next, DAY_MS).shareCounts, bars)?.value).toBe(40);
    const unrestated = [...filings, filed("shares", 455, 480, 10)];
    expect(sharesOutstanding(readFilings(unrestated, DAY_MS).shareCounts, bars)?.value).toBe(40);
  });

  it("use the newest restatement of a period and refuse comparatives tagged as new", () => {
    const restated = [...filings, filed("netIncome", 364, 420, 14)];
    expect(measure(restated, [bar(421, 20)], 421)?.yields.earningsYield).toBe(20 / 200);
    const comparative = [...filings, filed("equity", 370, 768, 900)];
    expect(measure(comparative, [bar(560, 20)], 560)?.yields.bookYield).toBe(50 / 200);
  });

  it("need four quarters that span about a year", () => {
    expect(measure(filings.slice(1), [bar(400, 20)], 400)?.yields).toEqual({ bookYield: 0.25 });
    const gap = [filed("netIncome", 1, 30, 9), ...filings.slice(1)];
    expect(measure(gap, [bar(400, 20)], 400)?.yields).toEqual({ bookYield: 0.25 });
  });

  it("are missing when the share count is older than 400 days", () => {
    const others = filings.filter(({ metric }) => metric !== "shares");
    const old = [filed("shares", 91, 110, 10), ...others];
    expect(measure(old, [bar(510, 20)], 510)).toBeDefined();
    expect(measure(old, [bar(511, 20)], 511)).toBeUndefined();
  });

  it("are positive for profits and negative for losses, never multiples", () => {
    const losses = filings.map((figure) => ({ ...figure, value: figure.value - 8 }));
    const bars = [bar(400, 20)];
    expect(measure([...losses, filed("shares", 364, 394, 10)], bars, 400)?.yields).toEqual({
      earningsYield: -22 / 200,
      bookYield: 42 / 200,
    });
  });
});

describe("the valuation of a stock", () => {
  const peers = (count: number, sector: string | null): ValuationMeasurement[] =>
    Array.from({ length: count }, (_, index) => ({
      sector,
      yields: { earningsYield: index / count, bookYield: index / count },
      marketCapUsd: 1,
      shares: { value: 1, availableAt: 0 },
      priceAt: 0,
      asOf: 0,
    }));
  const context = {
    filings: readFilings(filings, DAY_MS),
    at: day(1),
    dayMs: DAY_MS,
    missedSessions: 0,
  };
  const bestOf = (group: readonly ValuationMeasurement[]) =>
    readValuation(group.at(-1), freezeValuation(group), context);

  it("is relative to the sector from 8 peers on, and to the class from 30", () => {
    expect(bestOf(peers(8, "Tools")).z).toBeGreaterThan(1);
    expect(bestOf(peers(7, "Tools"))).toMatchObject({ z: null, status: "insufficient_data" });
    expect(bestOf(peers(29, null)).z).toBeNull();
    expect(bestOf(peers(30, null)).z).toBeGreaterThan(1.5);
  });

  it("loses confidence from 100 days after the filing and is gone at 200", () => {
    const group = peers(8, "Tools");
    const at = (days: number) =>
      readValuation(group.at(-1), freezeValuation(group), { ...context, at: day(days) });
    expect(at(100)).toMatchObject({ confidence: 1, status: "ok" });
    expect(at(150)).toMatchObject({ confidence: 0.5, status: "stale" });
    expect(at(200)).toMatchObject({ confidence: 0, status: "stale", z: null });
  });

  it("counts half on a price one session old and not at all on an older one", () => {
    const group = peers(8, "Tools");
    const late = (missedSessions: number) =>
      readValuation(group.at(-1), freezeValuation(group), { ...context, missedSessions });
    expect(late(1)).toMatchObject({ confidence: 0.5, status: "stale" });
    expect(late(2)).toMatchObject({ confidence: 0, status: "stale", z: null });
  });

  it("tells no filing, old filings and filings without a share count apart", () => {
    const none = { ...context, filings: readFilings([], DAY_MS) };
    expect(readValuation(undefined, NO_VALUATION_TABLES, none).status).toBe("not_observed");
    const at = (days: number) =>
      readValuation(undefined, NO_VALUATION_TABLES, { ...context, at: day(days) }).status;
    expect(at(400)).toBe("insufficient_data");
    expect(at(600)).toBe("stale");
  });
});

const readCoin = (figures: readonly OnChain[], at: number, dayMs: number) => {
  const value = createNetworkValue();
  figures.forEach(value.add);
  return value.read(at, dayMs);
};

describe("the valuation of a coin", () => {
  const series = (length: number, last: number): OnChain[] =>
    Array.from({ length }, (_, index) => ({
      session: String(index),
      availableAt: day(index),
      mvrv: index === length - 1 ? last : 1.5 + (index % 2) / 2,
    }));

  it("is bullish when MVRV is low against its own past", () => {
    const low = readCoin(series(400, 0.9), day(399), DAY_MS);
    expect(low.z).toBeGreaterThan(2);
    expect(low.confidence).toBe(0.5);
    expect(readCoin(series(400, 4), day(399), DAY_MS).z).toBeLessThan(-2);
  });

  it("needs 365 days of history and figures of the last three days", () => {
    const short = readCoin(series(364, 2), day(363), DAY_MS);
    expect(short.status).toBe("insufficient_data");
    expect(readCoin(series(400, 2), day(403), DAY_MS).status).toBe("stale");
    expect(readCoin([], day(1), DAY_MS).status).toBe("not_observed");
  });
});
