import { normalScores } from "../factors/normal-scores.ts";
import type { PriceHistory } from "../factors/price-history.ts";
import {
  type MarketReturns,
  peakLogDistance,
  readYearSums,
  runningVariances,
} from "../factors/price-history.ts";
import { countBelow, normalCdf } from "../factors/statistics.ts";
import { RISK_RULES } from "../risk/forecast.ts";

/**
 * The measurements behind steadiness; for each, more is riskier:
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

/** The constants of steadiness. */
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
export interface RankedValue {
  readonly value: number;
  /** Mean rank, from 1 for the smallest value. */
  readonly rank: number;
  /** Number of values. */
  readonly of: number;
}

/** What the value of a reading is recomputed from. */
interface SteadinessEvidence {
  /** R, ranked among the stocks that have one: rank 1 is the steadiest. */
  readonly risk: RankedValue;
  /** The measurements, ranked among the stocks that have them; `null` if missing. */
  readonly inputs: Readonly<Record<SteadinessInput, RankedValue | null>>;
}

/** How steady a stock was at a close, compared with the other stocks that traded. */
export interface SteadinessReading {
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  /** 100 Phi(-U): the steadiest stock is near 100, the riskiest near 0. */
  readonly value: number;
  /** U: normal score of the risk R among the stocks that have one. */
  readonly riskZ: number;
  /** Number of stocks that were ranked. */
  readonly peers: number;
  readonly evidence: SteadinessEvidence;
}

/** The steadiness of the stocks of a close. */
export interface SteadinessRanking {
  readonly at: number;
  /** Number of stocks with a risk R. */
  readonly peers: number;
  /** Normal score of R by position; `NaN` without a variance or with too few stocks. */
  readonly riskZ: Float64Array;
  /** R by position; `NaN` without a variance. */
  readonly risks: Float64Array;
  readonly inputs: SteadinessInputs;
}

/**
 * Ranks the stocks of a close by R = sum(weight * N(input)), where N is the normal score and a
 * missing input counts as 0. A stock without a variance is not ranked.
 *
 * @param minPeers Minimum number of stocks for a ranking.
 */
export function rankSteadiness(
  inputs: SteadinessInputs,
  at: number,
  minPeers: number,
): SteadinessRanking {
  const risks = new Float64Array(inputs.volatility.length);
  for (const name of STEADINESS_INPUTS) {
    const scores = normalScores(inputs[name], 1);
    const weight = STEADINESS_RULES.weights[name];
    for (let position = 0; position < risks.length; position++) {
      const score = scores[position] as number;
      (risks[position] as number) += Number.isNaN(score) ? 0 : weight * score;
    }
  }
  const ranked = risks.map((risk, position) =>
    Number.isNaN(inputs.volatility[position]) ? Number.NaN : risk,
  );
  const peers = ranked.reduce((count, risk) => (Number.isNaN(risk) ? count : count + 1), 0);
  return { at, peers, riskZ: normalScores(ranked, minPeers), risks: ranked, inputs };
}

/** The reading of one stock; `undefined` if it was not ranked. */
export function steadinessAt(
  ranking: SteadinessRanking,
  position: number,
): SteadinessReading | undefined {
  return Number.isNaN(ranking.riskZ[position]) ? undefined : new LazyReading(ranking, position);
}

/** A reading that looks up its evidence when it is read, since most readings never are. */
class LazyReading implements SteadinessReading {
  readonly at: number;
  readonly value: number;
  readonly riskZ: number;
  readonly peers: number;
  readonly #ranking: SteadinessRanking;
  readonly #position: number;

  constructor(ranking: SteadinessRanking, position: number) {
    this.#ranking = ranking;
    this.#position = position;
    this.at = ranking.at;
    this.riskZ = ranking.riskZ[position] as number;
    this.value = 100 * normalCdf(-this.riskZ);
    this.peers = ranking.peers;
  }

  get evidence(): SteadinessEvidence {
    const { inputs, risks } = this.#ranking;
    const ranked = STEADINESS_INPUTS.map(
      (name) => [name, rankedValue(inputs[name], this.#position)] as const,
    );
    return {
      risk: rankedValue(risks, this.#position) as RankedValue,
      inputs: Object.fromEntries(ranked) as SteadinessEvidence["inputs"],
    };
  }

  toJSON(): SteadinessReading {
    return { ...this, evidence: this.evidence };
  }
}

/** Columns of closes in ascending order, without missing values. */
const sortedColumns = new WeakMap<Float64Array, Float64Array>();

/** The value of a column at a position, and its place in the column; `null` if it is missing. */
function rankedValue(column: Float64Array, position: number): RankedValue | null {
  const value = column[position] as number;
  if (Number.isNaN(value)) return null;
  const sorted = sortedColumns.get(column) ?? column.filter((one) => !Number.isNaN(one)).sort();
  sortedColumns.set(column, sorted);
  const less = countBelow(sorted, value);
  let end = less;
  while (sorted[end] === value) end++;
  return { value, rank: (less + end + 1) / 2, of: sorted.length };
}

/** ln(0.4 sqrt(fast) + 0.6 sqrt(slow)); `NaN` before the first return and if the price never moved. */
export function blendedLogVolatility(history: PriceHistory): number {
  const { fast, slow } = runningVariances(history);
  const { fastWeight } = RISK_RULES;
  const sigma = fastWeight * Math.sqrt(fast) + (1 - fastWeight) * Math.sqrt(slow);
  return sigma > 0 ? Math.log(sigma) : Number.NaN;
}

/** ln of the yearly window's standard deviation, and the beta; both `NaN` if they cannot be measured. */
export function yearVolatilityAndBeta(
  history: PriceHistory,
  market: MarketReturns,
): { readonly yearVolatility: number; readonly beta: number } {
  const { n, r, m, rr, mm, rm } = readYearSums(history, market);
  const isKnown = n >= STEADINESS_RULES.minReturns;
  const variance = rr / n - (r / n) ** 2;
  const marketVariance = mm / n - (m / n) ** 2;
  return {
    yearVolatility: isKnown && variance > 0 ? Math.log(variance) / 2 : Number.NaN,
    beta:
      isKnown && marketVariance > 0 ? (rm / n - (r / n) * (m / n)) / marketVariance : Number.NaN,
  };
}

/** ln(highest high of 252 sessions / close); `NaN` with fewer than 240 bars. */
export const logBelowHigh = (history: PriceHistory): number =>
  history.bars >= STEADINESS_RULES.minBarsOfHigh ? peakLogDistance(history) : Number.NaN;
