import { describe, expect, it } from "vitest";
import { LIVE_CLAIM, liveClaimFigures, liveClaimTerms } from "../../../src/grading/live-claim.ts";
import { gradeRun } from "../../../src/grading/run-grade.ts";
import type { GradedRun } from "../../../src/grading/track-record.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { randomAt } from "../../../src/statistics/random.ts";

const REGISTERED = Date.UTC(2026, 10, 28, 21);
const TERMS = liveClaimTerms(REGISTERED);
const [FIRST = 0, SECOND = 0] = TERMS.looks.map(({ at }) => at);
const EXCLUDED = { failed: 0, unscored: 0, untraded: 0, unsettled: 0, copies: 0 };

/** A graded run with a coefficient of the score. */
const runOf = (day: number, score: number | null, change: Partial<GradedRun> = {}): GradedRun => ({
  ...gradeRun([], undefined),
  ...{ close: REGISTERED + day * DAY_MS, exit: REGISTERED + (day + 6) * DAY_MS },
  ...{ isLate: false, excluded: EXCLUDED, neutralIc: { score, candidate: 0.5 } },
  ...change,
});

/** Coefficients around a mean, one a day. */
const runsAround = (mean: number, count: number) =>
  Array.from({ length: count }, (_, day) => runOf(day, mean + (randomAt(8, day) - 0.5) / 5));

const verdictsOf = (runs: readonly GradedRun[], now: number) =>
  liveClaimFigures(TERMS, runs, now).verdicts.map(({ verdict }) => verdict);

describe("the claim about the live score", () => {
  it("is judged 1, 2, 3, 5 and 10 years after it was registered, at equal shares of 5 %", () => {
    expect(TERMS.looks.map(({ at }) => new Date(at).toISOString())).toEqual(
      [2027, 2028, 2029, 2031, 2036].map((year) => `${year}-11-28T00:00:00.000Z`),
    );
    expect(TERMS.looks.map(({ significance }) => significance)).toEqual(Array(5).fill(0.01));
  });

  it("has no verdict before the first date, and not enough data with fewer than 200 runs", () => {
    const many = runsAround(0.05, 250);
    expect(verdictsOf(many, FIRST - 1)).toEqual([]);
    expect(verdictsOf(many, FIRST)).toEqual(["confirmed_live"]);
    expect(verdictsOf(many.slice(0, LIVE_CLAIM.minDates - 1), FIRST)).toEqual([
      "insufficient_data",
    ]);
    expect(verdictsOf([], FIRST)).toEqual(["insufficient_data"]);
    const without = many.map((run) => ({ ...run, neutralIc: undefined }));
    expect(verdictsOf(without, FIRST)).toEqual(["insufficient_data"]);
  });

  it("is not confirmed by a coefficient around 0 or below, nor by one that 5 % alone would confirm", () => {
    expect(verdictsOf(runsAround(0, 300), FIRST)).toEqual(["not_confirmed_live"]);
    expect(verdictsOf(runsAround(-0.05, 300), FIRST)).toEqual(["not_confirmed_live"]);
    const weak = runsAround(0.0065, 300);
    const t = liveClaimFigures(TERMS, weak, FIRST).score?.t ?? 0;
    expect(t).toBeGreaterThan(1.96);
    expect(t).toBeLessThan(2.5);
    expect(verdictsOf(weak, FIRST)).toEqual(["not_confirmed_live"]);
  });

  it("counts only runs that were covered in time and whose returns had ended by the date", () => {
    const runs = [
      ...runsAround(0.05, 250),
      ...runsAround(-0.9, 150).map((run) => ({ ...run, exit: FIRST + 1 })),
    ];
    expect(verdictsOf(runs, SECOND)).toEqual(["confirmed_live", "not_confirmed_live"]);
    const late = runs.map((run) => ({ ...run, isLate: true }));
    expect(liveClaimFigures(TERMS, late, FIRST)).toMatchObject({
      ...{ score: null, candidate: null, verdicts: [{ at: FIRST, verdict: "insufficient_data" }] },
    });
  });

  it("states the mean coefficient of the score, and of the candidate beside it", () => {
    const values = [0.02, null, 0.04, -0.03];
    const runs = values.map((value, day) =>
      runOf(day, value, { neutralIc: { score: value, candidate: day / 100 } }),
    );
    const { score, candidate } = liveClaimFigures(TERMS, runs, 0);
    expect(score).toMatchObject({ dates: 3, value: expect.closeTo(0.01, 12) });
    expect(candidate).toMatchObject({ dates: 4, value: expect.closeTo(0.015, 12) });
    expect(score?.low).toBeLessThan(0.01);
    expect(score?.high).toBeGreaterThan(0.01);
  });
});
