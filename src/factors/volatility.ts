import { countKnownRecords } from "../market/point-in-time.ts";
import type { Bar, RecordList } from "../market/records.ts";
import { decayFactor, ewmaStep, meanAndSd } from "../statistics/statistics.ts";

/** Constants of unusual volatility. */
export const VOLATILITY_RULES = {
  /** Half-life of the fast and of the slow variance, in sessions. */
  fastHalfLife: 2,
  slowHalfLife: 42,
  /** Number of sessions, including the newest, with which the volatility ratio q is compared. */
  window: 252,
} as const;

/** Volatility of an instrument, compared with its own history. */
export interface VolatilityReading {
  /**
   * q = 0.5 ln(fast/slow): the log ratio of the fast volatility (about two days) to the slow one
   * (about two months).
   */
  readonly q: number;
  /** (q - mean252) / sd252; `null` with fewer than 252 sessions or if q does not vary. */
  readonly z: number | null;
  /** Square root of the slow variance: the standard deviation of a daily log return. */
  readonly slowSigma: number;
  /** Log return of the newest session. */
  readonly logReturn: number;
}

/** Tracks the volatility of one instrument, bar by bar. */
export interface VolatilityTracker {
  /**
   * Adds the next bars, at a cost that depends only on their number.
   *
   * @returns The reading after the last bar; `undefined` without a bar, after the first bar ever,
   * or while prices have not moved.
   */
  add(...bars: readonly Bar[]): VolatilityReading | undefined;
}

/** Creates a tracker to which no bars have been added yet. */
export function createVolatilityTracker(): VolatilityTracker {
  const [fastDecay, slowDecay] = [
    decayFactor(1, VOLATILITY_RULES.fastHalfLife),
    decayFactor(1, VOLATILITY_RULES.slowHalfLife),
  ];
  const past: number[] = [];
  let fast: number | undefined;
  let slow: number | undefined;
  const take = (bar: Bar): Omit<VolatilityReading, "z"> | undefined => {
    const { logReturn } = bar;
    if (logReturn === null) return undefined;
    const variance = sessionVariance(bar, logReturn);
    // Absurd prices can give NaN, which would persist in the running variances.
    if (!Number.isFinite(variance)) return undefined;
    fast = ewmaStep(fast, variance, fastDecay);
    slow = ewmaStep(slow, variance, slowDecay);
    if (!(fast > 0 && slow > 0)) return undefined;
    const q = 0.5 * Math.log(fast / slow);
    past.push(q);
    return { q, slowSigma: Math.sqrt(slow), logReturn };
  };
  return {
    add(...bars) {
      let newest: ReturnType<typeof take>;
      for (const bar of bars) newest = take(bar);
      past.splice(0, past.length - VOLATILITY_RULES.window);
      return newest && { ...newest, z: unusual(newest.q, past) };
    },
  };
}

/** The volatility tracker of a list of bars, with its position in the list. */
interface Follower {
  readonly volatility: VolatilityTracker;
  read: number;
  newest: VolatilityReading | undefined;
}

const newFollower = (): Follower => ({
  volatility: createVolatilityTracker(),
  read: 0,
  newest: undefined,
});

/**
 * Creates a reader of the volatility of many instruments. While time advances it processes each bar
 * once; for an earlier instant it reads the list again.
 *
 * @returns A function of an instrument's list of bars and an instant, which returns the reading at
 * the newest bar known by then. The list must remain the same object while it grows.
 */
export function createVolatilityReader(): (
  bars: RecordList<Bar>,
  at: number,
) => VolatilityReading | undefined {
  const followers = new WeakMap<RecordList<Bar>, Follower>();
  return (bars, at) => {
    const known = countKnownRecords(bars, at);
    const follower = followers.get(bars) ?? newFollower();
    followers.set(bars, follower);
    if (known < follower.read) return createVolatilityTracker().add(...bars.slice(0, known));
    if (known === follower.read) return follower.newest;
    follower.newest = follower.volatility.add(...bars.slice(follower.read, known));
    follower.read = known;
    return follower.newest;
  };
}

/**
 * Variance of a session: the squared log gap from the previous close to the open, plus the range
 * estimator ln(H/C) ln(H/O) + ln(L/C) ln(L/O) (Rogers & Satchell, 1991), at least 0.
 *
 * @param bar Not the first bar.
 * @param logReturn Log return of the bar.
 * @returns A variance of log returns; may be infinite or NaN for absurd prices.
 */
export function sessionVariance(
  { open, high, low, close, dividend }: Pick<Bar, "open" | "high" | "low" | "close" | "dividend">,
  logReturn: number,
): number {
  const gap = logReturn + Math.log((open + dividend) / (close + dividend));
  const range =
    Math.log(high / close) * Math.log(high / open) + Math.log(low / close) * Math.log(low / open);
  return gap ** 2 + Math.max(0, range);
}

function unusual(q: number, past: readonly number[]): number | null {
  if (past.length < VOLATILITY_RULES.window) return null;
  const { mean, sd } = meanAndSd(past);
  return sd > 0 ? (q - mean) / sd : null;
}
