import type { AssetClass } from "../market/instrument.ts";
import { momentumGate } from "./benchmark.ts";
import { type CoinHistory, type CoinTrend, coinTrends } from "./coin-history.ts";
import { type EcdfTable, ecdfZ, freezeEcdf } from "./ecdf.ts";
import {
  type MomentumSums,
  momentumSums,
  PRICE_WINDOWS,
  type PriceHistory,
  peakOf,
} from "./price-history.ts";
import { type Input, missingReading, type Reading, unweightedInput } from "./reading.ts";
import { clip, Z_BOUND } from "./statistics.ts";
/** Maximum age in days of the newest bar regardless of the calendar: a long weekend. */
export const MAX_BAR_AGE_DAYS: Readonly<Record<AssetClass, number>> = {
  stock: 5,
  etf: 5,
  crypto: 2,
};

/** Sub-signals that are normalized by peer tables; those of coins are used directly. */
const RANKED = ["ram", "res", "hi52"] as const;
type Ranked = (typeof RANKED)[number];

/** Frozen distributions of the peer group; absent where the group is too small. */
export type MomentumTables = Readonly<Partial<Record<Ranked, EcdfTable>>> & {
  /** Distribution of the mean of the sub-signals' z. */
  readonly combined?: EcdfTable;
};

/** One sub-signal before normalization. */
interface RawSignal {
  readonly name: Ranked | `trend${number}d`;
  readonly value: number;
}

/** Momentum of a coin. */
export interface CoinMomentum {
  readonly trends: readonly CoinTrend[];
  /** Returns known so far, for the confidence. */
  readonly observations: number;
}

/** Momentum of one instrument before the comparison with its peers. */
export type MomentumMeasurement = ListedMomentum | CoinMomentum;

/**
 * Momentum of a coin, `undefined` before 28 days.
 *
 * @param dayMs Length of a market day in milliseconds.
 */
export function coinMomentum(history: CoinHistory, dayMs: number): CoinMomentum | undefined {
  const trends = coinTrends(history, dayMs);
  return trends.length === 0 ? undefined : { trends, observations: history.bars - 1 };
}

/** The sub-signals that could be measured. */
function signalsOf(measurement: MomentumMeasurement): readonly RawSignal[] {
  if ("trends" in measurement) {
    return measurement.trends.map(({ days, value }) => ({ name: `trend${days}d`, value }));
  }
  const { ram, res, hi52 } = measurement;
  const first: RawSignal = { name: "ram", value: ram };
  const last: RawSignal = { name: "hi52", value: hi52 };
  return res === undefined ? [first, last] : [first, { name: "res", value: res }, last];
}

/** Freezes the distributions of the peer group; the combined one builds on the others. */
export function freezeMomentum(group: readonly MomentumMeasurement[]): MomentumTables {
  const single: Partial<Record<Ranked, EcdfTable>> = {};
  for (const name of RANKED) {
    const table = freezeEcdf(valuesOf(group, name));
    if (table !== undefined) single[name] = table;
  }
  const means: number[] = [];
  for (const measurement of group) {
    const average = averageZ(measurement, single);
    if (average !== undefined) means.push(average);
  }
  const combined = freezeEcdf(means);
  return { ...single, ...(combined && { combined }) };
}

function valuesOf(group: readonly MomentumMeasurement[], name: Ranked): number[] {
  const values: number[] = [];
  for (const measurement of group) {
    const value = "trends" in measurement ? undefined : measurement[name];
    if (value !== undefined) values.push(value);
  }
  return values;
}

/**
 * The z of a sub-signal of a listed instrument: by the peer table, else in absolute form. The distance
 * from the high has no absolute form, because it is never positive.
 */
function rankedZ(name: Ranked, value: number, tables: MomentumTables): number | undefined {
  const table = tables[name];
  if (table !== undefined) return ecdfZ(table, value);
  return name === "hi52" ? undefined : clip(value, Z_BOUND);
}

const scoreOf = ({ name, value }: RawSignal, tables: MomentumTables): number | undefined =>
  name === "ram" || name === "res" || name === "hi52"
    ? rankedZ(name, value, tables)
    : clip(value, Z_BOUND);

/** Equal-weighted mean of the available z. */
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
  // Written out: a loop over the names takes twice the time, once for every stock and session.
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

