import type { ExcludedSymbols } from "../../grading/excluded-symbols.ts";
import type { TrackRecordFigures } from "../../grading/track-record.ts";
import type { AssetClass } from "../../market/instrument.ts";
import type { InstrumentRecords } from "../../market/records.ts";
import { CANDIDATE } from "../../score/candidate.ts";
import { bootstrapInterval, type ConfidenceInterval } from "../../statistics/bootstrap.ts";
import { normalCdf } from "../../statistics/normal.ts";
import {
  datesPerHorizon,
  type HorizonOverlap,
  type SeriesSummary,
  summarizeSeries,
} from "../../statistics/series-summary.ts";
import { signalReturns } from "./book-returns.ts";
import { brierSkillOf, type Calibration, calibrate } from "./calibration.ts";
import { estimateBacktestClaim } from "./claim.ts";
import { correlateCrossSections, rawCoefficients, timeSeriesCoefficient } from "./coefficients.ts";
import { coverageOf, type DatedValue, type SubjectCoverage } from "./coverage.ts";
import { createExposureReader, type ExposureColumns } from "./exposures.ts";
import { computeHitRates, type HitRates } from "./hit-rates.ts";
import { SIZE_THIRDS } from "./neutral.ts";
import { type GradedDateValue, hasCrossSection, joinDate, joinOutcomes } from "./outcomes.ts";
import {
  forecastWalkForward,
  type ProbabilityCalibration,
  type WalkForwardForecasts,
} from "./probabilities.ts";
import {
  type BacktestQuestion,
  type BacktestSubject,
  COMPARED_SUBJECT,
  headlineHorizonSessions,
  horizonsOf,
  sessionsPerGradedDate,
} from "./question.ts";
import { measureRankBook, type RankBook, rankBookReturns } from "./rank-book.ts";
import type { ReportAccuracy } from "./report-dates.ts";
import type { ReturnGrid } from "./return-grid.ts";
import { gradeRisk } from "./risk/grade.ts";
import type { RiskMeasures } from "./risk/measures.ts";
import { gradeSteadiness, type SteadinessMeasures } from "./risk/steadiness.ts";
import { measureRiskAdjusted, type RiskAdjusted } from "./risk-adjusted.ts";
import type { SignalCount } from "./signal-count.ts";
import { type CoefficientSlice, sliceOf, slicesByRegime, slicesByYear } from "./slices.ts";
import type { PanelDate, StatementPanel } from "./statement-panel.ts";
import { measureScoreTenths, type ScoreTenths } from "./tenths.ts";

/** How well the scores of an asset class predicted its returns over one horizon. */
export interface HorizonMeasures {
  /** Length of the horizon in sessions. */
  readonly horizon: number;
  /**
   * Summary of the rank information coefficients by date. This and the other nullable members are
   * `null` if there are too few dates.
   */
  readonly ic: SeriesSummary | null;
  readonly neutralIc: SeriesSummary | null;
  /**
   * 95 % interval of the mean neutral coefficient by block bootstrap, with which the promotion rule
   * of the candidate was registered; `null` for other subjects and horizons.
   */
  readonly registeredInterval: ConfidenceInterval | null;
  readonly shuffledIc: SeriesSummary | null;
  readonly hits: HitRates | null;
  readonly book: RankBook | null;
  /** The same book of the top and the bottom fifth. */
  readonly quintiles: RankBook | null;
  readonly years: readonly CoefficientSlice[];
  readonly regimes: readonly CoefficientSlice[];
  readonly history: readonly DatedValue[];
  /** The neutral coefficient by year, by third of dollar volume, and by date. */
  readonly neutralYears: readonly CoefficientSlice[];
  readonly neutralThirds: readonly CoefficientSlice[];
  readonly neutralHistory: readonly DatedValue[];
}

/** The coefficients of a subject at one pace over the headline horizon. */
interface PaceMeasures {
  readonly ic: SeriesSummary | null;
  readonly neutralIc: SeriesSummary | null;
  readonly history: readonly DatedValue[];
  readonly neutralHistory: readonly DatedValue[];
}

