// @module-tag nightly

import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { predictNextReport, quarterlyFilings } from "../../../src/factors/next-report.ts";
import { MEASURED_REPORT_WINDOWS } from "../../../src/factors/report-windows.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { countKnownRecords } from "../../../src/market/point-in-time.ts";
import {
  fitReportWindows,
  gradeReportPredictions,
  reportOutcomes,
} from "../../../src/research/backtest/report-dates.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { sharedFolder } from "../../support/shared.ts";

const { path, isMissing } = sharedFolder("market", "the next report on real history");

/** Timeout in milliseconds for reading the market folder on a busy machine. */
const TIMEOUT_MS = 240_000;

const WEEK_MS = 7 * DAY_MS;
const [FIRST_YEAR, LAST_YEAR] = [2012, 2026];

describe.skipIf(isMissing)(
  "the predicted date of the next report",
  { timeout: TIMEOUT_MS },
  async () => {
    const market = isMissing ? undefined : await readMarketFolder(path);
    const records = market?.recordsUntil(Number.POSITIVE_INFINITY) ?? [];
    const all = reportOutcomes(records, DAY_MS);
    const filedFrom = (year: number, to = year) =>
      all.filter(({ filedAt }) => {
        const filed = new Date(filedAt - DAY_MS / 2).getUTCFullYear();
        return filed >= year && filed <= to;
      });
    const years = Array.from(
      { length: LAST_YEAR - FIRST_YEAR + 1 },
      (_, index) => FIRST_YEAR + index,
    );

    it("has a window that was fitted on the filings known before each year", () => {
      expect(fitReportWindows(all, [FIRST_YEAR - 1, ...years])).toEqual(MEASURED_REPORT_WINDOWS);
    });

    it("has a median error of up to two days, and a window that is right 94 to 97 % of the time", () => {
      const accuracy = gradeReportPredictions(
        filedFrom(FIRST_YEAR, LAST_YEAR),
        MEASURED_REPORT_WINDOWS,
      );
      expect(accuracy.filings).toBeGreaterThan(17_000);
      expect(accuracy.medianError).toBeLessThanOrEqual(2);
      expect(accuracy.inside).toBeGreaterThanOrEqual(0.94);
      expect(accuracy.inside).toBeLessThanOrEqual(0.97);
      expect(accuracy.insideOfExpected).toBeGreaterThanOrEqual(0.94);
      expect(accuracy.windowDays).toBeLessThan(16.5);
      expect(Number(accuracy.inside.toFixed(3))).toBe(0.961);
    });

    it.each(years)(
      "for filings of %i has a window that is right at least 92 % of the time",
      (year) => {
        const { inside, medianError, filings } = gradeReportPredictions(
          filedFrom(year),
          MEASURED_REPORT_WINDOWS,
        );
        expect(filings).toBeGreaterThan(300);
        expect(inside).toBeGreaterThanOrEqual(0.92);
        expect(medianError).toBeLessThanOrEqual(2);
      },
    );

    it("is fitted and estimated without later data, whether that data is deleted or invented", () => {
      const weeks = Array.from(
        { length: 750 },
        (_, week) => Date.UTC(2012, 0, 5, 21) + week * WEEK_MS,
      );
      const told = records.flatMap(({ fundamentals }) => {
        const filings = quarterlyFilings(fundamentals ?? [], DAY_MS);
        return weeks.map((at) => {
          const known = (fundamentals ?? []).slice(0, countKnownRecords(fundamentals ?? [], at));
          const madeUp = known
            .slice(-1)
            .map((one) => ({ ...one, availableAt: at + 1, periodEnd: at }));
          const toldFrom = (list: typeof filings) =>
            predictNextReport(list, at, MEASURED_REPORT_WINDOWS, DAY_MS);
          const next = toldFrom(filings);
          const others = [known, [...known, ...madeUp]].map((figures) =>
            toldFrom(quarterlyFilings(figures, DAY_MS)),
          );
          return { next, isSame: others.every((other) => isDeepStrictEqual(other, next)) };
        });
      });
      expect(told.filter(({ isSame }) => !isSame)).toEqual([]);
      expect(told.filter(({ next }) => next.is !== "unknown").length).toBeGreaterThan(200_000);
    });

    it.each(years)("for %i has a window that does not depend on later filings", (year) => {
      const past = records.map(({ fundamentals = [], ...one }) => ({
        ...one,
        fundamentals: fundamentals.slice(0, countKnownRecords(fundamentals, Date.UTC(year, 0) - 1)),
      }));
      expect(fitReportWindows(reportOutcomes(past, DAY_MS), [year])).toEqual(
        fitReportWindows(all, [year]),
      );
    });
  },
);
