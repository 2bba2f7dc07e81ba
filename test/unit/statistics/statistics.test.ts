import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calibrate } from "../../../src/research/backtest/calibration.ts";
import {
  deflatedSharpe,
  expectedMaxSharpe,
  sharpeOf,
} from "../../../src/research/backtest/deflated-sharpe.ts";
import { maxDrawdown, wealthPath } from "../../../src/research/backtest/drawdown.ts";
import { bootstrapInterval } from "../../../src/statistics/bootstrap.ts";
import { medianOf } from "../../../src/statistics/median.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";
import { randomAt, shuffled } from "../../../src/statistics/random.ts";
import {
  rankCorrelation,
  ranks,
  standardizedRankProducts,
} from "../../../src/statistics/rank-correlation.ts";
import { residualize } from "../../../src/statistics/residuals.ts";
import {
  cosineCount,
  cosineStandardError,
  type HorizonOverlap,
  neweyWestStandardError,
  periodsForPower,
  type SeriesSummary,
  summarizeSeries,
} from "../../../src/statistics/series-summary.ts";
import { mean, sampleSd } from "../../../src/statistics/statistics.ts";

/** The rank correlation coefficients of the worked example. */
const WORKED = [0.03, -0.01, 0.05, 0, 0.02, 0.04, -0.03, 0.06, 0.01, -0.02, 0.03, 0.02];

const SEEDED = { seed: 7, numRuns: 100 } as const;
const finite = fc.double({ min: -1e6, max: 1e6, noNaN: true });

describe("rank correlation", () => {
  it("assigns the mean rank to equal values", () => {
    expect([...ranks([3, 1, 2, 2, 5])]).toEqual([4, 1, 2.5, 2.5, 5]);
    expect([...ranks([])]).toEqual([]);
  });

  it("is 1 for any increasing transformation and -1 for any decreasing one", () => {
    const x = [0.3, -2, 5, 1, 8];
    expect(rankCorrelation(x, x.map(Math.exp))).toBeCloseTo(1, 12);
    expect(
      rankCorrelation(
        x,
        x.map((value) => -(value ** 3)),
      ),
    ).toBeCloseTo(-1, 12);
  });

  it("equals Pearson's coefficient of the ranks when values are tied", () => {
    // The ranks are 1, 2.5, 2.5, 4 and 1.5, 1.5, 3, 4, with covariance 3.75 and both variances 4.5.
    expect(rankCorrelation([1, 2, 2, 3], [5, 5, 6, 7])).toBeCloseTo(3.75 / 4.5, 12);
  });

  it("is undefined for fewer than three pairs, or when one side is constant", () => {
    expect(rankCorrelation([1, 2], [1, 2])).toBeUndefined();
    expect(rankCorrelation([1, 1, 1], [1, 2, 3])).toBeUndefined();
    expect(standardizedRankProducts([1, 2, 3], [4, 4, 4])).toBeUndefined();
  });

  it("is symmetric, bounded, and equal to the mean of its rank products", () => {
    const pairs = fc.array(fc.tuple(finite, finite), { minLength: 3, maxLength: 40 });
    fc.assert(
      fc.property(pairs, (points) => {
        const x = points.map(([a]) => a);
        const y = points.map(([, b]) => b);
        const coefficient = rankCorrelation(x, y);
        if (coefficient === undefined) return;
        expect(Math.abs(coefficient)).toBeLessThanOrEqual(1 + 1e-12);
        expect(rankCorrelation(y, x)).toBeCloseTo(coefficient, 12);
        expect(mean(standardizedRankProducts(x, y) ?? [])).toBeCloseTo(coefficient, 12);
      }),
      SEEDED,
    );
  });
});

/** The summary of a series that has one. */
function summary(values: readonly number[], overlap: HorizonOverlap): SeriesSummary {
  return summarizeSeries(values, overlap) as SeriesSummary;
}

