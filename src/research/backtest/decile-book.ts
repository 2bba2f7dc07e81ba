import { mean } from "../../factors/statistics.ts";
import {
  datesPerHorizon,
  type HorizonOverlap,
  type SeriesSummary,
  summarizeSeries,
} from "../../grading/series-summary.ts";
import { type SharpeEstimate, sharpeOf } from "./deflated-sharpe.ts";
import { maxDrawdown } from "./drawdown.ts";
import { type DatedOutcomes, datesWithCrossSection, type StatementOutcome } from "./outcomes.ts";

/** One-way trading costs in basis points. */
const COSTS_BP = [0, 5, 10, 20] as const;

const DECILES = 10;
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
  /**
   * Spreads of consecutive holding periods that do not overlap, before costs and after costs of 10
   * bp.
   */
  readonly path: readonly PathPoint[];
  readonly maxDrawdown: number;
  /** Sharpe ratio of the path before costs; `null` if it cannot be measured. */
  readonly sharpe: SharpeEstimate | null;
}

/** One holding period on the path of the book. */
interface PathPoint {
  /** ISO date of the scores. */
  readonly date: string;
  /** Simple returns over the holding period, before costs and after costs of 10 bp. */
  readonly gross: number;
  readonly net10: number;
}

/** The book formed on one date. */
interface Holding {
  readonly date: string;
  /** Mean number of instruments in a decile. */
  readonly names: number;
  /** Mean simple return of each decile minus the mean simple return of all instruments. */
  readonly excess: readonly number[];
  readonly gross: number;
  /** Mean turnover of the two legs, in [0, 1]. */
  readonly turnover: number;
}

/**
 * Measures the book over all dates with a cross-section. A book is held for the whole horizon, so
 * its turnover is measured against the book that it replaces. If the horizon is shorter than the
 * step between dates, the book is sold at the end of the horizon, which is full turnover.
 *
 * @returns `undefined` if there are too few dates.
 */
export function measureDecileBook(
  dates: readonly DatedOutcomes[],
  overlap: HorizonOverlap,
  seed: number,
): DecileBook | undefined {
  const holdings = holdingsOf(dates, overlap);
  const spread = summarizeSeries(
    holdings.map(({ gross }) => gross),
    overlap,
    seed,
  );
  if (spread === undefined) return undefined;
  const apart = holdings.filter((_, index) => index % datesPerHorizon(overlap) === 0);
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
    path: apart.map((holding) => ({
      date: holding.date,
      gross: holding.gross,
      net10: netOf(holding, 10),
    })),
    maxDrawdown: maxDrawdown(apart.map(({ gross }) => gross)),
    sharpe: sharpeOf(apart.map(({ gross }) => gross)) ?? null,
  };
}

/** The spread minus the cost of selling and buying the turnover in both legs. */
const netOf = ({ gross, turnover }: Holding, costBp: number): number =>
  gross - 4 * turnover * costBp * BASIS_POINT;

function holdingsOf(dates: readonly DatedOutcomes[], overlap: HorizonOverlap): readonly Holding[] {
  const full = datesWithCrossSection(dates);
  const deciles = full.map(({ outcomes }) => splitInDeciles(outcomes));
  const distance = datesPerHorizon(overlap);
  return full.map(({ date, outcomes }, index) => {
    const now = deciles[index] as readonly (readonly StatementOutcome[])[];
    const all = meanReturn(outcomes);
    const excess = now.map((decile) => meanReturn(decile) - all);
    const before = overlap.horizon < overlap.step ? undefined : deciles[index - distance];
    const isSoldAtEnd = overlap.horizon < overlap.step;
    return {
      date,
      names: outcomes.length / DECILES,
      excess,
      gross: (excess.at(-1) as number) - (excess[0] as number),
      turnover: isSoldAtEnd ? 1 : legTurnover(now, before),
    };
  });
}

/**
 * Splits instruments into deciles by score, lowest first; with at least ten instruments no decile
 * is empty.
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
