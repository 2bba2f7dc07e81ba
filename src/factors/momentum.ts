import type { AssetClass } from "../market/instrument.ts";
import type { Bar } from "../market/records.ts";
import { type EcdfTable, ecdfZ, freezeEcdf } from "./ecdf.ts";
import { type Input, type Reading, unread } from "./reading.ts";
import { clip, decay, ewStep, mean, Z_BOUND } from "./statistics.ts";

/** Closes needed for the 12-1 window and the 52-week high. */
const YEAR_BARS = 252;
/** Skipping the last month avoids its reversal (Jegadeesh & Titman, 1993). */
const SKIP_BARS = 21;
/** Returns in the 12-1 window r[T-251..T-21]. */
const WINDOW_RETURNS = 231;
const MIN_WINDOW_RETURNS = 200;
/** A daily |log return| above this is left out of the moments. */
const MAX_MOMENT_RETURN = 0.8;
/** Crypto look-backs in calendar days; the first is required (Liu & Tsyvinski, 2021). */
const COIN_WINDOWS_DAYS = [28, 90, 365] as const;
/** Half-life in sessions of the volatility that scales a coin's return. */
const COIN_VOLATILITY_HALF_LIFE = 30;
/** A coin's look-back price may be this many days older than asked, for gaps in its history. */
const COIN_GAP_DAYS = 3;
/** Age in days from which the newest bar is too old, whatever the calendar: a long weekend. */
export const MAX_BAR_AGE_DAYS: Readonly<Record<AssetClass, number>> = {
  stock: 5,
  etf: 5,
  crypto: 2,
};

/** Frozen distributions of the peer group; absent ones mean that the group is too small. */
export interface MomentumTables {
  readonly ram?: EcdfTable;
  readonly hi52?: EcdfTable;
  /** Of the mean of the two z. */
  readonly combined?: EcdfTable;
}

/** One sub-signal before normalisation: its value and, if it has one, its absolute z. */
interface RawSignal {
  readonly name: "ram" | "hi52" | `trend${number}d`;
  readonly value: number;
  readonly absoluteZ: number | undefined;
}

/** What momentum measures on one instrument, before it is compared with its peers. */
export interface MomentumMeasurement {
  readonly signals: readonly RawSignal[];
  /** Sum of the window's log returns; `null` for coins. */
  readonly return12m1: number | null;
  /** Returns behind the measurement, for the confidence. */
  readonly observations: number;
  readonly asOf: number;
}

/**
 * Measures momentum on the bars known so far.
 *
 * @param bars Oldest first.
 * @param dayMs Length of a market day in milliseconds.
 * @returns `undefined` while there are fewer than 252 closes with 200 usable returns (coins: 28
 *   days).
 */
export function measureMomentum(
  bars: readonly Bar[],
  assetClass: AssetClass,
  dayMs: number,
): MomentumMeasurement | undefined {
  return assetClass === "crypto" ? measureCoin(bars, dayMs) : measureListed(bars);
}

/** ram = sum(r) / sqrt(n var(r)) over r[T-251..T-21]; hi52 = ln(C_T / max(H[T-251..T])). */
function measureListed(bars: readonly Bar[]): MomentumMeasurement | undefined {
  const last = bars.length - 1;
  if (bars.length < YEAR_BARS) return undefined;

  let n = 0;
  let sum = 0;
  let squares = 0;
  for (let index = last - SKIP_BARS - WINDOW_RETURNS + 1; index <= last - SKIP_BARS; index++) {
    const value = (bars[index] as Bar).logReturn;
    if (value === null || Math.abs(value) > MAX_MOMENT_RETURN) continue;
    n++;
    sum += value;
    squares += value * value;
  }
  const variance = squares / n - (sum / n) ** 2;
  if (n < MIN_WINDOW_RETURNS || variance <= 0) return undefined;

  const ram = sum / Math.sqrt(n * variance);
  return {
    signals: [
      { name: "ram", value: ram, absoluteZ: clip(ram, Z_BOUND) },
      { name: "hi52", value: distanceFromHigh(bars), absoluteZ: undefined },
    ],
    return12m1: sum,
    observations: n,
    asOf: (bars[last] as Bar).availableAt,
  };
}

/** ln(C_T / max(H)) over the last 252 bars, highs adjusted to the newest bar's basis. */
function distanceFromHigh(bars: readonly Bar[]): number {
  const last = bars.length - 1;
  let adjustment = 1;
  let high = 0;
  for (let index = last; index > last - YEAR_BARS; index--) {
    const bar = bars[index] as Bar;
    high = Math.max(high, bar.high * adjustment);
    adjustment *= bar.close / ((bar.close + bar.dividend) * bar.split);
  }
  return Math.log((bars[last] as Bar).close / high);
}

