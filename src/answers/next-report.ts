import { z } from "zod";
import {
  type ExpectedReport,
  filingDayOf,
  type NoReportReason,
  predictNextReport,
  quarterlyFilings,
  REPORT_BASES,
} from "../factors/next-report.ts";
import { REPORT_WINDOW_COVERAGE, reportWindowsOf } from "../factors/report-windows.ts";
import { MAX_FIGURE_AGE_DAYS } from "../factors/yields.ts";
import { marketDayName } from "../lib/day.ts";
import type { Instrument } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { isoInstant } from "./shared-members.ts";

const Day = z.string();

/** The day on which a company is expected to file its next quarterly report. */
export const ExpectedReportAnswer = z.object({
  event: z
    .literal("filing")
    .describe("The filing; the results are announced on that day or a few sessions before."),
  expected: Day.describe("An ISO date; an instant where market days are shorter."),
  earliest: Day,
  latest: Day,
  windowCoverage: z
    .number()
    .describe("Share of past filings that came between earliest and latest, a fraction."),
  basis: z
    .enum(REPORT_BASES)
    .describe(
      "year_before: 364 days after the filing of the same quarter a year before; median_lag: the end of the quarter plus its median lag in three years.",
    ),
});

/** The members about the next quarterly report in an answer about an instrument. */
export const NextReportFields = z.object({
  nextReport: ExpectedReportAnswer.nullable().describe(
    "The next quarterly filing: the day on which it is expected, estimated from the company's own past filings.",
  ),
  nextReportReason: z.string().nullable().describe("Why nextReport is null."),
});

/** Renders an expected report. */
export const expectedReportAnswer = (
  { expected, earliest, latest, basis }: ExpectedReport,
  market: ReportMarket,
): z.input<typeof ExpectedReportAnswer> => ({
  event: "filing",
  expected: filingDay(expected, market),
  earliest: filingDay(earliest, market),
  latest: filingDay(latest, market),
  windowCoverage: REPORT_WINDOW_COVERAGE,
  basis,
});

/** The members of a market that are needed to turn instants into report dates. */
export type ReportMarket = Pick<Market, "source" | "dayMs">;

/** The day on which a report was filed, given the instant at which it became known. */
export const filingDay = (at: number, { source, dayMs }: ReportMarket): string =>
  source.simulated ? marketDayName(Math.floor(at / dayMs) * dayMs, dayMs) : filingDayOf(at);

/**
 * The day on which a fiscal quarter ends. Outside the sandbox, `at` is the last instant of that day
 * in UTC.
 */
export const periodEndDay = (at: number, { source, dayMs }: ReportMarket): string =>
  source.simulated ? marketDayName(at, dayMs) : isoInstant(at).slice(0, "2020-01-31".length);

const REASONS: Readonly<Record<NoReportReason, string>> = {
  no_filings: "No quarterly filing is known.",
  too_few:
    "Too few filings are known: neither that of the same quarter a year before, nor two of that quarter in three years.",
  ceased: `No quarterly filing became known for ${MAX_FIGURE_AGE_DAYS.filing} days.`,
};

/** The members about the next report of an instrument, as known at an instant. */
export function nextReportAnswer(
  { symbol, assetClass }: Instrument,
  at: number,
  market: ReportMarket & { records(symbol: string): InstrumentRecords },
): z.input<typeof NextReportFields> {
  if (assetClass !== "stock") return unknownNextReport("Only companies file quarterly reports.");
  const filings = quarterlyFilings(market.records(symbol).fundamentals ?? [], market.dayMs);
  const next = predictNextReport(filings, at, reportWindowsOf(market.source), market.dayMs);
  if (next.is === "unknown") return unknownNextReport(REASONS[next.reason]);
  const report = expectedReportAnswer(next.report, market);
  if (next.is === "expected") return { nextReport: report, nextReportReason: null };
  return unknownNextReport(
    `It is late: it was expected on ${report.expected}, at the latest on ${report.latest}.`,
  );
}

const unknownNextReport = (nextReportReason: string) => ({ nextReport: null, nextReportReason });

/**
 * Instants in (from, until] at which quarterly reports of a company became known, Unix
 * milliseconds.
 */
export const reportFilingInstants = (
  { symbol, assetClass }: Instrument,
  from: number,
  until: number,
  market: Pick<Market, "dayMs"> & { records(symbol: string): InstrumentRecords },
): readonly number[] =>
  assetClass !== "stock"
    ? []
    : quarterlyFilings(market.records(symbol).fundamentals ?? [], market.dayMs)
        .map(({ availableAt }) => availableAt)
        .filter((at) => at > from && at <= until);
