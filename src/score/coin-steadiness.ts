import { rankAmong } from "../factors/peer-rank.ts";
import { normalCdf, normalQuantile } from "../statistics/normal.ts";
import type { InstrumentState } from "./instrument-state.ts";
import { COIN_STEADINESS_INPUT, type RankedValue, type SteadinessReading } from "./steadiness.ts";

/** The constants of the steadiness of coins. */
export const COIN_STEADINESS_RULES = {
  /** Minimum number of prices of a ranked coin, so that its variance is not that of a few days. */
  minBars: 30,
  /** Minimum number of coins that are ranked; the rank among fewer says nothing. */
  minCoins: 5,
} as const;

/** What the coins of a close are ranked in. */
export interface CoinTables {
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  /** Variances of daily log returns of the coins that traded (`CoinHistory`), ascending. */
  readonly variances: Float64Array;
}

/**
 * Ranks the steadiness of the coins that traded in a session: U is the normal score of the rank of
 * the variance, and steadiness is 100 Phi(-U). The others get no reading, and all of them get none
 * if fewer than `minCoins` have a variance.
 *
 * @returns The tables of the close.
 */
export function rankCoins(states: readonly InstrumentState[], at: number): CoinTables {
  const varianceOf = ({ coin, newestBar }: InstrumentState): number => {
    const isMeasured = coin !== undefined && coin.bars >= COIN_STEADINESS_RULES.minBars;
    const traded = newestBar?.availableAt === at;
    return isMeasured && traded ? (coin.variance ?? Number.NaN) : Number.NaN;
  };
  const column = Float64Array.from(states, varianceOf);
  const variances = column.filter((value) => !Number.isNaN(value)).sort();
  const isRanked = variances.length >= COIN_STEADINESS_RULES.minCoins;
  for (const [position, state] of states.entries()) {
    const variance = column[position] as number;
    const isMeasured = !Number.isNaN(variance);
    state.steadiness = isRanked && isMeasured ? readingOf(variance, { at, variances }) : undefined;
  }
  return { at, variances };
}

function readingOf(value: number, { at, variances }: CoinTables): SteadinessReading {
  const { rank, of } = rankAmong(variances, value, value);
  const riskZ = normalQuantile((rank - 0.5) / of);
  // The only input has the whole weight, so that the risk has its rank.
  const place = (ranked: number): RankedValue => ({ value: ranked, rank, of });
  return {
    at,
    value: 100 * normalCdf(-riskZ),
    riskZ,
    peers: of,
    isReference: false,
    evidence: { risk: place(riskZ), inputs: { [COIN_STEADINESS_INPUT]: place(value) } },
  };
}
