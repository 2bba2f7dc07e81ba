// @module-tag nightly

import { describe, expect, it } from "vitest";
import { findExcludedSymbols } from "../../../src/grading/excluded-symbols.ts";
import type { AssetClass } from "../../../src/market/instrument.ts";
import type { InstrumentRecords } from "../../../src/market/records.ts";
import { gradedSessionIndices } from "../../../src/research/backtest/question.ts";
import { createReturnGrid } from "../../../src/research/backtest/return-grid.ts";
import { fitQuantiles, measureRisk } from "../../../src/research/backtest/risk/measures.ts";
import { observeWithoutReports } from "../../../src/research/backtest/risk/observations.ts";
import { RISK_MODEL_BY_CLASS } from "../../../src/risk/forecast.ts";
import {
  RANGE_BREACHES,
  RISK_TABLE,
  RISK_TABLE_FITTED_BEFORE,
  WALK_FORWARD_REPORT_DAY_FACTORS,
} from "../../../src/risk/measured-table.ts";
import {
  detectRangeAlert,
  type WatchedRange,
  watchedHorizon,
} from "../../../src/risk/range-events.ts";
import { logReturnRange } from "../../../src/risk/ranges.ts";
import type { HorizonRiskTable } from "../../../src/risk/table.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { recordedRiskTables } from "../../method/risk-tables.ts";
import { sharedFolder } from "../../support/shared.ts";

const { path, isMissing } = sharedFolder("market", "the risk forecast on real history");

/** Timeout in milliseconds for reading and grading the market folder on a busy machine. */
const TIMEOUT_MS = 240_000;

/**
 * Results of an independent implementation for stocks, measured from the close after the forecast.
 */
const INDEPENDENT = [
  {
    randomWalk: [0.741, 0.665],
    ewma: [0.631, 0.597],
    blend: [0.551, 0.532],
    coverage80: [0.803, 0.772, 0.806, 0.832],
    range80: [-1.12, 1.19],
    range95: [-2.27, 1.95],
  },
  {
    randomWalk: null,
    ewma: [0.365, 0.58],
    blend: [0.284, 0.482],
    coverage80: [0.804, 0.744, 0.803, 0.864],
    range80: [-1.08, 1.29],
    range95: [-2.02, 1.97],
  },
] as const;

/**
 * Counts the price ranges of one instrument that ended after the risk table's fitting date, and how
 * many of them ended because a close fell outside the range.
 */
function countLeft(records: InstrumentRecords) {
  const { assetClass } = records.instrument;
  const table = watchedHorizon(RISK_TABLE, assetClass) as HorizonRiskTable;
  let open: WatchedRange | undefined;
  let [ranges, left] = [0, 0];
  for (const { session, availableAt: at } of records.bars) {
    if (session < RISK_TABLE_FITTED_BEFORE || session > "2024-12-31") continue;
    const { open: after, event } = detectRangeAlert(open, { records, assetClass, at, table });
    if (open !== undefined && after !== open) ranges++;
    if (event !== undefined) left++;
    open = after;
  }
  return { ranges, left };
}

