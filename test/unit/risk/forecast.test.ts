import { describe, expect, it } from "vitest";
import { sessionVariance } from "../../../src/factors/volatility.ts";
import {
  computeSessionVariances,
  forecastSigma,
  RISK_MODELS,
  RISK_RULES,
} from "../../../src/risk/forecast.ts";
import { madeBars } from "./bars.ts";

const bars = madeBars(600);
const variances = computeSessionVariances(bars);

/** Weighted mean of the newest values, computed directly from the formula without running sums. */
const weighted = (values: readonly number[], weightOf: (age: number) => number) => {
  const newest = values.slice(-RISK_RULES.windowSessions).reverse();
  const weights = newest.map((_, age) => weightOf(age));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return newest.reduce((sum, value, age) => sum + value * (weights[age] ?? 0), 0) / total;
};

describe("the volatility forecast", () => {
  it("combines the fast and the slow volatility estimate of the variance proxy with weights .4 and .6", () => {
    const proxies = bars.slice(1).map((bar) => sessionVariance(bar, bar.logReturn ?? Number.NaN));
    const fast = Math.sqrt(weighted(proxies, (age) => 2 ** (-age / 2)));
    const slow = Math.sqrt(weighted(proxies, (age) => 2 ** (-age / 42)));
    expect(forecastSigma("blend", variances)).toBeCloseTo(0.4 * fast + 0.6 * slow, 14);
  });

  it("is also available from rival models: an exponentially weighted one, and one based on the last month", () => {
    const squares = bars.slice(1).map(({ logReturn }) => (logReturn ?? Number.NaN) ** 2);
    const ewma = Math.sqrt(weighted(squares, (age) => 0.94 ** age));
    const month = squares.slice(-21).reduce((sum, value) => sum + value, 0) / 21;
    expect(forecastSigma("ewma", variances)).toBeCloseTo(ewma, 14);
    expect(forecastSigma("random_walk", variances)).toBeCloseTo(Math.sqrt(month), 14);
  });

  it.each(RISK_MODELS)("of the model %s does not depend on where the history begins", (model) => {
    const short = computeSessionVariances(bars.slice(-252));
    expect(forecastSigma(model, short)).toBe(forecastSigma(model, variances));
  });

  it.each(RISK_MODELS)("of the model %s for a past close uses no later data", (model) => {
    const past = computeSessionVariances(bars.slice(0, 401));
    expect(forecastSigma(model, variances, 400)).toBe(forecastSigma(model, past));
  });

  it("requires 252 sessions with a return, and a price that changes", () => {
    expect(forecastSigma("blend", computeSessionVariances(bars.slice(0, 252)))).toBeUndefined();
    expect(forecastSigma("blend", computeSessionVariances(bars.slice(0, 253)))).toBeGreaterThan(0);
    const still = bars.map((bar) => {
      const price = { open: 5, high: 5, low: 5, close: 5 };
      return { ...bar, ...price, logReturn: bar.logReturn === null ? null : 0 };
    });
    expect(forecastSigma("blend", computeSessionVariances(still))).toBeUndefined();
  });

  it("skips sessions whose prices produce no finite number", () => {
    const broken = bars.map((bar, day) => (day === 590 ? { ...bar, low: 0 } : bar));
    expect(computeSessionVariances(broken).bars.length).toBe(variances.bars.length - 1);
    expect(forecastSigma("blend", computeSessionVariances(broken))).toBeGreaterThan(0);
  });
});
