import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FACTORS, type Factor, type Reading, unread } from "../../../src/factors/reading.ts";
import { compose, type Readings, WEIGHTS } from "../../../src/score/composite.ts";

const reading = (z: number, confidence: number): Reading => ({
  ...unread("stale"),
  status: "ok",
  z,
  confidence,
});

const all: Readings = {
  momentum: reading(1.2, 1),
  valuation: reading(-0.4, 1),
  social: reading(0.5, 0.6),
  darkpool: reading(-0.2, 0.4),
};

const sumOf = (contributions: Readonly<Record<Factor, number>>) =>
  FACTORS.reduce((sum, factor) => sum + contributions[factor], 0);

describe("the composite", () => {
  it("equals the worked example with all factors: Z .647567, score 74.1368, confidence .808", () => {
    const { z, score, confidence, coverage } = compose(all, WEIGHTS.stock);
    expect(z).toBeCloseTo(0.647567, 6);
    expect(score).toBeCloseTo(74.1368, 4);
    expect(confidence).toBeCloseTo(0.808, 9);
    expect(coverage).toBe(1);
  });

  it("equals it with two missing: Z .893666, score 81.4250, confidence .456", () => {
    const missing = unread("not_observed");
    const composite = compose({ ...all, valuation: missing, darkpool: missing }, WEIGHTS.stock);
    expect(composite.z).toBeCloseTo(0.893666, 6);
    expect(composite.score).toBeCloseTo(81.425, 4);
    expect(composite.confidence).toBeCloseTo(0.456, 9);
    expect(composite.coverage).toBeCloseTo(0.54, 9);
  });

  it("equals it with momentum at half confidence: Z .262064, score 60.3364, confidence .643", () => {
    const composite = compose({ ...all, momentum: reading(1.2, 0.5) }, WEIGHTS.stock);
    expect(composite.z).toBeCloseTo(0.262064, 6);
    expect(composite.score).toBeCloseTo(60.3364, 4);
    expect(composite.confidence).toBeCloseTo(0.643, 9);
  });

  it("is 50 with confidence 0 when nothing is known", () => {
    const nothing = unread("not_observed");
    const readings = { momentum: nothing, valuation: nothing, social: nothing, darkpool: nothing };
    const { score, confidence, coverage, contributions } = compose(readings, WEIGHTS.crypto);
    expect({ score, confidence, coverage }).toEqual({ score: 50, confidence: 0, coverage: 0 });
    expect(sumOf(contributions)).toBe(0);
  });

  it("splits score - 50 into contributions, and moves towards 50 when a factor goes missing", () => {
    const z = fc.double({ min: -3, max: 3, noNaN: true });
    const confidence = fc.double({ min: 0, max: 1, noNaN: true });
    const any = fc.tuple(z, confidence).map(([z, confidence]) => reading(z, confidence));
    fc.assert(
      fc.property(any, any, any, any, (momentum, valuation, social, darkpool) => {
        const readings = { momentum, valuation, social, darkpool };
        const { score, contributions, z } = compose(readings, WEIGHTS.stock);
        expect(sumOf(contributions)).toBeCloseTo(score - 50, 8);
        const sameSign = FACTORS.every((factor) => (readings[factor].z ?? 0) * z >= 0);
        if (!sameSign) return;
        const without = compose({ ...readings, momentum: unread("stale") }, WEIGHTS.stock);
        expect(Math.abs(without.score - 50)).toBeLessThanOrEqual(Math.abs(score - 50) + 1e-9);
      }),
      { seed: 11, numRuns: 500 },
    );
  });
});
