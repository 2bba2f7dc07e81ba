import type { ExposurePercentiles } from "../score/exposures.ts";
import { normalQuantile } from "../statistics/normal.ts";
import { rankCorrelation } from "../statistics/rank-correlation.ts";
import { residualize } from "../statistics/residuals.ts";
import { type SeriesSummary, summarizeSeries } from "../statistics/series-summary.ts";

/** Horizon in sessions of the claim about the score of stocks. */
export const CLAIM_HORIZON_SESSIONS = 5;

/** Minimum number of instruments on a date for a coefficient. */
const MIN_NAMES = 10;

/** Percentiles lie this far inside [0, 100], so that a rounded 0 or 100 has a normal score. */
const PERCENTILE_EDGE = 0.005;

/** What was said about an instrument at a close, and the return that followed. */
export interface ClaimStatement {
  /** The score, or any increasing function of it: only its rank counts. */
  readonly score: number;
  /** Log total return over the horizon, from the close of the session after the statement. */
  readonly followed: number;
  /**
   * Forecast standard deviation of the log return over the horizon, positive; `null` without a
   * forecast.
   */
  readonly sigma: number | null;
  /** Percentiles at the close, rounded to two decimals as in the signal log. */
  readonly percentiles: ExposurePercentiles;
  readonly sector: string | null;
}

/** Neutral rank ICs of one run; `null` with fewer than ten complete statements. */
export interface NeutralCoefficients {
  readonly score: number | null;
  /** Of the candidate method. */
  readonly candidate: number | null;
}

/**
 * The neutral rank information coefficient of one date: Spearman's correlation of the scores with
 * the residuals of return / sigma in a regression on the normal scores of the three percentiles
 * and on a constant per sector. An unknown sector counts as a sector.
 *
 * @param statements In any order; those without sigma or without a percentile are left out.
 * @returns In [-1, 1]; `null` with fewer than ten complete statements, and if all scores are equal.
 */
export function claimCoefficient(statements: readonly ClaimStatement[]): number | null {
  const complete = statements.flatMap(({ score, followed, sigma, percentiles, sector }) => {
    const { beta, volatility, dollarVolume } = percentiles;
    if (sigma === null || beta === null || volatility === null || dollarVolume === null) return [];
    const exposures = [beta, volatility, dollarVolume].map(normalScoreOf);
    return [{ score, scaled: followed / sigma, exposures, sector: sector ?? "" }];
  });
  if (complete.length < MIN_NAMES) return null;
  const residuals = residualize(
    complete.map(({ scaled }) => scaled),
    [0, 1, 2].map((column) => complete.map(({ exposures }) => exposures[column] as number)),
    complete.map(({ sector }) => sector),
  );
  const scores = complete.map(({ score }) => score);
  return rankCorrelation(scores, residuals) ?? null;
}

const normalScoreOf = (percentile: number): number =>
  normalQuantile(Math.min(100 - PERCENTILE_EDGE, Math.max(PERCENTILE_EDGE, percentile)) / 100);

/**
 * The estimate of the claim: the mean of the coefficients of the dates, with a t and a 95 %
 * interval that allow for overlap. Its t is a normal quantile, so that it can be compared with that
 * of any level of significance.
 *
 * @param coefficients Results of `claimCoefficient` in chronological order; `null` is left out.
 * @param step Number of sessions from one date to the next.
 * @returns `null` with fewer than two coefficients.
 */
export const estimateClaim = (
  coefficients: readonly (number | null)[],
  step: number,
): SeriesSummary | null =>
  summarizeSeries(
    coefficients.filter((value) => value !== null),
    { horizon: CLAIM_HORIZON_SESSIONS, step },
  ) ?? null;
