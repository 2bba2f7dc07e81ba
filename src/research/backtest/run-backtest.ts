import { reportWindowsOf } from "../../factors/report-windows.ts";
import { type ExcludedSymbols, findExcludedSymbols } from "../../grading/excluded-symbols.ts";
import { AssetClass } from "../../market/instrument.ts";
import type { DataSource, Market } from "../../market/market.ts";
import { countKnownRecords } from "../../market/point-in-time.ts";
import type { InstrumentRecords } from "../../market/records.ts";
import { runningCandidate, runningMethod } from "../../method/running.ts";
import { CANDIDATE } from "../../score/candidate.ts";
import { ScoringEngine } from "../../score/scoring-engine.ts";
import { DataHash } from "../../sources/data-hash.ts";
import { summarizeSeries } from "../../statistics/series-summary.ts";
import { measureClass } from "./class-measures.ts";
import { type ClassResult, classResults } from "./class-results.ts";
import { shortRatioNextOpenCorrelations } from "./next-open.ts";
import type { GradedDateValue } from "./outcomes.ts";
import type { BacktestQuestion } from "./question.ts";
import { COMPARED_SUBJECT, gradedSessionIndices } from "./question.ts";
import { gradeReportPredictions, type ReportAccuracy, reportOutcomes } from "./report-dates.ts";
import { createReturnGrid, type ReturnGrid } from "./return-grid.ts";
import { sameDayCoefficients } from "./same-day.ts";
import { createPanelCollector, type PanelCollector } from "./statement-panel.ts";
import { backtestTrackRecordFigures } from "./track-record.ts";
import type { Trial } from "./trials.ts";

/** Inputs of a backtest. */
interface BacktestRun {
  readonly market: Market;
  readonly question: BacktestQuestion;
  /** Variants that were tried before on the same market. */
  readonly earlier: readonly Trial[];
  /** Called after each scored session. */
  readonly onProgress: (progress: {
    /** ISO date of the session being scored. */
    readonly session: string;
    /** Number of snapshots computed so far. */
    readonly scores: number;
    /** Completed fraction of the replay, in [0, 1]. */
    readonly fraction: number;
  }) => void;
  /** Called after the replay, before each class is measured. */
  readonly onMeasuring?: (assetClass: AssetClass) => void;
}

/** Result of a backtest. */
export interface BacktestResult {
  readonly question: BacktestQuestion;
  readonly methodVersion: string;
  /** SHA-256 of all market data known at the end of the day `question.to`. */
  readonly dataHash: string;
  readonly source: DataSource;
  /** Classes with at least one graded date. */
  readonly classes: readonly ClassResult[];
}

/** The data of one asset class before the backtest replays it. */
interface Prepared {
  readonly grid: ReturnGrid;
  readonly graded: ReadonlySet<number>;
  readonly leftOut: ExcludedSymbols;
  /** Session indices of the graded dates, at least one. */
  readonly places: readonly number[];
  /** Session indices of every session from the first graded date on. */
  readonly sessions: readonly number[];
}

/**
 * Replays a market with the service's own engine and grades its scores by the returns after them.
 * Scores are computed at session closes from data known by then; returns start at the close of the
 * session after the score and end by `question.to`.
 */
export function runBacktest({
  market,
  question,
  earlier,
  onProgress,
  onMeasuring,
}: BacktestRun): BacktestResult {
  const records = market.recordsUntil(Number.MAX_SAFE_INTEGER);
  const prepared = AssetClass.options.flatMap((assetClass) =>
    prepare(records, assetClass, question),
  );
  const { collectors, compared, everything } = collect(market, prepared, { question, onProgress });
  const measures = prepared.map((one, index) => {
    onMeasuring?.(one.grid.assetClass);
    return measureClass({
      ...one,
      question,
      records,
      panel: (collectors[index] as PanelCollector).panel(),
      comparedPanel: compared[index]?.panel(),
      reports: gradedReports({ ...one, records }, question, market),
      record: backtestTrackRecordFigures({
        ...one,
        records,
        panel: everything[index]?.panel(),
        dayMs: market.dayMs,
      }),
      ...extras({ ...one, records }, { question, dayMs: market.dayMs }),
    });
  });
  const isCandidate = question.subject === CANDIDATE.name;
  const { version: methodVersion } = isCandidate ? runningCandidate() : runningMethod();
  const dataHash = new DataHash(market).advance(Date.parse(question.to) + market.dayMs);
  const classes = classResults(measures, { question, methodVersion, dataHash, earlier });
  return { question, methodVersion, dataHash, source: market.source, classes };
}

/** Nothing is left out for a single instrument, which has no duplicates. */
const NOTHING: ExcludedSymbols = { copies: [], still: [] };

/**
 * The instruments of a class that are left out of the grading.
 *
 * @throws {Error} If all requested instruments of a class would be left out.
 */
function leftOutOf(grid: ReturnGrid, { symbols }: BacktestQuestion): ExcludedSymbols {
  if (symbols.length === 1) return NOTHING;
  const found = findExcludedSymbols(grid);
  if (symbols.length === 0) return found;
  const copies = found.copies.filter((symbol) => symbols.includes(symbol));
  const still = found.still.filter((symbol) => symbols.includes(symbol));
  const named = grid.rows.filter(({ instrument }) => symbols.includes(instrument.symbol));
  const leftOut = [...new Set([...copies, ...still])];
  if (named.length > 0 && leftOut.length === named.length) {
    throw new Error(
      `${leftOut.join(", ")}: copies of older instruments (wrapped coins, share classes) and pegged ones are not graded. Name others, or one alone.`,
    );
  }
  return { copies, still };
}

