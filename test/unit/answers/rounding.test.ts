import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  roundFraction,
  roundScorePoints,
  roundToWholePoints,
  withoutFloatNoise,
} from "../../../src/answers/rounding.ts";
import { SIGNAL_THRESHOLDS } from "../../../src/score/signal-hysteresis.ts";

const { enterLong, exitLong, enterShort, exitShort } = SIGNAL_THRESHOLDS.etf;
const [enterConfidence, holdConfidence, minCoverage] = [0.3, 0.25, 0.6];

/** Returns, for each score threshold, whether a value has reached the threshold. */
const pointSides = (value: number) => [
  ...[enterLong, exitLong].map((one) => value >= one),
  ...[enterShort, exitShort].map((one) => value <= one),
];
const fractionSides = (value: number) =>
  [enterConfidence, holdConfidence, minCoverage].map((one) => value >= one);

/** Values from 0 to `max`, many of them close to a threshold. */
const near = (max: number, thresholds: readonly number[]) =>
  fc.oneof(
    fc.double({ min: 0, max, noNaN: true }),
    fc
      .tuple(fc.constantFrom(...thresholds), fc.double({ min: -0.006, max: 0.006, noNaN: true }))
      .map(([threshold, offset]) => Math.min(max, Math.max(0, threshold + offset * max))),
  );

describe("a rounded figure", () => {
  it.each([
    [roundScorePoints(69.996), 69.99],
    [roundScorePoints(70.004), 70],
    [roundScorePoints(30.004), 30.01],
    [roundScorePoints(29.996), 30],
    [roundScorePoints(89.996), 89.99],
    [roundScorePoints(10.004), 10.01],
    [roundToWholePoints(50.4), 50],
    [roundToWholePoints(69.996), 69],
    [roundToWholePoints(54.6), 54],
    [roundToWholePoints(30.4), 31],
    [roundToWholePoints(69.4), 69],
    [roundFraction(0.29999), 0.2999],
    [roundFraction(0.599_96), 0.5999],
  ])("stays on the same side of its threshold (%d)", (rounded, expected) => {
    expect(rounded).toBe(expected);
  });

  it("never crosses a threshold, and is within one unit of the last decimal of the exact value", () => {
    const score = near(100, [enterLong, exitLong, enterShort, exitShort]);
    const share = near(1, [enterConfidence, holdConfidence, minCoverage]);
    fc.assert(
      fc.property(score, share, (one, other) => {
        for (const [round, value, unit, sides] of [
          [roundToWholePoints, one, 1, pointSides],
          [roundScorePoints, one, 0.01, pointSides],
          [roundFraction, other, 0.0001, fractionSides],
        ] as const) {
          expect(sides(round(value))).toEqual(sides(value));
          expect(Math.abs(Number(round(value)) - value)).toBeLessThan(unit * 1.000_001);
        }
      }),
      { seed: 3, numRuns: 5_000 },
    );
  });

  it("has no floating-point noise when it is a price or a count", () => {
    expect(withoutFloatNoise(125.43 * 300)).toBe(37_629);
    expect(withoutFloatNoise(0.1 + 0.2)).toBe(0.3);
    expect(withoutFloatNoise(123_456_789.37)).toBe(123_456_789.37);
  });
});
