import type { AssetClass } from "../market/instrument.ts";
import type { RiskModel } from "./forecast.ts";

/** Falls whose chances are forecast at the shorter and at the longer horizon, in percent. */
const FALL_PERCENTS = [5, 10] as const;

/**
 * Verdict on a forecast. `supported`: QLIKE below that of the exponentially weighted mean with t
 * under -2 before and after the date of the fit, and every range within .03 of its coverage after
 * it. `baseline`: the forecast is that mean itself, and the ranges hold as well. `not_supported`:
 * anything else. `insufficient_data`: under 10 instruments or 30 independent periods on either
 * side.
 */
export const RISK_VERDICTS = [
  "supported",
  "baseline",
  "not_supported",
  "insufficient_data",
] as const;
export type RiskVerdict = (typeof RISK_VERDICTS)[number];

/** Mean QLIKE y/f - ln(y/f) - 1 of variance forecasts; smaller is better. */
export interface QlikeFigures {
  readonly forecast: number;
  readonly ewma: number;
  readonly randomWalk: number;
  /** Diebold-Mariano t of forecast minus ewma, over dates; `null` where both are the same. */
  readonly t: number | null;
}

/** Measurements of the forecasts of one class over one horizon. */
export interface RiskEvidence {
  readonly verdict: RiskVerdict;
  readonly instruments: number;
  /** Forecasts after the date of the fit whose outcome is known. */
  readonly forecasts: number;
  /** Before and after the date of the fit. */
  readonly qlike: { readonly before: QlikeFigures | null; readonly after: QlikeFigures | null };
  /** Shares of the outcomes after the fit that lay within the ranges, as `RANGES` has them. */
  readonly coverage: readonly number[];
  /** The same for those in whose horizon a report was expected; `null` where reports are not in the
   *  forecast. */
  readonly acrossReports: readonly number[] | null;
  /** Brier skill of the chance of a fall after the fit, against climatology. */
  readonly fallSkill: {
    readonly value: number;
    readonly low: number;
    readonly high: number;
  } | null;
}

/** Factors of a session's variance by its distance from the one on which a report is expected. */
export interface ReportDays {
  /** Sessions before the expected one to which the first factor belongs. */
  readonly before: number;
  /** One for each session from then on; sessions further away have the factor 1. */
  readonly factors: readonly number[];
}

/** Parameters of the ranges and of the chance of a fall over one horizon. */
export interface HorizonQuantiles {
  /** In sessions. */
  readonly horizon: number;
  /**
   * Quantiles at `PROBABILITIES` of log return / forecast standard deviation over the horizon
   * (`horizonSigma`), from the last known close.
   */
  readonly quantiles: readonly number[];
  /** The fall whose chance is forecast, in percent. */
  readonly fallPercent: number;
  /** `null` where reports are not in the forecast. */
  readonly reportDays: ReportDays | null;
}

/** The forecasts of one class over one horizon. */
export interface HorizonTable extends HorizonQuantiles {
  readonly model: RiskModel;
  readonly fallPercent: (typeof FALL_PERCENTS)[number];
  readonly evidence: RiskEvidence;
}

/** The quantiles of the method, and the evidence on them from later data. */
export interface RiskTable {
  /** Data on which the quantiles were fitted, and later data on which the evidence was measured. */
  readonly fitted: string;
  readonly tested: string;
  readonly classes: Readonly<Record<AssetClass, readonly HorizonTable[]>>;
}
