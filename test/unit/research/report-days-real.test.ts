// @module-tag nightly

import { describe, expect, it } from "vitest";
import { gradedSessionIndices } from "../../../src/research/backtest/question.ts";
import { createReturnGrid } from "../../../src/research/backtest/return-grid.ts";
import {
  observeRisk,
  observeWithoutReports,
  type RiskObservation,
} from "../../../src/research/backtest/risk/observations.ts";
import {
  RISK_TABLE,
  RISK_TABLE_FITTED_BEFORE,
  WALK_FORWARD_REPORT_DAY_FACTORS,
} from "../../../src/risk/measured-table.ts";
import { logReturnRange } from "../../../src/risk/ranges.ts";
import { spansReport } from "../../../src/risk/report-days.ts";
import type { HorizonRiskTable } from "../../../src/risk/table.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { neweyWestT } from "../../../src/statistics/series-summary.ts";
import { mean } from "../../../src/statistics/statistics.ts";
import { fitReportDays, reportOutcomes } from "../../method/report-day-fit.ts";
import { sharedFolder } from "../../support/shared.ts";

const { path, isMissing } = sharedFolder("market", "volatility around reports on real history");

/** Timeout in milliseconds for reading and grading the market folder on a busy machine. */
const TIMEOUT_MS = 240_000;

/**
 * The factors are fitted to forecasts from `FITTED_FROM` on, and forecasts from `GRADED_FROM` on
 * are graded. Stock bars begin in 2013, and a forecast requires 252 of them.
 */
const [FITTED_FROM, GRADED_FROM, UNTIL] = ["2014-01-01", "2015-01-01", "2024-12-31"];

const qlike = (ratio: number) => ratio - Math.log(ratio) - 1;

/** Tests whether report-day factors improve the volatility forecast. */
describe.skipIf(isMissing)(
  "the volatility forecast around company reports",
  { timeout: TIMEOUT_MS },
  async () => {
    const market = isMissing ? undefined : await readMarketFolder(path);
    const records = market?.recordsUntil(Number.POSITIVE_INFINITY) ?? [];
    const grid = createReturnGrid(records, "stock", UNTIL);
    const places = gradedSessionIndices(grid, { from: FITTED_FROM, pace: "week" });
    const risk = { grid, records, graded: new Set(grid.rows.keys()), places };
    const [week, month] = RISK_TABLE.classes.stock as readonly [HorizonRiskTable, HorizonRiskTable];

    /**
     * Forecasts without and with report-day factors. No table contains factors for the one-month
     * horizon, so they are fitted here.
     */
    const forecasts = ({ horizon, reportDays }: HorizonRiskTable) => {
      const without = observeWithoutReports(risk, horizon);
      if (reportDays !== null) return { without, by: observeRisk(risk, { horizon, reportDays }) };
      const outcomes = reportOutcomes(risk, horizon);
      const earlier = Object.fromEntries(
        Object.keys(WALK_FORWARD_REPORT_DAY_FACTORS).map((year) => [
          year,
          fitReportDays(outcomes, year),
        ]),
      );
      const fitted = fitReportDays(outcomes, RISK_TABLE_FITTED_BEFORE);
      return { without, by: observeRisk(risk, { horizon, reportDays: fitted }, earlier) };
    };
    const ofWeek = isMissing ? undefined : forecasts(week);

    /** Mean QLIKE without and with factors, and the t value of the difference by date. */
    const compare = (
      { without, by }: ReturnType<typeof forecasts>,
      horizon: number,
      [from, to]: readonly [string, string],
    ) => {
      const losses = by.flatMap(({ date, end, place, forecast, variance }, index) => {
        if (date < from || end > to || variance === null) return [];
        const plain = without[index] as RiskObservation;
        const [old, now] = [plain.forecast, forecast].map((sigma) => qlike(variance / sigma ** 2));
        return [{ place, without: old as number, by: now as number }];
      });
      const differences = [...Map.groupBy(losses, ({ place }) => place)]
        .sort(([a], [b]) => a - b)
        .map(([, members]) => mean(members.map((one) => one.by - one.without)));
      return {
        without: Number(mean(losses.map((one) => one.without)).toFixed(3)),
        by: Number(mean(losses.map((one) => one.by)).toFixed(3)),
        t: Number(neweyWestT(differences, Math.ceil(horizon / 5))?.toFixed(1)),
      };
    };

    const inBothPeriods = (found: ReturnType<typeof forecasts>, horizon: number) =>
      (
        [
          [GRADED_FROM, RISK_TABLE_FITTED_BEFORE],
          [RISK_TABLE_FITTED_BEFORE, UNTIL],
        ] as const
      ).map((period) => compare(found, horizon, period));

    it("is better with report factors than without over 5 sessions, in both periods", () => {
      expect(inBothPeriods(ofWeek as NonNullable<typeof ofWeek>, 5)).toEqual([
        { without: 0.552, by: 0.537, t: -4.2 },
        { without: 0.532, by: 0.51, t: -3.5 },
      ]);
    });

    it("is not significantly better with report factors than without over 21 sessions: t is above -2 in the later period", () => {
      expect(inBothPeriods(forecasts(month), 21)).toEqual([
        { without: 0.285, by: 0.275, t: -2.3 },
        { without: 0.484, by: 0.454, t: -1.5 },
      ]);
    });

    it("has ranges that hold nearly as often across a report as elsewhere", () => {
      const { without, by } = ofWeek as NonNullable<typeof ofWeek>;
      /** Share of outcomes within the 80 % and 95 % ranges, either across a report or elsewhere. */
      const heldIn = (all: readonly RiskObservation[], isAcross: boolean) =>
        ([0.8, 0.95] as const).map((share) => {
          const part = all.filter(
            ({ date }, index) =>
              date >= RISK_TABLE_FITTED_BEFORE &&
              spansReport((by[index] as RiskObservation).reportIn, 5) === isAcross,
          );
          const { low, high } = logReturnRange(week.quantiles, share, 1);
          const held = part.filter(
            ({ followed, forecast }) => followed >= low * forecast && followed <= high * forecast,
          );
          return Number((held.length / part.length).toFixed(3));
        });
      expect(heldIn(by, true)).toEqual([0.778, 0.925]);
      expect(heldIn(by, false)).toEqual([0.789, 0.955]);
      expect(heldIn(without, true)).toEqual([0.674, 0.862]);
      expect(week.evidence.acrossReports?.map((share) => Number(share.toFixed(3)))).toEqual([
        0.508, 0.778, 0.925,
      ]);
    });
  },
);
