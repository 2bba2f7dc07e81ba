import { describe, expect, it } from "vitest";
import {
  predictNextReport,
  quarterlyFilings,
  type ReportWindows,
} from "../../../src/factors/next-report.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Fundamental } from "../../../src/market/records.ts";

const WINDOWS: readonly ReportWindows[] = [
  { from: 0, days: { year_before: [-7, 8], median_lag: [-9, 10] } },
  { from: 2_000 * DAY_MS, days: { year_before: [-3, 4] } },
];

const filed = (
  periodDay: number,
  filedDay: number,
  metric: Fundamental["metric"] = "netIncome",
): Fundamental => ({
  metric,
  periodEnd: periodDay * DAY_MS,
  availableAt: filedDay * DAY_MS,
  value: 1,
});

/**
 * Filings of 91-day quarters, each made after the given number of days since the end of its
 * quarter. The first quarter ends on day 91, and `null` is a missing filing.
 */
const quarters = (...lags: readonly (number | null)[]) =>
  lags.flatMap((lag, index) => {
    const end = 91 * (index + 1);
    return lag === null ? [] : [filed(end, end + lag)];
  });

const askedOn = (figures: readonly Fundamental[], day: number) =>
  predictNextReport(quarterlyFilings(figures, DAY_MS), day * DAY_MS, WINDOWS, DAY_MS);

/** Converts the dates of an expected report from milliseconds to days. */
const inDays = (next: ReturnType<typeof askedOn>) => {
  if (next.is === "unknown") return next.reason;
  const { expected, earliest, latest, periodEnd, basis } = next.report;
  const days = [expected, earliest, latest, periodEnd].map((at) => at / DAY_MS);
  return { is: next.is, days, basis };
};

describe("the filings of a company", () => {
  const daysOf = (figures: readonly Fundamental[]) =>
    quarterlyFilings(figures, DAY_MS).map(({ periodEnd, availableAt }) => [
      periodEnd / DAY_MS,
      availableAt / DAY_MS,
    ]);

  it("are grouped by quarter, and each quarter is dated by the time when its first figure became known", () => {
    expect(daysOf([filed(91, 120), filed(91, 120, "equity"), filed(91, 130, "cash")])).toEqual([
      [91, 120],
    ]);
  });

  it("are each assigned to the newest quarter that the filing contains", () => {
    expect(daysOf([filed(0, 120), filed(91, 120), filed(0, 121, "cash"), filed(182, 210)])).toEqual(
      [
        [91, 120],
        [182, 210],
      ],
    );
  });

  it("exclude share counts and comparative figures for the previous year", () => {
    expect(daysOf([filed(110, 120, "shares"), filed(91, 488), filed(455, 488)])).toEqual([
      [455, 488],
    ]);
  });

  it("are derived again from the list of figures when the list has grown", () => {
    const list = quarters(30, 30);
    expect(daysOf(list)).toHaveLength(2);
    list.push(filed(273, 303));
    expect(daysOf(list)).toHaveLength(3);
  });
});

describe("the expected date of the next report", () => {
  it("is 364 days after the report for the same quarter of the previous year", () => {
    expect(inDays(askedOn(quarters(30, 31, 32, 45), 410))).toEqual({
      is: "expected",
      days: [91 + 30 + 364, 91 + 30 + 357, 91 + 30 + 372, 455],
      basis: "year_before",
    });
  });

  it("is estimated from the median lag when the filing for the same quarter of the previous year is missing", () => {
    const figures = quarters(30, 40, 30, 30, 30, 46, 30, 30, 30, null, 30, 30, 30);
    expect(inDays(askedOn(figures, 91 * 13 + 31))).toEqual({
      is: "expected",
      days: [91 * 14 + 40, 91 * 14 + 31, 91 * 14 + 50, 91 * 14],
      basis: "median_lag",
    });
  });

  it("is found for a fiscal year whose quarters end on a weekday instead of a month end", () => {
    const figures = [filed(91, 120), filed(182, 211), filed(273, 302), filed(371, 410)];
    expect(inDays(askedOn(figures, 411))).toMatchObject({ days: [484, 477, 492, 462] });
  });

  it("moves to the following quarter as soon as a report is filed", () => {
    const figures = quarters(30, 31, 32, 45, 29);
    const told = (day: number) => inDays(askedOn(figures, day));
    expect(told(455 + 28)).toMatchObject({ days: [485, 478, 493, 455] });
    expect(told(455 + 29)).toMatchObject({ days: [577, 570, 585, 546] });
  });

  it("counts as late from the day after its window, and is dropped if no report follows", () => {
    const figures = quarters(30, 31, 32, 45);
    expect(inDays(askedOn(figures, 493))).toMatchObject({ is: "expected" });
    expect(inDays(askedOn(figures, 494))).toMatchObject({ is: "late" });
    expect(inDays(askedOn(figures, 364 + 45 + 200))).toMatchObject({ is: "late" });
    expect(inDays(askedOn(figures, 364 + 45 + 201))).toBe("ceased");
  });

  it("is not estimated when there are too few filings", () => {
    expect(inDays(askedOn([], 400))).toBe("no_filings");
    expect(inDays(askedOn(quarters(30), 100))).toBe("no_filings");
    expect(inDays(askedOn(quarters(30, 31, 32), 310))).toBe("too_few");
  });

  it("has the window that was in force when the newest filing became known", () => {
    const figures = Array.from({ length: 23 }, (_, index) =>
      quarters(...Array(index + 1).fill(30)),
    ).at(-1);
    const width = (day: number) => {
      const told = inDays(askedOn(figures ?? [], day));
      return typeof told === "string" ? told : (told.days[2] ?? 0) - (told.days[1] ?? 0);
    };
    expect(width(91 * 21 + 30)).toBe(15);
    expect(width(91 * 22 + 29)).toBe(15);
    expect(width(91 * 22 + 30)).toBe(7);
  });

  it("does not depend on filings that are made later", () => {
    const figures = quarters(30, 31, 32, 45, 29, 33, 28, 44, 35, 90, 30, 60, 20, null, 30);
    for (let day = 100; day < 91 * 16; day += 7) {
      const known = figures.filter(({ availableAt }) => availableAt <= day * DAY_MS);
      expect(askedOn(figures, day)).toEqual(askedOn(known, day));
    }
  });
});