/** Sums of simulated returns with mean 0 over windows that overlap. */
function overlapping({
  horizon,
  step,
  dates,
  persistence,
  seed,
}: HorizonOverlap & Readonly<Record<"dates" | "persistence" | "seed", number>>) {
  const sums = [0];
  let value = 0;
  for (let session = -60; session < (dates - 1) * step + horizon; session++) {
    value = persistence * value + normalQuantile(randomAt(seed, session + 60) + 0.5 / 2 ** 32);
    if (session >= 0) sums.push((sums.at(-1) as number) + value);
  }
  const sumAt = (index: number) => sums[index] as number;
  return Array.from(
    { length: dates },
    (_, date) => sumAt(date * step + horizon) - sumAt(date * step),
  );
}

describe("the summary of a series", () => {
  it("has the standard deviation, error and t value of the method's worked example", () => {
    expect(mean(WORKED)).toBeCloseTo(0.016667, 6);
    expect(sampleSd(WORKED)).toBeCloseTo(0.027743, 6);
    expect(neweyWestStandardError(WORKED, 2)).toBeCloseTo(0.002983, 6);
    expect(mean(WORKED) / neweyWestStandardError(WORKED, 2)).toBeCloseTo(5.587, 3);
  });

  it("widens its interval and lowers its t when neighboring values are correlated", () => {
    const slow = Array.from({ length: 60 }, (_, index) => 0.02 + 0.05 * Math.sin(index / 9));
    const { t, plainT, interval, mean } = summary(slow, { horizon: 21, step: 5 });
    expect(Math.abs(t)).toBeLessThan(Math.abs(plainT) / 2);
    expect(interval.high - mean).toBeCloseTo(mean - interval.low, 12);
  });

  it("has the quantiles of Student's t with as many degrees of freedom as cosines", () => {
    // 5 degrees of freedom: 2.571 leaves 5 % outside, as 1.960 does in a normal distribution.
    expect(cosineCount(45, 1)).toBe(5);
    const values = Array.from(
      { length: 45 },
      (_, index) => Math.sin(index / 9) + randomAt(5, index),
    );
    const error = cosineStandardError(values, 5);
    const { interval, mean } = summary(values, { horizon: 1, step: 1 });
    expect((interval.high - mean) / error).toBeCloseTo(2.571, 1);
    const edge = values.map((value) => value - interval.low);
    expect(summary(edge, { horizon: 1, step: 1 }).t).toBeCloseTo(1.96, 2);
  });

  it.each([
    // Horizon and step in sessions, dates, autocorrelation of the returns of sessions, least share.
    [21, 5, 150, 0, 0.035],
    [63, 5, 390, 0, 0.035],
    [21, 7, 290, 0, 0.035],
    [21, 5, 150, 0.9, 0.035],
    [1, 1, 250, 0.5, 0.035],
    // Without autocorrelation the nearer of two t is a little too near.
    [5, 5, 250, 0, 0.02],
  ] as const)(
    "rejects a true mean of 0 in about 5 % of cases: %i sessions every %i, %i dates, autocorrelation %f",
    (horizon, step, dates, persistence, least) => {
      const runs = Array.from({ length: 1_000 }, (_, run) =>
        summary(overlapping({ horizon, step, dates, persistence, seed: 1_000 * run }), {
          horizon,
          step,
        }),
      );
      const rejected = runs.filter(({ t }) => Math.abs(t) > 1.96).length / runs.length;
      expect(rejected).toBeGreaterThan(least);
      expect(rejected).toBeLessThan(0.07);
      const missed = runs.filter(({ interval: { low, high } }) => low > 0 || high < 0);
      expect(missed.length / runs.length).toBeCloseTo(rejected, 2);
    },
  );

  it("has the plain standard error of the population at lag 0", () => {
    const plain = (sampleSd(WORKED) * Math.sqrt(11 / 12)) / Math.sqrt(12);
    expect(neweyWestStandardError(WORKED, 0)).toBeCloseTo(plain, 12);
  });

  it("is undefined for fewer than two values or constant values", () => {
    const overlap = { horizon: 1, step: 1 };
    expect(summarizeSeries([0.1], overlap)).toBeUndefined();
    expect(summarizeSeries([0.1, 0.1], overlap)).toBeUndefined();
  });
});

