import { describe, expect, it } from "vitest";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import type { Bar, Fundamental } from "../../../src/market/records.ts";
import { RISK_TABLE, SIMULATED_RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { riskOutlook } from "../../../src/risk/outlook.ts";
import { detectRangeAlert } from "../../../src/risk/range-events.ts";
import {
  horizonSigma,
  horizonVariance,
  sessionsToReport,
  spansReport,
} from "../../../src/risk/report-days.ts";
import type { HorizonRiskTable } from "../../../src/risk/table.ts";
import { fitReportDays } from "../../method/report-day-fit.ts";
import { filedFundamental, madeBars, weekdayBars } from "./bars.ts";

const [WEEK, MONTH] = RISK_TABLE.classes.stock as readonly [HorizonRiskTable, HorizonRiskTable];

/**
 * Filings after which the next report is expected on Thursday 2024-08-01, 364 days after the first.
 */
const fundamentals = [
  filedFundamental("2023-06-30", "2023-08-03"),
  filedFundamental("2023-09-30", "2023-11-02"),
  filedFundamental("2023-12-31", "2024-02-01"),
  filedFundamental("2024-03-31", "2024-05-02"),
];

/** The bar of a session, which is known 15 minutes after its close. */
const barOf = (session: string): Bar => {
  const [bar] = madeBars(1) as [Bar];
  return { ...bar, session, availableAt: newYorkInstant(session, "16:15") };
};

const reportIn = (session: string, figures: readonly Fundamental[] = fundamentals) =>
  sessionsToReport(WEEK, { bars: [], fundamentals: figures }, barOf(session));

describe("the number of sessions until the next report", () => {
  it.each([
    ["on the day of the report", "2024-08-01", 0],
    ["on the day before the report", "2024-07-31", 1],
    ["before a weekend", "2024-07-26", 4],
    ["before a holiday", "2024-07-03", 20],
    ["after the expected day if no report was filed", "2024-08-05", -2],
  ])("%s (%s) is %i", (_when, session, sessions) => {
    expect(reportIn(session)).toBe(sessions);
  });

  it("is counted up to the next session when the report is expected on a day without trading", () => {
    // Good Friday, 2024-03-29, is 364 days after Friday, 2023-03-31.
    const figures = [
      filedFundamental("2022-12-31", "2023-03-31"),
      filedFundamental("2023-03-31", "2023-05-04"),
      filedFundamental("2023-06-30", "2023-08-03"),
      filedFundamental("2023-09-30", "2023-11-02"),
    ];
    expect(reportIn("2024-03-27", figures)).toBe(2);
    expect(reportIn("2024-03-28", figures)).toBe(1);
  });

  it("is counted to the following report from the session after a filing, because a filing becomes known after the close", () => {
    const figures = [...fundamentals, filedFundamental("2024-06-30", "2024-08-01")];
    expect(reportIn("2024-08-01", figures)).toBe(0);
    expect(reportIn("2024-08-02", figures)).toBe(63);
  });

  it("is counted across the end of a year", () => {
    const figures = [
      filedFundamental("2022-11-30", "2023-01-05"),
      filedFundamental("2023-08-31", "2023-10-05"),
    ];
    expect(reportIn("2023-12-29", figures)).toBe(3);
  });

  it("is unknown without filings, or two years after the last filing", () => {
    expect(reportIn("2024-07-26", [])).toBeNull();
    expect(reportIn("2026-08-05")).toBeNull();
  });

  it("is not determined for a table that ignores reports", () => {
    const records = { bars: [], fundamentals };
    expect(sessionsToReport(MONTH, records, barOf("2024-07-31"))).toBeNull();
  });

  it("does not change when the filing a year earlier was delivered hours late", () => {
    for (const hours of [0, 9, 19]) {
      const [first, ...others] = fundamentals as [Fundamental, ...Fundamental[]];
      const late = { ...first, availableAt: first.availableAt + hours * 3_600_000 };
      expect(reportIn("2024-07-31", [late, ...others]), `${hours} hours`).toBe(1);
    }
  });
});

describe("the volatility forecast across a report", () => {
  /**
   * Variance factors: 2.7 on the session of the expected report, 1.5 on the session before, and 1
   * elsewhere.
   */
  const spread = { horizon: 5, reportDays: { before: 1, factors: [1.5, 2.7] } };

  it("sums the variance factors of its sessions by their distance from the expected report", () => {
    expect(horizonVariance(spread, null)).toBe(5);
    expect(horizonVariance(spread, 3)).toBeCloseTo(1 + 1.5 + 2.7 + 1 + 1, 12);
    expect(horizonVariance(spread, 1)).toBeCloseTo(2.7 + 4, 12);
    expect(horizonVariance(spread, 6)).toBeCloseTo(4 + 1.5, 12);
    expect(horizonVariance(spread, 0)).toBe(5);
    expect(horizonVariance(spread, 60)).toBe(5);
    expect(horizonVariance(spread, -60)).toBe(5);
  });

  it("is scaled by the square root of the sum of factors, or of the horizon without factors", () => {
    expect(horizonSigma(0.02, spread, 3)).toBeCloseTo(0.02 * Math.sqrt(7.2), 12);
    const plain = { horizon: 5, reportDays: null };
    expect(horizonSigma(0.02, plain, 3)).toBeCloseTo(0.02 * Math.sqrt(5), 12);
  });

  it("counts as across a report when the report is expected between the next session and the last session of the horizon", () => {
    expect([0, 1, 5, 6].map((reportIn) => spansReport(reportIn, 5))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(spansReport(null, 5)).toBe(false);
  });

  it("uses fitted factors only over five sessions, and only for stocks outside the simulated market", () => {
    expect(WEEK.reportDays).toMatchObject({ before: 10, factors: { length: 16 } });
    const { stock, etf, crypto } = RISK_TABLE.classes;
    const others = [...stock.slice(1), ...etf, ...crypto];
    others.push(...Object.values(SIMULATED_RISK_TABLE.classes).flat());
    expect(others.map((one) => one.reportDays)).toEqual(others.map(() => null));
  });
});

describe("a risk outlook with known filings", () => {
  const bars = weekdayBars("2022-01-03", 700);
  const closeOf = (session: string) => newYorkInstant(session, "16:15");
  const at = closeOf("2024-07-30");
  const outlookOf = (figures: readonly Fundamental[]) =>
    riskOutlook({ bars, fundamentals: figures }, "stock", at, RISK_TABLE);

  it("is wider when a report is expected, but only over five sessions", () => {
    const [plain, known] = [outlookOf([]), outlookOf(fundamentals)];
    const [week, month] = known?.horizons ?? [];
    const [plainWeek, plainMonth] = plain?.horizons ?? [];
    const factor = horizonVariance(WEEK, 2) / 5;
    expect(factor).toBeGreaterThan(1.5);
    expect((week?.sigma ?? 0) / (plainWeek?.sigma ?? 1)).toBeCloseTo(Math.sqrt(factor), 12);
    expect(month?.sigma).toBe(plainMonth?.sigma);
    expect(known?.sigma).toBe(plain?.sigma);
    expect(week?.ranges?.[2]?.low).toBeLessThan(plainWeek?.ranges?.[2]?.low ?? 0);
    expect(MONTH.reportDays).toBeNull();
  });

  it("does not depend on later filings", () => {
    const later = [...fundamentals, filedFundamental("2024-06-30", "2024-07-30")];
    expect(outlookOf(later)).toEqual(outlookOf(fundamentals));
    const gone = [...fundamentals, filedFundamental("2024-06-30", "2024-07-29")];
    expect(outlookOf(gone)).not.toEqual(outlookOf(fundamentals));
  });

  it("has the same range that an alert on ranges watches", () => {
    const records = { bars, fundamentals };
    const { open } = detectRangeAlert(undefined, { records, assetClass: "stock", at, table: WEEK });
    const range = outlookOf(fundamentals)?.horizons[0]?.ranges?.[2];
    expect(open).toMatchObject({ low: range?.low, high: range?.high });
  });
});

describe("the report-day factors", () => {
  const outcome = (end: string, reportIn: number | null, ...ratios: number[]) => ({
    end,
    reportIn,
    ratios: Float64Array.from(ratios),
  });

  it("are mean variance ratios by distance from the report, relative to more distant sessions", () => {
    const outcomes = [
      outcome("2019-05-01", null, 0.5, 1.5),
      outcome("2019-05-01", 1, 6, 3),
      outcome("2019-05-01", 2, 2, 2),
      outcome("2019-05-01", 40, Number.NaN, 1),
    ];
    const { before, factors } = fitReportDays(outcomes, "2020-01-01");
    expect(before).toBe(10);
    expect(factors.slice(before - 2, before + 3)).toEqual([1, 2, 4, 3, 1]);
  });

  it("ignore horizons that end after the fitting date", () => {
    const outcomes = [outcome("2019-05-01", 1, 6, 1), outcome("2019-05-01", null, 2)];
    const later = [...outcomes, outcome("2020-01-02", 1, 600, 1), outcome("2020-01-02", null, 9)];
    expect(fitReportDays(later, "2020")).toEqual(fitReportDays(outcomes, "2020"));
  });

  it("are 1 when there are no outcomes", () => {
    expect(fitReportDays([], "2020").factors).toEqual(Array(16).fill(1));
  });
});