/** Mean over the available windows of ln(P_T / P_(T-n)) / (sigma sqrt(n)), clipped to +-3. */
function measureCoin(bars: readonly Bar[], dayMs: number): MomentumMeasurement | undefined {
  const last = bars.at(-1);
  const sigma = dailyVolatility(bars);
  if (last === undefined || sigma === undefined) return undefined;

  const signals = COIN_WINDOWS_DAYS.flatMap((days) => {
    const change = returnOverDays(bars, days, dayMs);
    if (change === undefined) return [];
    const value = change / (sigma * Math.sqrt(days));
    return [{ name: `trend${days}d` as const, value, absoluteZ: clip(value, Z_BOUND) }];
  });
  if (signals[0]?.name !== "trend28d") return undefined;
  return { signals, return12m1: null, observations: bars.length - 1, asOf: last.availableAt };
}

/** EW(30) volatility of daily log returns: zero mean, no bias correction. */
function dailyVolatility(bars: readonly Bar[]): number | undefined {
  const lambda = decay(1, COIN_VOLATILITY_HALF_LIFE);
  let variance: number | undefined;
  for (const { logReturn } of bars) {
    if (logReturn === null || Math.abs(logReturn) > MAX_MOMENT_RETURN) continue;
    variance = ewStep(variance, logReturn ** 2, lambda);
  }
  return variance === undefined || variance === 0 ? undefined : Math.sqrt(variance);
}

function returnOverDays(bars: readonly Bar[], days: number, dayMs: number): number | undefined {
  const start = (bars.at(-1) as Bar).availableAt - days * dayMs;
  let change = 0;
  for (let index = bars.length - 1; index >= 0; index--) {
    const bar = bars[index] as Bar;
    if (bar.availableAt <= start) {
      return start - bar.availableAt <= COIN_GAP_DAYS * dayMs ? change : undefined;
    }
    change += bar.logReturn ?? 0;
  }
  return undefined;
}

/** Freezes the peer group's distributions; the combined one is built through the other two. */
export function freezeMomentum(group: readonly MomentumMeasurement[]): MomentumTables {
  const valuesOf = (name: RawSignal["name"]) =>
    group.flatMap(({ signals }) => signals.filter((s) => s.name === name).map((s) => s.value));
  const ram = freezeEcdf(valuesOf("ram"));
  const hi52 = freezeEcdf(valuesOf("hi52"));
  if (ram === undefined || hi52 === undefined) return {};

  const combined = freezeEcdf(
    group.map((measurement) => mean(zScores(measurement, { ram, hi52 }).map(({ z }) => z))),
  );
  return { ram, hi52, ...(combined && { combined }) };
}

/** The sub-signals that can be normalised: by the peers' table, else in absolute form. */
function zScores({ signals }: MomentumMeasurement, tables: MomentumTables) {
  return signals.flatMap(({ name, value, absoluteZ }) => {
    const table = name === "ram" || name === "hi52" ? tables[name] : undefined;
    const z = table === undefined ? absoluteZ : ecdfZ(table, value);
    return z === undefined ? [] : [{ name, z }];
  });
}

/** Where and when momentum is read. */
export interface MomentumContext {
  /** Unix milliseconds. */
  readonly at: number;
  readonly assetClass: AssetClass;
  readonly dayMs: number;
  readonly tables: MomentumTables;
  /** Sessions of the asset class since the instrument's newest bar; 0 when it is up to date. */
  readonly missedSessions: number;
}

/**
 * Risk-adjusted momentum: the equal-weighted mean of its sub-signals, through the peers' table of
 * that mean. Confidence = min(1, n/231) * freshness, freshness 1, 0.5 (one session late) or 0.
 */
export function readMomentum(
  measurement: MomentumMeasurement | undefined,
  { at, assetClass, dayMs, tables, missedSessions }: MomentumContext,
): Reading {
  if (measurement === undefined) return unread("insufficient_data");
  const { asOf } = measurement;
  const scores = zScores(measurement, tables);
  const inputs = momentumInputs(measurement, scores);
  const staleAfter = asOf + MAX_BAR_AGE_DAYS[assetClass] * dayMs;
  if (missedSessions > 1 || at > staleAfter) return unread("stale", { asOf, staleAfter, inputs });

  const average = mean(scores.map(({ z }) => z));
  const freshness = missedSessions === 0 ? 1 : 0.5;
  return {
    z: tables.combined === undefined ? average : ecdfZ(tables.combined, average),
    confidence: Math.min(1, measurement.observations / WINDOW_RETURNS) * freshness,
    status: missedSessions === 0 ? "ok" : "stale",
    asOf,
    staleAfter,
    inputs,
  };
}

function momentumInputs(
  { signals, return12m1, asOf }: MomentumMeasurement,
  scores: readonly { readonly name: string; readonly z: number }[],
): readonly Input[] {
  const inputs = signals.map(({ name, value }): Input => {
    const z = scores.find((score) => score.name === name)?.z ?? null;
    const weight = z === null ? 0 : 1 / scores.length;
    const unit = name === "hi52" ? "log ratio" : "standard deviations";
    return { name, value, unit, z, weight, observedAt: asOf };
  });
  if (return12m1 === null) return inputs;
  const shown = { name: "return12m1", value: return12m1, unit: "log return", z: null, weight: 0 };
  return [...inputs, { ...shown, observedAt: asOf }];
}
