import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Instrument } from "../../../src/market/instrument.ts";
import type { Bar, InstrumentRecords } from "../../../src/market/records.ts";
import {
  cohortReturns,
  netReturns,
  signalReturns,
} from "../../../src/research/backtest/book-returns.ts";
import { joinOutcomes, type StatementOutcome } from "../../../src/research/backtest/outcomes.ts";
import { measureRankBook, rankBookReturns } from "../../../src/research/backtest/rank-book.ts";
import { createReturnGrid } from "../../../src/research/backtest/return-grid.ts";
import { alphaOf, measureRiskAdjusted } from "../../../src/research/backtest/risk-adjusted.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";
import { randomAt } from "../../../src/statistics/random.ts";

const SESSIONS = 120;

/** Records of an instrument with the given logarithmic return in each session. */
function records(
  symbol: string,
  assetClass: Instrument["assetClass"],
  logReturnAt: (session: number) => number,
): InstrumentRecords {
  let close = 100;
  const bars = Array.from({ length: SESSIONS }, (_, session): Bar => {
    const logReturn = session === 0 ? null : logReturnAt(session);
    close *= Math.exp(logReturn ?? 0);
    const at = Date.parse("2020-01-01") + session * DAY_MS;
    const date = new Date(at).toISOString().slice(0, 10);
    return {
      session: date,
      availableAt: at,
      ...{ open: close, high: close, low: close, close, volume: 1 },
      ...{ dividend: 0, split: 1, logReturn },
    };
  });
  const instrument = { symbol, name: symbol, assetClass, exchange: null, currency: "USD" };
  return { instrument: { ...instrument, sector: null }, bars };
}

const noise = (row: number, session: number) => 0.02 * (randomAt(row, session) - 0.5);
const stocks = Array.from({ length: 30 }, (_, row) =>
  records(`S${row}`, "stock", (session) => noise(row, session)),
);
const fund = records("SPY", "etf", (session) => noise(99, session));
const grid = createReturnGrid(stocks, "stock", "9999");

const outcome = (row: number): StatementOutcome => ({ row, z: row, call: 0, followed: 0 });

/** Statements every five sessions: the higher the row, the higher the score. */
const dates = (names: number) =>
  Array.from({ length: 19 }, (_, date) => ({
    place: 5 * date,
    statements: stocks.map((_, row) => (row < names ? { z: row, call: 0 as const } : undefined)),
    trading: names,
  }));

const WEEKLY = { horizon: 21, step: 5 };
const joined = (names: number) => joinOutcomes(dates(names), grid, WEEKLY.horizon);

describe("the decile book by session", () => {
  it("earns from the close after the scores to the end of the horizon what its legs earn", () => {
    const cohort = { place: 10, long: [outcome(3)], short: [outcome(4), outcome(5)], traded: 4 };
    const { gross, traded } = cohortReturns([cohort], grid, 21);
    const growth = (row: number) => {
      let sum = 0;
      for (let session = 12; session <= 32; session++) sum += noise(row, session);
      return Math.expm1(sum);
    };
    const total = gross.reduce((sum, value) => sum + value, 0);
    expect(total).toBeCloseTo(growth(3) - (growth(4) + growth(5)) / 2, 12);
    const held = [...gross.keys()].filter((place) => gross[place] !== 0);
    expect([held[0], held.at(-1), held.length]).toEqual([12, 32, 21]);
    expect([...traded.keys()].filter((place) => traded[place] !== 0)).toEqual([12]);
    expect(netReturns({ gross, traded }, 10)[12]).toBeCloseTo((gross[12] ?? 9) - 0.004, 12);
  });

  it("skips no session between two dates, whatever their distance is to the horizon", () => {
    const { gross } = rankBookReturns(joined(30), grid, WEEKLY, 10);
    const flat = [...gross.keys()].filter((place) => gross[place] === 0);
    expect(flat.every((place) => place < 2 || place > 90 + 1 + 21)).toBe(true);
    const book = measureRankBook(joined(30), grid, WEEKLY, 10);
    expect(book?.path).toHaveLength(19);
    let wealth = 1;
    for (let place = 0; place <= 90; place++) wealth *= 1 + (gross[place] as number);
    expect(book?.path.at(-1)?.gross).toBeCloseTo(wealth, 12);
    expect(book?.sharpe?.periods).toBe(90 + 21);
  });

  it("needs three instruments in each decile", () => {
    expect(measureRankBook(joined(30), grid, WEEKLY, 10)?.names).toBe(3);
    expect(measureRankBook(joined(29), grid, WEEKLY, 10)).toBeUndefined();
  });
});