/** Measures of the probabilities derived from the scores. */
interface ProbabilityMeasures extends Calibration {
  /** Horizon in sessions. */
  readonly horizon: number;
  /**
   * 95 % interval of the mean skill over dates. A probability is published only if the whole
   * interval is above 0.
   */
  readonly skillInterval: ConfidenceInterval | null;
  readonly years: WalkForwardForecasts["years"];
  /** Calibration for the probabilities of scores on dates after the backtest. */
  readonly next: ProbabilityCalibration;
}

/** Measures of one asset class, before the verdict. */
export interface ClassMeasures {
  readonly assetClass: AssetClass;
  /**
   * What the statement about an instrument on a date (`SignalStatement`) is compared with:
   * statements about other instruments on the same date, or about the same instrument on other
   * dates.
   */
  readonly comparison: "cross_section" | "through_time";
  /** Number of sessions from one graded date to the next. */
  readonly step: number;
  readonly coverage: SubjectCoverage;
  /** Instruments excluded because they duplicate another instrument or are pegged. */
  readonly leftOut: ExcludedSymbols;
  /** The horizon on which the verdict is based, in sessions. */
  readonly headline: number;
  /**
   * The coefficient on which the verdict is based: `neutral` for stocks that are compared with each
   * other, else `raw`.
   */
  readonly basis: "neutral" | "raw";
  readonly horizons: readonly HorizonMeasures[];
  /** The same graded at every session; `null` if that is the pace of the backtest. */
  readonly everySession: PaceMeasures | null;
  /** Only for stocks, the composite and the candidate method: the other one beside it. */
  readonly compared: (PaceMeasures & { readonly subject: BacktestSubject }) | null;
  /** The estimate of the live claim over 5 sessions; only for stocks that are compared. */
  readonly claim: SeriesSummary | null;
  /** Returns after the scores by tenth over the headline horizon; only for stocks. */
  readonly tenths: ScoreTenths | null;
  /**
   * Performance of the decile book over the headline horizon, and for the composite that of the
   * published signals; `null` for a single instrument and with too few instruments for either.
   */
  readonly riskAdjusted: RiskAdjusted | null;
  readonly probabilities: ProbabilityMeasures | null;
  /** Fraction of the scores in each of ten bands: 0 to 10 points, 10 to 20, ..., 90 to 100. */
  readonly scoreShares: readonly number[];
  /** Risk measures by horizon; only for the composite, since risk belongs to no factor. */
  readonly risk: readonly RiskMeasures[];
  /** Grades of the steadiness by horizon; only for stocks and coins, and the composite. */
  readonly steadiness: readonly SteadinessMeasures[];
  /** Accuracy of the predicted filing dates; only for stocks and the composite. */
  readonly reports: ReportAccuracy | null;
  /**
   * The figures that the public track record would show for the sessions of the backtest; only for
   * the composite.
   */
  readonly record: readonly TrackRecordFigures[];
  /** Statistics of the published signals of the graded instruments; independent of the subject. */
  readonly signals: SignalCount;
  /**
   * Only for the subject `social`: correlation of sentiment with the return of the same session.
   */
  readonly sameDay: SeriesSummary | null;
  /**
   * Only for the subject `darkpool`: correlation of the short ratio with the return of the first
   * session after its publication.
   */
  readonly nextOpen: SeriesSummary | null;
}

/** The data of one asset class after the backtest has replayed it. */
interface ReplayedClass {
  readonly question: BacktestQuestion;
  readonly grid: ReturnGrid;
  readonly records: readonly InstrumentRecords[];
  readonly panel: StatementPanel;
  /** The statements of `COMPARED_SUBJECT`; absent without one. */
  readonly comparedPanel: StatementPanel | undefined;
  /** Indices of the graded rows of the grid. */
  readonly graded: ReadonlySet<number>;
  readonly leftOut: ExcludedSymbols;
  readonly reports: ReportAccuracy | null;
  readonly record: readonly TrackRecordFigures[];
  readonly sameDay: SeriesSummary | null;
  readonly nextOpen: SeriesSummary | null;
}