describe.skipIf(isMissing)(
  "the risk forecast on real history",
  { timeout: TIMEOUT_MS },
  async () => {
    const market = isMissing ? undefined : await readMarketFolder(path);
    const records = market?.recordsUntil(Number.POSITIVE_INFINITY) ?? [];

    const gridOf = (assetClass: AssetClass) => {
      const grid = createReturnGrid(records, assetClass, "2024-12-31");
      const { copies, still } = findExcludedSymbols(grid);
      const isGraded = (row: number) => {
        const symbol = grid.rows[row]?.instrument.symbol ?? "";
        return !copies.includes(symbol) && !still.includes(symbol);
      };
      const graded = new Set([...grid.rows.keys()].filter(isGraded));
      return {
        grid,
        records,
        graded,
        places: gradedSessionIndices(grid, { from: "2015-01-01", pace: "week" }),
      };
    };

    const recordsOf = ({ rows }: ReturnType<typeof createReturnGrid>, row: number) => {
      const symbol = rows[row]?.instrument.symbol;
      return records.find(({ instrument }) => instrument.symbol === symbol) as InstrumentRecords;
    };

    /** Grades the forecast as if no reports were known, like the independent implementation. */
    const graded = (assetClass: AssetClass, index: number, delay: 0 | 1 = 0) => {
      const table = RISK_TABLE.classes[assetClass][
        index
      ] as (typeof RISK_TABLE)["classes"]["stock"][0];
      const { horizon, fallPercent } = table;
      const observations = observeWithoutReports(gridOf(assetClass), horizon, delay);
      const fitted = fitQuantiles(observations, RISK_TABLE_FITTED_BEFORE) ?? [];
      const measures = measureRisk(observations, {
        horizon,
        fallPercent,
        model: RISK_MODEL_BY_CLASS[assetClass],
        quantiles: fitted,
        reportDays: null,
        fittedBefore: RISK_TABLE_FITTED_BEFORE,
        overlap: { horizon, step: assetClass === "crypto" ? 7 : 5 },
        seed: 1,
      });
      return { fitted, measures };
    };

    it("reproduces the risk table of the method and the earlier report-day factors", () => {
      expect(recordedRiskTables(records)).toEqual({
        table: RISK_TABLE,
        earlierReportDays: WALK_FORWARD_REPORT_DAY_FACTORS,
      });
    });

    it.each(["stock", "crypto"] as const)(
      "has ranges for each %s, and closes fall outside these ranges as often as documented",
      (name) => {
        const { grid, graded } = gridOf(name);
        const counts = [...graded].map((row) => countLeft(recordsOf(grid, row)));
        const ranges = counts.reduce((sum, one) => sum + one.ranges, 0);
        const left = counts.reduce((sum, one) => sum + one.left, 0);
        const share = Number((left / ranges).toFixed(4));
        expect({ ranges, share }).toEqual(RANGE_BREACHES[name]);
      },
    );

    /** Asserts that two lists of figures differ by less than a tolerance. */
    const expectNear = (
      values: readonly (number | undefined)[],
      known: readonly number[],
      tolerance: number,
    ) => {
      const distances = values.map((value, index) => Math.abs((value ?? 9) - (known[index] ?? 0)));
      expect(values.length).toBe(known.length);
      expect(Math.max(...distances)).toBeLessThan(tolerance);
    };

    it.each([0, 1])(
      "has the same QLIKE as an independent implementation for horizon number %i",
      (index) => {
        const known = INDEPENDENT[index] as (typeof INDEPENDENT)[number];
        const { before, after } = graded("stock", index).measures.evidence.qlike;
        expectNear([before?.ewma, after?.ewma], known.ewma, 0.005);
        expectNear([before?.forecast, after?.forecast], known.blend, 0.005);
        if (known.randomWalk !== null) {
          expectNear([before?.randomWalk, after?.randomWalk], known.randomWalk, 0.005);
        }
        expect(before?.t).toBeLessThan(-2);
        expect(after?.t).toBeLessThan(-2);
      },
    );

    it.each([0, 1])(
      "has the documented coverage and skill for horizon number %i when the horizon starts at the next close",
      (index) => {
        const known = INDEPENDENT[index] as (typeof INDEPENDENT)[number];
        const { fitted, measures } = graded("stock", index, 1);
        const { coverage, fallSkill } = measures.evidence;
        const thirds = measures.thirds.map((third) => third.coverage[1]);
        expectNear([coverage[1], ...thirds], known.coverage80, 0.005);
        expectNear([fitted[10], fitted[90]], known.range80, 0.02);
        const { low, high } = logReturnRange(fitted, 0.95, 1);
        expectNear([low, high], known.range95, 0.04);
        if (index === 0) expectNear([fallSkill?.value], [0.017], 0.003);
        else expect(fallSkill?.value).toBeLessThan(0);
      },
    );
  },
);
