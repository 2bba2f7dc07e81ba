import type { Instrument } from "../../market/instrument.ts";
import { phrasesFor } from "./phrases.ts";
import { logUniform, type Rng, type RngFor } from "./rng.ts";
import { type InstrumentSpec, type MissingDataTraits, SECTOR_NAMES, UNIVERSE } from "./universe.ts";

/** One instrument and the parameters of its records. */
export interface InstrumentProfile {
  /** Index of the instrument in the universe. */
  readonly index: number;
  readonly instrument: Instrument;
  readonly traits: MissingDataTraits;
  /**
   * Index of the sector whose common returns the instrument shares; all coins share one additional
   * sector.
   */
  readonly sectorIndex: number;
  /** Long-run mean of the price, in USD. */
  readonly basePrice: number;
  /** Number of price steps (ticks) per USD: 100 for stocks, 10,000 for coins. */
  readonly ticksPerUsd: number;
  /** Standard deviation of the idiosyncratic daily log return in an average regime. */
  readonly volatility: number;
  /** Sensitivity to the daily return of the market. */
  readonly beta: number;
  /** Mean number of shares outstanding. */
  readonly baseShares: number;
  /** Turnover on an average day, in USD. */
  readonly dailyVolumeUsd: number;
  /** Quarterly dividend as a fraction of the price; 0 for none. */
  readonly dividendYield: number;
  readonly splits: boolean;
  /** Yearly earnings at the base price, as a fraction of the base market value. */
  readonly earningsYield: number;
  /** Book equity as a fraction of the base market value. */
  readonly bookYield: number;
  readonly messagesPerDay: number;
  readonly printsPerDay: number;
  /** Sentences about the instrument; see `phrasesFor`. */
  readonly phrases: readonly (readonly string[])[];
}

/**
 * For each case, one in this many stocks is affected: it makes losses, pays no dividend, or splits.
 * The index of a stock decides this, not chance, so that each case occurs.
 */
const EVERY = { lossMaker: 13, noDividend: 2, split: 4 } as const;
const THIN_PRINTS_PER_DAY = 0.15;

function instrumentOf({ ticker, name, sector }: InstrumentSpec): Instrument {
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

type StockKey = Pick<InstrumentProfile, "index" | "sectorIndex" | "traits">;

/** Earnings yield of a stock. The mean differs by sector, from 2.5 % to 8.5 %. */
function earningsYieldOf(rng: Rng, { index, sectorIndex }: StockKey): number {
  if (index % EVERY.lossMaker === 5) return -0.02 - 0.05 * rng();
  return (0.025 + 0.015 * sectorIndex) * (0.8 + 0.4 * rng());
}

function stockFigures(rng: Rng, key: StockKey) {
  const { index, traits } = key;
  const basePrice = logUniform(rng, [25, 250]);
  const baseShares = logUniform(rng, [5e7, 1e9]);
  return {
    basePrice,
    baseShares,
    ticksPerUsd: 100,
    volatility: 0.01 + 0.01 * rng(),
    beta: 0.6 + 0.8 * rng(),
    dailyVolumeUsd: basePrice * baseShares * (0.003 + 0.005 * rng()),
    dividendYield: index % EVERY.noDividend === 0 ? 0 : 0.004 + 0.006 * rng(),
    splits: traits.listing === null && index % EVERY.split === 0,
    earningsYield: earningsYieldOf(rng, key),
    bookYield: logUniform(rng, [0.1, 1.2]),
    messagesPerDay: 2 + 2 * rng(),
    printsPerDay: traits.offExchange === "thin" ? THIN_PRINTS_PER_DAY : 5 + 1.5 * rng(),
  };
}

function coinFigures(rng: Rng) {
  return {
    basePrice: logUniform(rng, [2, 20_000]),
    baseShares: 0,
    ticksPerUsd: 10_000,
    volatility: 0.02 + 0.02 * rng(),
    beta: 0.3 + 0.6 * rng(),
    dailyVolumeUsd: logUniform(rng, [5e6, 2e9]),
    dividendYield: 0,
    splits: false,
    earningsYield: 0,
    bookYield: 0,
    messagesPerDay: 3 + 3 * rng(),
    printsPerDay: 0,
  };
}

function profileOf(role: InstrumentSpec, index: number, rng: Rng): InstrumentProfile {
  const instrument = instrumentOf(role);
  const isCoin = role.sector === null;
  const sectorIndex = isCoin ? SECTOR_NAMES.length : SECTOR_NAMES.indexOf(role.sector);
  const { traits } = role;
  const figures = isCoin ? coinFigures(rng) : stockFigures(rng, { index, sectorIndex, traits });
  return {
    index,
    instrument,
    traits,
    sectorIndex,
    ...figures,
    phrases: phrasesFor(instrument.symbol),
  };
}

/** Profiles of the whole universe. Which data an instrument lacks is the same for every seed. */
export function createProfiles(rngFor: RngFor): readonly InstrumentProfile[] {
  return UNIVERSE.map((role, index) => profileOf(role, index, rngFor("profile", index, 0)));
}
