import { mean } from "../../factors/statistics.ts";
import {
  datesPerHorizon,
  type HorizonOverlap,
  type SeriesSummary,
  summarizeSeries,
} from "../../grading/series-summary.ts";
import { type BookReturns, type Cohort, cohortReturns, netReturns } from "./book-returns.ts";
import { type SharpeEstimate, sharpeOf } from "./deflated-sharpe.ts";
import { maxDrawdown, wealthPath } from "./drawdown.ts";
import type { DatedOutcomes, StatementOutcome } from "./outcomes.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** One-way trading costs in basis points. */
const COSTS_BP = [0, 5, 10, 20] as const;

const DECILES = 10;

/** Minimum number of instruments on a date: with fewer, a decile would be one or two names. */
export const MIN_DECILE_INSTRUMENTS = 30;

const BASIS_POINT = 1e-4;

/**
 * A simulated book: long the top decile and short the bottom decile of the scores, equally
 * weighted.
 */
export interface DecileBook {
  /** Mean number of instruments in a decile. */
  readonly names: number;
  /**
   * Mean over dates of each decile's simple return minus the mean return of all instruments, from
   * the lowest decile to the highest.
   */
  readonly excess: readonly number[];
  /**
   * Simple return of the top decile minus that of the bottom decile, before costs: a summary over
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
  /** Wealth of the book that holds all unexpired deciles, at the graded dates. */
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
  /** The instruments, lowest decile first. */
  readonly deciles: readonly (readonly StatementOutcome[])[];
  /** Mean number of instruments in a decile. */
  readonly names: number;
  /** Mean simple return of each decile minus the mean simple return of all instruments. */
  readonly excess: readonly number[];
  readonly gross: number;
  /** Mean turnover of the two legs, in [0, 1]. */
  readonly turnover: number;
}

/**
 * Measures the book over all dates with enough instruments. A book is held for the whole horizon, so
 * its turnover is measured against the book that it replaces. If the horizon is shorter than the
 * step between dates, the book is sold at the end of the horizon, which is full turnover.
 *
 * @returns `undefined` if there are too few dates.
 */
export function measureDecileBook(
  dates: readonly DatedOutcomes[],
  grid: ReturnGrid,
  overlap: HorizonOverlap,
): DecileBook | undefined {
  const holdings = holdingsOf(dates, overlap);
  const spread = summarizeSeries(
    holdings.map(({ gross }) => gross),
    overlap,
  );
  if (spread === undefined) return undefined;
  const returns = cohortReturns(holdings.map(cohortOf), grid, overlap.horizon);
  const first = (holdings[0] as Holding).place + 2;
  const end = (holdings.at(-1) as Holding).place + 2 + overlap.horizon;
  const held = [...returns.gross.subarray(first, end)];
  return {
    names: mean(holdings.map(({ names }) => names)),
    excess: Array.from({ length: DECILES }, (_, decile) =>
      mean(holdings.map(({ excess }) => excess[decile] as number)),
    ),
    spread,
    turnover: mean(holdings.map(({ turnover }) => turnover)),
    net: COSTS_BP.map((costBp) => ({
      costBp,
      mean: mean(holdings.map((holding) => netOf(holding, costBp))),
    })),
    path: pathOf(returns, holdings, grid),
    maxDrawdown: maxDrawdown(held),
    sharpe: sharpeOf(held) ?? null,
  };
}

/** Returns by session of the book that holds all unexpired deciles; flat without enough names. */
export const decileBookReturns = (
  dates: readonly DatedOutcomes[],
  grid: ReturnGrid,
  overlap: HorizonOverlap,
): BookReturns => cohortReturns(holdingsOf(dates, overlap).map(cohortOf), grid, overlap.horizon);

const cohortOf = ({ place, deciles, turnover }: Holding): Cohort => ({
  place,
  long: deciles.at(-1) ?? [],
  short: deciles[0] ?? [],
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

function holdingsOf(dates: readonly DatedOutcomes[], overlap: HorizonOverlap): readonly Holding[] {
  const full = dates.filter(({ outcomes }) => outcomes.length >= MIN_DECILE_INSTRUMENTS);
  const deciles = full.map(({ outcomes }) => splitInDeciles(outcomes));
  const distance = datesPerHorizon(overlap);
  return full.map(({ place, outcomes }, index) => {
    const now = deciles[index] as readonly (readonly StatementOutcome[])[];
    const all = meanReturn(outcomes);
    const excess = now.map((decile) => meanReturn(decile) - all);
    const before = overlap.horizon < overlap.step ? undefined : deciles[index - distance];
    const isSoldAtEnd = overlap.horizon < overlap.step;
    return {
      place,
      deciles: now,
      names: outcomes.length / DECILES,
      excess,
      gross: (excess.at(-1) as number) - (excess[0] as number),
      turnover: isSoldAtEnd ? 1 : legTurnover(now, before),
    };
  });
}

/**
 * Splits instruments into deciles by score, lowest first.
 */
function splitInDeciles(
  outcomes: readonly StatementOutcome[],
): readonly (readonly StatementOutcome[])[] {
  const sorted = outcomes.toSorted((a, b) => a.z - b.z);
  const edge = (decile: number) => Math.round((decile * sorted.length) / DECILES);
  return Array.from({ length: DECILES }, (_, decile) =>
    sorted.slice(edge(decile), edge(decile + 1)),
  );
}

const meanReturn = (outcomes: readonly StatementOutcome[]): number =>
  mean(outcomes.map(({ followed }) => Math.expm1(followed)));

/**
 * Mean turnover of the top and bottom deciles. The first book only buys, which counts as a turnover
 * of 0.5.
 */
function legTurnover(
  now: readonly (readonly StatementOutcome[])[],
  before: readonly (readonly StatementOutcome[])[] | undefined,
): number {
  if (before === undefined) return 0.5;
  const leg = (decile: number) => turnover(before.at(decile) ?? [], now.at(decile) ?? []);
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
