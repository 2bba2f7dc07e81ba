import type { AssetClass } from "../market/instrument.ts";
import type { RiskModel } from "./forecast.ts";

/**
 * Size in percent of the falls whose probability is forecast, at the shorter and the longer
 * horizon.
 */
const FALL_PERCENTS = [5, 10] as const;

/**
 * Verdict on a forecast:
 * - `supported`: both before and after the date of the fit, QLIKE is below that of the
 * exponentially weighted mean with t under -2; after it, every range is within .03 of its nominal
 * coverage
 * - `baseline`: the forecast is the exponentially weighted mean itself, and after the date of the
 * fit every range is within .03 of its nominal coverage
 * - `not_supported`: anything else
 * - `insufficient_data`: fewer than 10 instruments, or fewer than 30 independent periods before or
 * after the date of the fit
 */
export const RISK_VERDICTS = [
  "supported",
  "baseline",
  "not_supported",
  "insufficient_data",
] as const;
export type RiskVerdict = (typeof RISK_VERDICTS)[number];

/**
 * Mean QLIKE loss y/f - ln(y/f) - 1 of variance forecasts f for realized variance y; smaller is
 * better.
 */
export interface QlikeFigures {
  readonly forecast: number;
  readonly ewma: number;
  readonly randomWalk: number;
  /**
   * Diebold-Mariano t, over dates, of the loss of `forecast` minus the loss of `ewma`; `null` if
   * the two forecasts are the same.
   */
  readonly t: number | null;
}

/** Evidence on the forecasts for one class over one horizon. */
export interface RiskEvidence {
  readonly verdict: RiskVerdict;
  readonly instruments: number;
  /** Number of forecasts after the date of the fit whose outcome is known. */
  readonly forecasts: number;
  /** Loss before and after the date of the fit. */
  readonly qlike: { readonly before: QlikeFigures | null; readonly after: QlikeFigures | null };
  /**
   * Fraction of the outcomes after the date of the fit that lie inside each range, in the order of
   * `RANGE_PROBABILITIES`.
   */
  readonly coverage: readonly number[];
  /**
   * Coverage of the forecasts in whose horizon a report was expected; `null` if the forecast does
   * not consider reports.
   */
  readonly acrossReports: readonly number[] | null;
  /**
   * Brier skill, against climatology, of the forecast probability of a fall, with its 95 %
   * interval; measured after the date of the fit.
   */
  readonly fallSkill: {
    readonly value: number;
    readonly low: number;
    readonly high: number;
  } | null;
}

/** Factors of a session's variance, by its distance in sessions from the expected report. */
export interface ReportDayFactors {
  /** Number of sessions before the expected report to which the first factor applies. */
  readonly before: number;
  /**
   * One factor per session, starting `before` sessions ahead of the expected report; all other
   * sessions have the factor 1.
   */
  readonly factors: readonly number[];
}

/** Parameters of the ranges and of the probability of a fall over one horizon. */
export interface HorizonQuantiles {
  /** Length of the horizon in sessions. */
  readonly horizon: number;
  /**
   * Quantiles at `ECDF_PROBABILITIES` of the log return from the last known close, divided by its
   * forecast standard deviation over the horizon (`horizonSigma`).
   */
  readonly quantiles: readonly number[];
  /** Size in percent of the fall whose probability is forecast. */
  readonly fallPercent: number;
  /** Report-day factors; `null` if the forecast does not consider reports. */
  readonly reportDays: ReportDayFactors | null;
}

/** The quantiles and the evidence for the forecasts of one class over one horizon. */
export interface HorizonRiskTable extends HorizonQuantiles {
  readonly model: RiskModel;
  readonly fallPercent: (typeof FALL_PERCENTS)[number];
  readonly evidence: RiskEvidence;
}

/** The quantiles used by the method, and the evidence on them from later data. */
export interface RiskTable {
  /**
   * Descriptions of the data on which the quantiles were fitted, and of the later data on which
   * they were tested.
   */
  readonly fitted: string;
  readonly tested: string;
  readonly classes: Readonly<Record<AssetClass, readonly HorizonRiskTable[]>>;
}
