import { normalCdf } from "../../factors/statistics.ts";
import { bootstrapInterval, type ConfidenceInterval } from "../../grading/bootstrap.ts";
import type { Indistinct } from "../../grading/distinct.ts";
import {
  datesPerHorizon,
  type SeriesSummary,
  summarizeSeries,
} from "../../grading/series-summary.ts";
import type { RecordFigures } from "../../grading/track-record.ts";
import type { AssetClass } from "../../market/instrument.ts";
import type { InstrumentRecords } from "../../market/records.ts";
import { type Calibration, calibrate, skillOf } from "./calibration.ts";
import { type Coverage, coverageOf, type DatedValue } from "./coverage.ts";
import { type DecileBook, decileBook } from "./decile-book.ts";
import { type HitRates, hitRates } from "./hit-rates.ts";
import {
  crossSections,
  outcomesOver,
  timeSeriesCoefficient,
  withCrossSection,
} from "./outcomes.ts";
import { type ProbabilityCalibration, type WalkForward, walkForward } from "./probabilities.ts";
import { type BacktestQuestion, headlineHorizon, horizonsOf, sessionsPerDate } from "./question.ts";
import type { ReportAccuracy } from "./report-dates.ts";
import type { ReturnGrid } from "./return-grid.ts";
import { gradeRisk } from "./risk/grade.ts";
import type { RiskMeasures } from "./risk/measures.ts";
import type { SignalCount } from "./signal-count.ts";
import { byRegime, byYear, type Slice } from "./slices.ts";
import type { Panel } from "./statement-panel.ts";

/** Measures of the returns over one horizon. */
export interface HorizonMeasures {
  /** Length in sessions. */
  readonly horizon: number;
  /** Rank information coefficient per date; `null` without enough dates, as all below. */
  readonly ic: SeriesSummary | null;
  readonly neutralIc: SeriesSummary | null;
  readonly shuffledIc: SeriesSummary | null;
  readonly hits: HitRates | null;
  readonly book: DecileBook | null;
  readonly years: readonly Slice[];
  readonly regimes: readonly Slice[];
  readonly history: readonly DatedValue[];
}

/** Measures of the probabilities derived from the scores. */
interface ProbabilityMeasures extends Calibration {
  /** Horizon in sessions. */
  readonly horizon: number;
  /** 95 % interval of the mean skill of a date. A probability is published only while it lies above 0. */
  readonly skillInterval: ConfidenceInterval | null;
  readonly years: WalkForward["years"];
  /** Calibration for the service's next probabilities. */
  readonly next: ProbabilityCalibration;
}

/** Measures of one asset class, before the verdict. */
export interface ClassMeasures {
  readonly assetClass: AssetClass;
  /** What statements are compared with: other instruments at the same date, or other dates of one instrument. */
  readonly comparison: "cross_section" | "through_time";
  /** Sessions from one graded date to the next. */
  readonly step: number;
  readonly coverage: Coverage;
  /** Instruments excluded as duplicates or pegged. */
  readonly leftOut: Indistinct;
  /** The horizon of the verdict, in sessions. */
  readonly headline: number;
  readonly horizons: readonly HorizonMeasures[];
  readonly probabilities: ProbabilityMeasures | null;
  /** Shares of the scores from 0 up to 10 points, from 10 up to 20, ... from 90 to 100. */
  readonly scoreShares: readonly number[];
  /** By horizon; of the composite alone, since risk belongs to no factor. */
  readonly risk: readonly RiskMeasures[];
  /** Accuracy of the expected filings; only for stocks and the composite. */
  readonly reports: ReportAccuracy | null;
  /** The figures by which the track record of the log grades the same sessions; only for the
   *  composite. */
  readonly record: readonly RecordFigures[];
  /** Statistics of the published signals of the graded instruments, whatever the subject. */
  readonly signals: SignalCount;
  /** Only for social: sentiment against the return of the same session. */
  readonly sameDay: SeriesSummary | null;
  /** Only for off-exchange pressure: the short ratio against the first session after it. */
  readonly nextOpen: SeriesSummary | null;
}