function prepare(
  records: readonly InstrumentRecords[],
  assetClass: AssetClass,
  question: BacktestQuestion,
): readonly Prepared[] {
  const grid = createReturnGrid(records, assetClass, question.to);
  const leftOut = leftOutOf(grid, question);
  const isWanted = (symbol: string) =>
    (question.symbols.length === 0 || question.symbols.includes(symbol)) &&
    !leftOut.copies.includes(symbol) &&
    !leftOut.still.includes(symbol);
  const graded = new Set(
    [...grid.rows.keys()].filter((row) => isWanted(grid.rows[row]?.instrument.symbol ?? "")),
  );
  const places = gradedSessionIndices(grid, question);
  const sessions = gradedSessionIndices(grid, { ...question, pace: "session" });
  return graded.size === 0 || places.length === 0
    ? []
    : [{ grid, graded, leftOut, places, sessions }];
}

function collect(
  market: Market,
  prepared: readonly Prepared[],
  { question, onProgress }: Pick<BacktestRun, "question" | "onProgress">,
) {
  const { subject } = question;
  const collectors = prepared.map((one) => createPanelCollector({ ...one, subject }));
  const other = COMPARED_SUBJECT[subject];
  const compared =
    other === undefined
      ? []
      : prepared.map((one) =>
          createPanelCollector({ ...one, subject: other, sessions: one.places }),
        );
  const closes = prepared.flatMap(({ grid, places }) =>
    places.map((place) => grid.sessions[place]?.close ?? 0),
  );
  const everything = isWholeRecord(question)
    ? prepared.map((one) => {
        const graded = new Set(one.grid.rows.keys());
        return createPanelCollector({ ...one, subject, graded });
      })
    : [];
  if (closes.length === 0) return { collectors, compared, everything };
  const first = closes.reduce((least, close) => Math.min(least, close));
  const last = closes.reduce((most, close) => Math.max(most, close));
  const origin = market.servedFrom(first);
  const all = [...collectors, ...compared, ...everything];
  const report = createReport(market, { origin, last }, onProgress);
  const engine = new ScoringEngine(
    { ...market, servedFrom: () => origin },
    {
      clear: () => {},
      setNewest: () => {},
      addClosed(snapshot) {
        for (const collector of all) collector.add(snapshot);
        report(snapshot.at);
      },
    },
  );
  engine.refresh(last);
  return { collectors, compared, everything };
}

/**
 * Whether the backtest covers what the track record grades: every session and every instrument,
 * including duplicates of stocks.
 */
const isWholeRecord = ({ subject, pace, symbols }: BacktestQuestion): boolean =>
  subject === "composite" && pace === "session" && symbols.length === 0;

/**
 * Creates a function that reports progress once per session. Classes are replayed one after
 * another, and each bar gives about one score.
 */
function createReport(
  market: Market,
  { origin, last }: { readonly origin: number; readonly last: number },
  onProgress: BacktestRun["onProgress"],
): (at: number) => void {
  const expected = market
    .recordsUntil(last)
    .reduce(
      (sum, { bars }) => sum + countKnownRecords(bars, last) - countKnownRecords(bars, origin),
      0,
    );
  let scores = 0;
  let reported = 0;
  return (at) => {
    scores++;
    if (at === reported) return;
    reported = at;
    const session = market.sessionAt(at - 1, "stock");
    onProgress({ session, scores, fraction: Math.min(1, scores / expected) });
  };
}

/**
 * Accuracy of the predicted filing dates of the graded companies; `null` if there is none to grade.
 */
function gradedReports(
  {
    records,
    grid,
    graded,
  }: Pick<Prepared, "grid" | "graded"> & { readonly records: readonly InstrumentRecords[] },
  { subject, from, to }: BacktestQuestion,
  { source, dayMs }: Market,
): ReportAccuracy | null {
  if (subject !== "composite" || grid.assetClass !== "stock") return null;
  const symbols = new Set([...graded].map((row) => grid.rows[row]?.instrument.symbol));
  const companies = records.filter(({ instrument }) => symbols.has(instrument.symbol));
  const [first, last] = [Date.parse(from), Date.parse(to) + 2 * dayMs];
  const outcomes = reportOutcomes(companies, dayMs).filter(
    ({ filedAt }) => filedAt >= first && filedAt < last,
  );
  const accuracy = gradeReportPredictions(outcomes, reportWindowsOf(source));
  return accuracy.filings === 0 ? null : accuracy;
}

/**
 * Measures specific to a subject: the correlation with the return of the same session for `social`,
 * and with the return from the next open for `darkpool`.
 */
function extras(
  {
    records,
    grid,
    graded,
    places,
  }: Pick<Prepared, "grid" | "graded" | "places"> & {
    readonly records: readonly InstrumentRecords[];
  },
  { question, dayMs }: { readonly question: BacktestQuestion; readonly dayMs: number },
) {
  const { subject, seed } = question;
  const from = grid.sessions[places[0] ?? 0]?.label ?? question.from;
  const summary = (figures: readonly GradedDateValue[]) => {
    const values = figures.map(({ value }) => value);
    return summarizeSeries(values, { horizon: 1, step: 1 }) ?? null;
  };
  return {
    sameDay:
      subject === "social" ? summary(sameDayCoefficients(records, grid, { from, dayMs })) : null,
    nextOpen:
      subject === "darkpool"
        ? summary(shortRatioNextOpenCorrelations({ records, grid, graded, from, seed }))
        : null,
  };
}
