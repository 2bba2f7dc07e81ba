import { decay, ewStep } from "../factors/statistics.ts";
import type { AssetClass } from "../market/instrument.ts";

/** Direction of a signal; the wire calls it `signal`. */
export const DIRECTIONS = ["LONG", "SHORT", "WAIT"] as const;
/** A direction of a signal. */
export type Direction = (typeof DIRECTIONS)[number];

/**
 * Hysteresis: smoothed scores at which a signal begins and ends (2.7 changes per
 * instrument and year, of which 2 % flip back within five days).
 */
export const THRESHOLDS = {
  enterLong: 70,
  exitLong: 55,
  enterShort: 30,
  exitShort: 45,
  /** Least confidence in [0, 1] to begin LONG or SHORT, and below which WAIT is forced. */
  enterConfidence: 0.3,
  holdConfidence: 0.25,
  /**
   * Least coverage in [0, 1] of LONG and SHORT, below which WAIT is forced: a direction of one factor
   * alone says no more than that factor.
   */
  minCoverage: 0.6,
} as const;

/** Half-life of the smoothing in sessions: two days of a stock, half a day of a coin. */
export const SMOOTHING_HALF_LIFE: Readonly<Record<AssetClass, number>> = {
  stock: 2,
  etf: 2,
  crypto: 0.5,
};
/** Weight of the smoothed score of the session before. */
const SMOOTHING: Readonly<Record<AssetClass, number>> = {
  stock: decay(1, SMOOTHING_HALF_LIFE.stock),
  etf: decay(1, SMOOTHING_HALF_LIFE.etf),
  crypto: decay(1, SMOOTHING_HALF_LIFE.crypto),
};

/** Bars required before a signal may be LONG or SHORT. */
export const MIN_BARS = 60;

/** Reasons for WAIT regardless of the score. */
export const FORCED_WAITS = ["too_young", "not_trading", "low_confidence", "low_coverage"] as const;
type ForcedWait = (typeof FORCED_WAITS)[number];

/** Signal of an instrument after a session. */
export interface SignalState {
  readonly direction: Direction;
  /** When this direction began, Unix milliseconds. */
  readonly since: number;
  /** The previous direction, `null` if there was none since the start of scoring. */
  readonly previous: Direction | null;
  /** Exponentially smoothed score in [0, 100]. */
  readonly smoothed: number;
  /** True while trading is suspended; the smoothed score is then that of the last session with a
   *  bar. */
  readonly frozen: boolean;
  readonly forcedWait: ForcedWait | null;
}

/** One session's evidence. */
export interface SessionScore {
  /** Unix milliseconds. */
  readonly at: number;
  readonly assetClass: AssetClass;
  readonly score: number;
  readonly confidence: number;
  /** Share of the weight of the class's factors that has a value, in [0, 1]. */
  readonly coverage: number;
  /** Known bars, and sessions of the class since the newest of them. */
  readonly bars: number;
  readonly missedSessions: number;
}

/** The signal after one more session; hysteresis keeps it from flapping around a threshold. */
export function nextSignal(state: SignalState | undefined, session: SessionScore): SignalState {
  if (session.missedSessions > 0 && state !== undefined) return frozenSignal(state, session);

  const smoothed = ewStep(state?.smoothed, session.score, SMOOTHING[session.assetClass]);
  const forcedWait = whyForced(session);
  const direction =
    forcedWait === null ? decide(state?.direction ?? "WAIT", smoothed, session.confidence) : "WAIT";
  const isSame = direction === state?.direction;
  const previous = isSame ? state.previous : (state?.direction ?? null);
  const since = isSame ? state.since : session.at;
  return { direction, since, previous, smoothed, frozen: false, forcedWait };
}

/** After one session without trading the signal stays; after more it is forced to WAIT. */
function frozenSignal(state: SignalState, { at, missedSessions }: SessionScore): SignalState {
  if (missedSessions === 1) return { ...state, frozen: true };
  const waiting = { ...state, frozen: true, forcedWait: "not_trading" as const };
  return state.direction === "WAIT"
    ? waiting
    : { ...waiting, direction: "WAIT", since: at, previous: state.direction };
}

function whyForced(session: SessionScore): ForcedWait | null {
  const { bars, missedSessions, confidence, coverage } = session;
  if (missedSessions > 1) return "not_trading";
  if (bars < MIN_BARS) return "too_young";
  if (coverage < THRESHOLDS.minCoverage) return "low_coverage";
  return confidence < THRESHOLDS.holdConfidence ? "low_confidence" : null;
}

function decide(from: Direction, smoothed: number, confidence: number): Direction {
  const mayEnter = confidence >= THRESHOLDS.enterConfidence;
  if (mayEnter && smoothed >= THRESHOLDS.enterLong) return "LONG";
  if (mayEnter && smoothed <= THRESHOLDS.enterShort) return "SHORT";
  if (from === "LONG" && smoothed >= THRESHOLDS.exitLong) return "LONG";
  if (from === "SHORT" && smoothed <= THRESHOLDS.exitShort) return "SHORT";
  return "WAIT";
}
