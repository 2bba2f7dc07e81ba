import { fractionOf } from "../factors/peer-rank.ts";
import { FACTORS, type Factor } from "../factors/reading.ts";
import {
  type CloseTables,
  placeIn,
  type RankedMeasure,
  rankIn,
  type ScoredValue,
} from "./close-tables.ts";
import { type FactorContributions, NO_CONTRIBUTIONS, STOCK_WEIGHTS } from "./composite.ts";

/** Constants of the score of a stock. */
export const STOCK_SCORE_RULES = {
  weights: STOCK_WEIGHTS,
  /**
   * Z is rounded to this number of decimals, so that stocks with equal evidence have equal places
   * whatever the order of the additions.
   */
  decimals: 12,
} as const;

/** The parts of the score, by the factor that they belong to. */
const PARTS = {
  valuation: ["surprise"],
  momentum: ["residualMomentum", "reversal"],
} as const satisfies Partial<Record<Factor, readonly RankedMeasure[]>>;

/** Measurements of a stock at an instant, before the comparison with its sector; `NaN` if missing. */
export interface RawMeasures {
  readonly surprise: number;
  readonly residualMomentum: number;
  /** Log return over `CANDIDATE_RULES.reversalSessions`. */
  readonly monthReturn: number;
  /** z of the social and of the dark pool reading. */
  readonly social: number;
  readonly darkpool: number;
}

/** The five measurements of a stock, the relative ones less the mean of the peers; `NaN` if missing. */
export type StockMeasures = Readonly<Record<RankedMeasure, number>>;

/** The measurements with which a stock is in the tables of a close, and its Z there. */
export interface OwnValues extends StockMeasures {
  readonly composite: number;
}

/** The own values of a stock that did not trade at the close of the tables. */
export const NOT_IN_TABLES: OwnValues = {
  surprise: Number.NaN,
  residualMomentum: Number.NaN,
  reversal: Number.NaN,
  social: Number.NaN,
  darkpool: Number.NaN,
  composite: Number.NaN,
};

/** The ranked measurements of a stock and the evidence that they add up to. */
export interface StockEvidence {
  /** Places by measurement; `undefined` if it is missing. */
  readonly ranked: Readonly<Record<RankedMeasure, ScoredValue | undefined>>;
  /** What each factor adds to Z; 0 if the factor is missing. */
  readonly terms: FactorContributions;
  /**
   * Z = .8 mean of the normal scores of the known parts + .1 normal score of the social reading + .1
   * normal score of the dark pool reading; missing readings count as 0. `NaN` without any part.
   */
  readonly z: number;
}

/** Ranks the measurements of a stock in the tables of a close. */
export function rankStock(
  measures: StockMeasures,
  tables: CloseTables,
  own: OwnValues,
): StockEvidence {
  const rank = (measure: RankedMeasure) => rankIn(tables, measure, measures[measure], own[measure]);
  const ranked = {
    surprise: rank("surprise"),
    residualMomentum: rank("residualMomentum"),
    reversal: rank("reversal"),
    social: rank("social"),
    darkpool: rank("darkpool"),
  };
  const { weights } = STOCK_SCORE_RULES;
  const normal = (measure: RankedMeasure): number => ranked[measure]?.normal ?? 0;
  const isKnown = (measure: RankedMeasure): boolean => ranked[measure] !== undefined;
  const parts = [...PARTS.valuation, ...PARTS.momentum].filter(isKnown).length;
  const share = weights.parts / Math.max(1, parts);
  const terms = {
    momentum: share * (normal("residualMomentum") + normal("reversal")),
    valuation: share * normal("surprise"),
    social: weights.social * normal("social"),
    darkpool: weights.darkpool * normal("darkpool"),
  };
  return { ranked, terms, z: parts === 0 ? Number.NaN : sumOf(terms, FACTORS) };
}

/** Z of some of the factors, the others counting as 0. */
function sumOf(terms: FactorContributions, factors: readonly Factor[]): number {
  let sum = 0;
  for (const factor of factors) sum += terms[factor];
  const scale = 10 ** STOCK_SCORE_RULES.decimals;
  return Math.round(sum * scale) / scale;
}

/** Whether a factor has a value that is part of Z. */
function isPresent({ ranked }: StockEvidence, factor: Factor): boolean {
  const measures: readonly RankedMeasure[] =
    factor === "momentum" || factor === "valuation" ? PARTS[factor] : [factor];
  return measures.some((measure) => ranked[measure] !== undefined);
}

/** The score of a stock, and what each factor contributes to it. */
export interface StockScore {
  /** 100 (rank - 0.5) / n of Z among the stocks of the close, in (0, 100). */
  readonly score: number;
  readonly contributions: FactorContributions;
}

/** A stock's place in the tables of a close. */
export interface StockStanding {
  readonly raw: RawMeasures;
  /** With what the stock is in the tables itself. */
  readonly own: OwnValues;
  readonly measures: StockMeasures;
  readonly evidence: StockEvidence;
  /** `undefined` if no part could be measured. Computed when it is read, as warm-up never does. */
  readonly scored: StockScore | undefined;
}

/**
 * Scores the evidence of a stock by its place in the tables of a close, and splits score - 50 among
 * the present factors by their Shapley values (Shapley, 1953): the mean, over all orders in which
 * the factors can be added, of what a factor changes. The value of a set of factors is the score
 * that its part of Z would have; without any factor it is 50.
 *
 * @param ownZ Z with which the stock is in the tables; `NaN` if it is not.
 */
export function scoreEvidence(
  evidence: StockEvidence,
  tables: CloseTables,
  ownZ: number,
): StockScore {
  const players = FACTORS.filter((factor) => isPresent(evidence, factor));
  const values = Array.from({ length: 2 ** players.length }, (_, set) => {
    if (set === 0) return 50;
    const members = players.filter((_, place) => set & (1 << place));
    const z = sumOf(evidence.terms, members);
    return 100 * fractionOf(placeIn(tables, "composite", z, ownZ));
  });
  const contributions = { ...NO_CONTRIBUTIONS };
  for (const [place, factor] of players.entries()) {
    contributions[factor] = shapleyValue(values, place, players.length);
  }
  return { score: values.at(-1) as number, contributions };
}

/** Number of orders of n things: n!. */
const ORDERS = [1, 1, 2, 6, 24] as const;

/**
 * The Shapley value of a player.
 *
 * @param values Value of each set of players, by the bit mask of its members.
 * @param player Place of the player's bit.
 */
function shapleyValue(values: readonly number[], player: number, players: number): number {
  let sum = 0;
  for (let set = 0; set < values.length; set++) {
    if (set & (1 << player)) continue;
    const others = bitCount(set);
    const orders = (ORDERS[others] as number) * (ORDERS[players - others - 1] as number);
    sum += orders * ((values[set | (1 << player)] as number) - (values[set] as number));
  }
  return sum / (ORDERS[players] as number);
}

function bitCount(set: number): number {
  let count = 0;
  for (let rest = set; rest > 0; rest &= rest - 1) count++;
  return count;
}