/** Measures one asset class. */
export function measureClass(replayed: ReplayedClass): ClassMeasures {
  const { question, grid, records, panel, comparedPanel, graded, leftOut } = replayed;
  const { reports, record, sameDay, nextOpen } = replayed;
  const { assetClass } = grid;
  const headline = headlineHorizonSessions(question.subject, assetClass);
  const step = sessionsPerGradedDate(question.pace, assetClass);
  const exposuresAt = createExposureReader(grid);
  const context = { ...replayed, exposuresAt };
  const isStocks = assetClass === "stock" && !isThroughTime(replayed);
  const compared = COMPARED_SUBJECT[question.subject];
  return {
    assetClass,
    comparison: isThroughTime(replayed) ? "through_time" : "cross_section",
    step,
    coverage: coverageOf(panel.dates, grid, graded),
    leftOut,
    headline,
    basis: isStocks ? "neutral" : "raw",
    horizons: horizonsOf(assetClass).map((horizon) => measureHorizon(context, horizon)),
    everySession:
      question.pace === "session" || isThroughTime(replayed)
        ? null
        : measurePace(context, panel.sessions, { horizon: headline, step: 1 }),
    compared:
      compared === undefined || comparedPanel === undefined || !isStocks
        ? null
        : {
            subject: compared,
            ...measurePace(context, comparedPanel.dates, { horizon: headline, step }),
          },
    claim: isStocks ? estimateBacktestClaim(panel.dates, grid, { records, step }) : null,
    tenths: isStocks
      ? measureScoreTenths(joinOutcomes(panel.dates, grid, headline), grid, exposuresAt, {
          horizon: headline,
          step,
        })
      : null,
    riskAdjusted: isThroughTime(replayed) ? null : riskAdjusted(replayed),
    probabilities: isThroughTime(replayed) ? null : measureProbabilities(replayed),
    scoreShares: scoreShares(panel),
    risk:
      question.subject === "composite"
        ? gradeRisk(
            { grid, records, graded, places: panel.dates.map(({ place }) => place) },
            question,
          )
        : [],
    steadiness: gradeSteadiness(panel.dates, grid, question),
    reports,
    record,
    signals: panel.signals,
    sameDay,
    nextOpen,
  };
}

/**
 * Whether statements are compared through time: a single instrument has no peers on the same day.
 */
const isThroughTime = ({ graded }: ReplayedClass): boolean => graded.size === 1;

/** A replayed class with the exposures of its instruments. */
interface MeasuringContext extends ReplayedClass {
  readonly exposuresAt: (place: number) => ExposureColumns;
}

function measurePace(
  { grid, exposuresAt, question }: MeasuringContext,
  dates: readonly PanelDate[],
  overlap: HorizonOverlap,
): PaceMeasures {
  // Date by date, since the outcomes of all sessions of a large market would not fit in memory.
  const joined = dates.values().map((date) => joinDate(date, grid, overlap.horizon));
  const { raw, neutral } = correlateCrossSections(joined, grid, exposuresAt, question.seed);
  return {
    ic: summaryOf(raw, overlap),
    neutralIc: summaryOf(neutral, overlap),
    history: historyOf(raw, grid),
    neutralHistory: historyOf(neutral, grid),
  };
}

const summaryOf = (figures: readonly GradedDateValue[], overlap: HorizonOverlap) =>
  summarizeSeries(
    figures.map(({ value }) => value),
    overlap,
  ) ?? null;

const historyOf = (
  figures: readonly GradedDateValue[],
  { sessions }: ReturnGrid,
): readonly DatedValue[] =>
  figures.map(({ place, value }) => ({ date: sessions[place]?.label ?? "", value }));

