import { describe, expect, it } from "vitest";
import { readFilingFigures, sharesOutstanding } from "../../../src/factors/filings.ts";
import { createNetworkValueTracker } from "../../../src/factors/network-value.ts";
import {
  computeValuationReading,
  freezeValuationTables,
  type ValuationTables,
  type ValuedStock,
} from "../../../src/factors/valuation.ts";
import { createYieldHistory } from "../../../src/factors/yield-history.ts";
import { measureValuation, type Yields } from "../../../src/factors/yields.ts";
import type { Bar, Fundamental, OnChainFigures } from "../../../src/market/records.ts";

const DAY_MS = 86_400_000;
const day = (count: number) => count * DAY_MS;

const filed = (
  metric: Fundamental["metric"],
  periodDay: number,
  filedDay: number,
  value: number,
): Fundamental => ({ metric, periodEnd: day(periodDay), availableAt: day(filedDay), value });

/** Four quarters with net income from 1 to 4, and the equity and share count at the end. */
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

const measure = (
  fundamentals: readonly Fundamental[],
  bars: readonly Bar[],
  at: number,
  sector = "Tools",
) => {
  const known = readFilingFigures(fundamentals, DAY_MS);
  return measureValuation({
    filings: known,
    newestBar: bars.at(-1),
    shares: sharesOutstanding(known.shareCounts, bars),
    sector,
    at: day(at),
    dayMs: DAY_MS,
  });
};

describe("the yields of a stock", () => {
  it("are trailing earnings and book equity divided by shares times price", () => {
    const measured = measure(filings, [bar(400, 20)], 400);
    expect(measured?.marketCapUsd).toBe(200);
    expect(measured?.yields).toEqual({ earningsYield: 10 / 200, bookYield: 50 / 200 });
    expect(measured?.asOf).toBe(day(393));
  });

  it("use the same market value before and after a split that follows the filing", () => {
    const bars = [bar(400, 20), bar(401, 5, 4)];
    expect(measure(filings, bars, 401)?.marketCapUsd).toBe(200);
  });

  it("do not adjust a share count for a split that the filing already includes", () => {
    const next = [...filings, filed("shares", 455, 480, 40)];
    const bars = [bar(400, 20), bar(470, 5, 4), bar(481, 5)];
    expect(sharesOutstanding(readFilingFigures(next, DAY_MS).shareCounts, bars)?.value).toBe(40);
    const unrestated = [...filings, filed("shares", 455, 480, 10)];
    expect(sharesOutstanding(readFilingFigures(unrestated, DAY_MS).shareCounts, bars)?.value).toBe(
      40,
    );
  });

  it("use the newest restatement of a period, and reject comparatives that are tagged as new", () => {
    const restated = [...filings, filed("netIncome", 364, 420, 14)];
    expect(measure(restated, [bar(421, 20)], 421)?.yields.earningsYield).toBe(20 / 200);
    const comparative = [...filings, filed("equity", 370, 768, 900)];
    expect(measure(comparative, [bar(560, 20)], 560)?.yields.bookYield).toBe(50 / 200);
  });

  it("require four quarters that span about a year for earnings", () => {
    expect(measure(filings.slice(1), [bar(400, 20)], 400)?.yields).toEqual({ bookYield: 0.25 });
    const gap = [filed("netIncome", 1, 30, 9), ...filings.slice(1)];
    expect(measure(gap, [bar(400, 20)], 400)?.yields).toEqual({ bookYield: 0.25 });
  });

  it("require four quarters for free cash flow as well", () => {
    const flows = [91, 182, 273, 364].map((end) => filed("freeCashFlow", end, end + 29, 3));
    const all = [...filings, ...flows].sort((a, b) => a.availableAt - b.availableAt);
    expect(measure(all, [bar(400, 20)], 400)?.yields.freeCashFlowYield).toBeCloseTo(12 / 200, 12);
    const three = all.filter((figure) => figure !== flows[1]);
    expect(measure(three, [bar(400, 20)], 400)?.yields.freeCashFlowYield).toBeUndefined();
  });

  it("use market value plus debt less cash as the divisor of EBITDA, and exclude EBITDA for banks", () => {
    const flows = [91, 182, 273, 364].map((end) => filed("ebitda", end, end + 29, 6));
    const all = [...filings, ...flows, filed("debt", 364, 393, 80), filed("cash", 364, 393, 40)];
    all.sort((a, b) => a.availableAt - b.availableAt);
    const bars = [bar(400, 20)];
    expect(measure(all, bars, 400)?.yields.ebitdaYield).toBeCloseTo(24 / (200 + 80 - 40), 12);
    expect(measure(all, bars, 400, "Financials")?.yields.ebitdaYield).toBeUndefined();
    const noCash = all.filter(({ metric }) => metric !== "cash");
    expect(measure(noCash, bars, 400)?.yields.ebitdaYield).toBeUndefined();
    const rich = all.map((figure) =>
      figure.metric === "cash" ? { ...figure, value: 300 } : figure,
    );
    expect(measure(rich, bars, 400)?.yields.ebitdaYield).toBeUndefined();
  });

  it("are missing when the share count is more than 400 days old", () => {
    const others = filings.filter(({ metric }) => metric !== "shares");
    const old = [filed("shares", 91, 110, 10), ...others];
    expect(measure(old, [bar(510, 20)], 510)).toBeDefined();
    expect(measure(old, [bar(511, 20)], 511)).toBeUndefined();
  });

  it("are negative for losses, unlike price multiples", () => {
    const losses = filings.map((figure) => ({ ...figure, value: figure.value - 8 }));
    const bars = [bar(400, 20)];
    expect(measure([...losses, filed("shares", 364, 394, 10)], bars, 400)?.yields).toEqual({
      earningsYield: -22 / 200,
      bookYield: 42 / 200,
    });
  });
});

