import type { PeerRank } from "../factors/peer-rank.ts";

/**
 * The measurements behind the steadiness of stocks; for each, more is riskier:
 * - `volatility`: ln(0.4 sqrt(fast) + 0.6 sqrt(slow)), with exponentially weighted variances of a
 *   session over about 2 and 42 sessions (`runningVariances`)
 * - `yearVolatility`: ln of the standard deviation of the daily log returns of 252 sessions
 * - `beta`: slope of these returns on those of the class's benchmark
 * - `belowHigh`: ln(highest high of 252 sessions / close)
 * - `lossOnAssets`: minus net income of the newest quarter / newest total assets
 */
export const STEADINESS_INPUTS = [
  "volatility",
  "yearVolatility",
  "beta",
  "belowHigh",
  "lossOnAssets",
] as const;
export type SteadinessInput = (typeof STEADINESS_INPUTS)[number];

/** The measurement behind the steadiness of coins: the variance of daily log returns. */
export const COIN_STEADINESS_INPUT = "variance";

/** The constants of the steadiness of stocks. */
export const STEADINESS_RULES = {
  /** Weight of the normal score of each input in the risk R. */
  weights: {
    volatility: 0.2,
    yearVolatility: 0.45,
    beta: 0.1,
    belowHigh: 0.2,
    lossOnAssets: 0.05,
  } satisfies Readonly<Record<SteadinessInput, number>>,
  /** Minimum number of usable returns for `yearVolatility` and `beta`, and of bars for `belowHigh`. */
  minReturns: 126,
  minBarsOfHigh: 240,
  /** Maximum age in days of the filing of the net income. The total assets may be older. */
  maxEarningsAgeDays: 190,
} as const;

/** Horizons in sessions over which the deepest fall is graded. */
export const STEADINESS_HORIZONS = [21, 63] as const;

/** Measurements of the stocks of a close, all in the same order; `NaN` if missing. */
export type SteadinessInputs = Readonly<Record<SteadinessInput, Float64Array>>;

/** A value and its place among the values of a close. */
export interface RankedValue extends PeerRank {
  readonly value: number;
}

/** What the value of a reading is recomputed from. */
export interface SteadinessEvidence {
  /** R, ranked among the instruments that have one: rank 1 is the steadiest. */
  readonly risk: RankedValue;
  /** The measurements of the class, ranked among the instruments that have them; `null` if missing. */
  readonly inputs: Readonly<
    Partial<Record<SteadinessInput | typeof COIN_STEADINESS_INPUT, RankedValue | null>>
  >;
}

/** How steady a stock or coin was at a close, compared with the others of its class that traded. */
export interface SteadinessReading {
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  /** 100 Phi(-U): the steadiest instrument is near 100, the riskiest near 0. */
  readonly value: number;
  /** U: normal score of the risk R among the instruments that have one. */
  readonly riskZ: number;
  /** Number of instruments that were ranked, in a small market those of the reference tables. */
  readonly peers: number;
  /** Whether so few stocks were measured that reference tables ranked R. */
  readonly isReference: boolean;
  readonly evidence: SteadinessEvidence;
}
