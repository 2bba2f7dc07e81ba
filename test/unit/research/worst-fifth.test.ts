import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { ReturnGrid } from "../../../src/research/backtest/return-grid.ts";
import {
  fitQuadraticLogistic,
  logisticProbability,
} from "../../../src/research/backtest/risk/logistic.ts";
import {
  type DatedFalls,
  gradeWorstFifthChance,
} from "../../../src/research/backtest/risk/worst-fifth.ts";
import { normalCdf, normalQuantile } from "../../../src/statistics/normal.ts";
import { randomAt } from "../../../src/statistics/random.ts";

describe("the fit of a quadratic logistic", () => {
  it("equals the maximum of the likelihood that scipy finds", () => {
    const u = Array.from({ length: 60 }, (_, index) => (index - 30) / 10);
    const outcomes = u.map((value, index) => (value + Math.sin(index * 2.1) > 1 ? 1 : 0));
    const fit = fitQuadraticLogistic(u, outcomes);
    expect(fit).toEqual(EXPECTED.map((value) => expect.closeTo(value, 6)));
  });

  it("has no result without both outcomes", () => {
    expect(fitQuadraticLogistic([-1, 0, 1, 2], [0, 0, 0, 0])).toBeUndefined();
  });
});

/** scipy 1.17 `minimize` of the negative log-likelihood, method BFGS, gtol 1e-10. */
const EXPECTED = [-2.775443557, 3.367309417, -0.325429838] as const;

const STOCKS = 50;
const FIRST = Date.parse("2015-01-05");
const HORIZON = 5;

/** Four years of weekly dates, in which the risk of a stock explains a part of its fall. */
const grid = {
  sessions: Array.from({ length: 1_050 }, (_, session) => ({
    label: new Date(FIRST + Math.floor(session * 1.4) * DAY_MS).toISOString().slice(0, 10),
    close: session,
  })),
} as unknown as ReturnGrid;

const falls = (skill: number): readonly DatedFalls[] =>
  Array.from({ length: 200 }, (_, week) => ({
    place: 5 * week,
    outcomes: Array.from({ length: STOCKS }, (_, stock) => {
      const risk = normalQuantile((stock + 0.5) / STOCKS);
      const noise = normalQuantile(Math.max(1e-9, randomAt(week, stock)));
      return { steadiness: 100 * normalCdf(-risk), fall: -(skill * risk + noise) };
    }),
  }));

const grade = (skill: number) =>
  gradeWorstFifthChance(falls(skill), grid, { horizon: HORIZON, step: 5 }, 1);

describe("the chance of being among the worst fifth", () => {
  it("is calibrated year by year, from outcomes that had ended before the year", () => {
    const graded = grade(0.5);
    expect(graded?.years.map(({ year }) => year)).toEqual(["2016", "2017", "2018"]);
    const { sessions } = grid;
    for (const { year, dates } of graded?.years ?? []) {
      const ended = falls(0).filter(
        ({ place }) => (sessions[place + 1 + HORIZON]?.label ?? "") < year,
      );
      expect(dates).toBe(ended.length);
    }
    expect(graded?.skill).toBeGreaterThan(0.02);
    expect(graded?.withheld).toBeNull();
    const [c0, c1, c2] = graded?.next ?? [9, 9, 9];
    expect(c1).toBeGreaterThan(0.4);
    expect(logisticProbability([c0, c1, c2], 0)).toBeLessThan(0.2);
  });

  it("is withheld where risk says nothing", () => {
    expect(grade(0)?.withheld).toBe("skill_not_shown");
  });

  it("is withheld where the years differ too much for a calibration", () => {
    const changing = falls(0.5).map((date, week) =>
      week < 100 ? date : (falls(3)[week] as DatedFalls),
    );
    const graded = gradeWorstFifthChance(changing, grid, { horizon: HORIZON, step: 5 }, 1);
    expect(graded?.largestGap).toBeGreaterThan(0.03);
    expect(graded?.withheld).toBe("not_calibrated");
  });

  it("is not forecast before thirty independent periods", () => {
    const few = falls(0.5).slice(0, 20);
    expect(gradeWorstFifthChance(few, grid, { horizon: HORIZON, step: 5 }, 1)).toBeNull();
  });
});
