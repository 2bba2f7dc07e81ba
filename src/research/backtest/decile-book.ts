import { mean } from "../../factors/statistics.ts";
import {
  datesPerHorizon,
  type HorizonOverlap,
  type SeriesSummary,
  summarizeSeries,
} from "../../grading/series-summary.ts";
import { type SharpeFinding, sharpeOf } from "./deflated-sharpe.ts";
import { maxDrawdown } from "./drawdown.ts";
import { type DatedOutcomes, type Outcome, withCrossSection } from "./outcomes.ts";

/** One-way trading costs in basis points. */
const COSTS_BP = [0, 5, 10, 20] as const;

const DECILES = 10;
const BASIS_POINT = 1e-4;

/** Long the top decile and short the bottom decile of the scores, equally weighted. */
export interface DecileBook {
  /** Mean number of instruments in a decile. */
  readonly names: number;
  /** Mean simple return of each decile less that of all, per date, from the lowest to the highest. */
  readonly excess: readonly number[];
  /** Top minus bottom decile per date, before costs. */
  readonly spread: SeriesSummary;
  /** Share of a leg that is replaced per holding period, in [0, 1]: sum |dw| / 2. */
  readonly turnover: number;
  /** Mean spread after costs, in the order of `COSTS_BP`. */
  readonly net: readonly { readonly costBp: number; readonly mean: number }[];
  /** Non-overlapping consecutive spreads, before costs and at 10 bp. */
  readonly path: readonly PathPoint[];
  readonly maxDrawdown: number;
  /** Sharpe ratio of the path before costs; `null` if it cannot be measured. */
  readonly sharpe: SharpeFinding | null;
}

/** One step of the book's path. */
interface PathPoint {
  /** ISO date of the scores. */
  readonly date: string;
  /** Simple returns over the holding period. */
  readonly gross: number;
  readonly net10: number;
}

/** One date of the book. */
interface Holding {
  readonly date: string;
  /** Mean number of instruments in a decile. */
  readonly names: number;
  /** Excess return by decile. */
  readonly excess: readonly number[];
  readonly gross: number;
  /** Mean of the two legs. */
  readonly turnover: number;
}

/**
 * Measures the book over all dates with a cross-section. A book is held for the whole horizon, so its
 * turnover is against the book that it replaces; with a horizon below the step it is sold at its end.
 *
 * @returns `undefined` with too few dates.
 */
export function decileBook(
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

/** Spread less the costs of selling and buying the turnover in both legs. */
const netOf = ({ gross, turnover }: Holding, costBp: number): number =>
  gross - 4 * turnover * costBp * BASIS_POINT;

function holdingsOf(dates: readonly DatedOutcomes[], overlap: HorizonOverlap): readonly Holding[] {
  const full = withCrossSection(dates);
  const deciles = full.map(({ outcomes }) => splitInDeciles(outcomes));
  const distance = datesPerHorizon(overlap);
  return full.map(({ date, outcomes }, index) => {
    const now = deciles[index] as readonly (readonly Outcome[])[];
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

/** Deciles by score, the lowest first; with at least ten names none is empty. */
function splitInDeciles(outcomes: readonly Outcome[]): readonly (readonly Outcome[])[] {
  const sorted = outcomes.toSorted((a, b) => a.z - b.z);
  const edge = (decile: number) => Math.round((decile * sorted.length) / DECILES);
  return Array.from({ length: DECILES }, (_, decile) =>
    sorted.slice(edge(decile), edge(decile + 1)),
  );
}

const meanReturn = (outcomes: readonly Outcome[]): number =>
  mean(outcomes.map(({ followed }) => Math.expm1(followed)));

/** Mean turnover of the outer deciles; the first book only buys, which is a half. */
function legTurnover(
  now: readonly (readonly Outcome[])[],
  before: readonly (readonly Outcome[])[] | undefined,
): number {
  if (before === undefined) return 0.5;
  const leg = (decile: number) => turnover(before.at(decile) ?? [], now.at(decile) ?? []);
  return (leg(0) + leg(-1)) / 2;
}

/** sum |dw| / 2 between consecutive equal-weighted books, ignoring the drift of weights. */
function turnover(before: readonly Outcome[], now: readonly Outcome[]): number {
  const weights = new Map(now.map(({ row }) => [row, 1 / now.length]));
  for (const { row } of before) weights.set(row, (weights.get(row) ?? 0) - 1 / before.length);
  return [...weights.values()].reduce((sum, change) => sum + Math.abs(change), 0) / 2;
}
