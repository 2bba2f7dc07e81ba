import type { RiskModel } from "../../../risk/forecast.ts";
import {
  chanceOfFall,
  hasNominalCoverage,
  logReturnRange,
  RANGE_PROBABILITIES,
  type RangeProbability,
} from "../../../risk/ranges.ts";
import { spansReport } from "../../../risk/report-days.ts";
import type {
  HorizonRiskTable,
  QlikeFigures,
  ReportDayFactors,
  RiskEvidence,
  RiskVerdict,
} from "../../../risk/table.ts";
import { bootstrapInterval } from "../../../statistics/bootstrap.ts";
import { freezeEcdfTable } from "../../../statistics/ecdf.ts";
import {
  datesPerHorizon,
  type HorizonOverlap,
  neweyWestT,
} from "../../../statistics/series-summary.ts";
import { mean } from "../../../statistics/statistics.ts";
import { type Calibration, calibrate, type ProbabilityForecast } from "../calibration.ts";
import { MIN_VERDICT_PERIODS } from "../verdict.ts";
import type { RiskObservation } from "./observations.ts";

/** Minimum number of instruments for a verdict on a class. */
const MIN_INSTRUMENTS = 10;
/**
 * A forecast is supported if the t-statistic of the difference (its QLIKE minus that of the EWMA)
 * is below this value.
 */
const SUPPORTED_T = -2;

/** Coverage of the ranges for a subset of the forecasts. */
export interface CoverageSlice {
  readonly label: string;
  readonly forecasts: number;
  /** Fraction of the outcomes inside each range, in the order of `RANGE_PROBABILITIES`. */
  readonly coverage: readonly number[];
}

/** Grades of the forecasts for one class over one horizon. */
export interface RiskMeasures extends HorizonRiskTable {
  /** Coverage of the forecasts after the date of the fit, in thirds by forecast volatility. */
  readonly thirds: readonly CoverageSlice[];
  readonly years: readonly CoverageSlice[];
  /**
   * Calibration, after the date of the fit, of the forecast probability of a fall; `null` if all
   * outcomes are equal.
   */
  readonly fall: Calibration | null;
  /** Quantiles fitted on the outcomes before the date of the fit; `null` if there are too few. */
  readonly fitted: readonly number[] | null;
}

/** Parameters for grading risk forecasts. */
export interface RiskQuestion {
  readonly horizon: number;
  readonly model: RiskModel;
  readonly fallPercent: HorizonRiskTable["fallPercent"];
  readonly quantiles: readonly number[];
  readonly reportDays: ReportDayFactors | null;
  /** Date of the fit, an ISO date: the quantiles are graded on forecasts from this date on. */
  readonly fittedBefore: string;
  readonly overlap: HorizonOverlap;
  readonly seed: number;
}

/**
 * Quantiles of the standardized returns whose horizons had ended before a date; `undefined` with
 * fewer than 30 returns.
 */
export const fitQuantiles = (
  observations: readonly RiskObservation[],
  before: string,
): readonly number[] | undefined =>
  freezeEcdfTable(
    observations
      .filter(({ end }) => end < before)
      .map(({ followed, forecast }) => followed / forecast),
  )?.values;

/**
 * Grades forecasts. Ranges and the probability of a fall are graded only on forecasts from the date
 * of the fit on. Volatility is graded before and after that date, since report-day factors are
 * graded only on outcomes later than the outcomes on which they were fitted (`observeRisk`). An
 * exception is the number of sessions that the factors cover, which was chosen on outcomes before
 * the fit. Forecasts whose horizon spans the date of the fit are excluded.
 */
export function measureRisk(
  observations: readonly RiskObservation[],
  question: RiskQuestion,
): RiskMeasures {
  const { horizon, model, fallPercent, quantiles, reportDays, fittedBefore } = question;
  const before = observations.filter(({ end }) => end < fittedBefore);
  const after = observations.filter(({ date }) => date >= fittedBefore);
  const isAcrossReport = ({ reportIn }: RiskObservation) => spansReport(reportIn, horizon);
  const falls = fallsOf(after, question);
  const qlike = { before: qlikeOf(before, question), after: qlikeOf(after, question) };
  const evidence = {
    instruments: new Set(after.map(({ row }) => row)).size,
    forecasts: after.length,
    qlike,
    coverage: coverageOf(after, quantiles),
    acrossReports: reportDays && coverageOf(after.filter(isAcrossReport), quantiles),
    fallSkill: skillOf(falls, question),
  };
  return {
    horizon,
    model,
    fallPercent,
    quantiles,
    reportDays,
    evidence: { verdict: verdictOn(evidence, [before, after], question), ...evidence },
    thirds: thirdsOf(after).map(([label, part]) => sliceOf(label, part, quantiles)),
    years: [...Map.groupBy(after, ({ date }) => date.slice(0, 4))].map(([label, part]) =>
      sliceOf(label, part, quantiles),
    ),
    fall: calibrate(falls) ?? null,
    fitted: fitQuantiles(observations, fittedBefore) ?? null,
  };
}

