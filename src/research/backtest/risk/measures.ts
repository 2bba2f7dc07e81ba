import { freezeEcdf } from "../../../factors/ecdf.ts";
import { mean } from "../../../factors/statistics.ts";
import {
  datesPerHorizon,
  type HorizonOverlap,
  summarizeSeries,
} from "../../../grading/series-summary.ts";
import type { RiskModel } from "../../../risk/forecast.ts";
import {
  areCovered,
  chanceOfFall,
  RANGES,
  type RangeProbability,
  rangeOf,
} from "../../../risk/ranges.ts";
import { spansReport } from "../../../risk/report-days.ts";
import type {
  HorizonTable,
  QlikeFigures,
  ReportDays,
  RiskEvidence,
  RiskVerdict,
} from "../../../risk/table.ts";
import { type Calibration, calibrate, type Forecast } from "../calibration.ts";
import { MIN_PERIODS } from "../verdict.ts";
import type { RiskObservation } from "./observations.ts";

/** Minimum instruments for a verdict on a class. */
const MIN_INSTRUMENTS = 10;
/** t of the difference in QLIKE below which a forecast is supported. */
const SUPPORTED_T = -2;

/** Coverage of the ranges in a subset of the forecasts. */
export interface CoverageSlice {
  readonly label: string;
  readonly forecasts: number;
  /** In the order of `RANGES`. */
  readonly coverage: readonly number[];
}

/** The forecasts of one class over one horizon, graded. */
export interface RiskMeasures extends HorizonTable {
  /** The forecasts after the date of the fit, in thirds by their sigma. */
  readonly thirds: readonly CoverageSlice[];
  readonly years: readonly CoverageSlice[];
  /** Calibration of the forecast chance of a fall, after the date of the fit; `null` if all
   *  outcomes are equal. */
  readonly fall: Calibration | null;
  /** Quantiles of the graded outcomes before the date of the fit; `null` where there are too few. */
  readonly fitted: readonly number[] | null;
}

/** Options of the grading. */
export interface RiskQuestion {
  readonly horizon: number;
  readonly model: RiskModel;
  readonly fallPercent: HorizonTable["fallPercent"];
  readonly quantiles: readonly number[];
  readonly reportDays: ReportDays | null;
  /** ISO date: forecasts from here on grade the quantiles. */
  readonly fittedBefore: string;
  readonly overlap: HorizonOverlap;
  readonly seed: number;
}

/** Quantiles of the standardized returns that had ended before a date; `undefined` under 30. */
export const fitQuantiles = (
  observations: readonly RiskObservation[],
  before: string,
): readonly number[] | undefined =>
  freezeEcdf(
    observations
      .filter(({ end }) => end < before)
      .map(({ followed, forecast }) => followed / forecast),
  )?.values;

/**
 * Grades forecasts. Volatility is graded on both sides of the fit, since its factors are
 * fitted on earlier outcomes than those that grade it (`observeRisk`); how far they reach was chosen
 * on those before the fit;
 * ranges and the chance of a fall only after it. Forecasts that span the date of the fit are excluded.
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

/** QLIKE of the forecast and its benchmarks on the same outcomes; `null` without any. */
function qlikeOf(
  observations: readonly RiskObservation[],
  { model, overlap, seed }: RiskQuestion,
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
    t: summarizeSeries(differences, overlap, seed)?.t ?? null,
  };
}

function qlike(variance: number, sigma: number): number {
  const ratio = variance / sigma ** 2;
  return ratio - Math.log(ratio) - 1;
}

const coverageOf = (
  observations: readonly RiskObservation[],
  quantiles: readonly number[],
): readonly number[] => RANGES.map((share) => shareWithin(observations, quantiles, share));

/** Share of the outcomes within a range; 0 without any. */
function shareWithin(
  observations: readonly RiskObservation[],
  quantiles: readonly number[],
  share: RangeProbability,
): number {
  const { low, high } = rangeOf(quantiles, share, 1);
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

/** The chance of a fall at a date and its outcome. */
interface FallForecast extends Forecast {
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

/** Brier skill against climatology, with the interval of its mean by date. */
function skillOf(
  forecasts: readonly FallForecast[],
  { overlap, seed }: RiskQuestion,
): RiskEvidence["fallSkill"] {
  const calibration = calibrate(forecasts);
  if (calibration === undefined) return null;
  const { climatology, skill } = calibration;
  const frequency = mean(forecasts.map(({ outcome }) => outcome));
  const gain = ({ probability, outcome }: Forecast) =>
    ((frequency - outcome) ** 2 - (probability - outcome) ** 2) / climatology;
  const gains = [...Map.groupBy(forecasts, ({ place }) => place)]
    .sort(([a], [b]) => a - b)
    .map(([, members]) => mean(members.map(gain)));
  const interval = summarizeSeries(gains, overlap, seed)?.interval;
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
  if (instruments < MIN_INSTRUMENTS || periods.some((count) => count < MIN_PERIODS)) {
    return "insufficient_data";
  }
  if (!areCovered(coverage)) return "not_supported";
  if (model === "ewma") return "baseline";
  const isBetter = [before, after].every((side) => (side?.t ?? 0) < SUPPORTED_T);
  return isBetter ? "supported" : "not_supported";
}
