import type { Bar } from "../market/records.ts";

/** Windows of listed momentum, counted in bars. */
export const PRICE_WINDOWS = {
  /** Closes needed for the 12-1 window and the 52-week high. */
  yearBars: 252,
  /** Skipping the last month avoids its reversal (Jegadeesh & Titman, 1993). */
  skipBars: 21,
  /** Returns in the 12-1 window r[T-251..T-21], and the fewest usable ones. */
  windowReturns: 231,
  minWindowReturns: 200,
  /** A daily |log return| above this is left out of the moments. */
  maxReturn: 0.8,
} as const;

/** Bars that are remembered: the power of two above the 253 that one step looks at. */
const RING = 256;

/** Sums over the usable returns r of the 12-1 window and the market's returns m beside them. */
export interface Sums {
  n: number;
  r: number;
  m: number;
  rr: number;
  mm: number;
  rm: number;
}

/**
 * The newest bars of a listed instrument in typed rings, 2.5 kB, with running sums, so that a bar
 * costs the same however long the window is. Single precision: a return is off by 6e-8 of itself at
 * most, which leaves seven digits of ram and res.
 */
export interface PriceHistory extends Rings {
  /** Bars taken in so far. */
  bars: number;
  sums: Sums;
  /** ln of the highest high over the newest close, and the bars since that high. */
  peak: number;
  peakAge: number;
}

/** Instruments whose rings lie side by side: one large array costs less than many small ones. */
const SHELF = 1_024;

/** A stretch of three large arrays; the bar of a position is at `slot`. */
interface Rings {
  readonly offset: number;
  /** Daily log returns; NaN on the first bar. */
  readonly returns: Float32Array;
  /** ln(high / close). */
  readonly highs: Float32Array;
  /** Number of each bar's session; 65,536 of them are 260 years. */
  readonly sessions: Uint16Array;
}

const slot = ({ offset }: Rings, position: number): number => offset + (position & (RING - 1));

/** The market's daily log returns by session number. */
export type MarketReturns = readonly number[];

/** Makes histories that have no bar yet. */
export function createPriceHistories(): () => PriceHistory {
  let shelf: Omit<Rings, "offset"> | undefined;
  let taken = 0;
  return () => {
    if (shelf === undefined || taken === SHELF) {
      const size = SHELF * RING;
      shelf = {
        returns: new Float32Array(size),
        highs: new Float32Array(size),
        sessions: new Uint16Array(size),
      };
      taken = 0;
    }
    const offset = RING * taken++;
    const peak = Number.NEGATIVE_INFINITY;
    return { ...shelf, offset, bars: 0, sums: noSums(), peak, peakAge: 0 };
  };
}

const noSums = (): Sums => ({ n: 0, r: 0, m: 0, rr: 0, mm: 0, rm: 0 });

/**
 * Takes the next bar in: one return enters the window, one leaves it. The year's bars are only
 * looked through again when the high of 52 weeks has just grown too old.
 *
 * @param session Number of the bar's session in the class.
 */
export function addBar(
  history: PriceHistory,
  { high, close, logReturn }: Pick<Bar, "high" | "close" | "logReturn">,
  { session, market }: { readonly session: number; readonly market: MarketReturns },
): void {
  const at = slot(history, history.bars);
  history.returns[at] = logReturn ?? Number.NaN;
  history.highs[at] = Math.log(high / close);
  history.sessions[at] = session;
  history.bars++;
  shiftReturn(history, { age: PRICE_WINDOWS.skipBars, sign: 1, market });
  shiftReturn(history, { age: PRICE_WINDOWS.yearBars, sign: -1, market });

  history.peak -= logReturn === null ? 0 : (history.returns[at] as number);
  history.peakAge++;
  const own = history.highs[at] as number;
  if (own >= history.peak) raisePeak(history, own, 0);
  else if (history.peakAge >= PRICE_WINDOWS.yearBars) findPeak(history);
}

/** Adds the return of `age` bars ago to the sums, or takes it out. */
function shiftReturn(
  history: PriceHistory,
  {
    age,
    sign,
    market,
  }: { readonly age: number; readonly sign: 1 | -1; readonly market: MarketReturns },
): void {
  const { bars, returns, sessions, sums } = history;
  if (age >= bars) return;
  const at = slot(history, bars - 1 - age);
  const r = returns[at] as number;
  // NaN fails the comparison as well.
  if (!(Math.abs(r) <= PRICE_WINDOWS.maxReturn)) return;
  const m = market[sessions[at] as number] as number;
  sums.n += sign;
  sums.r += sign * r;
  sums.m += sign * m;
  sums.rr += sign * r * r;
  sums.mm += sign * m * m;
  sums.rm += sign * r * m;
}

/** Looks through the last 252 bars for the highest high, prices adjusted to the newest bar. */
function findPeak(history: PriceHistory): void {
  const { bars, returns, highs } = history;
  const length = Math.min(PRICE_WINDOWS.yearBars, bars);
  let since = 0;
  let peak = Number.NEGATIVE_INFINITY;
  let peakAge = 0;
  for (let age = 0; age < length; age++) {
    const at = slot(history, bars - 1 - age);
    const level = (highs[at] as number) - since;
    if (level > peak) {
      peak = level;
      peakAge = age;
    }
    since += returns[at] as number;
  }
  raisePeak(history, peak, peakAge);
}

function raisePeak(history: PriceHistory, peak: number, age: number): void {
  history.peak = peak;
  history.peakAge = age;
}

/**
 * Works the sums and the peak out from scratch, once per epoch, so that rounding never adds up.
 *
 * @returns The largest difference from what the running figures had become, in log units.
 */
export function recompute(history: PriceHistory, market: MarketReturns): number {
  if (history.bars === 0) return 0;
  const { sums: before, peak } = history;
  const sums = sumWindow(history, market);
  history.sums = sums;
  findPeak(history);
  return Math.max(
    Math.abs(sums.r - before.r),
    Math.abs(sums.m - before.m),
    Math.abs(sums.rr - before.rr),
    Math.abs(sums.mm - before.mm),
    Math.abs(sums.rm - before.rm),
    Math.abs(history.peak - peak),
  );
}

/** The sums over the window's returns, oldest first. */
function sumWindow(history: PriceHistory, market: MarketReturns): Sums {
  const { bars, returns, sessions } = history;
  let n = 0;
  let r = 0;
  let m = 0;
  let rr = 0;
  let mm = 0;
  let rm = 0;
  const end = bars - PRICE_WINDOWS.skipBars;
  for (let position = Math.max(0, bars - PRICE_WINDOWS.yearBars); position < end; position++) {
    const at = slot(history, position);
    const own = returns[at] as number;
    // NaN fails the comparison as well.
    if (!(Math.abs(own) <= PRICE_WINDOWS.maxReturn)) continue;
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
