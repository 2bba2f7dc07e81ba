import { medianOf } from "../statistics/median.ts";
import type { SessionGrid, SessionReturns } from "./session-returns.ts";

/**
 * Minimum correlation of daily returns at which an instrument counts as a duplicate of an older
 * instrument.
 */
const DUPLICATE_CORRELATION = 0.95;
/** Fraction of the class's median volatility below which an instrument counts as pegged. */
const PEGGED_SHARE = 0.1;
/** Number of newest sessions examined, and the minimum number of them with data. */
const MAX_SESSIONS = 252;
const MIN_SESSIONS = 60;

/**
 * Symbols of the instruments to exclude from a cross-section, because they duplicate an older
 * instrument or are pegged.
 */
export interface ExcludedSymbols {
  /** Duplicates of an older instrument, such as wrapped coins and second share classes. */
  readonly copies: readonly string[];
  /** Pegged instruments, such as coins with a fixed price. */
  readonly still: readonly string[];
}

/**
 * Finds instruments that would distort a cross-section: duplicates count the same return twice, and
 * a pegged instrument ranks high whenever other instruments fall, which rewards timing rather than
 * selection. Only the last 252 sessions of the grid are examined. The selection uses hindsight
 * about volatility and correlation, but not about which instruments rose or fell.
 */
export function findExcludedSymbols({ rows, sessions }: SessionGrid): ExcludedSymbols {
  const start = Math.max(0, sessions.length - MAX_SESSIONS);
  const recent = rows
    .toSorted((a, b) => firstOf(a) - firstOf(b))
    .map(({ instrument, returns }) => {
      const newest = returns.subarray(start);
      const { varianceX } = moments(newest, newest);
      return { symbol: instrument.symbol, returns: newest, volatility: Math.sqrt(varianceX) };
    });
  const usual = medianOf(recent.map((one) => one.volatility).filter((value) => value > 0));
  const isCopy = ({ returns }: (typeof recent)[number], index: number) =>
    recent
      .slice(0, index)
      .some((older) => correlation(returns, older.returns) >= DUPLICATE_CORRELATION);
  const isPegged = ({ volatility }: (typeof recent)[number]) =>
    volatility > 0 && volatility < PEGGED_SHARE * usual;
  return {
    copies: recent.filter(isCopy).map(({ symbol }) => symbol),
    still: recent.filter(isPegged).map(({ symbol }) => symbol),
  };
}

const firstOf = ({ returns }: SessionReturns): number =>
  returns.findIndex((value) => !Number.isNaN(value));

/**
 * Pearson's correlation coefficient; 0 if the series share fewer than 60 sessions or either is
 * constant.
 */
function correlation(x: Float64Array, y: Float64Array): number {
  const { varianceX, varianceY, covariance } = moments(x, y);
  const scale = Math.sqrt(varianceX * varianceY);
  return scale > 0 ? covariance / scale : 0;
}

/**
 * Variances and covariance over the sessions with data in both series; all are 0 with fewer than 60
 * such sessions.
 */
function moments(x: Float64Array, y: Float64Array) {
  let [count, sumX, sumY, sumXX, sumYY, sumXY] = [0, 0, 0, 0, 0, 0];
  for (let index = 0; index < x.length; index++) {
    const a = x[index] as number;
    const b = y[index] as number;
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    count++;
    sumX += a;
    sumY += b;
    sumXX += a * a;
    sumYY += b * b;
    sumXY += a * b;
  }
  if (count < MIN_SESSIONS) return { varianceX: 0, varianceY: 0, covariance: 0 };
  const central = (products: number, a: number, b: number) => (products - (a * b) / count) / count;
  return {
    varianceX: central(sumXX, sumX, sumX),
    varianceY: central(sumYY, sumY, sumY),
    covariance: central(sumXY, sumX, sumY),
  };
}
