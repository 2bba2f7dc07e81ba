import {
  datesPerHorizon,
  type HorizonOverlap,
  type SeriesSummary,
  summarizeSeries,
} from "../../statistics/series-summary.ts";
import { mean } from "../../statistics/statistics.ts";
import { type BookReturns, type Cohort, cohortReturns, netReturns } from "./book-returns.ts";
import { type SharpeEstimate, sharpeOf } from "./deflated-sharpe.ts";
import { maxDrawdown, wealthPath } from "./drawdown.ts";
import type { DatedOutcomes, StatementOutcome } from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** One-way trading costs in basis points. */
const COSTS_BP = [0, 3, 10, 20] as const;

/** Number of groups of equal size into which a book sorts the instruments of a date. */
type BookGroups = 5 | 10;

/** Minimum number of instruments in a group. */
const MIN_GROUP = 3;

/** Minimum number of instruments on a date. */
export const minBookInstruments = (groups: BookGroups): number => MIN_GROUP * groups;

const BASIS_POINT = 1e-4;

/**
 * A simulated book: long the top group and short the bottom group of the scores, equally weighted.
 */
export interface RankBook {
  readonly groups: BookGroups;
  /** Mean number of instruments in a group. */
  readonly names: number;
  /**
   * Mean over dates of each group's simple return minus the mean return of all instruments, from
   * the lowest group to the highest.
   */
  readonly excess: readonly number[];
  /**
   * Simple return of the top group minus that of the bottom group, before costs: a summary over
   * dates.
   */
  readonly spread: SeriesSummary;
  /**
   * Fraction of a leg that is replaced per holding period, in [0, 1]: sum |dw| / 2 over the weights
   * w.
   */
  readonly turnover: number;
  /** Mean spread after costs, in the order of `COSTS_BP`. */
  readonly net: readonly { readonly costBp: number; readonly mean: number }[];
  /**
   * One-way cost in basis points at which the mean spread is 0; `null` if the spread is not
   * positive.
   */
  readonly breakEvenBp: number | null;
  /** Wealth of the book that holds all unexpired groups, at the graded dates. */
  readonly path: readonly PathPoint[];
  /** Maximum drawdown of that book by session, before costs. */
  readonly maxDrawdown: number;
  /** Sharpe ratio per session of that book before costs; `null` if it cannot be measured. */
  readonly sharpe: SharpeEstimate | null;
}

/** Growth of 1 in the book up to a date. */
interface PathPoint {
  /** ISO date. */
  readonly date: string;
  /** Wealth before costs and after costs of 10 bp. */
  readonly gross: number;
  readonly net10: number;
}

/** The book formed on one date. */
interface Holding {
  /** Index of the session of the scores. */
  readonly place: number;
  /** The instruments, lowest group first. */
  readonly groups: readonly (readonly StatementOutcome[])[];
  /** Mean number of instruments in a group. */
  readonly names: number;
  /** Mean simple return of each group minus the mean simple return of all instruments. */
  readonly excess: readonly number[];
  readonly gross: number;
  /** Mean turnover of the two legs, in [0, 1]. */
  readonly turnover: number;
}

/**
 * Measures the book over all dates with enough instruments. A book is held for the whole horizon,
 * so its turnover is measured against the book that it replaces. If the horizon is shorter than the
 * step between dates, the book is sold at the end of the horizon, which is full turnover.
 *
 * @returns `undefined` if there are too few dates.
 */
export function measureRankBook(
  dates: readonly DatedOutcomes[],
  grid: ReturnGrid,
  overlap: HorizonOverlap,
  groups: BookGroups,
): RankBook | undefined {
  const holdings = holdingsOf(dates, overlap, groups);
  const spread = summarizeSeries(
    holdings.map(({ gross }) => gross),
    overlap,
  );
  if (spread === undefined) return undefined;
  const returns = cohortReturns(holdings.map(cohortOf), grid, overlap.horizon);
  const first = (holdings[0] as Holding).place + 2;
  const end = (holdings.at(-1) as Holding).place + 2 + overlap.horizon;
  const held = [...returns.gross.subarray(first, end)];
  const turnover = mean(holdings.map((holding) => holding.turnover));
  return {
    groups,
    names: mean(holdings.map(({ names }) => names)),
    excess: Array.from({ length: groups }, (_, group) =>
      mean(holdings.map(({ excess }) => excess[group] as number)),
    ),
    spread,
    turnover,
    net: COSTS_BP.map((costBp) => ({
      costBp,
      mean: mean(holdings.map((holding) => netOf(holding, costBp))),
    })),
    breakEvenBp: spread.mean > 0 ? spread.mean / (4 * turnover * BASIS_POINT) : null,
    path: pathOf(returns, holdings, grid),
    maxDrawdown: maxDrawdown(held),
    sharpe: sharpeOf(held) ?? null,
  };
}