describe("the book of the published signals", () => {
  it("is changed at the close after a signal, equally weighted in each leg", () => {
    const directions = (long: readonly number[], short: readonly number[]) =>
      Int8Array.from(stocks, (_, row) => Number(long.includes(row)) - Number(short.includes(row)));
    const calls = Array.from({ length: SESSIONS }, (_, place) => {
      if (place < 10) return undefined;
      return place < 13 ? directions([1, 2], [3]) : directions([2], []);
    });
    const { gross, traded, long, short } = signalReturns(calls, grid);
    const simple = (row: number, place: number) => Math.expm1(noise(row, place));
    expect(gross[11]).toBe(0);
    expect(gross[12]).toBeCloseTo((simple(1, 12) + simple(2, 12)) / 2 - simple(3, 12), 12);
    expect(gross[15]).toBeCloseTo(simple(2, 15), 12);
    // Both legs are bought; then one is sold, and half of the other changes its instrument.
    expect([traded[12], traded[13], traded[15]]).toEqual([2, 0, 2]);
    expect(long).toBeCloseTo((3 * 2 + 105) / 108, 12);
    expect(short).toBeCloseTo(3 / 108, 12);
  });
});

describe("return and risk a year", () => {
  const bell = (seed: number, index: number) =>
    normalQuantile(randomAt(seed, index) + 0.5 / 2 ** 32);

  it("has the alpha and beta of least squares, with a t of the right size", () => {
    const runs = Array.from({ length: 1_000 }, (_, run) => {
      const benchmark = Array.from({ length: 250 }, (_, day) => 0.0004 + 0.01 * bell(run, day));
      const values = benchmark.map((x, day) => 0.6 * x + 0.008 * bell(run + 5_000, day));
      return alphaOf(values, benchmark, 252);
    });
    const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    expect(mean(runs.map((one) => one?.beta ?? 9))).toBeCloseTo(0.6, 2);
    expect(Math.abs(mean(runs.map((one) => one?.perYear ?? 9)))).toBeLessThan(0.012);
    const rejected = runs.filter((one) => Math.abs(one?.t ?? 9) > 1.96).length / runs.length;
    expect(rejected).toBeGreaterThan(0.02);
    expect(rejected).toBeLessThan(0.07);
  });

  it("is undefined against a benchmark that does not move", () => {
    expect(alphaOf([0.1, 0.2, 0.3], [0, 0, 0], 252)).toBeNull();
  });

  it("compares the books with equal weight and with a broad fund of the folder", () => {
    const returns = rankBookReturns(joined(30), grid, WEEKLY, 10);
    const graded = new Set(stocks.keys());
    const options = { grid, graded, first: 2, books: [{ name: "Book", returns }] };
    const measured = measureRiskAdjusted({ ...options, records: [...stocks, fund] });
    expect(measured?.market).toEqual({ symbol: "SPY", from: "2020-01-03", to: "2020-04-29" });
    expect(measured?.books.map(({ name }) => name)).toEqual([
      ...["Book", "Book, at 10 bp", "Equal weight", "Market (SPY)"],
    ]);
    const [book, net, equal, market] = measured?.books ?? [];
    expect(net?.returnPerYear).toBeLessThan(book?.returnPerYear ?? -9);
    expect(book?.sharpe).toBeCloseTo(
      (book?.returnPerYear ?? 0) / (book?.volatilityPerYear ?? 1),
      9,
    );
    expect([equal?.equalWeight, market?.market]).toEqual([null, null]);
    const simple = Array.from({ length: SESSIONS - 2 }, (_, day) => Math.expm1(noise(99, day + 2)));
    const sum = simple.reduce((total, value) => total + value, 0);
    expect(market?.returnPerYear).toBeCloseTo((252 * sum) / simple.length, 12);
    const shorter = { ...fund, bars: [...fund.bars].slice(0, 61) };
    const until = measureRiskAdjusted({ ...options, records: [...stocks, shorter] });
    expect(until?.market?.to).toBe("2020-03-01");
    const half = simple.slice(0, 59);
    const mean = half.reduce((total, value) => total + value, 0) / half.length;
    expect(until?.books.at(-1)?.returnPerYear).toBeCloseTo(252 * mean, 12);
    expect(until?.books[0]?.market?.beta).not.toBeCloseTo(book?.market?.beta ?? 9, 3);
    const alone = measureRiskAdjusted({ ...options, records: stocks });
    expect(alone?.market).toBeNull();
    expect(alone?.books[0]?.market).toBeNull();
  });

  it("is left out without a book", () => {
    const returns = rankBookReturns(joined(20), grid, WEEKLY, 10);
    const books = [{ name: "Book", returns }];
    const graded = new Set(stocks.keys());
    expect(measureRiskAdjusted({ grid, graded, first: 2, books, records: stocks })).toBeNull();
  });
});
