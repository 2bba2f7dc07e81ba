import type { AssetClass } from "../market/instrument.ts";
import { type EcdfTable, ecdfZ, freezeEcdfTable } from "../statistics/ecdf.ts";
import { clip, Z_BOUND } from "../statistics/statistics.ts";
import { momentumGate } from "./benchmark.ts";
import { type CoinHistory, type CoinTrend, coinTrends } from "./coin-history.ts";
import {
  type MomentumSums,
  PRICE_HISTORY_RULES,
  type PriceHistory,
  peakLogDistance,
  readMomentumSums,
} from "./price-history.ts";
import {
  type FactorInput,
  type FactorReading,
  missingReading,
  unweightedInput,
} from "./reading.ts";
/**
 * Maximum age of the newest bar, in market days counted without regard to the trading calendar;
 * long enough to span a long weekend.
 */
export const MAX_BAR_AGE_DAYS: Readonly<Record<AssetClass, number>> = {
  stock: 5,
  etf: 5,
  crypto: 2,
};

/** Sub-signals that are normalized with peer tables; the sub-signals of coins are used directly. */
const RANKED_SIGNALS = ["ram", "res", "hi52"] as const;
type RankedSignal = (typeof RANKED_SIGNALS)[number];

/**
 * Distributions of the sub-signals over the peer group; a distribution is absent if the group is
 * too small.
 */
export type MomentumTables = Readonly<Partial<Record<RankedSignal, EcdfTable>>> & {
  /** Distribution of the mean z of the sub-signals. */
  readonly combined?: EcdfTable;
};

/** One sub-signal before normalization. */
interface RawSignal {
  readonly name: RankedSignal | `trend${number}d`;
  readonly value: number;
}

/** Momentum measurement of a coin. */
export interface CoinMomentum {
  readonly trends: readonly CoinTrend[];
  /** Number of known returns, for the confidence. */
  readonly observations: number;
}

/** Momentum of one instrument before the comparison with its peers. */
export type MomentumMeasurement = ListedMomentum | CoinMomentum;

/**
 * Momentum of a coin; `undefined` before 28 days of history.
 *
 * @param dayMs Length of a market day in milliseconds.
 */
export function measureCoinMomentum(history: CoinHistory, dayMs: number): CoinMomentum | undefined {
  const trends = coinTrends(history, dayMs);
  return trends.length === 0 ? undefined : { trends, observations: history.bars - 1 };
}

/** The sub-signals of a measurement that could be computed. */
function signalsOf(measurement: MomentumMeasurement): readonly RawSignal[] {
  if ("trends" in measurement) {
    return measurement.trends.map(({ days, value }) => ({ name: `trend${days}d`, value }));
  }
  const { ram, res, hi52 } = measurement;
  const first: RawSignal = { name: "ram", value: ram };
  const last: RawSignal = { name: "hi52", value: hi52 };
  return res === undefined ? [first, last] : [first, { name: "res", value: res }, last];
}

/**
 * Computes the distributions over a peer group: first of each sub-signal, then of the mean z that
 * results from these distributions.
 */
export function freezeMomentumTables(group: readonly MomentumMeasurement[]): MomentumTables {
  const single: Partial<Record<RankedSignal, EcdfTable>> = {};
  for (const name of RANKED_SIGNALS) {
    const table = freezeEcdfTable(valuesOf(group, name));
    if (table !== undefined) single[name] = table;
  }
  const means: number[] = [];
  for (const measurement of group) {
    const average = averageZ(measurement, single);
    if (average !== undefined) means.push(average);
  }
  const combined = freezeEcdfTable(means);
  return { ...single, ...(combined && { combined }) };
}

function valuesOf(group: readonly MomentumMeasurement[], name: RankedSignal): number[] {
  const values: number[] = [];
  for (const measurement of group) {
    const value = "trends" in measurement ? undefined : measurement[name];
    if (value !== undefined) values.push(value);
  }
  return values;
}

