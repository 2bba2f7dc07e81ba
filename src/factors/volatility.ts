import { countKnown } from "../market/point-in-time.ts";
import type { Bar, RecordList } from "../market/records.ts";
import { decay, ewStep, meanAndSd } from "./statistics.ts";

/** Constants of unusual volatility. */
export const VOLATILITY_RULES = {
  /** Half-lives in sessions of the fast and the slow variance. */
  fastHalfLife: 2,
  slowHalfLife: 42,
  /** Sessions that the ratio of the two is compared with, the newest included. */
  window: 252,
} as const;

/** Volatility of an instrument, against its own history. */
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
  /**
   * Adds the next bars, at a cost that depends only on their number.
   *
   * @returns The reading after the last of them; `undefined` when it is the first bar of all, while
   *   nothing moved, and without a bar.
   */
  add(...bars: readonly Bar[]): VolatilityReading | undefined;
}

/** Creates a history without bars. */
export function createVolatility(): Volatility {
  const [fastDecay, slowDecay] = [
    decay(1, VOLATILITY_RULES.fastHalfLife),
    decay(1, VOLATILITY_RULES.slowHalfLife),
  ];
  const past: number[] = [];
  let fast: number | undefined;
  let slow: number | undefined;
  const take = (bar: Bar): Omit<VolatilityReading, "z"> | undefined => {
    const { logReturn } = bar;
    if (logReturn === null) return undefined;
    const variance = sessionVariance(bar, logReturn);
    // Absurd prices can give NaN, which would never go away.
    if (!Number.isFinite(variance)) return undefined;
    fast = ewStep(fast, variance, fastDecay);
    slow = ewStep(slow, variance, slowDecay);
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

/** How far the bars of a list have been read. */
interface Follower {
  readonly volatility: Volatility;
  read: number;
  newest: VolatilityReading | undefined;
}

const newFollower = (): Follower => ({
  volatility: createVolatility(),
  read: 0,
  newest: undefined,
});

/**
 * Creates a reader of the volatility of many instruments. It processes each bar once as time
 * advances; for an earlier instant it reads the list again.
 *
 * @returns A function of an instrument's list of bars, which must remain the same object while it
 * grows, and of an instant. It returns the reading at the newest bar known by then.
 */
export function createVolatilityReader(): (
  bars: RecordList<Bar>,
  at: number,
) => VolatilityReading | undefined {
  const followers = new WeakMap<RecordList<Bar>, Follower>();
  return (bars, at) => {
    const known = countKnown(bars, at);
    const follower = followers.get(bars) ?? newFollower();
    followers.set(bars, follower);
    if (known < follower.read) return createVolatility().add(...bars.slice(0, known));
    if (known === follower.read) return follower.newest;
    follower.newest = follower.volatility.add(...bars.slice(follower.read, known));
    follower.read = known;
    return follower.newest;
  };
}

/**
 * Variance proxy of a session: the squared log gap from the close before to the open, plus the
 * range estimator ln(H/C) ln(H/O) + ln(L/C) ln(L/O) (Rogers & Satchell, 1991), at least 0.
 *
 * @param logReturn Log return of the bar, which is not the first one. @returns May be infinite or
 *   NaN for absurd prices.
 */
export function sessionVariance(bar: Bar, logReturn: number): number {
  const { open, high, low, close, dividend } = bar;
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