/** Returns by session of the book that holds all unexpired groups; flat without enough names. */
export const rankBookReturns = (
  dates: readonly DatedOutcomes[],
  grid: ReturnGrid,
  overlap: HorizonOverlap,
  groups: BookGroups,
): BookReturns =>
  cohortReturns(holdingsOf(dates, overlap, groups).map(cohortOf), grid, overlap.horizon);

const cohortOf = ({ place, groups, turnover }: Holding): Cohort => ({
  place,
  long: groups.at(-1) ?? [],
  short: groups[0] ?? [],
  traded: 4 * turnover,
});

function pathOf(
  returns: BookReturns,
  holdings: readonly Holding[],
  { sessions }: ReturnGrid,
): readonly PathPoint[] {
  const gross = wealthPath([...returns.gross]);
  const net10 = wealthPath([...netReturns(returns, 10)]);
  return holdings.map(({ place }) => ({
    date: sessions[place]?.label ?? "",
    gross: gross[place] as number,
    net10: net10[place] as number,
  }));
}

/** The spread minus the cost of selling and buying the turnover in both legs. */
const netOf = ({ gross, turnover }: Holding, costBp: number): number =>
  gross - 4 * turnover * costBp * BASIS_POINT;

function holdingsOf(
  dates: readonly DatedOutcomes[],
  overlap: HorizonOverlap,
  count: BookGroups,
): readonly Holding[] {
  const full = dates.filter(({ outcomes }) => outcomes.length >= minBookInstruments(count));
  const grouped = full.map(({ outcomes }) => splitByScore(outcomes, count));
  const distance = datesPerHorizon(overlap);
  return full.map(({ place, outcomes }, index) => {
    const groups = grouped[index] as readonly (readonly StatementOutcome[])[];
    const all = meanReturn(outcomes);
    const excess = groups.map((group) => meanReturn(group) - all);
    const isSoldAtEnd = overlap.horizon < overlap.step;
    return {
      place,
      groups,
      names: outcomes.length / count,
      excess,
      gross: (excess.at(-1) as number) - (excess[0] as number),
      turnover: isSoldAtEnd ? 1 : legTurnover(groups, grouped[index - distance]),
    };
  });
}

/** Splits instruments into groups of equal size by score, lowest first. */
export function splitByScore<T extends { readonly z: number }>(
  outcomes: readonly T[],
  count: number,
): readonly (readonly T[])[] {
  const sorted = outcomes.toSorted((a, b) => a.z - b.z);
  const edge = (group: number) => Math.round((group * sorted.length) / count);
  return Array.from({ length: count }, (_, group) => sorted.slice(edge(group), edge(group + 1)));
}

const meanReturn = (outcomes: readonly StatementOutcome[]): number =>
  mean(outcomes.map(({ followed }) => Math.expm1(followed)));

/**
 * Mean turnover of the top and bottom groups. The first book only buys, which counts as a turnover
 * of 0.5.
 */
function legTurnover(
  now: readonly (readonly StatementOutcome[])[],
  before: readonly (readonly StatementOutcome[])[] | undefined,
): number {
  if (before === undefined) return 0.5;
  const leg = (group: number) => turnover(before.at(group) ?? [], now.at(group) ?? []);
  return (leg(0) + leg(-1)) / 2;
}

/**
 * Turnover between consecutive equal-weighted books, sum |dw| / 2 over the weights w; the drift of
 * weights is ignored.
 */
function turnover(before: readonly StatementOutcome[], now: readonly StatementOutcome[]): number {
  const weights = new Map(now.map(({ row }) => [row, 1 / now.length]));
  for (const { row } of before) weights.set(row, (weights.get(row) ?? 0) - 1 / before.length);
  return [...weights.values()].reduce((sum, change) => sum + Math.abs(change), 0) / 2;
}
