import { describe, expect, it } from "vitest";
import {
  type RankedValue,
  STEADINESS_INPUTS,
  STEADINESS_RULES,
  type SteadinessInputs,
} from "../../../src/score/steadiness.ts";
import {
  blendedLogVolatility,
  logBelowHigh,
  rankSteadiness,
  yearVolatilityAndBeta,
} from "../../../src/score/stock-steadiness.ts";
import { normalCdf, normalQuantile } from "../../../src/statistics/normal.ts";
import { randomAt } from "../../../src/statistics/random.ts";
import { historyOf, referenceBars, referenceMarket } from "../factors/reference.ts";

const COUNT = 40;

/** Inputs of 40 stocks: `bad` makes the last one the riskiest in every input. */
function inputsOf(
  change: (name: string, position: number) => number | undefined,
): SteadinessInputs {
  const column = (name: string, seed: number) =>
    Float64Array.from(
      { length: COUNT },
      (_, position) => change(name, position) ?? randomAt(seed, position),
    );
  return Object.fromEntries(
    STEADINESS_INPUTS.map((name, seed) => [name, column(name, seed)]),
  ) as unknown as SteadinessInputs;
}

const unchanged = () => undefined;

describe("the steadiness of stocks", () => {
  it("is the normal score of the weighted normal scores of five inputs", () => {
    const ranking = rankSteadiness(
      inputsOf((_, position) => position),
      7,
    );
    for (let position = 0; position < COUNT; position++) {
      const share = (position + 0.5) / COUNT;
      const reading = ranking.readingAt(position);
      expect([reading?.at, reading?.peers]).toEqual([7, COUNT]);
      expect(reading?.riskZ).toBeCloseTo(normalQuantile(share), 12);
      expect(reading?.value).toBeCloseTo(100 * (1 - share), 10);
    }
  });

  it("weighs the inputs as its rules say", () => {
    for (const name of STEADINESS_INPUTS) {
      // Only one input varies, so that its order alone decides.
      const one = rankSteadiness(
        inputsOf((other, position) => (other === name ? -position : 0)),
        0,
      );
      expect(one.readingAt(0)?.value, name).toBeLessThan(one.readingAt(1)?.value ?? 0);
    }
    // Two stocks change places in one input each: the heavier input decides.
    const [heavy, light] = ["yearVolatility", "belowHigh"] as const;
    const both = rankSteadiness(
      inputsOf((name, position) => {
        if (name === heavy) return position === 0 ? 1 : 0;
        if (name === light) return position === 1 ? 1 : 0;
        return 0;
      }),
      0,
    );
    expect(STEADINESS_RULES.weights[heavy]).toBeGreaterThan(STEADINESS_RULES.weights[light]);
    expect(both.readingAt(0)?.value ?? 0).toBeLessThan(both.readingAt(1)?.value ?? 0);
  });

  it("counts a missing input as 0, and ranks no stock without a variance", () => {
    const without = rankSteadiness(
      inputsOf((name, position) => {
        if (position === 0) return name === "volatility" ? Number.NaN : 1;
        return position === 1 && name !== "volatility" ? Number.NaN : undefined;
      }),
      0,
    );
    expect(without.readingAt(0)).toBeUndefined();
    expect(without.readingAt(1)?.peers).toBe(COUNT - 1);
  });

  it("is ranked in the reference tables with fewer than 30 stocks, and says so", () => {
    const few = (count: number) => {
      const all = inputsOf(unchanged);
      const cut = Object.entries(all).map(([name, column]) => [name, column.slice(0, count)]);
      return rankSteadiness(Object.fromEntries(cut) as SteadinessInputs, 0).readingAt(0);
    };
    expect(few(30)).toMatchObject({ isReference: false, peers: 30 });
    expect(few(29)).toMatchObject({ isReference: true, peers: 1_001 });
  });
});

