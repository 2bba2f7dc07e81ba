import { medianOf } from "../../statistics/median.ts";
import { normalCdf } from "../../statistics/normal.ts";
import { datesPerHorizon, type HorizonOverlap } from "../../statistics/series-summary.ts";
import { mean } from "../../statistics/statistics.ts";
import type { ProbabilityForecast } from "./calibration.ts";
import type { DatedOutcomes, GradedDateValue } from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";
import { MIN_VERDICT_PERIODS } from "./verdict.ts";

/** Rank information coefficient that is assumed before any measurement. */
const PRIOR_IC = 0.02;
/** Weight of the prior coefficient; the measured coefficient has the remaining weight. */
const PRIOR_WEIGHT = 0.5;

/**
 * Probability of beating the class's median: Phi(rho z / sqrt(1 - rho^2)), in (0, 1).
 *
 * @param z z of the score: Phi^-1(score / 100).
 * @param rho Rank correlation of the score with the return, in [0, 1).
 */
export const pOutperform = (z: number, rho: number): number =>
  normalCdf((rho * z) / Math.sqrt(1 - rho * rho));

/** The correlation from which probabilities are computed. */
export interface ProbabilityCalibration {
  /** Mean of the measured coefficient and .02, at least 0; .02 if too little was measured. */
  readonly rho: number;
  /** Number of dates on which `rho` is based. */
  readonly dates: number;
}

/** Walk-forward probabilities and their outcomes. */
export interface WalkForwardForecasts {
  /** By year: the calibration from dates whose returns had ended before it. */
  readonly years: readonly (ProbabilityCalibration & { readonly year: string })[];
  /** Calibration for probabilities after the last date. */
  readonly next: ProbabilityCalibration;
  /** Forecasts by date, in chronological order. */
  readonly forecasts: readonly (readonly ProbabilityForecast[])[];
}

/** Inputs of the walk-forward calibration. */
interface WalkInput {
  readonly dates: readonly DatedOutcomes[];
  readonly coefficients: readonly GradedDateValue[];
  readonly grid: ReturnGrid;
  readonly overlap: HorizonOverlap;
}

/**
 * Forecasts the outcomes of each year with the coefficient measured in earlier years, shrunk
 * halfway toward .02 and floored at 0. With fewer than 30 independent periods, the prior .02 is
 * used. Dates whose returns reach into the forecast year are purged. No embargo is needed, since
 * later data are never used.
 */
export function forecastWalkForward(input: WalkInput): WalkForwardForecasts {
  const { dates, coefficients, grid, overlap } = input;
  const endedBefore = (year: string) =>
    coefficients.filter(({ place }) => {
      const end = grid.sessions[place + 1 + overlap.horizon]?.label;
      return end !== undefined && end < year;
    });
  const byYear = Map.groupBy(dates, ({ place }) => yearAt(grid, place));
  const years = [...byYear.keys()].map((year) => ({
    year,
    ...calibrated(endedBefore(year), overlap),
  }));
  const forecasts = years.flatMap(({ year, rho }) =>
    (byYear.get(year) ?? []).map((date) => forecastsOf(date, rho)),
  );
  return { years, next: calibrated(coefficients, overlap), forecasts };
}

const yearAt = ({ sessions }: ReturnGrid, place: number): string =>
  (sessions[place]?.label ?? "").slice(0, 4);

function calibrated(
  figures: readonly GradedDateValue[],
  overlap: HorizonOverlap,
): ProbabilityCalibration {
  const isRecord = figures.length / datesPerHorizon(overlap) >= MIN_VERDICT_PERIODS;
  const measured = isRecord ? mean(figures.map(({ value }) => value)) : PRIOR_IC;
  const rho = Math.max(0, PRIOR_WEIGHT * PRIOR_IC + (1 - PRIOR_WEIGHT) * measured);
  return { rho, dates: figures.length };
}

/**
 * Forecasts of one date. An instrument at the median return is excluded: with few instruments,
 * counting it on either side would bias the result.
 */
function forecastsOf({ outcomes }: DatedOutcomes, rho: number): readonly ProbabilityForecast[] {
  const middle = medianOf(outcomes.map(({ followed }) => followed));
  return outcomes
    .filter(({ followed }) => followed !== middle)
    .map(({ z, followed }) => ({
      probability: pOutperform(z, rho),
      outcome: followed > middle ? 1 : 0,
    }));
}
