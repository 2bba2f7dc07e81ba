import { describe, expect, it } from "vitest";
import { measureEarningsSurprise } from "../../../src/factors/earnings-surprise.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Fundamental } from "../../../src/market/records.ts";
import { sampleSd } from "../../../src/statistics/statistics.ts";

/** Net income of consecutive quarters of 91 days, each filed `lagDays` days after the quarter. */
const filed = (values: readonly number[], lagDays = 30): readonly Fundamental[] =>
  values.map((value, quarter) => ({
    metric: "netIncome",
    value,
    periodEnd: 91 * quarter * DAY_MS,
    availableAt: (91 * quarter + lagDays) * DAY_MS,
  }));

const VALUES = [10, 20, 30, 40, 12, 25, 31, 48, 15, 22, 37, 44, 19];

describe("the earnings surprise", () => {
  it("is the latest year-over-year difference divided by the standard deviation of the last eight differences", () => {
    const differences = VALUES.slice(4).map((value, index) => value - (VALUES[index] as number));
    const last = differences.at(-1) as number;
    expect(measureEarningsSurprise(filed(VALUES), DAY_MS)).toEqual({
      value: last / sampleSd(differences.slice(-8)),
      availableAt: (91 * 12 + 30) * DAY_MS,
    });
  });

  it("is undefined with too few quarters, without the same quarter of the previous year, or without variation", () => {
    expect(measureEarningsSurprise(filed(VALUES.slice(0, 9)), DAY_MS)).toBeUndefined();
    expect(measureEarningsSurprise(filed(VALUES.slice(0, 10)), DAY_MS)).toBeDefined();
    expect(measureEarningsSurprise(filed(VALUES).toSpliced(8, 1), DAY_MS)).toBeUndefined();
    const steady = VALUES.map((_, quarter) => 10 * quarter);
    expect(measureEarningsSurprise(filed(steady), DAY_MS)).toBeUndefined();
    expect(measureEarningsSurprise([], DAY_MS)).toBeUndefined();
  });

  it("ignores other metrics, and filings made 182 days after the quarter", () => {
    const others = filed(VALUES).map((one): Fundamental => ({ ...one, metric: "equity" }));
    expect(measureEarningsSurprise(others, DAY_MS)).toBeUndefined();
    expect(measureEarningsSurprise(filed(VALUES, 182), DAY_MS)).toBeUndefined();
  });

  it("uses the last restatement of a quarter, but dates the quarter by its first filing", () => {
    const [first] = filed(VALUES).slice(-1);
    const restated = { ...(first as Fundamental), value: 99, availableAt: 91 * 12.9 * DAY_MS };
    const before = measureEarningsSurprise(filed(VALUES), DAY_MS);
    const after = measureEarningsSurprise([...filed(VALUES), restated], DAY_MS);
    expect(after?.availableAt).toBe(before?.availableAt);
    expect(after?.value).toBeGreaterThan(before?.value as number);
  });
});
