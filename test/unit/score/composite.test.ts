import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  FACTORS,
  type Factor,
  type FactorReading,
  missingReading,
} from "../../../src/factors/reading.ts";
import {
  BASE_FACTOR_WEIGHTS,
  composeScore,
  FACTORS_BY_CLASS,
  type FactorReadings,
  scoreContributions,
} from "../../../src/score/composite.ts";

const reading = (z: number, confidence: number): FactorReading => ({
  ...missingReading("stale"),
  status: "ok",
  z,
  confidence,
});

const all: FactorReadings = {
  momentum: reading(1.2, 1),
  valuation: reading(-0.4, 1),
  social: reading(0.5, 0.6),
  darkpool: reading(-0.2, 0.4),
};

const sumOf = (contributions: Readonly<Record<Factor, number>>) =>
  FACTORS.reduce((sum, factor) => sum + contributions[factor], 0);

describe("the composite score", () => {
  it("matches the worked example with all factors: Z .647567, score 74.1368, confidence .808", () => {
    const { z, score, confidence, coverage } = composeScore(all, BASE_FACTOR_WEIGHTS.etf);
    expect(z).toBeCloseTo(0.647567, 6);
    expect(score).toBeCloseTo(74.1368, 4);
    expect(confidence).toBeCloseTo(0.808, 9);
    expect(coverage).toBe(1);
  });

  it("matches the worked example with two factors missing: Z .893666, score 81.4250, confidence .456", () => {
    const missing = missingReading("not_observed");
    const composite = composeScore(
      { ...all, valuation: missing, darkpool: missing },
      BASE_FACTOR_WEIGHTS.etf,
    );
    expect(composite.z).toBeCloseTo(0.893666, 6);
    expect(composite.score).toBeCloseTo(81.425, 4);
    expect(composite.confidence).toBeCloseTo(0.456, 9);
    expect(composite.coverage).toBeCloseTo(0.54, 9);
  });

  it("matches the worked example with momentum at half confidence: Z .262064, score 60.3364, confidence .643", () => {
    const composite = composeScore(
      { ...all, momentum: reading(1.2, 0.5) },
      BASE_FACTOR_WEIGHTS.etf,
    );
    expect(composite.z).toBeCloseTo(0.262064, 6);
    expect(composite.score).toBeCloseTo(60.3364, 4);
    expect(composite.confidence).toBeCloseTo(0.643, 9);
  });

  it("has a coverage relative to the factors that apply to the asset class", () => {
    const missing = missingReading("not_observed");
    const fund = { ...all, valuation: missing, darkpool: missing };
    const { coverage } = composeScore(fund, BASE_FACTOR_WEIGHTS.etf, FACTORS_BY_CLASS.etf);
    expect(coverage).toBeCloseTo((0.33 + 0.21) / (0.33 + 0.21 + 0.18), 9);
    const coin = { ...all, darkpool: missing };
    expect(
      composeScore(coin, BASE_FACTOR_WEIGHTS.crypto, FACTORS_BY_CLASS.crypto).coverage,
    ).toBeCloseTo(0.88, 9);
  });

  it("is 50 with confidence 0 when nothing is known", () => {
    const nothing = missingReading("not_observed");
    const readings = { momentum: nothing, valuation: nothing, social: nothing, darkpool: nothing };
    const { score, confidence, coverage } = composeScore(readings, BASE_FACTOR_WEIGHTS.crypto);
    expect({ score, confidence, coverage }).toEqual({ score: 50, confidence: 0, coverage: 0 });
    expect(sumOf(scoreContributions(score, readings, BASE_FACTOR_WEIGHTS.crypto))).toBe(0);
  });

  it("has weights that are the rounded mean of equal weights and weights by prior evidence", () => {
    const priors = {
      etf: { momentum: 0.02, valuation: 0.015, social: 0.008, darkpool: 0.005 },
      crypto: { momentum: 0.025, valuation: 0.01, social: 0.008, darkpool: 0 },
    };
    for (const [assetClass, prior] of Object.entries(priors)) {
      const sum = FACTORS.reduce((all, factor) => all + prior[factor], 0);
      const weights = BASE_FACTOR_WEIGHTS[assetClass as keyof typeof priors];
      for (const factor of FACTORS) {
        const exact = 0.5 / 4 + (0.5 * prior[factor]) / sum;
        // The method rounds .125 down.
        expect(Math.abs(weights[factor] - exact), factor).toBeLessThanOrEqual(0.0051);
      }
    }
    const { momentum, valuation, social, darkpool } = BASE_FACTOR_WEIGHTS.stock;
    expect([momentum, valuation, social, darkpool]).toEqual([1.6 / 3, 0.8 / 3, 0.1, 0.1]);
  });
});

/** Tolerance for the rounding of a score, in points. */
const ROUNDING = 1e-9;