/** QLIKE of the forecast and its benchmarks on the same outcomes; `null` without outcomes. */
function qlikeOf(
  observations: readonly RiskObservation[],
  { model, overlap }: RiskQuestion,
): QlikeFigures | null {
  const losses = observations.flatMap(({ place, sigma, variance }) =>
    variance === null
      ? []
      : [
          {
            place,
            forecast: qlike(variance, sigma[model]),
            ewma: qlike(variance, sigma.ewma),
            randomWalk: qlike(variance, sigma.random_walk),
          },
        ],
  );
  if (losses.length === 0) return null;
  const differences = [...Map.groupBy(losses, ({ place }) => place)]
    .sort(([a], [b]) => a - b)
    .map(([, members]) => mean(members.map(({ forecast, ewma }) => forecast - ewma)));
  return {
    forecast: mean(losses.map(({ forecast }) => forecast)),
    ewma: mean(losses.map(({ ewma }) => ewma)),
    randomWalk: mean(losses.map(({ randomWalk }) => randomWalk)),
    t: neweyWestT(differences, datesPerHorizon(overlap)),
  };
}

function qlike(variance: number, sigma: number): number {
  const ratio = variance / sigma ** 2;
  return ratio - Math.log(ratio) - 1;
}

const coverageOf = (
  observations: readonly RiskObservation[],
  quantiles: readonly number[],
): readonly number[] =>
  RANGE_PROBABILITIES.map((share) => shareWithin(observations, quantiles, share));

/** Fraction of the outcomes within a range; 0 without outcomes. */
function shareWithin(
  observations: readonly RiskObservation[],
  quantiles: readonly number[],
  share: RangeProbability,
): number {
  const { low, high } = logReturnRange(quantiles, share, 1);
  const isWithin = ({ followed, forecast }: RiskObservation) =>
    followed >= low * forecast && followed <= high * forecast;
  return observations.filter(isWithin).length / Math.max(1, observations.length);
}

const sliceOf = (
  label: string,
  part: readonly RiskObservation[],
  quantiles: readonly number[],
): CoverageSlice => ({ label, forecasts: part.length, coverage: coverageOf(part, quantiles) });

const THIRDS = ["calm", "middle", "wild"] as const;

function thirdsOf(observations: readonly RiskObservation[]) {
  const sorted = observations.toSorted((a, b) => a.forecast - b.forecast);
  const edge = (third: number) => Math.round((third * sorted.length) / THIRDS.length);
  return THIRDS.map((label, third) => [label, sorted.slice(edge(third), edge(third + 1))] as const);
}

/** The forecast probability of a fall on a date, and its outcome. */
interface FallForecast extends ProbabilityForecast {
  readonly place: number;
}

const fallsOf = (
  observations: readonly RiskObservation[],
  { quantiles, fallPercent }: RiskQuestion,
): readonly FallForecast[] =>
  observations.map(({ place, followed, forecast }) => ({
    place,
    probability: chanceOfFall(quantiles, fallPercent, forecast),
    outcome: followed < Math.log1p(-fallPercent / 100) ? 1 : 0,
  }));

/** Brier skill against climatology, with the 95 % interval of the mean skill over dates. */
function skillOf(
  forecasts: readonly FallForecast[],
  { overlap, seed }: RiskQuestion,
): RiskEvidence["fallSkill"] {
  const calibration = calibrate(forecasts);
  if (calibration === undefined) return null;
  const { climatology, skill } = calibration;
  const frequency = mean(forecasts.map(({ outcome }) => outcome));
  const gain = ({ probability, outcome }: ProbabilityForecast) =>
    ((frequency - outcome) ** 2 - (probability - outcome) ** 2) / climatology;
  const gains = [...Map.groupBy(forecasts, ({ place }) => place)]
    .sort(([a], [b]) => a - b)
    .map(([, members]) => mean(members.map(gain)));
  const interval = bootstrapInterval(gains, datesPerHorizon(overlap), seed);
  return interval === undefined ? null : { value: skill, low: interval.low, high: interval.high };
}

function verdictOn(
  { instruments, qlike: { before, after }, coverage }: Omit<RiskEvidence, "verdict">,
  sides: readonly (readonly RiskObservation[])[],
  { overlap, model }: RiskQuestion,
): RiskVerdict {
  const periods = sides.map(
    (side) => new Set(side.map(({ place }) => place)).size / datesPerHorizon(overlap),
  );
  if (instruments < MIN_INSTRUMENTS || periods.some((count) => count < MIN_VERDICT_PERIODS)) {
    return "insufficient_data";
  }
  if (!hasNominalCoverage(coverage)) return "not_supported";
  if (model === "ewma") return "baseline";
  const isBetter = [before, after].every((side) => (side?.t ?? 0) < SUPPORTED_T);
  return isBetter ? "supported" : "not_supported";
}
