import { fractionOf, type PeerRank } from "../factors/peer-rank.ts";
import { FACTORS, type Factor } from "../factors/reading.ts";
import { CANDIDATE_RULES } from "./candidate.ts";
import {
  type CloseTables,
  normalIn,
  peerMean,
  placeIn,
  type RankedMeasure,
} from "./close-tables.ts";
import {
  type FactorContributions,
  type FactorPlaces,
  type FactorSplit,
  NO_CONTRIBUTIONS,
  STOCK_WEIGHTS,
} from "./composite.ts";

/** Constants of the score of a stock. */
export const STOCK_SCORE_RULES = {
  weights: STOCK_WEIGHTS,
  /**
   * Z is rounded to this number of decimals, so that stocks with equal evidence have equal places
   * whatever the order of the additions.
   */
  decimals: 12,
} as const;

/** The measurements behind each factor. */
const MEASURES: Readonly<Record<Factor, readonly RankedMeasure[]>> = {
  momentum: ["residualMomentum", "reversal"],
  valuation: ["surprise"],
  social: ["social"],
  darkpool: ["darkpool"],
};

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

/** The measurements of an instrument that is not ranked: a fund or coin. */
export const NOT_RANKED: RawMeasures = {
  surprise: Number.NaN,
  residualMomentum: Number.NaN,
  monthReturn: Number.NaN,
  social: Number.NaN,
  darkpool: Number.NaN,
};

/** The five measurements of a stock, the relative ones less the mean of the peers; `NaN` if missing. */
export type StockMeasures = Readonly<Record<RankedMeasure, number>>;

/** The measurements that are ranked: momentum and reversal less the mean of the peers. */
export function relativeMeasures(
  raw: RawMeasures,
  sector: string | null,
  { means }: Pick<CloseTables, "means">,
): StockMeasures {
  const { minSector } = CANDIDATE_RULES;
  return {
    surprise: raw.surprise,
    residualMomentum: raw.residualMomentum - peerMean(means.residualMomentum, sector, minSector),
    reversal: -(raw.monthReturn - peerMean(means.monthReturn, sector, minSector)),
    social: raw.social,
    darkpool: raw.darkpool,
  };
}

/** The measurements with which a stock is in the tables of a close, and its Z there. */
export interface OwnValues {
  readonly measures: StockMeasures;
  readonly z: number;
}

/** The own values of a stock that did not trade at the close of the tables. */
export const NOT_IN_TABLES: OwnValues = {
  measures: {
    surprise: Number.NaN,
    residualMomentum: Number.NaN,
    reversal: Number.NaN,
    social: Number.NaN,
    darkpool: Number.NaN,
  },
  z: Number.NaN,
};

/** The ranked measurements of a stock and the evidence that they add up to. */
export interface StockEvidence {
  /** Normal scores of the places of the measurements; `NaN` if missing. */
  readonly normals: StockMeasures;
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
  own: StockMeasures,
): StockEvidence {
  const normals = {
    surprise: normalIn(tables, "surprise", measures.surprise, own.surprise),
    residualMomentum: normalIn(
      tables,
      "residualMomentum",
      measures.residualMomentum,
      own.residualMomentum,
    ),
    reversal: normalIn(tables, "reversal", measures.reversal, own.reversal),
    social: normalIn(tables, "social", measures.social, own.social),
    darkpool: normalIn(tables, "darkpool", measures.darkpool, own.darkpool),
  };
  return { normals, z: evidenceOf(normals) };
}

/** Z of a stock with these normal scores; `NaN` without any part. */
function evidenceOf(normals: StockMeasures): number {
  if (knownParts(normals) === 0) return Number.NaN;
  const { momentum, valuation, social, darkpool } = termsOf(normals);
  return rounded(momentum + valuation + social + darkpool);
}

const isKnown = (normal: number): boolean => !Number.isNaN(normal);

/** Number of parts that could be measured: the measurements whose mean counts. */
const knownParts = ({ surprise, residualMomentum, reversal }: StockMeasures): number =>
  Number(isKnown(surprise)) + Number(isKnown(residualMomentum)) + Number(isKnown(reversal));

const orZero = (normal: number): number => (isKnown(normal) ? normal : 0);

