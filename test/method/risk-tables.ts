import { findExcludedSymbols } from "../../src/grading/excluded-symbols.ts";
import { AssetClass } from "../../src/market/instrument.ts";
import type { InstrumentRecords } from "../../src/market/records.ts";
import {
  gradedSessionIndices,
  sessionsPerGradedDate,
} from "../../src/research/backtest/question.ts";
import { createReturnGrid } from "../../src/research/backtest/return-grid.ts";
import { fitQuantiles, measureRisk } from "../../src/research/backtest/risk/measures.ts";
import {
  observeRisk,
  type RiskGrid,
  type RiskObservation,
} from "../../src/research/backtest/risk/observations.ts";
import { RISK_MODEL_BY_CLASS } from "../../src/risk/forecast.ts";
import { RISK_TABLE_FITTED_BEFORE } from "../../src/risk/measured-table.ts";
import type { HorizonRiskTable, ReportDayFactors, RiskTable } from "../../src/risk/table.ts";
import { createSandbox } from "../../src/sources/sandbox/sandbox.ts";
import { fitReportDays, reportOutcomes } from "./report-day-fit.ts";

/**
 * Horizons of a forecast in sessions, each with the price fall in percent whose probability is
 * forecast.
 */
const HORIZONS = {
  stock: [
    [5, 5],
    [21, 10],
  ],
  etf: [
    [5, 5],
    [21, 10],
  ],
  crypto: [
    [7, 5],
    [30, 10],
  ],
} as const satisfies Readonly<
  Record<AssetClass, readonly (readonly [horizon: number, HorizonRiskTable["fallPercent"]])[]>
>;

/**
 * The only horizon of stocks whose forecast uses the next report: over 21 sessions, QLIKE did not
 * fall significantly in both periods (docs/method-and-backtest.md).
 */
const REPORT_HORIZON = 5;
/**
 * Date of the first forecast that is used to fit the report day factors: bars of stocks begin in
 * 2013, and a forecast needs 252 of them.
 */
const REPORTS_FROM = "2014-01-01";
/**
 * First year that is forecast with the report day factors in the table itself; earlier years have
 * factors of their own (`earlierReportDays`).
 */
const FITTED_YEAR = Number(RISK_TABLE_FITTED_BEFORE.slice(0, 4));

/** Period of the recorded market: ISO dates of the first forecast and of the last outcome. */
const RECORDED = { from: "2015-01-01", to: "2024-12-31" } as const;

/**
 * Seeds of the simulated markets on which the quantiles are fitted, and of those on which they are
 * tested.
 */
const SIMULATED = { fitted: [1, 2, 3, 4, 5], tested: [6, 7, 8, 9, 10] } as const;
const SIMULATED_CLASSES = ["stock", "crypto"] as const;
const SIMULATED_DAY_MS = 60_000;
const SIMULATED_UNTIL = Date.UTC(2026, 10, 21, 4);
/** Number of sessions between two forecasts in a simulated market. */
const SIMULATED_STEP = 5;
/** Artificial dates that put the simulated markets before or after the date of the fit. */
const SIDES = { fitted: "0001-01-01", before: "0002-01-01", tested: "0003-01-01" } as const;
/**
 * Offset between the row and session numbers of two simulated markets; larger than any such number.
 */
const APART = 1_000_000;

/** The tables with which the service forecasts recorded and live markets. */
export interface RecordedTables {
  readonly table: RiskTable;
  /** Report day factors of the years before the date of the fit, by year. */
  readonly earlierReportDays: Readonly<Record<string, ReportDayFactors>>;
}

/**
 * Measures the risk tables of recorded markets.
 *
 * @param records Records of a market folder.
 */
export function recordedRiskTables(records: readonly InstrumentRecords[]): RecordedTables {
  const { [String(FITTED_YEAR)]: current = null, ...earlierReportDays } = fittedReportDays(records);
  const measured = AssetClass.options.map((assetClass) => {
    const risk = recordedGrid(records, assetClass);
    const sides = {
      before: RISK_TABLE_FITTED_BEFORE,
      step: sessionsPerGradedDate("week", assetClass),
    };
    return measureHorizons(assetClass, sides, (horizon) => {
      const reportDays = assetClass === "stock" && horizon === REPORT_HORIZON ? current : null;
      return {
        reportDays,
        observations: observeRisk(risk, { horizon, reportDays }, earlierReportDays),
      };
    });
  });
  const [stock = [], etf = [], crypto = []] = measured.map((one) => one.map(({ table }) => table));
  const ends = measured.flatMap((one) => one.map(({ lastEnd }) => lastEnd));
  const tested = `${RISK_TABLE_FITTED_BEFORE} to ${ends.sort().at(-1)}`;
  const fitted = `${RECORDED.from} to ${dayBefore(RISK_TABLE_FITTED_BEFORE)}`;
  return { table: rounded({ fitted, tested, classes: { stock, etf, crypto } }), earlierReportDays };
}