/** Context shared by the momentum readings of a class. */
export interface MomentumContext {
  /** Unix milliseconds. */
  readonly at: number;
  readonly assetClass: AssetClass;
  readonly dayMs: number;
  readonly tables: MomentumTables;
  /** Annualized volatility of the class benchmark, `undefined` while unknown. */
  readonly marketVolatility: number | undefined;
}

/** How old the price is. */
export interface PriceAge {
  /** When the newest bar became known, Unix milliseconds. */
  readonly asOf: number;
  /** Sessions of the class since then; 0 if the price is current. */
  readonly missedSessions: number;
}

/**
 * Risk-adjusted momentum: the equal-weighted mean of its sub-signals, through the peers' table of
 * that mean. Confidence = gate * min(1, n/231) * freshness, freshness 1, 0.5 (one session late)
 * or 0; the gate falls in volatile markets, where momentum crashes.
 */
export function readMomentum(
  measurement: MomentumMeasurement | undefined,
  { asOf, missedSessions }: PriceAge,
  context: MomentumContext,
): Reading {
  const { at, assetClass, dayMs, tables, marketVolatility } = context;
  if (measurement === undefined) return missingReading("insufficient_data");
  const listInputs = () => momentumInputs(measurement, asOf, context);
  const staleAfter = asOf + MAX_BAR_AGE_DAYS[assetClass] * dayMs;
  const average = averageZ(measurement, tables);
  if (missedSessions > 1 || at > staleAfter || average === undefined) {
    return missingReading("stale", { asOf, staleAfter, listInputs });
  }
  const freshness = missedSessions === 0 ? 1 : 0.5;
  const history = Math.min(1, measurement.observations / PRICE_WINDOWS.windowReturns);
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
): readonly Input[] {
  const signals = signalsOf(measurement);
  const scores = signals.map((signal) => scoreOf(signal, tables));
  const counted = scores.filter((z) => z !== undefined).length;
  const inputs = signals.map(({ name, value }, index): Input => {
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
  /** Usable returns. */
  readonly observations: number;
  /** Sum of the window's log returns. */
  readonly return12m1: number;
  /** sum(r) / sqrt(n var(r)) over r[T-251..T-21]; about N(0,1) under a random walk. */
  readonly ram: number;
  /**
   * `ram` of the residual returns r - b m; `undefined` if the market explains the returns fully.
   */
  readonly res: number | undefined;
  /** ln(C_T / max(H[T-251..T])), at most about 0 (George & Hwang, 2004). */
  readonly hi52: number;
}

/**
 * Momentum of a listed instrument.
 *
 * @returns `undefined` with fewer than 252 closes or 200 usable returns, or without variance.
 */
export function listedMomentum(history: PriceHistory): ListedMomentum | undefined {
  const { bars } = history;
  const sums = momentumSums(history);
  const { n, r } = sums;
  if (bars < PRICE_WINDOWS.yearBars || n < PRICE_WINDOWS.minWindowReturns) return undefined;
  const variance = sums.rr / n - (r / n) ** 2;
  if (!(variance > MIN_VARIANCE)) return undefined;
  return {
    observations: n,
    return12m1: r,
    ram: r / Math.sqrt(n * variance),
    res: residual(sums, variance),
    hi52: -peakOf(history),
  };
}

/** Variance of daily log returns below which it is rounding error. */
const MIN_VARIANCE = 1e-12;
/** Share of residual variance below which it is rounding error. */
const MIN_RESIDUAL_SHARE = 1e-6;

/** Shrinkage of beta toward 1 (Blume, 1971; Vasicek, 1973), after clipping to [-1, 4]. */
export const BETA = { min: -1, max: 4, weight: 0.66, prior: 0.34 } as const;

/** Residual 12-1 momentum (Blitz, Huij & Martens, 2011). */
function residual({ n, r, m, mm, rm }: MomentumSums, variance: number): number | undefined {
  const marketVariance = mm / n - (m / n) ** 2;
  if (!(marketVariance > MIN_VARIANCE)) return undefined;
  const covariance = rm / n - (r / n) * (m / n);
  const beta = Math.min(BETA.max, Math.max(BETA.min, covariance / marketVariance));
  const b = BETA.weight * beta + BETA.prior;
  const left = variance - 2 * b * covariance + b * b * marketVariance;
  return left > MIN_RESIDUAL_SHARE * variance ? (r - b * m) / Math.sqrt(n * left) : undefined;
}
