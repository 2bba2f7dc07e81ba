import { describe, expect, it } from "vitest";
import {
  type ClaimStatement,
  claimCoefficient,
  estimateClaim,
} from "../../../src/grading/claim-estimate.ts";
import { exposurePercentiles } from "../../../src/score/exposures.ts";

const SECTORS = ["Energy", "Utilities", null] as const;
const NAMES = Array.from({ length: 24 }, (_, name) => name);

/** The cross-section whose coefficient numpy 2.4 and scipy 1.17 computed (`EXPECTED`). */
function workedExample(): readonly ClaimStatement[] {
  const sigma = NAMES.map((name) => 0.02 + 0.01 * (name % 5));
  const percentiles = exposurePercentiles({
    beta: Float64Array.from(NAMES, (name) => Math.cos(3.1 * name)),
    volatility: Float64Array.from(sigma, (value, name) => value + 0.001 * Math.sin(name)),
    dollarVolume: Float64Array.from(NAMES, (name) => Math.sin(5.3 * name)),
  });
  const rounded = (percentile: number | null | undefined) =>
    Math.round(100 * (percentile ?? 0)) / 100;
  return NAMES.map((name) => {
    const score = 50 + 40 * Math.sin(1.7 * name);
    const followed =
      0.03 * Math.cos(2.3 * name) + 0.0004 * (score - 50) + 0.02 * Math.sin(0.9 * name);
    return {
      score,
      followed,
      sigma: name === 4 ? null : (sigma[name] as number),
      percentiles: {
        beta: name === 11 ? null : rounded(percentiles[name]?.beta),
        volatility: rounded(percentiles[name]?.volatility),
        dollarVolume: rounded(percentiles[name]?.dollarVolume),
      },
      sector: SECTORS[name % 3] ?? null,
    };
  });
}

/**
 * Spearman's correlation of the scores with the residuals of numpy.linalg.lstsq on norm.ppf of the
 * percentiles and on one indicator per sector, without the two incomplete statements.
 */
const EXPECTED = 0.3800112930547713;

describe("the coefficient of a claim on one date", () => {
  it("equals an independent computation by least squares", () => {
    expect(claimCoefficient(workedExample())).toBeCloseTo(EXPECTED, 12);
  });

  it("is blind to what beta, volatility, dollar volume and sector explain", () => {
    const moved = workedExample().map((one) => ({
      ...one,
      followed: one.followed + (one.sector === "Energy" ? 5 : -5) * (one.sigma ?? 0),
    }));
    expect(claimCoefficient(moved)).toBeCloseTo(EXPECTED, 12);
  });

  it("needs ten complete statements and scores that differ", () => {
    const complete = workedExample().filter(
      ({ sigma, percentiles }) => sigma !== null && percentiles.beta !== null,
    );
    expect(claimCoefficient(complete.slice(0, 10))).not.toBeNull();
    expect(claimCoefficient(complete.slice(0, 9))).toBeNull();
    expect(claimCoefficient(complete.map((one) => ({ ...one, score: 50 })))).toBeNull();
  });

  it("takes a percentile that was rounded to 0 or 100", () => {
    const edge = workedExample().map((one, name) =>
      name > 1
        ? one
        : { ...one, percentiles: { beta: 100 * name, volatility: 100 * name, dollarVolume: 50 } },
    );
    expect(Math.abs(claimCoefficient(edge) ?? 9)).toBeLessThanOrEqual(1);
  });
});

describe("the estimate of a claim", () => {
  it("summarizes the dates that have a coefficient", () => {
    const coefficients = [0.03, null, -0.01, 0.05, 0, 0.02];
    const estimate = estimateClaim(coefficients, 5);
    expect(estimate).toMatchObject({ dates: 5, mean: expect.closeTo(0.018, 12) });
    expect(estimateClaim([null, 0.01], 5)).toBeNull();
  });
});