/** Report day factors of each year, fitted on the outcomes before that year. */
function fittedReportDays(
  records: readonly InstrumentRecords[],
): Readonly<Record<string, ReportDayFactors>> {
  const outcomes = reportOutcomes(recordedGrid(records, "stock", REPORTS_FROM), REPORT_HORIZON);
  const years = Array.from({ length: 6 }, (_, index) => String(FITTED_YEAR - 5 + index));
  return Object.fromEntries(years.map((year) => [year, rounded(fitReportDays(outcomes, year))]));
}

function recordedGrid(
  records: readonly InstrumentRecords[],
  assetClass: AssetClass,
  from: string = RECORDED.from,
): RiskGrid {
  const grid = createReturnGrid(records, assetClass, RECORDED.to);
  const { copies, still } = findExcludedSymbols(grid);
  const isGraded = (row: number) => {
    const symbol = grid.rows[row]?.instrument.symbol ?? "";
    return !copies.includes(symbol) && !still.includes(symbol);
  };
  const graded = new Set([...grid.rows.keys()].filter(isGraded));
  return { grid, records, graded, places: gradedSessionIndices(grid, { from, pace: "week" }) };
}

/** Measures the risk table of the sandbox on simulated markets with other seeds. */
export function simulatedRiskTable(): RiskTable {
  const markets = [...SIMULATED.fitted, ...SIMULATED.tested].map((seed) => {
    const sandbox = createSandbox({ seed, sessionSeconds: SIMULATED_DAY_MS / 1000 });
    return { seed, records: sandbox.recordsUntil(SIMULATED_UNTIL) };
  });
  const [stock = [], crypto = []] = SIMULATED_CLASSES.map((assetClass) => {
    const grids = markets.map(({ seed, records }) => simulatedGrid(seed, records, assetClass));
    const sides = { before: SIDES.before, step: SIMULATED_STEP };
    return measureHorizons(assetClass, sides, (horizon) => ({
      reportDays: null,
      observations: grids.flatMap(({ seed, date, risk }) =>
        observeRisk(risk, { horizon, reportDays: null }).map((one) => ({
          ...one,
          row: one.row + seed * APART,
          place: one.place + seed * APART,
          date,
          end: date,
        })),
      ),
    })).map(({ table }) => table);
  });
  const seedsOf = (seeds: readonly number[]) =>
    `simulated markets of seeds ${seeds[0]} to ${seeds.at(-1)}`;
  const { fitted, tested } = SIMULATED;
  const classes = { etf: [], stock, crypto };
  return rounded({ fitted: seedsOf(fitted), tested: seedsOf(tested), classes });
}

function simulatedGrid(
  seed: number,
  records: readonly InstrumentRecords[],
  assetClass: AssetClass,
) {
  const grid = createReturnGrid(records, assetClass, "9999");
  const places = [...grid.sessions.keys()].filter((place) => place % SIMULATED_STEP === 0);
  const isFitted = SIMULATED.fitted.some((one) => one === seed);
  const risk = { grid, records, graded: new Set(grid.rows.keys()), places };
  return { seed, date: isFitted ? SIDES.fitted : SIDES.tested, risk };
}

/** Forecasts over one horizon and their outcomes. */
interface Observed {
  /** Report day factors that the forecasts used; `null`: none. */
  readonly reportDays: ReportDayFactors | null;
  readonly observations: readonly RiskObservation[];
}

/** Fits and tests the forecast of every horizon of an asset class. */
function measureHorizons(
  assetClass: AssetClass,
  { before, step }: { readonly before: string; readonly step: number },
  observe: (horizon: number) => Observed,
): readonly { readonly table: HorizonRiskTable; readonly lastEnd: string }[] {
  return HORIZONS[assetClass].map(([horizon, fallPercent]) => {
    const { reportDays, observations } = observe(horizon);
    const quantiles = rounded(fitQuantiles(observations, before) ?? []);
    const { model, evidence } = measureRisk(observations, {
      horizon,
      model: RISK_MODEL_BY_CLASS[assetClass],
      fallPercent,
      quantiles,
      reportDays,
      fittedBefore: before,
      overlap: { horizon, step },
      seed: 1,
    });
    const lastEnd = observations.reduce((last, { end }) => (end > last ? end : last), "");
    return { table: { horizon, model, fallPercent, quantiles, reportDays, evidence }, lastEnd };
  });
}

const dayBefore = (date: string): string =>
  new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);

/** Copies a value with all numbers rounded to four decimals. */
const rounded = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_, member) =>
    typeof member === "number" ? Number(member.toFixed(4)) : member,
  ) as T;
