import type { Bar } from "../market/records.ts";
import { decayFactor, ewmaStep } from "../statistics/statistics.ts";
import { sessionVariance, VOLATILITY_RULES } from "./volatility.ts";

/** Windows of the momentum of listed instruments, in bars. */
export const PRICE_HISTORY_RULES = {
  /** Number of closes needed for the 12-1 window and the 52-week high. */
  yearBars: 252,
  /**
   * Number of newest bars to skip, to avoid the reversal of the last month (Jegadeesh & Titman,
   * 1993).
   */
  skipBars: 21,
  /**
   * Number of returns in the 12-1 window r[T-251..T-21], and the minimum number of usable returns.
   */
  windowReturns: 231,
  minWindowReturns: 200,
  /** Maximum |log return|; larger returns are excluded from the sums. */
  maxReturn: 0.8,
} as const;

/** Ring size in bars: 253 bars are needed, rounded up to a power of two. */
const RING = 256;

/**
 * Sums over the usable returns r of the 12-1 window and the market's returns m in the same
 * sessions; `rr`, `mm` and `rm` are sums of products, and `n` is the number of returns.
 */
export interface MomentumSums {
  readonly n: number;
  readonly r: number;
  readonly m: number;
  readonly rr: number;
  readonly mm: number;
  readonly rm: number;
}

/** Offsets of the sums within the figures of an instrument. */
const SUM = { n: 0, r: 1, m: 2, rr: 3, mm: 4, rm: 5 } as const;
/** Offsets of ln(highest high / newest close) and of the number of bars since that high. */
const PEAK = 6;
const PEAK_AGE = 7;
/** Offset of ln(highest high / highest high of the older bars in the window). */
const LEAD = 8;
/** Offsets of the exponentially weighted variances of a session; NaN before the first return. */
const FAST_VARIANCE = 9;
const SLOW_VARIANCE = 10;
const FIGURES = 11;

const FAST_DECAY = decayFactor(1, VOLATILITY_RULES.fastHalfLife);
const SLOW_DECAY = decayFactor(1, VOLATILITY_RULES.slowHalfLife);

/** Lead, in log units, above which rounding errors cannot change which high is the highest. */
const CLEAR_LEAD = 1e-9;

/** Number of instruments per chunk: a few large arrays cost less memory than many small objects. */
const CHUNK = 1_024;

/** Memory shared by many instruments: their newest bars and running figures. */
interface Chunk {
  /** Daily log returns; NaN for the first bar and for unknown returns. */
  readonly returns: Float32Array;
  /** ln(high / close) of each bar. */
  readonly highs: Float32Array;
  /** Session number of each bar; 65,536 sessions are 260 years. */
  readonly sessions: Uint16Array;
  readonly figures: Float64Array;
}

/**
 * The newest bars of a listed instrument, in ring buffers of 2.6 kB, with running sums, so that the
 * cost of a bar does not depend on the length of the window. Single precision suffices: relative
 * errors of 6e-8 in returns leave `ram` and `res` accurate to seven digits.
 */
export interface PriceHistory {
  readonly chunk: Chunk;
  /** Index of the instrument in the chunk. */
  readonly index: number;
  /** Number of bars so far. */
  bars: number;
}

/** The parts of a bar that a history uses. */
export type PricedBar = Parameters<typeof sessionVariance>[0] & Pick<Bar, "logReturn">;

/** The market's daily log returns by session number. */
export type MarketReturns = readonly number[];

/** Returns a function that creates empty histories; the histories share large chunks of memory. */
export function createPriceHistories(): () => PriceHistory {
  let chunk: Chunk | undefined;
  let taken = 0;
  return () => {
    if (chunk === undefined || taken === CHUNK) {
      chunk = createChunk();
      taken = 0;
    }
    return { chunk, index: taken++, bars: 0 };
  };
}

function createChunk(): Chunk {
  const figures = new Float64Array(CHUNK * FIGURES);
  for (let base = 0; base < figures.length; base += FIGURES) {
    figures[base + PEAK] = Number.NEGATIVE_INFINITY;
    figures[base + FAST_VARIANCE] = Number.NaN;
    figures[base + SLOW_VARIANCE] = Number.NaN;
  }
  return {
    returns: new Float32Array(CHUNK * RING),
    highs: new Float32Array(CHUNK * RING),
    sessions: new Uint16Array(CHUNK * RING),
    figures,
  };
}

/** Array index of the bar that is preceded by `position` bars. */
const slot = ({ index }: PriceHistory, position: number): number =>
  index * RING + (position & (RING - 1));

/** Reads the running sums. */
export function readMomentumSums({ chunk: { figures }, index }: PriceHistory): MomentumSums {
  const at = index * FIGURES;
  return {
    n: figures[at + SUM.n] as number,
    r: figures[at + SUM.r] as number,
    m: figures[at + SUM.m] as number,
    rr: figures[at + SUM.rr] as number,
    mm: figures[at + SUM.mm] as number,
    rm: figures[at + SUM.rm] as number,
  };
}