describe("the valuation of a stock", () => {
  const stock = (yields: Yields, sector: string | null): ValuedStock => ({
    measurement: {
      sector,
      yields,
      marketCapUsd: 1,
      shares: { value: 1, availableAt: 0 },
      priceAt: 0,
      asOf: 0,
    },
    norms: {},
  });
  const all = (value: number): Yields => ({
    earningsYield: value,
    freeCashFlowYield: value,
    bookYield: value,
  });
  const peers = (count: number, sector: string | null): ValuedStock[] =>
    Array.from({ length: count }, (_, index) => stock(all(index / count), sector));

  const context = {
    filings: readFilingFigures(filings, DAY_MS),
    at: day(1),
    dayMs: DAY_MS,
    missedSessions: 0,
  };
  const NO_TABLES: ValuationTables = { yields: {} };
  const bestOf = (group: readonly ValuedStock[]) =>
    computeValuationReading(group.at(-1), freezeValuationTables(group), context);

  it("is relative to the sector if it has 8 peers, otherwise to the asset class if it has 30", () => {
    expect(bestOf(peers(8, "Tools")).z).toBeGreaterThan(1);
    expect(bestOf(peers(7, "Tools"))).toMatchObject({ z: null, status: "insufficient_data" });
    expect(bestOf(peers(29, null)).z).toBeNull();
    expect(bestOf(peers(30, null)).z).toBeGreaterThan(1.5);
  });

  it("loses confidence from 100 days after the filing, and is missing from 200 days on", () => {
    const group = peers(8, "Tools");
    const at = (days: number) =>
      computeValuationReading(group.at(-1), freezeValuationTables(group), {
        ...context,
        at: day(days),
      });
    expect(at(100)).toMatchObject({ confidence: 1, status: "ok" });
    expect(at(150)).toMatchObject({ confidence: 0.5, status: "stale" });
    expect(at(200)).toMatchObject({ confidence: 0, status: "stale", z: null });
  });

  it("loses confidence with every missing yield that its source could provide, and is missing with fewer than two yields", () => {
    const group = peers(30, "Tools");
    const tables = freezeValuationTables(group);
    const { bookYield: _, ...two } = all(0.5);
    expect(computeValuationReading(stock(all(0.5), "Tools"), tables, context).confidence).toBe(1);
    const reading = computeValuationReading(stock(two, "Tools"), tables, context);
    expect(reading.confidence).toBeCloseTo(2 / 3, 12);
    const book = reading.listInputs().find(({ name }) => name === "bookYield");
    expect(book).toMatchObject({ value: null, z: null, weight: 0 });
    const one = { earningsYield: 0.5 };
    expect(computeValuationReading(stock(one, "Tools"), tables, context).z).toBeNull();
  });

  it("counts a missing ratio of EBITDA to enterprise value only if a peer has that ratio", () => {
    const withEbitda = peers(30, "Tools").map(({ measurement, norms }, index) => ({
      norms,
      measurement: { ...measurement, yields: { ...measurement.yields, ebitdaYield: index } },
    }));
    const tables = freezeValuationTables(withEbitda);
    expect(computeValuationReading(withEbitda[3], tables, context).confidence).toBe(1);
    expect(computeValuationReading(stock(all(0.5), "Tools"), tables, context).confidence).toBe(
      0.75,
    );
  });

  it("halves the weight of book value in sectors with mostly intangible assets", () => {
    const weights = (sector: string) => {
      const group = peers(30, sector);
      const inputs = bestOf(group).listInputs();
      return Object.fromEntries(inputs.map(({ name, weight }) => [name, weight]));
    };
    expect(weights("Utilities").bookYield).toBeCloseTo(1 / 3, 12);
    expect(weights("Information Technology").bookYield).toBeCloseTo(1 / 5, 12);
    expect(weights("Information Technology").earningsYield).toBeCloseTo(2 / 5, 12);
  });

  it("gives the stock's own history a weight of .3 once it covers 24 months", () => {
    const history = createYieldHistory(DAY_MS);
    const monthAt = (month: number) => day(30.4375 * month + 1);
    for (let month = 0; month < 24; month++) {
      expect(history.isDue(monthAt(month))).toBe(true);
      history.add(all(month % 2 === 0 ? 0.04 : 0.06), monthAt(month));
      expect(history.isDue(monthAt(month) + DAY_MS)).toBe(false);
      if (month < 23) expect(history.norms).toEqual({});
    }
    const { combined: _, ...tables } = freezeValuationTables(peers(30, "Tools"));
    const own = { ...stock(all(0.05), "Tools"), norms: history.norms };
    const relative =
      computeValuationReading(stock(all(0.05), "Tools"), tables, context).z ?? Number.NaN;
    expect(computeValuationReading(own, tables, context).z).toBeCloseTo(0.7 * relative, 9);
    const dear = { ...own, measurement: { ...own.measurement, yields: all(0.03) } };
    const inputs = computeValuationReading(dear, tables, context).listInputs();
    const past = inputs.find(({ name }) => name === "earningsYieldOwnPast");
    expect(past?.weight).toBeCloseTo(0.1, 12);
    expect(past?.z).toBeCloseTo(-0.02 / Math.sqrt((24 * 0.0001) / 23), 9);
  });

  it("uses only the last five years of its monthly history", () => {
    const history = createYieldHistory(DAY_MS);
    for (let month = 0; month < 100; month++) {
      history.add({ bookYield: month < 40 ? 9 : month % 2 }, day(30.4375 * month + 1));
    }
    expect(history.norms.bookYield?.mean).toBeCloseTo(0.5, 12);
  });

  it("has half the confidence when the price is one session old, and none when it is older", () => {
    const group = peers(8, "Tools");
    const late = (missedSessions: number) =>
      computeValuationReading(group.at(-1), freezeValuationTables(group), {
        ...context,
        missedSessions,
      });
    expect(late(1)).toMatchObject({ confidence: 0.5, status: "stale" });
    expect(late(2)).toMatchObject({ confidence: 0, status: "stale", z: null });
  });

  it("distinguishes a company without filings, old filings, and filings without a share count", () => {
    const none = { ...context, filings: readFilingFigures([], DAY_MS) };
    expect(computeValuationReading(undefined, NO_TABLES, none).status).toBe("not_observed");
    const at = (days: number) =>
      computeValuationReading(undefined, NO_TABLES, { ...context, at: day(days) }).status;
    expect(at(400)).toBe("insufficient_data");
    expect(at(600)).toBe("stale");
  });
});

