import type { AssetClass } from "../market/instrument.ts";
import { chanceOfFall, logReturnRange, RANGE_PROBABILITIES } from "../risk/ranges.ts";
import type { HorizonQuantiles } from "../risk/table.ts";
import type { Direction } from "../score/signal-hysteresis.ts";
import { rankCorrelation } from "../statistics/rank-correlation.ts";
import { type RunSplit, splitRun } from "./splits.ts";

/** Horizons of the track record, in sessions and shortest first; a session of a coin is one day. */
export const TRACK_RECORD_HORIZON_SESSIONS: Readonly<Record<AssetClass, readonly number[]>> = {
  stock: [5, 21],
  etf: [5, 21],
  crypto: [7, 30],
};

/** Horizon of the verdicts on each asset class, in sessions. */
export const HEADLINE_HORIZON_SESSIONS: Readonly<Record<AssetClass, number>> = {
  stock: 21,
  etf: 21,
  crypto: 7,
};

/** Minimum number of instruments in a run for a rank correlation. */
const MIN_NAMES = 10;

/** The published signal of an instrument after a session, and the return that followed. */
export interface SettledStatement {
  readonly signal: Direction;
  /** Published score in [0, 100], rounded to two decimals. */
  readonly score: number;
  /** `null` if unknown; absent in entries that do not say it, which are in no split. */
  readonly sector?: string | null | undefined;
  /** Forecast standard deviation of the log return over the horizon; `null` without a forecast. */
  readonly sigma: number | null;
  /** The log total return over the horizon, from the close of the session after the statement. */
  readonly followed: number;
  /**
   * The log total return over the horizon, from the close that the statement is based on, where its
   * forecast ranges begin; `NaN` if unknown.
   */
  readonly fromClose: number;
}

/**
 * Grade of the statements of one run over one horizon: numbers of signals, and means and sums of
 * log returns.
 */
export interface RunGradingResult {
  readonly long: number;
  readonly short: number;
  readonly wait: number;
  /** Mean log return over all statements, i.e. of the equal-weighted universe. */
  readonly universe: number;
  /** Sum of (log return - `universe`) over LONG signals, minus the same sum over SHORT signals. */
  readonly excess: number;
  /** Sum of the log returns over LONG signals, minus the same sum over SHORT signals. */
  readonly followed: number;
  /** Number of LONG and SHORT signals whose excess return has the sign of the signal. */
  readonly hits: number;
  /**
   * Variance of `excess` if the same signals were shuffled among the instruments: with signs s and
   * excess returns e of n instruments, sum((s - mean s)^2) sum(e^2) / (n - 1). The mean of the
   * shuffled `excess` is 0.
   */
  readonly shuffledVariance: number;
  /** Spearman's rank correlation of scores and returns; `null` with fewer than ten instruments. */
  readonly ic: number | null;
  /**
   * Number of statements with a forecast, and the number of their returns that lay within each
   * range of `RANGE_PROBABILITIES`.
   */
  readonly forecasts: number;
  readonly within: readonly number[];
  /**
   * Number of statements with a forecast after which the price fell by more than `fallPercent` of
   * the table given to `gradeRun`, and the sum of the squared errors of the forecast probabilities
   * of such a fall.
   */
  readonly falls: number;
  readonly fallErrors: number;
  /** Sums by signal and by sector; absent if no statement is of an entry that says its sector. */
  readonly split?: RunSplit | undefined;
}

const SIGNS: Readonly<Record<Direction, number>> = { LONG: 1, WAIT: 0, SHORT: -1 };

/**
 * Grades the signals of one run; used by both the signal log and the backtest.
 *
 * @param table Forecast quantiles and fall percentage of the class over the horizon.
 */
export function gradeRun(
  statements: readonly SettledStatement[],
  table: HorizonQuantiles | undefined,
): RunGradingResult {
  const followed = statements.map((one) => one.followed);
  const universe = followed.length === 0 ? 0 : sumOf(followed) / followed.length;
  const signs = statements.map(({ signal }) => SIGNS[signal]);
  const excess = followed.map((value) => value - universe);
  const products = signs.map((sign, index) => sign * (excess[index] as number));
  const count = (signal: Direction) => statements.filter((one) => one.signal === signal).length;
  const scores = statements.map(({ score }) => score);
  return {
    long: count("LONG"),
    short: count("SHORT"),
    wait: count("WAIT"),
    universe,
    excess: sumOf(products),
    followed: sumOf(signs.map((sign, index) => sign * (followed[index] as number))),
    hits: products.filter((product) => product > 0).length,
    shuffledVariance: shuffledVariance(signs, excess),
    ic: scores.length < MIN_NAMES ? null : (rankCorrelation(scores, followed) ?? null),
    ...gradeRisk(statements, table),
    split: splitRun(statements.map((one, index) => ({ ...one, excess: excess[index] as number }))),
  };
}

function shuffledVariance(signs: readonly number[], excess: readonly number[]): number {
  const { length } = signs;
  if (length < 2) return 0;
  const center = sumOf(signs) / length;
  const spread = sumOf(signs.map((sign) => (sign - center) ** 2));
  return (spread * sumOf(excess.map((value) => value ** 2))) / (length - 1);
}

function gradeRisk(statements: readonly SettledStatement[], table: HorizonQuantiles | undefined) {
  const within = RANGE_PROBABILITIES.map(() => 0);
  let [forecasts, falls, fallErrors] = [0, 0, 0];
  if (table === undefined) return { forecasts, within, falls, fallErrors };
  const { quantiles, fallPercent } = table;
  const ofUnit = RANGE_PROBABILITIES.map((probability) =>
    logReturnRange(quantiles, probability, 1),
  );
  for (const { sigma, fromClose } of statements) {
    if (sigma === null || Number.isNaN(fromClose)) continue;
    forecasts += 1;
    for (const [index, { low, high }] of ofUnit.entries()) {
      const isWithin = fromClose >= low * sigma && fromClose <= high * sigma;
      if (isWithin) within[index] = (within[index] as number) + 1;
    }
    const fell = fromClose < Math.log1p(-fallPercent / 100) ? 1 : 0;
    falls += fell;
    fallErrors += (chanceOfFall(quantiles, fallPercent, sigma) - fell) ** 2;
  }
  return { forecasts, within, falls, fallErrors };
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
