import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fraction, points, wholePoints, withoutFloatNoise } from "../../../src/answers/rounding.ts";
import { THRESHOLDS } from "../../../src/score/signal-hysteresis.ts";

const { enterLong, exitLong, enterShort, exitShort } = THRESHOLDS;
const { enterConfidence, holdConfidence, minCoverage } = THRESHOLDS;

/** On which side of each threshold of the score, or of confidence and coverage, a value is. */
const pointSides = (value: number) => [
  ...[enterLong, exitLong].map((one) => value >= one),
  ...[enterShort, exitShort].map((one) => value <= one),
];
const fractionSides = (value: number) =>
  [enterConfidence, holdConfidence, minCoverage].map((one) => value >= one);

/** Values within the range, many of them close to a threshold. */
const near = (max: number, thresholds: readonly number[]) =>
  fc.oneof(
    fc.double({ min: 0, max, noNaN: true }),
    fc
      .tuple(fc.constantFrom(...thresholds), fc.double({ min: -0.006, max: 0.006, noNaN: true }))
      .map(([threshold, offset]) => Math.min(max, Math.max(0, threshold + offset * max))),
  );

describe("a rounded figure", () => {
  it.each([
    [points(69.996), 69.99],
    [points(70.004), 70],
    [points(30.004), 30.01],
    [points(29.996), 30],
    [wholePoints(69.996), 69],
    [wholePoints(54.6), 54],
    [wholePoints(30.4), 31],
    [wholePoints(69.4), 69],
    [fraction(0.29999), 0.2999],
    [fraction(0.599_96), 0.5999],
  ])("stays on its side of the threshold: %d", (rounded, expected) => {
    expect(rounded).toBe(expected);
  });

  it("never crosses a threshold, and is within one unit of the last decimal", () => {
    const score = near(100, [enterLong, exitLong, enterShort, exitShort]);
    const share = near(1, [enterConfidence, holdConfidence, minCoverage]);
    fc.assert(
      fc.property(score, share, (one, other) => {
        for (const [round, value, unit, sides] of [
          [wholePoints, one, 1, pointSides],
          [points, one, 0.01, pointSides],
          [fraction, other, 0.0001, fractionSides],
        ] as const) {
          expect(sides(round(value))).toEqual(sides(value));
          expect(Math.abs(round(value) - value)).toBeLessThan(unit * 1.000_001);
        }
      }),
      { seed: 3, numRuns: 5_000 },
    );
  });

  it("of prices and counts has no digits from binary arithmetic", () => {
    expect(withoutFloatNoise(125.43 * 300)).toBe(37_629);
    expect(withoutFloatNoise(0.1 + 0.2)).toBe(0.3);
    expect(withoutFloatNoise(123_456_789.37)).toBe(123_456_789.37);
  });
});
