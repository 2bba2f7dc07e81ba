import { describe, expect, it } from "vitest";
import { CALIBRATION, pOutperform } from "../../../src/score/composite.ts";

describe("the probability of beating the median", () => {
  it.each([
    [70, 0.02, 0.504],
    [90, 0.02, 0.51],
    [99, 0.02, 0.519],
    [70, 0.04, 0.508],
    [90, 0.04, 0.52],
    [99, 0.04, 0.537],
  ])(
    "is close to a half for weak evidence: score %d at rho %d means %d",
    (score, rho, expected) => {
      expect(pOutperform(score, rho)).toBeCloseTo(expected, 3);
    },
  );

  it("is a half for a neutral score or no skill, symmetric, and rises with the score", () => {
    expect(pOutperform(50, 0.02)).toBeCloseTo(0.5, 12);
    expect(pOutperform(93, 0)).toBe(0.5);
    for (let score = 1; score < 99; score++) {
      const p = pOutperform(score, 0.03) ?? Number.NaN;
      expect(pOutperform(score + 1, 0.03)).toBeGreaterThan(p);
      expect(pOutperform(100 - score, 0.03)).toBeCloseTo(1 - p, 12);
    }
  });

  it("is not published before it is calibrated", () => {
    for (const rho of Object.values(CALIBRATION)) {
      if (rho === null) expect(pOutperform(80, rho)).toBeNull();
      else expect(rho).toBeGreaterThanOrEqual(0);
    }
  });
});