/** ln(highest high of 252 bars / newest close); -Infinity before the first bar. */
export const peakLogDistance = ({ chunk: { figures }, index }: PriceHistory): number =>
  figures[index * FIGURES + PEAK] as number;

/**
 * Sum of the last `count` daily log returns; `NaN` if there are fewer returns or if one of the
 * returns is unknown.
 */
export function recentLogReturn(history: PriceHistory, count: number): number {
  if (history.bars <= count) return Number.NaN;
  const { returns } = history.chunk;
  let sum = 0;
  for (let age = 0; age < count; age++) {
    sum += returns[slot(history, history.bars - 1 - age)] as number;
  }
  return sum;
}

/**
 * Root mean square of the known returns among the last `count` daily log returns; `NaN` with fewer
 * than `minCount` of them.
 */
export function recentVolatility(history: PriceHistory, count: number, minCount: number): number {
  const { returns } = history.chunk;
  let squares = 0;
  let known = 0;
  for (let age = 0; age < Math.min(count, history.bars); age++) {
    const value = returns[slot(history, history.bars - 1 - age)] as number;
    if (Number.isNaN(value)) continue;
    squares += value * value;
    known++;
  }
  return known < minCount ? Number.NaN : Math.sqrt(squares / known);
}

/**
 * Adds the next bar: one return enters the window, another leaves it. The bars of the year are
 * scanned only when the 52-week high expires.
 *
 * @param session Number of the bar's session in the asset class.
 */
export function addBar(
  history: PriceHistory,
  bar: PricedBar,
  { session, market }: { readonly session: number; readonly market: MarketReturns },
): void {
  const { high, close, logReturn } = bar;
  const { returns, highs, sessions, figures } = history.chunk;
  const at = slot(history, history.bars);
  returns[at] = logReturn ?? Number.NaN;
  // A difference of logarithms, because the quotient of two extreme prices may not be a number.
  highs[at] = Math.log(high) - Math.log(close);
  sessions[at] = session;
  history.bars++;
  shiftReturn(history, { age: PRICE_HISTORY_RULES.skipBars, sign: 1, market });
  shiftReturn(history, { age: PRICE_HISTORY_RULES.yearBars, sign: -1, market });
  if (logReturn !== null) addVariance(history, sessionVariance(bar, logReturn));

  const base = history.index * FIGURES;
  const peak = (figures[base + PEAK] as number) - change(returns[at] as number);
  const age = (figures[base + PEAK_AGE] as number) + 1;
  const own = highs[at] as number;
  const isPeak = own >= peak;
  figures[base + PEAK] = isPeak ? own : peak;
  figures[base + PEAK_AGE] = isPeak ? 0 : age;
  if (isPeak) figures[base + LEAD] = own - peak;
  if (own < peak && age >= PRICE_HISTORY_RULES.yearBars)
    findPeak(history, PRICE_HISTORY_RULES.yearBars);
}

/** Adds the variance of a session to the running means; NaN and infinity are left out. */
function addVariance(history: PriceHistory, variance: number): void {
  if (!Number.isFinite(variance)) return;
  const { figures } = history.chunk;
  const base = history.index * FIGURES;
  const { fast, slow } = runningVariances(history);
  const isFirst = Number.isNaN(slow);
  figures[base + FAST_VARIANCE] = isFirst ? variance : ewmaStep(fast, variance, FAST_DECAY);
  figures[base + SLOW_VARIANCE] = isFirst ? variance : ewmaStep(slow, variance, SLOW_DECAY);
}

/**
 * Exponentially weighted means of the variance of a session (`sessionVariance`), with half-lives of
 * 2 and 42 sessions; `NaN` before the first return.
 */
export function runningVariances({ chunk: { figures }, index }: PriceHistory): {
  readonly fast: number;
  readonly slow: number;
} {
  const base = index * FIGURES;
  return {
    fast: figures[base + FAST_VARIANCE] as number,
    slow: figures[base + SLOW_VARIANCE] as number,
  };
}

/** Sums over the usable returns of the newest 252 sessions, as `readMomentumSums` has them. */
export function readYearSums(history: PriceHistory, market: MarketReturns): MomentumSums {
  const older = readMomentumSums(history);
  const newest = sumReturns(history, market, {
    from: Math.max(0, history.bars - PRICE_HISTORY_RULES.skipBars),
    to: history.bars,
  });
  return {
    n: older.n + newest.n,
    r: older.r + newest.r,
    m: older.m + newest.m,
    rr: older.rr + newest.rr,
    mm: older.mm + newest.mm,
    rm: older.rm + newest.rm,
  };
}

/** Change of the log price; 0 if the return is unknown. */
const change = (logReturn: number): number => (Number.isNaN(logReturn) ? 0 : logReturn);

