import { mean, normalCdf } from "../../factors/statistics.ts";
import type { Forecast } from "./calibration.ts";
import { medianOf } from "./median.ts";
import type { DatedOutcomes, DateFigure } from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";
import { type Overlap, overlapDates } from "./series-summary.ts";
import { MIN_PERIODS } from "./verdict.ts";

/** Information coefficient that is assumed before any is measured. */
const PRIOR_IC = 0.02;
/** Weight of the prior against what was measured. */
const PRIOR_WEIGHT = 0.5;

/**
 * Probability of beating the class's median: Phi(rho z / sqrt(1 - rho^2)), in (0, 1).
 *
 * @param z That of the score, Phi^-1(score / 100).
 * @param rho Rank correlation of the score with the return, in [0, 1).
 */
export const pOutperform = (z: number, rho: number): number =>
  normalCdf((rho * z) / Math.sqrt(1 - rho * rho));

/** What probabilities are made with. */
export interface Calibrated {
  /** Half of the coefficient that was measured and half of .02, at least 0; .02 without a record. */
  readonly rho: number;
  /** Dates behind it. */
  readonly dates: number;
}

/** What the probabilities of one year were made with: dates that had ended before it. */
interface YearlyRho extends Calibrated {
  readonly year: string;
}

/** Walk-forward probabilities and what came of them. */
export interface WalkForward {
  readonly years: readonly YearlyRho[];
  /** What the probabilities after the last date would be made with. */
  readonly next: Calibrated;
  /** Those of each date, in the order of time. */
  readonly forecasts: readonly (readonly Forecast[])[];
}

/** What a walk-forward needs. */
interface WalkInput {
  readonly dates: readonly DatedOutcomes[];
  readonly coefficients: readonly DateFigure[];
  readonly grid: ReturnGrid;
  readonly overlap: Overlap;
}

/**
 * Forecasts every year with the coefficient of the years before, shrunk half to .02 and floored
 * at 0; under 30 independent periods nothing is learned from them. A date whose return reaches into
 * the year is no part of its past (purging). Nothing after a year teaches it: there is nothing to
 * put an embargo on.
 */
export function walkForward(input: WalkInput): WalkForward {
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

function calibrated(figures: readonly DateFigure[], overlap: Overlap): Calibrated {
  const isRecord = figures.length / overlapDates(overlap) >= MIN_PERIODS;
  const measured = isRecord ? mean(figures.map(({ value }) => value)) : PRIOR_IC;
  const rho = Math.max(0, PRIOR_WEIGHT * PRIOR_IC + (1 - PRIOR_WEIGHT) * measured);
  return { rho, dates: figures.length };
}

/** An instrument on the median itself is on neither side: with few names that would be a bias. */
function forecastsOf({ outcomes }: DatedOutcomes, rho: number): readonly Forecast[] {
  const middle = medianOf(outcomes.map(({ followed }) => followed));
  return outcomes
    .filter(({ followed }) => followed !== middle)
    .map(({ z, followed }) => ({
      probability: pOutperform(z, rho),
      outcome: followed > middle ? 1 : 0,
    }));
}
