import { describe, expect, it } from "vitest";
import { NextReportFields, nextReportAnswer } from "../../../src/answers/next-report.ts";
import { reportWindowsOf } from "../../../src/factors/report-windows.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { AssetClass } from "../../../src/market/instrument.ts";
import type { Fundamental } from "../../../src/market/records.ts";
import {
  gradeReportPredictions,
  reportOutcomes,
} from "../../../src/research/backtest/report-dates.ts";
import { datedRecordKnownAt } from "../../../src/sources/live/publication-times.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { namedInstrument } from "../../support/instruments.ts";

/** A filing that is known from midnight in New York after its filing date. */
const filed = (quarterEnd: string, date: string): Fundamental => ({
  metric: "netIncome",
  periodEnd: Date.parse(quarterEnd) + DAY_MS - 1,
  availableAt: datedRecordKnownAt(date),
  value: 1,
});

const FILED = [
  filed("2014-03-31", "2014-04-30"),
  filed("2014-06-30", "2014-07-29"),
  filed("2014-09-30", "2014-10-29"),
  filed("2014-12-31", "2015-02-11"),
  filed("2015-03-31", "2015-04-29"),
];

const SOURCE = { id: "files", name: "Files", terms: "", simulated: false };

function answerOn(
  at: string,
  fundamentals: readonly Fundamental[],
  assetClass: AssetClass = "stock",
) {
  const instrument = namedInstrument("ACME", "Acme Corp.", assetClass);
  const records = () => ({ instrument, bars: [], fundamentals });
  const market = { source: SOURCE, dayMs: DAY_MS, records };
  return NextReportFields.parse(nextReportAnswer(instrument, Date.parse(at), market));
}

describe("the next report in an answer", () => {
  it("is given as dates, based on what was known at the time of the answer", () => {
    expect(answerOn("2015-03-02T21:15:00Z", FILED)).toEqual({
      nextReport: {
        event: "filing",
        expected: "2015-04-29",
        earliest: "2015-04-22",
        latest: "2015-05-06",
        windowCoverage: 0.95,
        basis: "year_before",
      },
      nextReportReason: null,
    });
    expect(answerOn("2015-04-30T12:00:00Z", FILED).nextReport).toMatchObject({
      expected: "2015-07-28",
    });
  });

  it.each([
    ["2015-03-02T21:15:00Z", "etf", /^Only companies file quarterly reports\.$/],
    ["2014-04-30T12:00:00Z", "stock", /^No quarterly filing is known\.$/],
    ["2014-12-01T12:00:00Z", "stock", /^Too few filings are known/],
    [
      "2015-08-05T21:15:00Z",
      "stock",
      /^It is late: it was expected on 2015-07-28, at the latest on 2015-08-04\.$/,
    ],
    ["2016-01-05T21:15:00Z", "stock", /^No quarterly filing became known for 200 days\.$/],
  ] as const)(
    "is null at %s for an instrument of the class %s, with the reason",
    (at, assetClass, reason) => {
      const { nextReport, nextReportReason } = answerOn(at, FILED, assetClass);
      expect(nextReport).toBeNull();
      expect(nextReportReason).toMatch(reason);
    },
  );

  it("is given for simulated companies in simulated days, and lies within its window", () => {
    const market = createSandbox({ seed: 1, sessionSeconds: 60 });
    const { source, dayMs } = market;
    const years = Array.from({ length: 4 }, (_, year) => (252 * (2 * year + 1) - 1) * dayMs);
    const outcomes = years.flatMap((at) => reportOutcomes(market.recordsUntil(at), dayMs));
    const { filings, inside } = gradeReportPredictions(outcomes, reportWindowsOf(source));
    expect(filings).toBeGreaterThan(900);
    expect(inside).toBeGreaterThan(0.94);
    expect(inside).toBeLessThan(0.97);

    const at = years.at(-1) ?? 0;
    const lists = market.recordsUntil(at);
    const answers = lists.map((one) =>
      nextReportAnswer(one.instrument, at, { source, dayMs, records: () => one }),
    );
    const told = answers.flatMap(({ nextReport }) => nextReport ?? []);
    expect(told.length).toBeGreaterThan(25);
    for (const { earliest, expected, latest } of told) {
      const days = [earliest, expected, latest].map((day) => Date.parse(day) / dayMs);
      expect(days.every(Number.isInteger)).toBe(true);
      expect(days[1]).toBe((days[0] ?? 0) + 24);
      expect(days[2]).toBe((days[1] ?? 0) + 24);
    }
  });
});