describe("the evidence of steadiness", () => {
  const inputs = inputsOf((name, position) => {
    if (name === "lossOnAssets" && position < 9) return Number.NaN;
    return name === "beta" ? position % 4 : undefined;
  });
  const ranking = rankSteadiness(inputs, 7);

  it("gives the value when ranks are turned into normal scores and weighed", () => {
    const normalScore = ({ rank, of }: RankedValue) => normalQuantile((rank - 0.5) / of);
    for (let position = 0; position < COUNT; position++) {
      const reading = ranking.readingAt(position);
      const { risk, inputs: ranked } = reading?.evidence ?? expect.fail();
      const sum = STEADINESS_INPUTS.reduce((total, name) => {
        const one = ranked[name];
        if (!one) return total;
        expect(one.value).toBe(inputs[name][position]);
        return total + STEADINESS_RULES.weights[name] * normalScore(one);
      }, 0);
      expect(risk.value).toBeCloseTo(sum, 12);
      expect(reading?.value).toBeCloseTo(100 * normalCdf(-normalScore(risk)), 10);
    }
  });

  it("ranks among the stocks that have the input, equal values alike", () => {
    const { inputs: first } = ranking.readingAt(0)?.evidence ?? expect.fail();
    const { inputs: last } = ranking.readingAt(COUNT - 1)?.evidence ?? expect.fail();
    expect(first.lossOnAssets).toBeNull();
    expect(last.lossOnAssets?.of).toBe(COUNT - 9);
    expect([first.beta, last.beta]).toEqual([
      { value: 0, rank: 5.5, of: COUNT },
      { value: 3, rank: 35.5, of: COUNT },
    ]);
  });

  it("is kept when a reading is recorded as JSON", () => {
    const reading = ranking.readingAt(3);
    expect(JSON.parse(JSON.stringify(reading))).toEqual({
      at: 7,
      peers: COUNT,
      value: reading?.value,
      riskZ: reading?.riskZ,
      isReference: false,
      evidence: reading?.evidence,
    });
  });
});

describe("the inputs of steadiness", () => {
  const bars = referenceBars(400);
  const returns = bars.flatMap(({ logReturn }) => (logReturn === null ? [] : [logReturn]));

  it("measure the returns of 252 sessions, or of fewer from 126 on", () => {
    for (const length of [126, 127, 200, 253, 254, 400]) {
      const own = returns.slice(Math.max(0, length - 1 - 252), length - 1);
      const market = referenceMarket.slice(length - own.length, length);
      const history = historyOf(bars.slice(0, length));
      const { yearVolatility, beta } = yearVolatilityAndBeta(history, referenceMarket);
      if (own.length < STEADINESS_RULES.minReturns) {
        expect([yearVolatility, beta]).toEqual([Number.NaN, Number.NaN]);
        continue;
      }
      const mean = (values: readonly number[]) =>
        values.reduce((sum, value) => sum + value, 0) / values.length;
      const [center, marketCenter] = [mean(own), mean(market)];
      const variance = mean(own.map((value) => (value - center) ** 2));
      const covariance = mean(
        own.map((value, index) => (value - center) * ((market[index] as number) - marketCenter)),
      );
      const marketVariance = mean(market.map((value) => (value - marketCenter) ** 2));
      expect(yearVolatility).toBeCloseTo(Math.log(Math.sqrt(variance)), 6);
      expect(beta).toBeCloseTo(covariance / marketVariance, 5);
    }
  });

  it("measure the distance from the year's high from 240 bars on", () => {
    expect(logBelowHigh(historyOf(bars.slice(0, 239)))).toBeNaN();
    const known = bars.slice(0, 300);
    let close = 0;
    const closes = known.map(({ logReturn }) => {
      close += logReturn ?? 0;
      return close;
    });
    const highs = closes.slice(-252).map((close) => close + Math.log(1.01));
    expect(logBelowHigh(historyOf(known))).toBeCloseTo(
      Math.max(...highs) - (closes.at(-1) ?? 0),
      6,
    );
  });

  it("blend a fast and a slow variance, which begin with the first return", () => {
    expect(blendedLogVolatility(historyOf(bars.slice(0, 1)))).toBeNaN();
    const [decayFast, decaySlow] = [2 ** (-1 / 2), 2 ** (-1 / 42)];
    let fast = Number.NaN;
    let slow = Number.NaN;
    for (const { open, high, low, close, logReturn } of bars) {
      if (logReturn === null) continue;
      const gap = logReturn + Math.log(open / close);
      const range =
        Math.log(high / close) * Math.log(high / open) +
        Math.log(low / close) * Math.log(low / open);
      const variance = gap ** 2 + Math.max(0, range);
      fast = Number.isNaN(fast) ? variance : decayFast * fast + (1 - decayFast) * variance;
      slow = Number.isNaN(slow) ? variance : decaySlow * slow + (1 - decaySlow) * variance;
    }
    expect(blendedLogVolatility(historyOf(bars))).toBeCloseTo(
      Math.log(0.4 * Math.sqrt(fast) + 0.6 * Math.sqrt(slow)),
      12,
    );
  });
});