describe("the composite score, for any z-scores and confidences,", () => {
  const z = fc.double({ min: -3, max: 3, noNaN: true });
  const confidence = fc.double({ min: 0, max: 1, noNaN: true });
  const evidence = fc.record({ z, confidence });
  const readingOf = (
    one: { readonly z: number; readonly confidence: number } | null,
  ): FactorReading => (one === null ? missingReading("stale") : reading(one.z, one.confidence));
  const factors = fc.record({
    momentum: fc.option(evidence),
    valuation: fc.option(evidence),
    social: fc.option(evidence),
    darkpool: fc.option(evidence),
  });
  const weights = fc.constantFrom(
    BASE_FACTOR_WEIGHTS.stock,
    BASE_FACTOR_WEIGHTS.etf,
    BASE_FACTOR_WEIGHTS.crypto,
  );
  const any = fc.record({ factors, weights, factor: fc.constantFrom(...FACTORS) });
  type Any = typeof any extends fc.Arbitrary<infer T> ? T : never;
  const readingsOf = (one: Any["factors"]): FactorReadings => ({
    momentum: readingOf(one.momentum),
    valuation: readingOf(one.valuation),
    social: readingOf(one.social),
    darkpool: readingOf(one.darkpool),
  });
  const always = (
    property: (
      one: Any,
      composite: ReturnType<typeof composeScore>,
      readings: FactorReadings,
    ) => void,
  ) =>
    fc.assert(
      fc.property(any, (one) => {
        const readings = readingsOf(one.factors);
        property(one, composeScore(readings, one.weights), readings);
      }),
      { seed: 11, numRuns: 1_000 },
    );

  it("is bounded, like confidence and coverage, and deterministic", () => {
    always(({ weights }, composite, readings) => {
      expect(composite.score).toBeGreaterThanOrEqual(0);
      expect(composite.score).toBeLessThanOrEqual(100);
      for (const part of [composite.confidence, composite.coverage]) {
        expect(part).toBeGreaterThanOrEqual(0);
        expect(part).toBeLessThanOrEqual(1);
      }
      expect(composeScore(readings, weights)).toEqual(composite);
    });
  });

  it("differs from 50 by the sum of the factors' contributions", () => {
    always(({ weights }, { score }, readings) => {
      expect(sumOf(scoreContributions(score, readings, weights))).toBeCloseTo(score - 50, 8);
    });
  });

  it("never decreases when the z-score of a factor increases", () => {
    fc.assert(
      fc.property(any, z, (one, other) => {
        const { confidence: trust = 1 } = one.factors[one.factor] ?? {};
        const [low, high] = [other, one.factors[one.factor]?.z ?? 0].sort((a, b) => a - b);
        const at = (value: number | undefined) =>
          composeScore(
            { ...readingsOf(one.factors), [one.factor]: reading(value ?? 0, trust) },
            one.weights,
          ).score;
        expect(at(high)).toBeGreaterThanOrEqual(at(low) - ROUNDING);
      }),
      { seed: 12, numRuns: 1_000 },
    );
  });

  it("moves further toward a factor's value when the factor has more confidence", () => {
    fc.assert(
      fc.property(any, z, fc.tuple(confidence, confidence), (one, value, trusts) => {
        const [less, more] = trusts.sort((a, b) => a - b);
        const at = (trust: number | undefined) =>
          composeScore(
            { ...readingsOf(one.factors), [one.factor]: reading(value, trust ?? 0) },
            one.weights,
          );
        const step = (at(more).score - at(less).score) * Math.sign(value);
        expect(step).toBeGreaterThanOrEqual(-ROUNDING);
        expect(at(more).confidence).toBeGreaterThanOrEqual(at(less).confidence);
      }),
      { seed: 13, numRuns: 1_000 },
    );
  });

  it("treats a missing factor as its prior mean z = 0, and not as the mean of the other factors", () => {
    always(({ weights, factor }, _, readings) => {
      const evidence = { ...readings, [factor]: missingReading("stale") };
      const without = composeScore(evidence, weights);
      const neutral = composeScore({ ...readings, [factor]: reading(0, 1) }, weights);
      expect(without.z).toBe(neutral.z);
      expect(without.score).toBe(neutral.score);
      expect(without.confidence).toBeLessThan(neutral.confidence);
      const contributions = scoreContributions(without.score, evidence, weights);
      expect(Math.abs(contributions[factor])).toBe(0);
    });
  });

  it("moves toward 50 when a factor that no other factor contradicts is removed", () => {
    always(({ weights, factor }, { score, z }, readings) => {
      const isOneSided = FACTORS.every((name) => (readings[name].z ?? 0) * z >= 0);
      if (!isOneSided) return;
      const without = composeScore({ ...readings, [factor]: missingReading("stale") }, weights);
      expect(Math.abs(without.score - 50)).toBeLessThanOrEqual(Math.abs(score - 50) + ROUNDING);
      expect((without.score - 50) * (score - 50)).toBeGreaterThanOrEqual(0);
    });
  });
});
