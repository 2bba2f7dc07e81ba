import { medianOf } from "./median.ts";
import type { GridRow, ReturnGrid } from "./return-grid.ts";

/** Correlation of daily returns from which one instrument repeats another. */
const SAME = 0.95;
/** Share of the class's median volatility under which an instrument is held at a price. */
const STILL = 0.1;
/** Sessions that are looked at, the newest, and how many of them it takes. */
const LOOKED_AT = 252;
const MIN_SESSIONS = 60;

/** Symbols of instruments that are no names of their own. */
export interface Indistinct {
  /** They move like an older one: wrapped coins, another class of a share. */
  readonly copies: readonly string[];
  /** They hardly move: coins that are held at a price. */
  readonly still: readonly string[];
}

/**
 * Finds instruments that would make a cross-section look larger than it is, or turn the question
 * of which into one of when: a still one ranks high whenever the others fall. The last year of the
 * grid decides, which is hindsight, but not how anything turned out.
 */
export function findIndistinct({ rows, sessions }: ReturnGrid): Indistinct {
  const start = Math.max(0, sessions.length - LOOKED_AT);
  const recent = rows
    .toSorted((a, b) => firstOf(a) - firstOf(b))
    .map(({ instrument, returns }) => {
      const newest = returns.subarray(start);
      const { varianceX } = moments(newest, newest);
      return { symbol: instrument.symbol, returns: newest, volatility: Math.sqrt(varianceX) };
    });
  const usual = medianOf(recent.map((one) => one.volatility).filter((value) => value > 0));
  const isCopy = ({ returns }: (typeof recent)[number], index: number) =>
    recent.slice(0, index).some((older) => correlation(returns, older.returns) >= SAME);
  const isStill = ({ volatility }: (typeof recent)[number]) =>
    volatility > 0 && volatility < STILL * usual;
  return {
    copies: recent.filter(isCopy).map(({ symbol }) => symbol),
    still: recent.filter(isStill).map(({ symbol }) => symbol),
  };
}

const firstOf = ({ returns }: GridRow): number =>
  returns.findIndex((value) => !Number.isNaN(value));

/** Pearson's coefficient; 0 where too little is known. */
function correlation(x: Float64Array, y: Float64Array): number {
  const { varianceX, varianceY, covariance } = moments(x, y);
  const scale = Math.sqrt(varianceX * varianceY);
  return scale > 0 ? covariance / scale : 0;
}

/** Moments of the sessions that both have; 0 under 60 of them. */
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