/** What each factor of a stock with a known part adds to Z; 0 if the factor is missing. */
function termsOf(normals: StockMeasures): FactorContributions {
  const { weights } = STOCK_SCORE_RULES;
  const share = weights.parts / knownParts(normals);
  return {
    momentum: share * (orZero(normals.residualMomentum) + orZero(normals.reversal)),
    valuation: share * orZero(normals.surprise),
    social: weights.social * orZero(normals.social),
    darkpool: weights.darkpool * orZero(normals.darkpool),
  };
}

const SCALE = 10 ** STOCK_SCORE_RULES.decimals;
const rounded = (z: number): number => Math.round(z * SCALE) / SCALE;

/** Z of some of the factors, the others counting as 0. */
const sumOf = (terms: FactorContributions, factors: readonly Factor[]): number =>
  rounded(factors.reduce((sum, factor) => sum + terms[factor], 0));

/** A value, its place among its peers, and the normal score of that place. */
interface ScoredValue extends PeerRank {
  readonly value: number;
  readonly normal: number;
}

/** A stock's place in the tables of a close; immutable. */
export class StockStanding implements OwnValues, FactorSplit {
  readonly raw: RawMeasures;
  readonly normals: StockMeasures;
  readonly z: number;
  readonly #sector: string | null;
  readonly #tables: CloseTables;
  readonly #own: OwnValues;
  #contributions: FactorContributions | undefined;

  /**
   * @param own With what the stock is in the tables; by default it is in there with this standing.
   */
  constructor(
    { raw, sector }: { readonly raw: RawMeasures; readonly sector: string | null },
    { normals, z }: StockEvidence,
    tables: CloseTables,
    own?: OwnValues,
  ) {
    this.raw = raw;
    this.#sector = sector;
    this.normals = normals;
    this.z = z;
    this.#tables = tables;
    this.#own = own ?? this;
  }

  get measures(): StockMeasures {
    return relativeMeasures(this.raw, this.#sector, this.#tables);
  }

  /** A measurement, its place, and the normal score of that place; `undefined` if it is missing. */
  ranked(measure: RankedMeasure): ScoredValue | undefined {
    const value = this.measures[measure];
    if (Number.isNaN(value)) return undefined;
    const { rank, of } = placeIn(this.#tables, measure, value, this.#own.measures[measure]);
    return { value, rank, of, normal: this.normals[measure] };
  }

  /** The place of Z; `null` if no part could be measured. */
  get place(): PeerRank | null {
    return Number.isNaN(this.z) ? null : placeIn(this.#tables, "composite", this.z, this.#own.z);
  }

  /** Computed when they are read, since most standings are replaced before anyone reads them. */
  get contributions(): FactorContributions {
    this.#contributions ??= Number.isNaN(this.z)
      ? NO_CONTRIBUTIONS
      : splitScore(this.normals, this.#tables, this.#own.z);
    return this.#contributions;
  }

  get places(): FactorPlaces {
    return { social: this.ranked("social"), darkpool: this.ranked("darkpool") };
  }
}

/** 100 (rank - 0.5) / n of Z among the stocks of a close, in (0, 100). */
export const scoreAt = (place: PeerRank): number => 100 * fractionOf(place);

/**
 * Splits score - 50 among the present factors by their Shapley values (Shapley, 1953): the mean,
 * over all orders in which the factors can be added, of what a factor changes. The value of a set of
 * factors is the score that its part of Z would have; without any factor it is 50.
 *
 * @param ownZ Z with which the stock is in the tables; `NaN` if it is not.
 */
function splitScore(
  normals: StockMeasures,
  tables: CloseTables,
  ownZ: number,
): FactorContributions {
  const terms = termsOf(normals);
  const players = FACTORS.filter((factor) =>
    MEASURES[factor].some((measure) => isKnown(normals[measure])),
  );
  const values = Array.from({ length: 2 ** players.length }, (_, set) => {
    if (set === 0) return 50;
    const members = players.filter((_, place) => set & (1 << place));
    return scoreAt(placeIn(tables, "composite", sumOf(terms, members), ownZ));
  });
  const contributions = { ...NO_CONTRIBUTIONS };
  for (const [place, factor] of players.entries()) {
    contributions[factor] = shapleyValue(values, place, players.length);
  }
  return contributions;
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
