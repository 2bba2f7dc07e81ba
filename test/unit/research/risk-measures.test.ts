import { describe, expect, it } from "vitest";
import { reliabilityChart } from "../../../src/research/backtest/report/charts.ts";
import { createReturnGrid } from "../../../src/research/backtest/return-grid.ts";
import {
  fitQuantiles,
  measureRisk,
  type RiskQuestion,
} from "../../../src/research/backtest/risk/measures.ts";
import {
  observeRisk,
  type RiskObservation,
} from "../../../src/research/backtest/risk/observations.ts";
import { SIMULATED_RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { ECDF_PROBABILITIES } from "../../../src/statistics/ecdf.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";
import { randomAt } from "../../../src/statistics/random.ts";

const WEEK_MS = 7 * 86_400_000;
const FIRST = Date.parse("2018-01-05");
const dateOf = (week: number) => new Date(FIRST + week * WEEK_MS).toISOString().slice(0, 10);

/** Errors of a simulated forecast. */
interface Error {
  /** Ratio of the true standard deviation of outcomes to the forecast. */
  readonly scale?: number;
  /** Size of the error in the logarithm of the rival's standard deviation. Its sign is random. */
  readonly rivalError?: number;
  readonly names?: number;
}

/**
 * Normally distributed outcomes over 208 weeks, half of them before 2020, with forecasts from .02
 * to .06.
 */
function invented({ scale = 1, rivalError = 0.5, names = 20 }: Error = {}) {
  return Array.from({ length: 208 * names }, (_, index): RiskObservation => {
    const [place, row] = [Math.floor(index / names), index % names];
    const random = (stream: number) => randomAt(9, 4 * index + stream);
    const forecast = 0.02 + 0.04 * random(0);
    const followed = forecast * scale * normalQuantile(0.0001 + 0.9998 * random(1));
    const rival = forecast * Math.exp(rivalError * (random(2) < 0.5 ? -1 : 1));
    return {
      place,
      row,
      date: dateOf(place),
      end: dateOf(place + 1),
      sigma: { blend: forecast, ewma: rival, random_walk: rival * 1.5 },
      forecast,
      reportIn: null,
      followed,
      variance: (forecast * scale) ** 2 * (0.5 + random(3)),
    };
  });
}

const QUESTION: RiskQuestion = {
  horizon: 5,
  model: "blend",
  fallPercent: 5,
  quantiles: ECDF_PROBABILITIES.map((p) => normalQuantile(p)),
  reportDays: null,
  fittedBefore: "2020-01-01",
  overlap: { horizon: 5, step: 5 },
  seed: 1,
};

const verdictOn = (error: Error, change: Partial<RiskQuestion> = {}) =>
  measureRisk(invented(error), { ...QUESTION, ...change }).evidence.verdict;

describe("the evidence for a correct risk forecast", () => {
  const measures = measureRisk(invented(), QUESTION);

  it("is positive, and the forecast ranges have the stated coverage in every year and every third of volatility", () => {
    const { evidence, thirds, years } = measures;
    expect(evidence.verdict).toBe("supported");
    expect(evidence.qlike.before?.t).toBeLessThan(-2);
    expect(evidence.qlike.after?.forecast).toBeLessThan(evidence.qlike.after?.ewma ?? 0);
    expect(thirds.map(({ label }) => label)).toEqual(["calm", "middle", "wild"]);
    expect(years.map(({ label }) => label)).toEqual(["2020", "2021"]);
    for (const { coverage } of [...thirds, ...years]) {
      for (const [index, share] of [0.5, 0.8, 0.95].entries()) {
        expect(Math.abs((coverage[index] ?? 9) - share)).toBeLessThan(0.05);
      }
    }
  });

  it("shows skill in the probability of a fall, which follows the diagonal of the reliability chart", () => {
    const { fallSkill } = measures.evidence;
    expect(fallSkill?.low).toBeGreaterThan(0);
    expect(fallSkill?.value).toBeCloseTo(measures.fall?.skill ?? 9, 12);
    for (const { meanProbability, frequency } of measures.fall?.bins ?? []) {
      expect(Math.abs(meanProbability - frequency)).toBeLessThan(0.08);
    }
    expect(reliabilityChart("Falls", measures.fall)?.toString()).toContain("<svg ");
  });
});

describe("the verdict on a risk forecast", () => {
  it("is not_supported for an equally good rival or for wrong ranges, and insufficient_data with too few instruments or weeks", () => {
    expect(verdictOn({ rivalError: 0 })).toBe("not_supported");
    expect(verdictOn({ scale: 1.3 })).toBe("not_supported");
    expect(verdictOn({ names: 9 })).toBe("insufficient_data");
    expect(verdictOn({}, { fittedBefore: "2018-06-01" })).toBe("insufficient_data");
  });

  it('is "baseline" when the forecast is the rival model itself', () => {
    expect(verdictOn({ rivalError: 0 }, { model: "ewma" })).toBe("baseline");
  });
});

describe("the fitting date of a risk forecast", () => {
  const all = invented();

  it("excludes from the quantiles both later outcomes and outcomes that span the date", () => {
    const known = all.filter(({ end }) => end < "2020-01-01");
    expect(fitQuantiles(all, "2020-01-01")).toEqual(fitQuantiles(known, "2020-01-01"));
    expect(measureRisk(known, QUESTION).evidence.forecasts).toBe(0);
    const across = all.filter(({ date, end }) => date < "2020-01-01" && end >= "2020-01-01");
    expect(across.length).toBe(20);
    const without = all.filter((one) => !across.includes(one));
    expect(measureRisk(without, QUESTION)).toEqual(measureRisk(all, QUESTION));
  });
});

describe("the simulated market's prices", () => {
  const DAY_MS = 60_000;
  const now = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS;
  const records = createSandbox({ seed: 42, sessionSeconds: 60 }).recordsUntil(now);
  const grid = createReturnGrid(records, "stock", "9999");

  it.each(SIMULATED_RISK_TABLE.classes.stock)(
    "stay within the forecast ranges over $horizon sessions as often as stated",
    (table) => {
      const places = [...grid.sessions.keys()].filter((place) => place % 5 === 0);
      const graded = new Set(grid.rows.keys());
      const observations = observeRisk({ grid, records, graded, places }, table);
      const question = { ...QUESTION, ...table, fittedBefore: "2000-01-01" };
      const { coverage, forecasts } = measureRisk(observations, question).evidence;
      expect(forecasts).toBeGreaterThan(3_000);
      for (const [index, share] of [0.5, 0.8, 0.95].entries()) {
        expect(Math.abs((coverage[index] ?? 9) - share)).toBeLessThan(0.05);
      }
    },
  );
});
