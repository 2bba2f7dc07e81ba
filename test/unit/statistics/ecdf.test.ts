import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ecdfZ, freezeEcdfTable } from "../../../src/statistics/ecdf.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";

const table = {
  values: [-2, -1, 0, 1, 2],
  probabilities: [0.05, 0.25, 0.5, 0.75, 0.95],
};

describe("a frozen empirical distribution", () => {
  it("interpolates between knots (x 0.4 has p 0.6 and z 0.253347)", () => {
    expect(ecdfZ(table, 0.4)).toBeCloseTo(0.253347, 6);
  });

  it("maps [3, 1, 2, 2, 5] to normal scores of (mean rank - 0.5)/N", () => {
    const scores = [0.524401, -1.281552, -0.253347, -0.253347, 1.281552];
    for (const [index, p] of [0.7, 0.1, 0.4, 0.4, 0.9].entries()) {
      expect(normalQuantile(p)).toBeCloseTo(scores[index] ?? Number.NaN, 6);
    }
    const frozen = freezeEcdfTable([3, 1, 2, 2, 5], 5);
    // The outermost knots are clamped to 0.5 % and 99.5 %, which does not affect the values between
    // them.
    expect(frozen && ecdfZ(frozen, 3)).toBeCloseTo(0.524401, 6);
    expect(frozen && ecdfZ(frozen, 2)).toBeCloseTo(-0.253347, 6);
  });

  it("is constant beyond its first and last knots", () => {
    expect(ecdfZ(table, -50)).toBe(ecdfZ(table, -2));
    expect(ecdfZ(table, 50)).toBe(ecdfZ(table, 2));
  });

  it("maps a value that several knots share to the middle of their probabilities", () => {
    const tied = { values: [0, 1, 1, 1, 2], probabilities: [0.1, 0.3, 0.5, 0.7, 0.9] };
    expect(ecdfZ(tied, 1)).toBeCloseTo(0, 12);
  });

  it("has no jumps, not even at shared knots or at the ends", () => {
    const tied = { values: [0, 1, 1, 1, 2, 2], probabilities: [0.1, 0.3, 0.5, 0.7, 0.8, 0.95] };
    for (const knot of [0, 1, 2]) {
      expect(ecdfZ(tied, knot - 1e-12)).toBeCloseTo(ecdfZ(tied, knot), 9);
      expect(ecdfZ(tied, knot + 1e-12)).toBeCloseTo(ecdfZ(tied, knot), 9);
    }
    expect(ecdfZ(tied, 9)).toBe(ecdfZ(tied, 2));
  });

  it("has 101 knots, is symmetric for symmetric values and caps |z| at 2.576", () => {
    const values = Array.from({ length: 400 }, (_, index) => index - 199.5);
    const frozen = freezeEcdfTable(values);
    expect(frozen?.values).toHaveLength(101);
    expect(frozen && ecdfZ(frozen, 0)).toBeCloseTo(0, 12);
    expect(frozen && ecdfZ(frozen, 1e9)).toBeCloseTo(2.575829, 6);
    expect(frozen && ecdfZ(frozen, -1e9)).toBeCloseTo(-2.575829, 6);
  });

  it("assigns Hazen's (rank - 0.5)/N to the values themselves", () => {
    const frozen = freezeEcdfTable(Array.from({ length: 50 }, (_, index) => index));
    const middle = frozen?.probabilities.indexOf(0.5) ?? -1;
    expect(frozen?.values[middle]).toBeCloseTo(24.5, 12);
    expect(frozen?.values[frozen.probabilities.indexOf(0.01)]).toBe(0);
    expect(frozen?.values[frozen.probabilities.indexOf(0.03)]).toBeCloseTo(1, 12);
  });

  it("is not formed from fewer than 30 peers", () => {
    expect(freezeEcdfTable(Array.from({ length: 29 }, (_, index) => index))).toBeUndefined();
    expect(freezeEcdfTable(Array.from({ length: 30 }, (_, index) => index))).toBeDefined();
  });

  it("never decreases when the value increases, and never leaves its bounds", () => {
    const number = fc.double({ min: -1e6, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(number, { minLength: 30, maxLength: 200 }),
        number,
        number,
        (values, a, b) => {
          const frozen = freezeEcdfTable(values);
          if (frozen === undefined) throw new Error("30 values must be enough");
          const [low, high] = [ecdfZ(frozen, Math.min(a, b)), ecdfZ(frozen, Math.max(a, b))];
          expect(low).toBeLessThanOrEqual(high + 1e-12);
          expect(Math.abs(low)).toBeLessThan(2.5759);
          expect(Math.abs(high)).toBeLessThan(2.5759);
        },
      ),
      { seed: 7, numRuns: 300 },
    );
  });
});
