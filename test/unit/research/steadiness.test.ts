import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Bar, InstrumentRecords } from "../../../src/market/records.ts";
import { createReturnGrid } from "../../../src/research/backtest/return-grid.ts";
import { gradeSteadiness } from "../../../src/research/backtest/risk/steadiness.ts";
import type { PanelDate } from "../../../src/research/backtest/statement-panel.ts";
import { instrument } from "../../support/instruments.ts";

const SESSIONS = 40;
const STOCKS = 20;
const HORIZON = 21;
const QUESTION = { pace: "session", seed: 1 } as const;

/** A stock whose log return of a session is `returnOf(session)`; `null` for no bar. */
function stock(symbol: string, returnOf: (session: number) => number | null): InstrumentRecords {
  const bars: Bar[] = [];
  let logPrice = 5;
  for (let day = 0; day < SESSIONS; day++) {
    const change = returnOf(day);
    if (change === null) continue;
    logPrice += day === 0 ? 0 : change;
    const close = Math.exp(logPrice);
    bars.push({
      session: new Date(Date.UTC(2024, 0, 1 + day)).toISOString().slice(0, 10),
      availableAt: Date.UTC(2024, 0, 1 + day) + 0.8 * DAY_MS,
      open: close,
      high: close,
      low: close,
      close,
      volume: 10,
      dividend: 0,
      split: 1,
      logReturn: bars.length === 0 ? null : change,
    });
  }
  return { instrument: instrument(symbol), bars };
}

const dateAt = (place: number, steadiness: (row: number) => number | undefined): PanelDate => ({
  place,
  trading: STOCKS,
  statements: Array.from({ length: STOCKS }, (_, row) => {
    const value = steadiness(row);
    return value === undefined ? undefined : { z: 0, call: 0 as const, steadiness: value };
  }),
});

const gridOf = (returnOf: (row: number, session: number) => number | null) =>
  createReturnGrid(
    Array.from({ length: STOCKS }, (_, row) => stock(`S${row}`, (day) => returnOf(row, day))),
    "stock",
    "2024-12-31",
  );

describe("the grade of steadiness", () => {
  it("is 1 where steadier stocks always fell less, and −1 where they fell more", () => {
    // On day 5 every stock falls, the first ones most.
    const grid = gridOf((row, day) => (day === 5 ? (row - STOCKS) / 100 : 0.001 * (row % 3)));
    const dates = (sign: number) => [1, 2, 3].map((place) => dateAt(place, (row) => sign * row));
    const [up] = gradeSteadiness(dates(1), grid, QUESTION);
    const [down] = gradeSteadiness(dates(-1), grid, QUESTION);
    expect([up?.horizon, up?.years[0]?.mean, up?.worstFifth]).toEqual([
      HORIZON,
      expect.closeTo(1, 12),
      [1, 0, 0, 0, 0],
    ]);
    expect([down?.years[0]?.mean, down?.worstFifth]).toEqual([
      expect.closeTo(-1, 12),
      [0, 0, 0, 0, 1],
    ]);
  });

  it("begins at the close after the statement and ends with the horizon", () => {
    const only = (day: number) =>
      gradeSteadiness(
        [dateAt(1, (row) => row)],
        gridOf((row, at) => (at === day ? -0.01 * (row + 1) : 0.01)),
        QUESTION,
      )[0]?.years[0]?.mean;
    // A fall on the session of the close that it begins at, or after its end, counts for nothing.
    expect(only(2)).toBeUndefined();
    expect(only(3)).toBeCloseTo(-1, 12);
    expect(only(2 + HORIZON)).toBeUndefined();
  });

  it("leaves out stocks that were not ranked, and dates whose horizon is not over", () => {
    const grid = gridOf((row, day) => (row === 0 && day > 4 ? null : -0.001 * (row + 1)));
    const ranked = dateAt(1, (row) => (row < 5 ? undefined : -row));
    expect(gradeSteadiness([ranked], grid, QUESTION)[0]?.years[0]?.mean).toBeCloseTo(1, 12);
    expect(gradeSteadiness([dateAt(SESSIONS - HORIZON - 1, (row) => row)], grid, QUESTION)).toEqual(
      [],
    );
    expect(gradeSteadiness([dateAt(1, () => undefined)], grid, QUESTION)).toEqual([]);
  });
});