/** Adds the return of `age` bars ago to the sums (`sign` 1), or removes it (-1). */
function shiftReturn(
  history: PriceHistory,
  {
    age,
    sign,
    market,
  }: { readonly age: number; readonly sign: 1 | -1; readonly market: MarketReturns },
): void {
  if (age >= history.bars) return;
  const { returns, sessions, figures } = history.chunk;
  const at = slot(history, history.bars - 1 - age);
  const r = returns[at] as number;
  // The comparison is negated so that it also excludes NaN.
  if (!(Math.abs(r) <= PRICE_HISTORY_RULES.maxReturn)) return;
  const m = market[sessions[at] as number] as number;
  const base = history.index * FIGURES;
  (figures[base + SUM.n] as number) += sign;
  (figures[base + SUM.r] as number) += sign * r;
  (figures[base + SUM.m] as number) += sign * m;
  (figures[base + SUM.rr] as number) += sign * r * r;
  (figures[base + SUM.mm] as number) += sign * m * m;
  (figures[base + SUM.rm] as number) += sign * r * m;
}

/**
 * Finds the highest adjusted high of the year.
 *
 * @param length Number of newest bars to examine; the highest high must be among them.
 */
function findPeak(history: PriceHistory, length: number): void {
  const { bars } = history;
  const { returns, highs, figures } = history.chunk;
  const first = slot(history, 0);
  const end = Math.min(length, PRICE_HISTORY_RULES.yearBars, bars);
  let since = 0;
  let peak = Number.NEGATIVE_INFINITY;
  let peakAge = 0;
  let before = Number.NEGATIVE_INFINITY;
  for (let age = 0; age < end; age++) {
    const at = first + ((bars - 1 - age) & (RING - 1));
    const level = (highs[at] as number) - since;
    if (level > peak) {
      peak = level;
      peakAge = age;
      before = Number.NEGATIVE_INFINITY;
    } else if (level > before) before = level;
    since += change(returns[at] as number);
  }
  const base = history.index * FIGURES;
  figures[base + PEAK] = peak;
  figures[base + PEAK_AGE] = peakAge;
  // If the high is the oldest examined bar, its lead over the bars before it is unchanged.
  if (peakAge < end - 1 || length >= PRICE_HISTORY_RULES.yearBars)
    figures[base + LEAD] = peak - before;
}

/**
 * Recomputes the sums and the highest high from the bars whenever a session is scored, so that
 * rounding errors do not accumulate.
 *
 * @returns The largest difference from the running values, in log units.
 */
export function recomputeSumsAndPeak(history: PriceHistory, market: MarketReturns): number {
  if (history.bars === 0) return 0;
  const { figures } = history.chunk;
  const base = history.index * FIGURES;
  const peak = peakLogDistance(history);
  const isClear = (figures[base + LEAD] as number) > CLEAR_LEAD;
  findPeak(
    history,
    isClear ? (figures[base + PEAK_AGE] as number) + 1 : PRICE_HISTORY_RULES.yearBars,
  );
  const { n, r, m, rr, mm, rm } = readMomentumSums(history);
  const sums = sumReturns(history, market, {
    from: Math.max(0, history.bars - PRICE_HISTORY_RULES.yearBars),
    to: history.bars - PRICE_HISTORY_RULES.skipBars,
  });
  figures[base + SUM.n] = sums.n;
  figures[base + SUM.r] = sums.r;
  figures[base + SUM.m] = sums.m;
  figures[base + SUM.rr] = sums.rr;
  figures[base + SUM.mm] = sums.mm;
  figures[base + SUM.rm] = sums.rm;
  return Math.max(
    Math.abs(peakLogDistance(history) - peak),
    Math.abs(sums.n - n),
    Math.abs(sums.r - r),
    Math.abs(sums.m - m),
    Math.abs(sums.rr - rr),
    Math.abs(sums.mm - mm),
    Math.abs(sums.rm - rm),
  );
}

/** Sums over the usable returns of the bars at positions [from, to), oldest first. */
function sumReturns(
  history: PriceHistory,
  market: MarketReturns,
  { from, to }: { readonly from: number; readonly to: number },
): MomentumSums {
  const { returns, sessions } = history.chunk;
  const first = slot(history, 0);
  let n = 0;
  let r = 0;
  let m = 0;
  let rr = 0;
  let mm = 0;
  let rm = 0;
  for (let position = from; position < to; position++) {
    const at = first + (position & (RING - 1));
    const own = returns[at] as number;
    // The comparison is negated so that it also excludes NaN.
    if (!(Math.abs(own) <= PRICE_HISTORY_RULES.maxReturn)) continue;
    const other = market[sessions[at] as number] as number;
    n++;
    r += own;
    m += other;
    rr += own * own;
    mm += other * other;
    rm += own * other;
  }
  return { n, r, m, rr, mm, rm };
}
