import { shuffled } from "../../grading/random.ts";
import { rankCorrelation, standardizedRankProducts } from "../../grading/rank-correlation.ts";
import { residualize } from "../../grading/residuals.ts";
import { returnAfterStatement } from "../../grading/session-returns.ts";
import { type Exposures, exposuresAt } from "./exposures.ts";
import type { ReturnGrid } from "./return-grid.ts";
import type { PanelDate, SignalStatement } from "./statement-panel.ts";

/** What the service states about an instrument at a close, and the return after it. */
export interface StatementOutcome extends SignalStatement {
  /** Index of the instrument's row in the grid. */
  readonly row: number;
  /**
   * Total return over the horizon, as a natural logarithm. The horizon starts at the close after
   * the statement.
   */
  readonly followed: number;
}

/** All statements of one date for which the return is known. */
export interface DatedOutcomes {
  /** Index of the date's session in the grid. */
  readonly place: number;
  /** ISO date of the session. */
  readonly date: string;
  readonly outcomes: readonly StatementOutcome[];
}

/** Joins the statements in a panel with the returns after them. */
export function joinOutcomes(
  dates: readonly PanelDate[],
  grid: ReturnGrid,
  horizon: number,
): readonly DatedOutcomes[] {
  return dates.map(({ place, statements }) => ({
    place,
    date: grid.sessions[place]?.label ?? "",
    outcomes: statements.flatMap((statement, row) => {
      if (statement === undefined) return [];
      const gridRow = grid.rows[row];
      const followed = gridRow ? returnAfterStatement(gridRow.returns, place, horizon) : Number.NaN;
      return Number.isNaN(followed) ? [] : [{ ...statement, row, followed }];
    }),
  }));
}

/** A value for one graded date. */
export interface GradedDateValue {
  readonly place: number;
  readonly value: number;
}

/** Minimum number of instruments in a cross-section. */
const MIN_NAMES = 10;

/** The dates with enough instruments for a cross-section. */
export const datesWithCrossSection = (dates: readonly DatedOutcomes[]): readonly DatedOutcomes[] =>
  dates.filter(({ outcomes }) => outcomes.length >= MIN_NAMES);

/** Rank information coefficients of one horizon, one per date that has a cross-section. */
export interface CoefficientSeries {
  readonly raw: readonly GradedDateValue[];
  /**
   * Coefficients against volatility-scaled returns, after regressing out beta, volatility, size and
   * sector.
   */
  readonly neutral: readonly GradedDateValue[];
  /** Coefficients of the same statements shuffled among instruments, as a placebo. */
  readonly shuffled: readonly GradedDateValue[];
}

/** Computes Spearman's rank correlation for the cross-section of every date. */
export function correlateCrossSections(
  dates: readonly DatedOutcomes[],
  grid: ReturnGrid,
  seed: number,
): CoefficientSeries {
  const full = datesWithCrossSection(dates);
  const series = (coefficient: (date: DatedOutcomes) => number | undefined) =>
    full.flatMap((date): GradedDateValue[] => {
      const value = coefficient(date);
      return value === undefined ? [] : [{ place: date.place, value }];
    });
  return {
    raw: series(({ outcomes }) => rankCorrelation(zOf(outcomes), followedOf(outcomes))),
    neutral: series((date) => neutralCoefficient(date, grid)),
    shuffled: series(({ place, outcomes }) =>
      rankCorrelation(shuffled(zOf(outcomes), seed + place), followedOf(outcomes)),
    ),
  };
}

const zOf = (outcomes: readonly StatementOutcome[]) => outcomes.map(({ z }) => z);
const followedOf = (outcomes: readonly StatementOutcome[]) =>
  outcomes.map(({ followed }) => followed);

function neutralCoefficient(
  { place, outcomes }: DatedOutcomes,
  grid: ReturnGrid,
): number | undefined {
  const exposed = outcomes.flatMap(({ z, followed, row }) => {
    const gridRow = grid.rows[row];
    const exposures = gridRow && exposuresAt(grid, gridRow, place);
    const sector = gridRow?.instrument.sector ?? "";
    return exposures === undefined ? [] : [{ z, followed, sector, exposures }];
  });
  if (exposed.length < MIN_NAMES) return undefined;
  const column = (name: keyof Exposures) => exposed.map(({ exposures }) => exposures[name]);
  const residuals = residualize(
    exposed.map(({ followed, exposures }) => followed / Math.exp(exposures.logVolatility)),
    [column("beta"), column("logVolatility"), column("size")],
    exposed.map(({ sector }) => sector),
  );
  return rankCorrelation(
    exposed.map(({ z }) => z),
    residuals,
  );
}

/**
 * For a single instrument, the contribution of each date to the rank correlation over time between
 * scores and the returns after them. The mean of the contributions is the coefficient.
 */
export function timeSeriesCoefficient(
  dates: readonly DatedOutcomes[],
  seed: number,
): CoefficientSeries {
  const single = dates.flatMap(({ place, outcomes }) =>
    outcomes.map(({ z, followed }) => ({ place, z, followed })),
  );
  const followed = single.map((one) => one.followed);
  const series = (z: readonly number[]) =>
    (standardizedRankProducts(z, followed) ?? []).map((value, index) => ({
      place: (single[index] as (typeof single)[number]).place,
      value,
    }));
  const z = single.map((one) => one.z);
  return { raw: series(z), neutral: [], shuffled: series(shuffled(z, seed)) };
}
