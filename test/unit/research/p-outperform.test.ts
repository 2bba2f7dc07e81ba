import { describe, expect, it } from "vitest";
import { pOutperform } from "../../../src/research/backtest/probabilities.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";

describe("the probability of beating the median", () => {
  it.each([
    [70, 0.02, 0.504],
    [90, 0.02, 0.51],
    [99, 0.02, 0.519],
    [70, 0.04, 0.508],
    [90, 0.04, 0.52],
    [99, 0.04, 0.537],
  ])(
    "is close to one half for weak evidence: score %d with correlation %d gives %d",
    (score, rho, expected) => {
      expect(pOutperform(normalQuantile(score / 100), rho)).toBeCloseTo(expected, 3);
    },
  );

  it("is one half for a neutral score or no correlation, symmetric, and increasing with the score", () => {
    expect(pOutperform(0, 0.02)).toBeCloseTo(0.5, 12);
    expect(pOutperform(1.5, 0)).toBe(0.5);
    for (let z = -3; z < 3; z += 0.1) {
      const p = pOutperform(z, 0.03);
      expect(pOutperform(z + 0.1, 0.03)).toBeGreaterThan(p);
      expect(pOutperform(-z, 0.03)).toBeCloseTo(1 - p, 12);
    }
  });
});