function measureHorizon(context: MeasuringContext, horizon: number): HorizonMeasures {
  const { question, grid, panel, exposuresAt } = context;
  const { seed } = question;
  const overlap = { horizon, step: sessionsPerGradedDate(question.pace, grid.assetClass) };
  const dates = joinOutcomes(panel.dates, grid, horizon);
  const series = isThroughTime(context)
    ? timeSeriesCoefficient(dates, seed)
    : correlateCrossSections(dates, grid, exposuresAt, seed);
  return {
    horizon,
    ic: summaryOf(series.raw, overlap),
    neutralIc: summaryOf(series.neutral, overlap),
    registeredInterval:
      question.subject === CANDIDATE.name && horizon === CANDIDATE.rule.horizon
        ? (bootstrapInterval(
            series.neutral.map(({ value }) => value),
            datesPerHorizon(overlap),
            seed,
          ) ?? null)
        : null,
    shuffledIc: summaryOf(series.shuffled, overlap),
    hits: computeHitRates(dates) ?? null,
    book: measureRankBook(dates, grid, overlap, 10) ?? null,
    quintiles: measureRankBook(dates, grid, overlap, 5) ?? null,
    years: slicesByYear(series.raw, grid, overlap),
    regimes: slicesByRegime(series.raw, grid, overlap),
    history: historyOf(series.raw, grid),
    neutralYears: slicesByYear(series.neutral, grid, overlap),
    neutralThirds: series.thirds.flatMap((figures, third) =>
      figures.length === 0 ? [] : [sliceOf(SIZE_THIRDS[third] ?? "", figures, overlap)],
    ),
    neutralHistory: historyOf(series.neutral, grid),
  };
}

function riskAdjusted({ question, grid, records, panel, graded }: ReplayedClass) {
  const horizon = headlineHorizonSessions(question.subject, grid.assetClass);
  const overlap = { horizon, step: sessionsPerGradedDate(question.pace, grid.assetClass) };
  const deciles = rankBookReturns(joinOutcomes(panel.dates, grid, horizon), grid, overlap, 10);
  const signals = question.subject === "composite" ? signalReturns(panel.calls, grid) : undefined;
  const books = [
    { name: "Top less bottom decile", returns: deciles },
    ...(signals ? [{ name: signalBookName(signals), returns: signals }] : []),
  ];
  const first = (panel.dates[0]?.place ?? 0) + 2;
  return measureRiskAdjusted({ grid, records, graded, first, books });
}

const signalBookName = ({ long, short }: { readonly long: number; readonly short: number }) =>
  `Published LONG less SHORT (${long.toFixed(1)} and ${short.toFixed(1)} names on average)`;

function measureProbabilities({
  question,
  grid,
  panel,
}: ReplayedClass): ProbabilityMeasures | null {
  const horizon = headlineHorizonSessions(question.subject, grid.assetClass);
  const overlap = { horizon, step: sessionsPerGradedDate(question.pace, grid.assetClass) };
  const dates = joinOutcomes(panel.dates, grid, horizon).filter(hasCrossSection);
  if (dates.length === 0) return null;
  const { years, next, forecasts } = forecastWalkForward({
    dates,
    coefficients: rawCoefficients(dates),
    grid,
    overlap,
  });
  const calibration = calibrate(forecasts.flat());
  if (calibration === undefined) return null;
  const skills = forecasts.map((ofDate) => brierSkillOf(ofDate, calibration.climatology));
  const skillInterval = bootstrapInterval(skills, datesPerHorizon(overlap), question.seed) ?? null;
  return { ...calibration, skillInterval, horizon, years, next };
}

/** Number of bands in the distribution of scores. */
const BANDS = 10;

function scoreShares({ dates }: StatementPanel): readonly number[] {
  const counts = new Array<number>(BANDS).fill(0);
  let total = 0;
  for (const statement of dates.flatMap(({ statements }) => statements)) {
    if (statement === undefined) continue;
    const band = Math.min(BANDS - 1, Math.floor(BANDS * normalCdf(statement.z)));
    counts[band] = (counts[band] ?? 0) + 1;
    total += 1;
  }
  return counts.map((count) => (total === 0 ? 0 : count / total));
}