/**
 * The z of a sub-signal of a listed instrument: from the peer table if there is one, else the value
 * itself, clipped to [-3, 3]. The distance from the high has no such absolute form, because it is
 * never positive.
 */
function rankedZ(name: RankedSignal, value: number, tables: MomentumTables): number | undefined {
  const table = tables[name];
  if (table !== undefined) return ecdfZ(table, value);
  return name === "hi52" ? undefined : clip(value, Z_BOUND);
}

const scoreOf = ({ name, value }: RawSignal, tables: MomentumTables): number | undefined =>
  name === "ram" || name === "res" || name === "hi52"
    ? rankedZ(name, value, tables)
    : clip(value, Z_BOUND);

/** Equal-weighted mean of the available z; `undefined` if there is none. */
function averageZ(measurement: MomentumMeasurement, tables: MomentumTables): number | undefined {
  let sum = 0;
  let count = 0;
  if ("trends" in measurement) {
    for (const { value } of measurement.trends) {
      sum += clip(value, Z_BOUND);
      count++;
    }
    return count === 0 ? undefined : sum / count;
  }
  // Unrolled because a loop over the names takes twice the time, and this runs for every stock in
  // every session.
  const ram = rankedZ("ram", measurement.ram, tables);
  const res = measurement.res === undefined ? undefined : rankedZ("res", measurement.res, tables);
  const hi52 = rankedZ("hi52", measurement.hi52, tables);
  if (ram !== undefined) {
    sum += ram;
    count++;
  }
  if (res !== undefined) {
    sum += res;
    count++;
  }
  if (hi52 !== undefined) {
    sum += hi52;
    count++;
  }
  return count === 0 ? undefined : sum / count;
}

/** Context of the momentum readings of an asset class. */
export interface MomentumContext {
  /** Instant of the reading, Unix milliseconds. */
  readonly at: number;
  readonly assetClass: AssetClass;
  readonly dayMs: number;
  readonly tables: MomentumTables;
  /** Annualized volatility of the class benchmark, as a fraction; `undefined` while unknown. */
  readonly marketVolatility: number | undefined;
}

/** Age of the newest price. */
export interface PriceAge {
  /** When the newest bar became known, Unix milliseconds. */
  readonly asOf: number;
  /** Number of sessions of the asset class since the newest bar; 0 if the price is current. */
  readonly missedSessions: number;
}

/**
 * Reads risk-adjusted momentum: the equal-weighted mean z of its sub-signals, normalized with the
 * peers' distribution of that mean. Confidence = gate * min(1, n/231) * freshness, with n known
 * returns and a freshness of 1, 0.5 (one session late) or 0. The gate decreases in volatile
 * markets, where momentum crashes.
 */
export function computeMomentumReading(
  measurement: MomentumMeasurement | undefined,
  { asOf, missedSessions }: PriceAge,
  context: MomentumContext,
): FactorReading {
  const { at, assetClass, dayMs, tables, marketVolatility } = context;
  if (measurement === undefined) return missingReading("insufficient_data");
  const listInputs = () => momentumInputs(measurement, asOf, context);
  const staleAfter = asOf + MAX_BAR_AGE_DAYS[assetClass] * dayMs;
  const average = averageZ(measurement, tables);
  if (missedSessions > 1 || at > staleAfter || average === undefined) {
    return missingReading("stale", { asOf, staleAfter, listInputs });
  }
  const freshness = missedSessions === 0 ? 1 : 0.5;
  const history = Math.min(1, measurement.observations / PRICE_HISTORY_RULES.windowReturns);
  return {
    z: tables.combined === undefined ? average : ecdfZ(tables.combined, average),
    confidence: momentumGate(marketVolatility, assetClass) * history * freshness,
    status: missedSessions === 0 ? "ok" : "stale",
    asOf,
    staleAfter,
    listInputs,
  };
}