/** A replayed class. */
export interface ReplayedClass {
  readonly question: BacktestQuestion;
  readonly grid: ReturnGrid;
  readonly records: readonly InstrumentRecords[];
  readonly panel: Panel;
  /** Rows of the grid that are graded. */
  readonly graded: ReadonlySet<number>;
  readonly leftOut: Indistinct;
  readonly reports: ReportAccuracy | null;
  readonly record: readonly RecordFigures[];
  readonly sameDay: SeriesSummary | null;
  readonly nextOpen: SeriesSummary | null;
}

/** Measures one asset class. */
export function measureClass(replayed: ReplayedClass): ClassMeasures {
  const { question, grid, records, panel, graded, leftOut, reports, record, sameDay, nextOpen } =
    replayed;
  const { assetClass } = grid;
  const headline = headlineHorizon(question.subject, assetClass);
  return {
    assetClass,
    comparison: isThroughTime(replayed) ? "through_time" : "cross_section",
    step: sessionsPerDate(question.pace, assetClass),
    coverage: coverageOf(panel.dates, grid, graded),
    leftOut,
    headline,
    horizons: horizonsOf(assetClass).map((horizon) => measureHorizon(replayed, horizon)),
    probabilities: isThroughTime(replayed) ? null : measureProbabilities(replayed),
    scoreShares: scoreShares(panel),
    risk:
      question.subject === "composite"
        ? gradeRisk(
            { grid, records, graded, places: panel.dates.map(({ place }) => place) },
            question,
          )
        : [],
    reports,
    record,
    signals: panel.signals,
    sameDay,
    nextOpen,
  };
}

/** A single instrument has no peer on the same day. */
const isThroughTime = ({ graded }: ReplayedClass): boolean => graded.size === 1;

function measureHorizon(replayed: ReplayedClass, horizon: number): HorizonMeasures {
  const { question, grid, panel } = replayed;
  const { seed } = question;
  const overlap = { horizon, step: sessionsPerDate(question.pace, grid.assetClass) };
  const dates = outcomesOver(panel.dates, grid, horizon);
  const series = isThroughTime(replayed)
    ? timeSeriesCoefficient(dates, seed)
    : crossSections(dates, grid, seed);
  const summary = (figures: readonly { readonly value: number }[]) => {
    const values = figures.map(({ value }) => value);
    return summarizeSeries(values, overlap, seed) ?? null;
  };
  return {
    horizon,
    ic: summary(series.raw),
    neutralIc: summary(series.neutral),
    shuffledIc: summary(series.shuffled),
    hits: hitRates(dates) ?? null,
    book: decileBook(dates, overlap, seed) ?? null,
    years: byYear(series.raw, grid),
    regimes: byRegime(series.raw, grid),
    history: series.raw.map(({ place, value }) => ({
      date: grid.sessions[place]?.label ?? "",
      value,
    })),
  };
}

function measureProbabilities({
  question,
  grid,
  panel,
}: ReplayedClass): ProbabilityMeasures | null {
  const horizon = headlineHorizon(question.subject, grid.assetClass);
  const overlap = { horizon, step: sessionsPerDate(question.pace, grid.assetClass) };
  const dates = withCrossSection(outcomesOver(panel.dates, grid, horizon));
  if (dates.length === 0) return null;
  const { raw } = crossSections(dates, grid, question.seed);
  const { years, next, forecasts } = walkForward({ dates, coefficients: raw, grid, overlap });
  const calibration = calibrate(forecasts.flat());
  if (calibration === undefined) return null;
  const skills = forecasts.map((ofDate) => skillOf(ofDate, calibration.climatology));
  const skillInterval = bootstrapInterval(skills, datesPerHorizon(overlap), question.seed) ?? null;
  return { ...calibration, skillInterval, horizon, years, next };
}

/** Bands of the distribution of scores. */
const BANDS = 10;

function scoreShares({ dates }: Panel): readonly number[] {
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
