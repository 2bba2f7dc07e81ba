import type { Bar } from "../market/records.ts";
import { decay, ewStep, normOf } from "./statistics.ts";

/** How unusual volatility is judged. */
export const VOLATILITY_RULES = {
  /** Half-lives in sessions of the fast and the slow variance. */
  fastHalfLife: 2,
  slowHalfLife: 42,
  /** Sessions that the ratio of the two is compared with, the newest included. */
  window: 252,
} as const;

/** How volatile an instrument is, against its own habit. */
export interface VolatilityReading {
  /** q = 0.5 ln(fast/slow): how much the volatility of two days exceeds that of two months. */
  readonly q: number;
  /** (q - mean252) / sd252, `null` with fewer than 252 sessions or when q does not vary. */
  readonly z: number | null;
  /** Standard deviation of a session by the slow variance, as a log return. */
  readonly slowSigma: number;
  /** The session's own log return. */
  readonly logReturn: number;
}

/** Follows the volatility of one instrument, bar by bar. */
export interface Volatility {
  /** Takes the next bar in; `undefined` on the first and while nothing moved at all. */
  add(bar: Bar): VolatilityReading | undefined;
}

/** Starts before the first bar. */
export function createVolatility(): Volatility {
  const [fastDecay, slowDecay] = [
    decay(1, VOLATILITY_RULES.fastHalfLife),
    decay(1, VOLATILITY_RULES.slowHalfLife),
  ];
  const past: number[] = [];
  let fast: number | undefined;
  let slow: number | undefined;
  return {
    add(bar) {
      const { logReturn } = bar;
      if (logReturn === null) return undefined;
      const variance = varianceOf(bar, logReturn);
      fast = ewStep(fast, variance, fastDecay);
      slow = ewStep(slow, variance, slowDecay);
      if (!(fast > 0 && slow > 0)) return undefined;
      const q = 0.5 * Math.log(fast / slow);
      if (past.push(q) > VOLATILITY_RULES.window) past.shift();
      return { q, z: unusual(q, past), slowSigma: Math.sqrt(slow), logReturn };
    },
  };
}

/**
 * Variance proxy of a session: the squared log gap from the close before to the open, plus the
 * range estimator ln(H/C) ln(H/O) + ln(L/C) ln(L/O) (Rogers & Satchell, 1991), at least 0.
 */
function varianceOf(bar: Bar, logReturn: number): number {
  const { open, high, low, close, dividend } = bar;
  const gap = logReturn + Math.log((open + dividend) / (close + dividend));
  const range =
    Math.log(high / close) * Math.log(high / open) + Math.log(low / close) * Math.log(low / open);
  return gap ** 2 + Math.max(0, range);
}

function unusual(q: number, past: readonly number[]): number | null {
  if (past.length < VOLATILITY_RULES.window) return null;
  const { mean, sd } = normOf(past);
  return sd > 0 ? (q - mean) / sd : null;
}