describe("the block bootstrap interval", () => {
  const noise = Array.from({ length: 400 }, (_, index) => randomAt(3, index) - 0.5);

  it("is the same for the same seed and different for another seed", () => {
    expect(bootstrapInterval(noise, 4, 1)).toEqual(bootstrapInterval(noise, 4, 1));
    expect(bootstrapInterval(noise, 4, 1)).not.toEqual(bootstrapInterval(noise, 4, 90_000));
  });

  it("is about as wide as theory predicts for independent values", () => {
    const { low, high } = bootstrapInterval(noise, 1, 1) ?? { low: 0, high: 0 };
    const expected = (2 * 1.96 * sampleSd(noise)) / Math.sqrt(noise.length);
    expect((high - low) / expected).toBeGreaterThan(0.93);
    expect((high - low) / expected).toBeLessThan(1.07);
    expect(low).toBeLessThan(mean(noise));
    expect(high).toBeGreaterThan(mean(noise));
  });

  it("is wider when neighboring values are correlated, which the blocks preserve", () => {
    const slow = noise.map((_, index) => Math.sin(index / 12));
    const width = (block: number) => {
      const { low, high } = bootstrapInterval(slow, block, 1) ?? { low: 0, high: 0 };
      return high - low;
    };
    expect(width(20)).toBeGreaterThan(2 * width(1));
  });

  it("is undefined for a single value", () => {
    expect(bootstrapInterval([1], 1, 1)).toBeUndefined();
  });
});

describe("the seeded random generator", () => {
  it("is uniform and reproducible", () => {
    const draws = Array.from({ length: 20_000 }, (_, index) => randomAt(11, index));
    expect(mean(draws)).toBeCloseTo(0.5, 2);
    expect(sampleSd(draws)).toBeCloseTo(Math.sqrt(1 / 12), 2);
    expect(randomAt(11, 17)).toBe(draws[17]);
    const neighbors = rankCorrelation(draws.slice(1), draws.slice(0, -1));
    expect(Math.abs(neighbors ?? 1)).toBeLessThan(0.02);
  });

  it("shuffles each element to every position about equally often, without losing one", () => {
    const places = Array.from({ length: 3_000 }, (_, seed) => shuffled([0, 1, 2, 3, 4], seed));
    for (let place = 0; place < 5; place++) {
      expect(mean(places.map((order) => order[place] as number))).toBeCloseTo(2, 0.9);
    }
    expect(places[5]?.toSorted()).toEqual([0, 1, 2, 3, 4]);
  });
});

describe("the calibration of probability forecasts", () => {
  const probabilities = [0.6, 0.6, 0.55, 0.45, 0.4, 0.5, 0.55, 0.6];
  const outcomes = [1, 0, 1, 0, 0, 1, 1, 1] as const;
  const worked = probabilities.map((probability, index) => ({
    probability,
    outcome: outcomes[index] as 0 | 1,
  }));

  it("has the Brier score, climatology and skill of the method's worked example", () => {
    const result = calibrate(worked);
    expect(result?.brier).toBeCloseTo(0.2121875, 9);
    expect(result?.climatology).toBeCloseTo(0.234375, 9);
    expect(result?.skill).toBeCloseTo(0.094667, 6);
  });

  it("groups forecasts into ten bins of about equal size", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => ({
      probability: randomAt(1, index),
      outcome: randomAt(2, index) < randomAt(1, index) ? (1 as const) : (0 as const),
    }));
    const bins = calibrate(many)?.bins ?? [];
    expect(bins.map(({ forecasts }) => forecasts)).toEqual(new Array(10).fill(100));
    for (const { meanProbability, frequency } of bins) {
      expect(Math.abs(meanProbability - frequency)).toBeLessThan(0.15);
    }
  });

  it("is undefined without forecasts or when every outcome is the same", () => {
    expect(calibrate([])).toBeUndefined();
    expect(calibrate([{ probability: 0.7, outcome: 1 }])).toBeUndefined();
  });
});