const readCoin = (figures: readonly OnChainFigures[], at: number, dayMs: number) => {
  const value = createNetworkValueTracker();
  figures.forEach(value.add);
  return value.read(at, dayMs);
};

describe("the valuation of a coin", () => {
  const series = (length: number, last: number): OnChainFigures[] =>
    Array.from({ length }, (_, index) => ({
      session: String(index),
      availableAt: day(index),
      mvrv: index === length - 1 ? last : 1.5 + (index % 2) / 2,
    }));

  it("is bullish when MVRV is low compared with its own history", () => {
    const low = readCoin(series(400, 0.9), day(399), DAY_MS);
    expect(low.z).toBeGreaterThan(2);
    expect(low.confidence).toBe(0.5);
    expect(readCoin(series(400, 4), day(399), DAY_MS).z).toBeLessThan(-2);
  });

  it("gives equal weight to MVRV and to market value over 90-day average transfers", () => {
    const both = series(500, 1.5).map((figures, index) => ({
      ...figures,
      marketCapUsd: 1000 + (index % 7) * 50,
      nvt: 10 + (index % 5),
    }));
    const reading = readCoin(both, day(499), DAY_MS);
    expect(reading.confidence).toBe(1);
    const inputs = Object.fromEntries(reading.listInputs().map((input) => [input.name, input]));
    const transfers = both.slice(-90).map(({ marketCapUsd, nvt }) => marketCapUsd / nvt);
    const smoothed = transfers.reduce((sum, value) => sum + value, 0) / 90;
    expect(inputs.nvts?.value).toBeCloseTo((both.at(-1)?.marketCapUsd ?? 0) / smoothed, 9);
    expect(inputs.nvts?.weight).toBe(-0.5);
    const sum = -0.5 * (inputs.nvts?.z ?? Number.NaN) - 0.5 * (inputs.mvrv?.z ?? Number.NaN);
    expect(reading.z).toBeCloseTo(sum, 12);
  });

  it("omits market value over transfers until 90 days of transfers are known", () => {
    const late = series(400, 1.5).map((figures, index) =>
      index < 311 ? figures : { ...figures, marketCapUsd: 1000, nvt: 10 },
    );
    expect(
      readCoin(late, day(399), DAY_MS)
        .listInputs()
        .map(({ name }) => name),
    ).toEqual(["mvrv"]);
  });

  it("requires 365 days of history, and figures from the last three days", () => {
    const short = readCoin(series(364, 2), day(363), DAY_MS);
    expect(short.status).toBe("insufficient_data");
    expect(readCoin(series(400, 2), day(403), DAY_MS).status).toBe("stale");
    expect(readCoin([], day(1), DAY_MS).status).toBe("not_observed");
  });
});
