import { medianOf } from "../../statistics/median.ts";
import {
  type HorizonOverlap,
  type SeriesSummary,
  summarizeSeries,
} from "../../statistics/series-summary.ts";
import { mean } from "../../statistics/statistics.ts";
import type { ExposureColumns } from "./exposures.ts";
import { type NeutralOutcome, neutralOutcomes } from "./neutral.ts";
import type { DatedOutcomes } from "./outcomes.ts";
import { minBookInstruments, splitByScore } from "./rank-book.ts";
import type { ReturnGrid } from "./return-grid.ts";

const TENTHS = 10;

/** What followed the scores of one tenth of the instruments of each date. */
interface ScoreTenth {
  readonly statements: number;
  /** Mean over dates of the mean neutral return, a log return as a fraction. */
  readonly neutralReturn: number;
  /** Fraction whose return was above the median of its date, in [0, 1]; ties are not counted. */
  readonly beatMedian: number;
}

/** What followed the scores, by tenth of the instruments of each date. */
export interface ScoreTenths {
  /** Horizon in sessions. */
  readonly horizon: number;
  /** Lowest scores first. */
  readonly tenths: readonly ScoreTenth[];
  /** Neutral return of the top tenth minus that of the bottom tenth: a summary over dates. */
  readonly spread: SeriesSummary | null;
}

/** One tenth on one date. */
interface DatedTenth {
  readonly neutralReturn: number;
  readonly beat: number;
  readonly compared: number;
  readonly statements: number;
}

/**
 * Measures the returns after the scores by tenth, on the dates with at least thirty instruments.
 *
 * @returns `null` without such a date.
 */
export function measureScoreTenths(
  dates: readonly DatedOutcomes[],
  grid: ReturnGrid,
  exposuresAt: (place: number) => ExposureColumns,
  overlap: HorizonOverlap,
): ScoreTenths | null {
  const measured = dates.flatMap((date) => {
    const outcomes = neutralOutcomes(date, grid, exposuresAt) ?? [];
    return outcomes.length < minBookInstruments(TENTHS) ? [] : [tenthsOf(outcomes)];
  });
  if (measured.length === 0) return null;
  const tenths = Array.from({ length: TENTHS }, (_, tenth): ScoreTenth => {
    const members = measured.map((date) => date[tenth] as DatedTenth);
    const total = (of: (one: DatedTenth) => number) =>
      members.reduce((sum, one) => sum + of(one), 0);
    return {
      statements: total(({ statements }) => statements),
      neutralReturn: mean(members.map(({ neutralReturn }) => neutralReturn)),
      beatMedian: total(({ beat }) => beat) / total(({ compared }) => compared),
    };
  });
  const spreads = measured.map(
    (date) => (date.at(-1) as DatedTenth).neutralReturn - (date[0] as DatedTenth).neutralReturn,
  );
  return { horizon: overlap.horizon, tenths, spread: summarizeSeries(spreads, overlap) ?? null };
}

function tenthsOf(outcomes: readonly NeutralOutcome[]): readonly DatedTenth[] {
  const middle = medianOf(outcomes.map(({ followed }) => followed));
  return splitByScore(outcomes, TENTHS).map((members) => {
    const compared = members.filter(({ followed }) => followed !== middle);
    return {
      neutralReturn: mean(members.map(({ neutralReturn }) => neutralReturn)),
      beat: compared.filter(({ followed }) => followed > middle).length,
      compared: compared.length,
      statements: members.length,
    };
  });
}
