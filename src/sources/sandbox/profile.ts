import type { Instrument } from "../../market/instrument.ts";
import { phrasesFor } from "./phrases.ts";
import { type Draw, type Draws, logUniform } from "./rng.ts";
import { ROLES, type Role, SECTOR_NAMES, type Traits } from "./universe.ts";

/** One instrument and the figures around which its records move. */
export interface Profile {
  /** Position in the cast, from 0. */
  readonly index: number;
  readonly instrument: Instrument;
  readonly traits: Traits;
  /** Which common sector movement it follows; coins share one of their own. */
  readonly sectorIndex: number;
  /** Price around which it moves for good, in USD. */
  readonly basePrice: number;
  /** Price steps per USD: 100 for stocks, 10,000 for coins. */
  readonly ticksPerUsd: number;
  /** Standard deviation of its own daily log return in an average regime. */
  readonly volatility: number;
  /** Sensitivity to the market's daily return. */
  readonly beta: number;
  /** Shares outstanding around which the count moves. */
  readonly baseShares: number;
  /** Turnover of an average day, in USD. */
  readonly dailyVolumeUsd: number;
  /** Dividend per quarter as a fraction of the price, 0 for none. */
  readonly dividendYield: number;
  readonly splits: boolean;
  /** Yearly earnings at the base price, a fraction of the base market value. */
  readonly earningsYield: number;
  /** Book equity as a fraction of the base market value. */
  readonly bookYield: number;
  readonly messagesPerDay: number;
  readonly printsPerDay: number;
  /** See `phrasesFor`. */
  readonly phrases: readonly (readonly string[])[];
}

/** Every how many stocks one makes losses, pays no dividend or splits, so that none is left to chance. */
const EVERY = { lossMaker: 13, noDividend: 2, split: 4 } as const;
const THIN_PRINTS_PER_DAY = 0.15;

function instrumentOf({ ticker, name, sector }: Role): Instrument {
  const isCoin = sector === null;
  return {
    symbol: isCoin ? `${ticker}-USD.SIM` : `${ticker}.SIM`,
    name,
    assetClass: isCoin ? "crypto" : "stock",
    exchange: isCoin ? null : "SIMX",
    currency: "USD",
    sector,
  };
}

type StockKey = Pick<Profile, "index" | "sectorIndex" | "traits">;

/** Sectors differ in their usual earnings yield, from 2.5 % to 8.5 %. */
function earningsYieldOf(draw: Draw, { index, sectorIndex }: StockKey): number {
  if (index % EVERY.lossMaker === 5) return -0.02 - 0.05 * draw();
  return (0.025 + 0.015 * sectorIndex) * (0.8 + 0.4 * draw());
}

function stockFigures(draw: Draw, key: StockKey) {
  const { index, traits } = key;
  const basePrice = logUniform(draw, [25, 250]);
  const baseShares = logUniform(draw, [5e7, 1e9]);
  return {
    basePrice,
    baseShares,
    ticksPerUsd: 100,
    volatility: 0.01 + 0.01 * draw(),
    beta: 0.6 + 0.8 * draw(),
    dailyVolumeUsd: basePrice * baseShares * (0.003 + 0.005 * draw()),
    dividendYield: index % EVERY.noDividend === 0 ? 0 : 0.004 + 0.006 * draw(),
    splits: traits.listing === null && index % EVERY.split === 0,
    earningsYield: earningsYieldOf(draw, key),
    bookYield: logUniform(draw, [0.1, 1.2]),
    messagesPerDay: 2 + 2 * draw(),
    printsPerDay: traits.offExchange === "thin" ? THIN_PRINTS_PER_DAY : 5 + 1.5 * draw(),
  };
}

function coinFigures(draw: Draw) {
  return {
    basePrice: logUniform(draw, [2, 20_000]),
    baseShares: 0,
    ticksPerUsd: 10_000,
    volatility: 0.02 + 0.02 * draw(),
    beta: 0.3 + 0.6 * draw(),
    dailyVolumeUsd: logUniform(draw, [5e6, 2e9]),
    dividendYield: 0,
    splits: false,
    earningsYield: 0,
    bookYield: 0,
    messagesPerDay: 3 + 3 * draw(),
    printsPerDay: 0,
  };
}

function profileOf(role: Role, index: number, draw: Draw): Profile {
  const instrument = instrumentOf(role);
  const isCoin = role.sector === null;
  const sectorIndex = isCoin ? SECTOR_NAMES.length : SECTOR_NAMES.indexOf(role.sector);
  const { traits } = role;
  const figures = isCoin ? coinFigures(draw) : stockFigures(draw, { index, sectorIndex, traits });
  return {
    index,
    instrument,
    traits,
    sectorIndex,
    ...figures,
    phrases: phrasesFor(instrument.symbol),
  };
}

/** The whole cast of one world; who has which gap is the same in every world. */
export function createProfiles(draws: Draws): readonly Profile[] {
  return ROLES.map((role, index) => profileOf(role, index, draws("profile", index, 0)));
}
