import { shuffled } from "../../grading/random.ts";
import { rankCorrelation, rankProducts } from "../../grading/rank-correlation.ts";
import { returnAfter } from "../../grading/session-returns.ts";
import { type Exposures, exposuresAt } from "./exposures.ts";
import { residualize } from "./residuals.ts";
import type { ReturnGrid } from "./return-grid.ts";
import type { PanelDate, Statement } from "./statement-panel.ts";

/** One statement and the return after it. */
export interface Outcome extends Statement {
  /** Row of the instrument in the grid. */
  readonly row: number;
  /** Log total return from the close after the statement. */
  readonly followed: number;
}

/** All statements of one date that can be graded. */
export interface DatedOutcomes {
  /** Index of the date's session in the grid. */
  readonly place: number;
  /** Its ISO date. */
  readonly date: string;
  readonly outcomes: readonly Outcome[];
}

/** Joins the statements of a panel with the returns after them. */
export function outcomesOver(
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
      const followed = gridRow ? returnAfter(gridRow.returns, place, horizon) : Number.NaN;
      return Number.isNaN(followed) ? [] : [{ ...statement, row, followed }];
    }),
  }));
}

/** One figure of one date. */
export interface DateFigure {
  readonly place: number;
  readonly value: number;
}

/** Minimum instruments of a cross-section. */
const MIN_NAMES = 10;

/** The dates with enough instruments for a cross-section. */
export const withCrossSection = (dates: readonly DatedOutcomes[]): readonly DatedOutcomes[] =>
  dates.filter(({ outcomes }) => outcomes.length >= MIN_NAMES);

/** Rank information coefficients of one horizon, one per date that has a cross-section. */
export interface CoefficientSeries {
  readonly raw: readonly DateFigure[];
  /** Against volatility-scaled returns, residual on beta, volatility, size and sector. */
  readonly neutral: readonly DateFigure[];
  /** Coefficients of the same statements shuffled among instruments, as a placebo. */
  readonly shuffled: readonly DateFigure[];
}

/** Measures every date's cross-section by Spearman's rank correlation. */
export function crossSections(
  dates: readonly DatedOutcomes[],
  grid: ReturnGrid,
  seed: number,
): CoefficientSeries {
  const full = withCrossSection(dates);
  const series = (coefficient: (date: DatedOutcomes) => number | undefined) =>
    full.flatMap((date): DateFigure[] => {
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

const zOf = (outcomes: readonly Outcome[]) => outcomes.map(({ z }) => z);
const followedOf = (outcomes: readonly Outcome[]) => outcomes.map(({ followed }) => followed);

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
 * For one instrument: the contribution of each date to the rank correlation between scores and later
 * returns over time. The mean of the contributions is the coefficient.
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
    (rankProducts(z, followed) ?? []).map((value, index) => ({
      place: (single[index] as (typeof single)[number]).place,
      value,
    }));
  const z = single.map((one) => one.z);
  return { raw: series(z), neutral: [], shuffled: series(shuffled(z, seed)) };
}