function momentumInputs(
  measurement: MomentumMeasurement,
  asOf: number,
  { tables, assetClass, marketVolatility }: MomentumContext,
): readonly FactorInput[] {
  const signals = signalsOf(measurement);
  const scores = signals.map((signal) => scoreOf(signal, tables));
  const counted = scores.filter((z) => z !== undefined).length;
  const inputs = signals.map(({ name, value }, index): FactorInput => {
    const z = scores[index] ?? null;
    const unit = name === "hi52" ? "log ratio" : "standard deviations";
    return { name, value, unit, z, weight: z === null ? 0 : 1 / counted, observedAt: asOf };
  });
  if (!("trends" in measurement)) {
    inputs.push(unweightedInput("return12m1", measurement.return12m1, "log return", asOf));
  }
  inputs.push(
    unweightedInput("observations", measurement.observations, "count", asOf),
    unweightedInput("marketVolatility", marketVolatility ?? null, "fraction per year", asOf),
    unweightedInput("gate", momentumGate(marketVolatility, assetClass), "fraction", asOf),
  );
  return inputs;
}

/** Momentum of a listed instrument before the comparison with its peers. */
export interface ListedMomentum {
  /** Number of usable returns in the window. */
  readonly observations: number;
  /** Sum of the log returns in the 12-1 window. */
  readonly return12m1: number;
  /**
   * Risk-adjusted momentum: sum(r) / sqrt(n var(r)) over r[T-251..T-21]; about N(0,1) under a
   * random walk.
   */
  readonly ram: number;
  /**
   * `ram` of the residual returns r - b m; `undefined` if the market explains the returns
   * completely.
   */
  readonly res: number | undefined;
  /**
   * Log distance from the 52-week high: ln(C_T / max(H[T-251..T])), at most about 0 (George &
   * Hwang, 2004).
   */
  readonly hi52: number;
}

/**
 * Momentum of a listed instrument.
 *
 * @returns `undefined` with fewer than 252 closes, fewer than 200 usable returns, or returns that
 * do not vary.
 */
export function measureListedMomentum(history: PriceHistory): ListedMomentum | undefined {
  const { bars } = history;
  const sums = readMomentumSums(history);
  const { n, r } = sums;
  if (bars < PRICE_HISTORY_RULES.yearBars || n < PRICE_HISTORY_RULES.minWindowReturns)
    return undefined;
  const variance = sums.rr / n - (r / n) ** 2;
  if (!(variance > MIN_VARIANCE)) return undefined;
  return {
    observations: n,
    return12m1: r,
    ram: r / Math.sqrt(n * variance),
    res: residual(sums, variance),
    hi52: -peakLogDistance(history),
  };
}

/** Minimum variance of daily log returns; a smaller variance is rounding error. */
const MIN_VARIANCE = 1e-12;
/** Minimum ratio of residual to total variance; a smaller ratio is rounding error. */
const MIN_RESIDUAL_SHARE = 1e-6;

/** Shrinkage of beta toward 1 (Blume, 1971; Vasicek, 1973), after clipping to [-1, 4]. */
export const BETA_RULES = { min: -1, max: 4, weight: 0.66, prior: 0.34 } as const;

/** Residual 12-1 momentum (Blitz, Huij & Martens, 2011). */
function residual({ n, r, m, mm, rm }: MomentumSums, variance: number): number | undefined {
  const marketVariance = mm / n - (m / n) ** 2;
  if (!(marketVariance > MIN_VARIANCE)) return undefined;
  const covariance = rm / n - (r / n) * (m / n);
  const beta = Math.min(BETA_RULES.max, Math.max(BETA_RULES.min, covariance / marketVariance));
  const b = BETA_RULES.weight * beta + BETA_RULES.prior;
  const left = variance - 2 * b * covariance + b * b * marketVariance;
  return left > MIN_RESIDUAL_SHARE * variance ? (r - b * m) / Math.sqrt(n * left) : undefined;
}
