import { decayFactor, ewmaStep } from "../factors/statistics.ts";
import type { AssetClass } from "../market/instrument.ts";

/** Directions of a signal; in answers to callers, the member `signal` is the direction. */
export const DIRECTIONS = ["LONG", "SHORT", "WAIT"] as const;
/** Direction of a signal: LONG, SHORT or WAIT. */
export type Direction = (typeof DIRECTIONS)[number];

/**
 * Hysteresis: the smoothed scores at which a signal begins and ends. They give 2.7 changes per
 * instrument and year, of which 2 % flip back within five days.
 */
export const SIGNAL_THRESHOLDS = {
  enterLong: 70,
  exitLong: 55,
  enterShort: 30,
  exitShort: 45,
  /**
   * Minimum confidence in [0, 1] to begin LONG or SHORT, and the confidence below which WAIT is
   * forced.
   */
  enterConfidence: 0.3,
  holdConfidence: 0.25,
  /**
   * Minimum coverage in [0, 1] for LONG and SHORT; below it WAIT is forced, since a direction from
   * one factor alone says no more than that factor.
   */
  minCoverage: 0.6,
} as const;

/**
 * Half-life of the score's smoothing in sessions: two days for stocks and funds, half a day for
 * coins.
 */
export const SMOOTHING_HALF_LIFE_SESSIONS: Readonly<Record<AssetClass, number>> = {
  stock: 2,
  etf: 2,
  crypto: 0.5,
};
/** Weight of the previous session's smoothed score. */
const SMOOTHING: Readonly<Record<AssetClass, number>> = {
  stock: decayFactor(1, SMOOTHING_HALF_LIFE_SESSIONS.stock),
  etf: decayFactor(1, SMOOTHING_HALF_LIFE_SESSIONS.etf),
  crypto: decayFactor(1, SMOOTHING_HALF_LIFE_SESSIONS.crypto),
};

/** Minimum number of bars before a signal may be LONG or SHORT. */
export const MIN_BARS_FOR_SIGNAL = 60;

/** Reasons for which a signal is WAIT regardless of the score. */
export const FORCED_WAIT_REASONS = [
  "too_young",
  "not_trading",
  "low_confidence",
  "low_coverage",
] as const;
type ForcedWait = (typeof FORCED_WAIT_REASONS)[number];

/** Signal of an instrument as of a session. */
export interface SignalState {
  readonly direction: Direction;
  /** When this direction began, Unix milliseconds. */
  readonly since: number;
  /** The previous direction; `null` if there was none since scoring started. */
  readonly previous: Direction | null;
  /** Exponentially smoothed score in [0, 100]. */
  readonly smoothed: number;
  /**
   * True while the instrument does not trade; the smoothed score then remains the score of the last
   * session with a bar.
   */
  readonly frozen: boolean;
  readonly forcedWait: ForcedWait | null;
}

/** The evidence of one session from which the signal is decided. */
export interface SessionScore {
  /** Instant of the evidence, Unix milliseconds. */
  readonly at: number;
  readonly assetClass: AssetClass;
  readonly score: number;
  readonly confidence: number;
  /**
   * Base weight of the factors with a value, as a fraction of the base weight of all factors of the
   * class, in [0, 1].
   */
  readonly coverage: number;
  /** Number of known bars, and number of sessions of the class since the newest bar. */
  readonly bars: number;
  readonly missedSessions: number;
}

/** Decides the signal after one more session; hysteresis prevents flapping around a threshold. */
export function nextSignal(state: SignalState | undefined, session: SessionScore): SignalState {
  if (session.missedSessions > 0 && state !== undefined) return frozenSignal(state, session);

  const smoothed = ewmaStep(state?.smoothed, session.score, SMOOTHING[session.assetClass]);
  const forcedWait = whyForced(session);
  const direction =
    forcedWait === null ? decide(state?.direction ?? "WAIT", smoothed, session.confidence) : "WAIT";
  const isSame = direction === state?.direction;
  const previous = isSame ? state.previous : (state?.direction ?? null);
  const since = isSame ? state.since : session.at;
  return { direction, since, previous, smoothed, frozen: false, forcedWait };
}

/**
 * The signal of an instrument that does not trade: unchanged after one missed session, WAIT after
 * more.
 */
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
  if (bars < MIN_BARS_FOR_SIGNAL) return "too_young";
  if (coverage < SIGNAL_THRESHOLDS.minCoverage) return "low_coverage";
  return confidence < SIGNAL_THRESHOLDS.holdConfidence ? "low_confidence" : null;
}

function decide(from: Direction, smoothed: number, confidence: number): Direction {
  const mayEnter = confidence >= SIGNAL_THRESHOLDS.enterConfidence;
  if (mayEnter && smoothed >= SIGNAL_THRESHOLDS.enterLong) return "LONG";
  if (mayEnter && smoothed <= SIGNAL_THRESHOLDS.enterShort) return "SHORT";
  if (from === "LONG" && smoothed >= SIGNAL_THRESHOLDS.exitLong) return "LONG";
  if (from === "SHORT" && smoothed <= SIGNAL_THRESHOLDS.exitShort) return "SHORT";
  return "WAIT";
}