describe("the correction for multiple testing", () => {
  const found = { sharpe: 0.1, periods: 250, skew: -0.3, kurtosis: 5 };

  it("has the deflated Sharpe ratio of the method's worked example", () => {
    const search = { variants: 40, sharpeSd: 0.05 };
    expect(expectedMaxSharpe(search)).toBeCloseTo(0.109474, 6);
    expect(deflatedSharpe(found, search)).toBeCloseTo(0.441726, 6);
    expect(deflatedSharpe(found, { variants: 1, sharpeSd: 0 })).toBeCloseTo(0.939108, 6);
  });

  it("computes the Sharpe ratio and the skewness of a series", () => {
    const sharpe = sharpeOf([0.1, -0.1, 0.3, -0.1]);
    expect(sharpe?.sharpe).toBeCloseTo(0.05 / sampleSd([0.1, -0.1, 0.3, -0.1]), 12);
    expect(sharpe?.skew).toBeCloseTo(0.00225 / 0.0275 ** 1.5, 9);
    expect(sharpeOf([0.1, 0.1, 0.1])).toBeUndefined();
    expect(sharpeOf([0.1, 0.2])).toBeUndefined();
  });
});

describe("the number of periods for a given power", () => {
  it("matches the method's worked example", () => {
    expect(Math.round(periodsForPower(0.02, 0.145) ?? 0)).toBe(413);
    expect(Math.round(periodsForPower(0.02, 0.1) ?? 0)).toBe(196);
    expect(Math.round((periodsForPower(0.01, 0.145) ?? 0) / 10) * 10).toBe(1650);
    expect(periodsForPower(0, 0.1)).toBeNull();
  });
});

describe("the drawdown of an equity curve", () => {
  it("is measured from the highest point so far", () => {
    expect(maxDrawdown([0.5, -0.2, -0.5, 1])).toBeCloseTo(0.6, 12);
    expect(maxDrawdown([-0.1])).toBeCloseTo(0.1, 12);
    expect(maxDrawdown([0.1, 0.2])).toBe(0);
    expect(wealthPath([1, -0.5])).toEqual([2, 1]);
  });

  it("is 1 after a total loss, from which the curve never recovers", () => {
    for (const left of wealthPath([0.5, -1.7, 4, -3]).slice(1)) expect(left).toBeCloseTo(0, 12);
    expect(maxDrawdown([0.5, -1.7, 4])).toBe(1);
  });
});

describe("regression residuals", () => {
  it("contain nothing that the columns and groups explain", () => {
    const x = [1, 2, 3, 4, 5, 6];
    const groups = ["a", "a", "a", "b", "b", "b"];
    const values = x.map((value, row) => 3 * value + (groups[row] === "a" ? 10 : -2));
    for (const left of residualize(values, [x], groups)) expect(left).toBeCloseTo(0, 9);
  });

  it("are uncorrelated with every column within each group", () => {
    const draw = (seed: number) => Array.from({ length: 50 }, (_, row) => randomAt(seed, row));
    const groups = draw(9).map((value) => (value < 0.5 ? "a" : "b"));
    const columns = [draw(1), draw(2), draw(3)];
    const left = residualize(draw(4), columns, groups);
    const centred = columns.map((column) => residualize(column, [], groups));
    for (const column of centred) {
      expect(mean(column.map((value, row) => value * (left[row] as number)))).toBeCloseTo(0, 12);
    }
  });

  it("are unaffected by a column that duplicates another or is constant", () => {
    const x = [1, 4, 2, 8];
    const groups = ["a", "a", "a", "a"];
    const values = [3, 1, 4, 1];
    const plain = residualize(values, [x], groups);
    const twice = residualize(values, [x, x.map((value) => 2 * value), [7, 7, 7, 7]], groups);
    for (const [row, left] of plain.entries()) expect(twice[row]).toBeCloseTo(left, 9);
  });
});

describe("the median", () => {
  it("is the middle value or the mean of the two middle values", () => {
    expect(medianOf([5, 1, 3])).toBe(3);
    expect(medianOf([4, 1, 3, 2])).toBe(2.5);
    expect(medianOf([])).toBeNaN();
  });
});
