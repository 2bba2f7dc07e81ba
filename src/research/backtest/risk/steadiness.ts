import { STEADINESS_HORIZONS } from "../../../score/steadiness.ts";
import { rankCorrelation, ranks } from "../../../statistics/rank-correlation.ts";
import { type SeriesSummary, summarizeSeries } from "../../../statistics/series-summary.ts";
import { mean } from "../../../statistics/statistics.ts";
import { type BacktestQuestion, sessionsPerGradedDate } from "../question.ts";
import type { ReturnGrid } from "../return-grid.ts";
import { type CoefficientSlice, slicesByYear } from "../slices.ts";
import type { PanelDate } from "../statement-panel.ts";
import { type FallOutcome, gradeWorstFifthChance, type WorstFifthChance } from "./worst-fifth.ts";

/** Minimum number of stocks on a graded date. */
const MIN_STOCKS = 10;

/** Number of groups of equal size, by steadiness and by outcome. */
const FIFTHS = 5;

/** How well steadiness ranked the falls that followed, over one horizon. */
export interface SteadinessMeasures {
  /** Length of the horizon in sessions. */
  readonly horizon: number;
  /**
   * Rank correlation, by date, of steadiness with the deepest fall of the horizon; positive if
   * steadier stocks fell less.
   */
  readonly ic: SeriesSummary | null;
  readonly years: readonly CoefficientSlice[];
  /**
   * Fraction of the stocks of each fifth by steadiness, the riskiest first, whose fall was among
   * the deepest fifth of its date; 0.2 each without any skill.
   */
  readonly worstFifth: readonly number[];
  /**
   * The chance of being among the worst fifth; `null` if no year can be forecast from earlier ones.
   */
  readonly chance: WorstFifthChance | null;
}

/** Grades the steadiness of the stocks of a panel; empty if nothing was ranked. */
export function gradeSteadiness(
  dates: readonly PanelDate[],
  grid: ReturnGrid,
  { pace, seed }: Pick<BacktestQuestion, "pace" | "seed">,
): readonly SteadinessMeasures[] {
  return STEADINESS_HORIZONS.flatMap((horizon) => {
    const graded = dates.flatMap((date) => {
      const outcomes = outcomesOf(date, grid, horizon);
      return outcomes.length < MIN_STOCKS ? [] : [{ place: date.place, outcomes }];
    });
    if (graded.length === 0) return [];
    const series = graded.flatMap(({ place, outcomes }) => {
      const value = rankCorrelation(outcomes.map(steadinessOf), outcomes.map(fallOf));
      return value === undefined ? [] : [{ place, value }];
    });
    const overlap = { horizon, step: sessionsPerGradedDate(pace, grid.assetClass) };
    const values = series.map(({ value }) => value);
    return [
      {
        horizon,
        ic: summarizeSeries(values, overlap) ?? null,
        years: slicesByYear(series, grid, overlap),
        worstFifth: worstFifthByFifth(graded.map(({ outcomes }) => outcomes)),
        chance: gradeWorstFifthChance(graded, grid, overlap, seed),
      },
    ];
  });
}

const steadinessOf = ({ steadiness }: FallOutcome): number => steadiness;
const fallOf = ({ fall }: FallOutcome): number => fall;

function outcomesOf({ place, statements }: PanelDate, grid: ReturnGrid, horizon: number) {
  return statements.flatMap((statement, row): FallOutcome[] => {
    const returns = grid.rows[row]?.returns;
    if (statement?.steadiness === undefined || returns === undefined) return [];
    const fall = deepestFallAfter(returns, place, horizon);
    return fall === undefined ? [] : [{ steadiness: statement.steadiness, fall }];
  });
}

/**
 * The deepest fall of a horizon: its lowest close against the close at which it begins, as the
 * logarithm of the total return; 0 if no close was lower. It begins at the close of the session
 * after the statement.
 *
 * @returns `undefined` if the calendar ends earlier, or if the price is unknown at the beginning or
 * throughout.
 */
function deepestFallAfter(
  returns: Float64Array,
  place: number,
  horizon: number,
): number | undefined {
  const entry = place + 1;
  if (entry + horizon >= returns.length || Number.isNaN(returns[entry])) return undefined;
  let sum = 0;
  let deepest = 0;
  let hasTraded = false;
  for (let at = entry + 1; at <= entry + horizon; at++) {
    const value = returns[at] as number;
    if (Number.isNaN(value)) continue;
    sum += value;
    deepest = Math.min(deepest, sum);
    hasTraded = true;
  }
  return hasTraded ? deepest : undefined;
}

/** The fifth of each value among the values, 0 for the smallest. */
const fifthsOf = (values: readonly number[]): readonly number[] =>
  Array.from(ranks(values), (rank) => Math.floor(((rank - 0.5) / values.length) * FIFTHS));

function worstFifthByFifth(dates: readonly (readonly FallOutcome[])[]): readonly number[] {
  const hits = Array.from({ length: FIFTHS }, (): number[] => []);
  for (const outcomes of dates) {
    const bySteadiness = fifthsOf(outcomes.map(steadinessOf));
    const byFall = fifthsOf(outcomes.map(fallOf));
    for (const [index, fifth] of bySteadiness.entries()) {
      hits[fifth]?.push(byFall[index] === 0 ? 1 : 0);
    }
  }
  return hits.map((group) => (group.length === 0 ? 0 : mean(group)));
}
