import { mean, normalCdf } from "../factors/statistics.ts";
import type { Forecast } from "./calibration.ts";
import { medianOf } from "./median.ts";
import type { DatedOutcomes, DateFigure } from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** Information coefficient that is assumed before any is measured. */
const PRIOR_IC = 0.02;
/** Weight of the prior against what was measured. */
const PRIOR_WEIGHT = 0.5;

/**
 * Probability of beating the median of the class: Phi(rho z / sqrt(1 - rho^2)) (method 3.1).
 *
 * @param rho Information coefficient in [0, 1).
 */
export const outperformance = (z: number, rho: number): number =>
  normalCdf((rho * z) / Math.sqrt(1 - rho * rho));

/** What the probabilities of one year were made with. */
export interface YearlyRho {
  readonly year: string;
  readonly rho: number;
  /** Dates behind it, all of which had ended before the year. */
  readonly dates: number;
}

/** Walk-forward probabilities and what came of them. */
export interface WalkForward {
  readonly years: readonly YearlyRho[];
  readonly forecasts: readonly Forecast[];
}

/** What a walk-forward needs. */
interface WalkInput {
  readonly dates: readonly DatedOutcomes[];
  readonly coefficients: readonly DateFigure[];
  readonly grid: ReturnGrid;
  readonly horizon: number;
}

/**
 * Forecasts every year with the coefficient of the years before, shrunk half to .02 and floored
 * at 0. A date whose return reaches into the year is no part of its past (purging).
 */
export function walkForward(input: WalkInput): WalkForward {
  const { dates, grid } = input;
  const byYear = Map.groupBy(dates, ({ place }) => yearAt(grid, place));
  const years = [...byYear.keys()].map((year) => rhoBefore(year, input));
  const forecasts = years.flatMap(({ year, rho }) =>
    (byYear.get(year) ?? []).flatMap((date) => forecastsOf(date, rho)),
  );
  return { years, forecasts };
}

const yearAt = ({ sessions }: ReturnGrid, place: number): string =>
  (sessions[place]?.label ?? "").slice(0, 4);

function rhoBefore(year: string, { coefficients, grid, horizon }: WalkInput): YearlyRho {
  const ended = coefficients
    .filter(({ place }) => yearAt(grid, place + 1 + horizon) < year)
    .map(({ value }) => value);
  const measured = ended.length === 0 ? PRIOR_IC : mean(ended);
  const rho = Math.max(0, PRIOR_WEIGHT * PRIOR_IC + (1 - PRIOR_WEIGHT) * measured);
  return { year, rho, dates: ended.length };
}

/** An instrument on the median itself beats nothing. */
function forecastsOf({ outcomes }: DatedOutcomes, rho: number): readonly Forecast[] {
  const middle = medianOf(outcomes.map(({ followed }) => followed));
  return outcomes.map(({ z, followed }) => ({
    probability: outperformance(z, rho),
    outcome: followed > middle ? 1 : 0,
  }));
}
