import { describe, expect, it } from "vitest";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import type { Bar, Fundamental } from "../../../src/market/records.ts";
import { fitReportDays } from "../../../src/research/backtest/risk/report-day-fit.ts";
import { RISK_TABLE, SIMULATED_RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { riskOutlook } from "../../../src/risk/outlook.ts";
import { rangeAlert } from "../../../src/risk/range-events.ts";
import {
  horizonSigma,
  REPORT_REACH,
  reportVariance,
  sessionsToReport,
} from "../../../src/risk/report-days.ts";
import type { HorizonTable } from "../../../src/risk/table.ts";
import { DAY_MS, madeBars } from "./bars.ts";

const [WEEK, MONTH] = RISK_TABLE.classes.stock as readonly [HorizonTable, HorizonTable];

/** Figures of a quarter that were filed on a day in New York; known at the midnight after it. */
const filed = (periodEnd: string, day: string): Fundamental => ({
  metric: "netIncome",
  periodEnd: Date.parse(periodEnd) + DAY_MS - 1,
  availableAt: newYorkInstant(day, "00:00") + DAY_MS,
  value: 1,
});

/** The last report is expected 364 days after the first: on Thursday 2024-08-01. */
const fundamentals = [
  filed("2023-06-30", "2023-08-03"),
  filed("2023-09-30", "2023-11-02"),
  filed("2023-12-31", "2024-02-01"),
  filed("2024-03-31", "2024-05-02"),
];

/** The bar of a session, known a quarter of an hour after its close. */
const barOf = (session: string): Bar => {
  const [bar] = madeBars(1) as [Bar];
  return { ...bar, session, availableAt: newYorkInstant(session, "16:15") };
};

const reportIn = (session: string, figures: readonly Fundamental[] = fundamentals) =>
  sessionsToReport({ bars: [], fundamentals: figures }, barOf(session));

describe("the sessions to the next report", () => {
  it.each([
    ["on the day itself", "2024-08-01", 0],
    ["on the day before", "2024-07-31", 1],
    ["across a weekend", "2024-07-26", 4],
    ["across a holiday", "2024-07-03", 20],
    ["after the day, while nothing was filed", "2024-08-05", -2],
  ])("%s (%s) are %i", (_when, session, sessions) => {
    expect(reportIn(session)).toBe(sessions);
  });

  it("are counted to the session after a day on which the exchanges are closed", () => {
    // 364 days after Friday 2023-03-31 is Good Friday, 2024-03-29.
    const figures = [
      filed("2022-12-31", "2023-03-31"),
      filed("2023-03-31", "2023-05-04"),
      filed("2023-06-30", "2023-08-03"),
      filed("2023-09-30", "2023-11-02"),
    ];
    expect(reportIn("2024-03-27", figures)).toBe(2);
    expect(reportIn("2024-03-28", figures)).toBe(1);
  });

  it("are those to the following report once it is filed, which is known after the close", () => {
    const figures = [...fundamentals, filed("2024-06-30", "2024-08-01")];
    expect(reportIn("2024-08-01", figures)).toBe(0);
    expect(reportIn("2024-08-02", figures)).toBe(63);
  });

  it("are counted across the end of a year", () => {
    const figures = [filed("2022-11-30", "2023-01-05"), filed("2023-08-31", "2023-10-05")];
    expect(reportIn("2023-12-29", figures)).toBe(3);
  });

  it("are not known without filings, nor after two years without one", () => {
    expect(reportIn("2024-07-26", [])).toBeNull();
    expect(reportIn("2026-08-05")).toBeNull();
  });
});

describe("the forecast across a report", () => {
  /** 2.7 on the expected session, 1.5 on the one before, 1 elsewhere. */
  const reportDays = Array.from({ length: 2 * REPORT_REACH + 1 }, (_, place) => {
    if (place === REPORT_REACH) return 2.7;
    return place === REPORT_REACH - 1 ? 1.5 : 1;
  });
  const horizon = 5;

  it("sums the factors of its sessions by their distance from the expected one", () => {
    expect(reportVariance(reportDays, horizon, null)).toBe(5);
    expect(reportVariance(reportDays, horizon, 3)).toBeCloseTo(1 + 1.5 + 2.7 + 1 + 1, 12);
    expect(reportVariance(reportDays, horizon, 1)).toBeCloseTo(2.7 + 4, 12);
    expect(reportVariance(reportDays, horizon, 6)).toBeCloseTo(4 + 1.5, 12);
    expect(reportVariance(reportDays, horizon, 0)).toBe(5);
    expect(reportVariance(reportDays, horizon, 60)).toBe(5);
    expect(reportVariance(reportDays, horizon, -60)).toBe(5);
  });

  it("is the root of that sum, and without factors that of the horizon", () => {
    const records = { bars: [], fundamentals };
    const bar = barOf("2024-07-29");
    expect(horizonSigma(0.02, { horizon, reportDays }, records, bar)).toBeCloseTo(
      0.02 * Math.sqrt(7.2),
      12,
    );
    expect(horizonSigma(0.02, { horizon, reportDays: null }, records, bar)).toBeCloseTo(
      0.02 * Math.sqrt(5),
      12,
    );
  });

  it("uses measured factors over five sessions of recorded stocks, and nowhere else", () => {
    expect(WEEK.reportDays).toHaveLength(2 * REPORT_REACH + 1);
    const { stock, etf, crypto } = RISK_TABLE.classes;
    const others = [...stock.slice(1), ...etf, ...crypto];
    others.push(...Object.values(SIMULATED_RISK_TABLE.classes).flat());
    expect(others.map((one) => one.reportDays)).toEqual(others.map(() => null));
  });
});

describe("an outlook with filings", () => {
  /** Sessions of 2022 to 2024 on weekdays; holidays do not matter here. */
  const bars = madeBars(700).map((bar, index) => {
    const day = Date.parse("2022-01-03") + (Math.floor(index / 5) * 7 + (index % 5)) * DAY_MS;
    const session = new Date(day).toISOString().slice(0, 10);
    return { ...bar, session, availableAt: newYorkInstant(session, "16:15") };
  });
  const closeOf = (session: string) => newYorkInstant(session, "16:15");
  const at = closeOf("2024-07-30");
  const outlookOf = (figures: readonly Fundamental[]) =>
    riskOutlook({ bars, fundamentals: figures }, "stock", at, RISK_TABLE);

  it("is wider where a report is expected, over five sessions only", () => {
    const [plain, known] = [outlookOf([]), outlookOf(fundamentals)];
    const [week, month] = known?.horizons ?? [];
    const [plainWeek, plainMonth] = plain?.horizons ?? [];
    const factor = reportVariance(WEEK.reportDays ?? [], 5, 2) / 5;
    expect(factor).toBeGreaterThan(1.5);
    expect((week?.sigma ?? 0) / (plainWeek?.sigma ?? 1)).toBeCloseTo(Math.sqrt(factor), 12);
    expect(month?.sigma).toBe(plainMonth?.sigma);
    expect(known?.sigma).toBe(plain?.sigma);
    expect(week?.ranges?.[2]?.low).toBeLessThan(plainWeek?.ranges?.[2]?.low ?? 0);
    expect(MONTH.reportDays).toBeNull();
  });

  it("does not know of filings that follow", () => {
    const later = [...fundamentals, filed("2024-06-30", "2024-07-30")];
    expect(outlookOf(later)).toEqual(outlookOf(fundamentals));
    const gone = [...fundamentals, filed("2024-06-30", "2024-07-29")];
    expect(outlookOf(gone)).not.toEqual(outlookOf(fundamentals));
  });

  it("is what an alert of the kind range watches", () => {
    const records = { bars, fundamentals };
    const { open } = rangeAlert(undefined, { records, assetClass: "stock", at, table: WEEK });
    const range = outlookOf(fundamentals)?.horizons[0]?.ranges?.[2];
    expect(open).toMatchObject({ low: range?.low, high: range?.high });
  });
});

describe("the factors of report days", () => {
  const outcome = (end: string, reportIn: number | null, ...ratios: number[]) => ({
    end,
    reportIn,
    ratios: Float64Array.from(ratios),
  });

  it("are mean ratios by distance over those of sessions further away", () => {
    const outcomes = [
      outcome("2019-05-01", null, 0.5, 1.5),
      outcome("2019-05-01", 1, 6, 3),
      outcome("2019-05-01", 2, 2, 2),
      outcome("2019-05-01", 40, Number.NaN, 1),
    ];
    const factors = fitReportDays(outcomes, "2020-01-01");
    expect(factors.slice(REPORT_REACH - 2, REPORT_REACH + 3)).toEqual([1, 2, 4, 3, 1]);
  });

  it("ignore horizons that end later", () => {
    const outcomes = [outcome("2019-05-01", 1, 6, 1), outcome("2019-05-01", null, 2)];
    const later = [...outcomes, outcome("2020-01-02", 1, 600, 1), outcome("2020-01-02", null, 9)];
    expect(fitReportDays(later, "2020")).toEqual(fitReportDays(outcomes, "2020"));
  });

  it("are 1 without anything to compare with", () => {
    expect(fitReportDays([], "2020")).toEqual(Array(2 * REPORT_REACH + 1).fill(1));
  });
});
