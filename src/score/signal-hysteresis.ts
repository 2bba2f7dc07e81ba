import type { AssetClass } from "../market/instrument.ts";
import { decayFactor, ewmaStep } from "../statistics/statistics.ts";

/** Directions of a signal; in answers to callers, the member `signal` is the direction. */
export const DIRECTIONS = ["LONG", "SHORT", "WAIT"] as const;
/** Direction of a signal: LONG, SHORT or WAIT. */
export type Direction = (typeof DIRECTIONS)[number];

/** The smoothed scores at which a signal begins and ends, and the gates that it has to pass. */
export interface SignalThresholds {
  readonly enterLong: number;
  readonly exitLong: number;
  readonly enterShort: number;
  readonly exitShort: number;
  /**
   * Minimum confidence in [0, 1] to begin LONG or SHORT, and the confidence below which WAIT is
   * forced; `null` if confidence is no gate.
   */
  readonly enterConfidence: number | null;
  readonly holdConfidence: number | null;
  /**
   * Minimum coverage in [0, 1] for LONG and SHORT; below it WAIT is forced, since a direction from
   * one factor alone says no more than that factor. `null` if coverage is no gate.
   */
  readonly minCoverage: number | null;
}

/**
 * Hysteresis of coins and funds: 2.7 changes per instrument and year, of which 2 % flip back within
 * five days.
 */
const GATED_THRESHOLDS: SignalThresholds = {
  enterLong: 70,
  exitLong: 55,
  enterShort: 30,
  exitShort: 45,
  enterConfidence: 0.3,
  holdConfidence: 0.25,
  minCoverage: 0.6,
};

/** The thresholds by asset class. Those of stocks are percentiles among the stocks of the close. */
export const SIGNAL_THRESHOLDS: Readonly<Record<AssetClass, SignalThresholds>> = {
  stock: {
    enterLong: 90,
    exitLong: 50,
    enterShort: 10,
    exitShort: 50,
    enterConfidence: null,
    holdConfidence: null,
    minCoverage: null,
  },
  etf: GATED_THRESHOLDS,
  crypto: GATED_THRESHOLDS,
};

/**
 * Half-life of the smoothing in sessions: of the evidence of stocks, and of the score of funds and
 * coins.
 */
export const SMOOTHING_HALF_LIFE_SESSIONS: Readonly<Record<AssetClass, number>> = {
  stock: 5,
  etf: 2,
  crypto: 0.5,
};
/** Weight of the previous session's smoothed value. */
const SMOOTHING: Readonly<Record<AssetClass, number>> = {
  stock: decayFactor(1, SMOOTHING_HALF_LIFE_SESSIONS.stock),
  etf: decayFactor(1, SMOOTHING_HALF_LIFE_SESSIONS.etf),
  crypto: decayFactor(1, SMOOTHING_HALF_LIFE_SESSIONS.crypto),
};

/**
 * Minimum number of sessions before a signal may be LONG or SHORT: with a bar for funds and coins,
 * with evidence for stocks.
 */
export const MIN_SESSIONS_FOR_SIGNAL = 60;

/**
 * Reasons for which a signal is WAIT regardless of the score:
 * - `too_young`: fewer than 60 sessions
 * - `not_trading`: the newest price is more than one session old
 * - `low_confidence`, `low_coverage`: a fund or coin is below the thresholds
 * - `unscored`: no part of a stock's score could be measured
 * - `no_momentum`: the residual momentum of a stock could not be measured
 */
export const FORCED_WAIT_REASONS = [
  "too_young",
  "not_trading",
  "low_confidence",
  "low_coverage",
  "unscored",
  "no_momentum",
] as const;
type ForcedWait = (typeof FORCED_WAIT_REASONS)[number];

/** Signal of an instrument as of a session. */
export interface SignalState {
  readonly direction: Direction;
  /** When this direction began, Unix milliseconds. */
  readonly since: number;
  /** The previous direction; `null` if there was none since scoring started. */
  readonly previous: Direction | null;
  /**
   * In [0, 100]: the exponentially smoothed score of a fund or coin; for a stock, 100 times the
   * percentile of `mean` among the stocks of the close. `null` for a stock that was never scored.
   */
  readonly smoothed: number | null;
  /** Exponential mean of a stock's evidence Z; absent for funds and coins. */
  readonly mean?: EvidenceMean | undefined;
  /**
   * True while the instrument does not trade; the smoothed score then remains the score of the last
   * session with a bar.
   */
  readonly frozen: boolean;
  readonly forcedWait: ForcedWait | null;
}

/** Exponential mean of the evidence Z of a stock over its scored sessions. */
export interface EvidenceMean {
  readonly value: number;
  /** Number of sessions in the mean. */
  readonly sessions: number;
}

/** The mean after one more session; unchanged if the session has no evidence (`NaN`). */
export function nextEvidenceMean(
  mean: EvidenceMean | undefined,
  z: number,
): EvidenceMean | undefined {
  if (Number.isNaN(z)) return mean;
  return {
    value: ewmaStep(mean?.value, z, SMOOTHING.stock),
    sessions: (mean?.sessions ?? 0) + 1,
  };
}

/** The evidence of one session about a fund or coin, from which its signal is decided. */
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

/**
 * Decides the signal of a fund or coin after one more session; hysteresis prevents flapping around
 * a threshold.
 */
export function nextSignal(state: SignalState | undefined, session: SessionScore): SignalState {
  if (session.missedSessions > 0 && state !== undefined) return frozenSignal(state, session);
  const { at, assetClass, score } = session;
  const smoothed = ewmaStep(state?.smoothed ?? undefined, score, SMOOTHING[assetClass]);
  return decidedSignal(
    state,
    { at, assetClass, smoothed, forcedWait: whyForced(session) },
    session.confidence,
  );
}

/** The evidence of one session about a stock, from which its signal is decided. */
export interface StockSession {
  /** Instant of the evidence, Unix milliseconds. */
  readonly at: number;
  /** Whether there is a score, and whether the residual momentum is part of it. */
  readonly isScored: boolean;
  readonly hasMomentum: boolean;
  readonly mean: EvidenceMean | undefined;
  /** 100 times the percentile of the mean among the stocks of the close; `null` without a mean. */
  readonly smoothed: number | null;
  /** Number of sessions of the class since the newest bar. */
  readonly missedSessions: number;
}

/** Decides the signal of a stock after one more session. */
export function nextStockSignal(
  state: SignalState | undefined,
  session: StockSession,
): SignalState {
  const { at, mean, smoothed, missedSessions } = session;
  if (missedSessions > 0 && state !== undefined) return frozenSignal(state, session);
  const forcedWait = whyStockIsForced(session);
  return decidedSignal(state, { at, assetClass: "stock", smoothed, mean, forcedWait });
}

function whyStockIsForced(session: StockSession): ForcedWait | null {
  const { isScored, hasMomentum, mean, missedSessions } = session;
  if (missedSessions > 1) return "not_trading";
  if (!isScored) return "unscored";
  if (!hasMomentum) return "no_momentum";
  return mean === undefined || mean.sessions < MIN_SESSIONS_FOR_SIGNAL ? "too_young" : null;
}

/** The signal that follows from a smoothed score. */
function decidedSignal(
  state: SignalState | undefined,
  {
    at,
    assetClass,
    smoothed,
    mean,
    forcedWait,
  }: Pick<SessionScore, "at" | "assetClass"> &
    Pick<SignalState, "smoothed" | "mean" | "forcedWait">,
  confidence = 1,
): SignalState {
  const direction =
    forcedWait !== null || smoothed === null
      ? "WAIT"
      : decide(state?.direction ?? "WAIT", { smoothed, confidence }, SIGNAL_THRESHOLDS[assetClass]);
  const isSame = direction === state?.direction;
  const previous = isSame ? state.previous : (state?.direction ?? null);
  const since = isSame ? state.since : at;
  return { direction, since, previous, smoothed, frozen: false, forcedWait, mean };
}

/**
 * The signal of an instrument that does not trade: unchanged after one missed session, WAIT after
 * more.
 */
function frozenSignal(
  state: SignalState,
  { at, missedSessions }: Pick<SessionScore, "at" | "missedSessions">,
): SignalState {
  if (missedSessions === 1) return { ...state, frozen: true };
  const waiting = { ...state, frozen: true, forcedWait: "not_trading" as const };
  return state.direction === "WAIT"
    ? waiting
    : { ...waiting, direction: "WAIT", since: at, previous: state.direction };
}

function whyForced(session: SessionScore): ForcedWait | null {
  const { assetClass, bars, missedSessions, confidence, coverage } = session;
  const { minCoverage, holdConfidence } = SIGNAL_THRESHOLDS[assetClass];
  if (missedSessions > 1) return "not_trading";
  if (bars < MIN_SESSIONS_FOR_SIGNAL) return "too_young";
  if (minCoverage !== null && coverage < minCoverage) return "low_coverage";
  return holdConfidence !== null && confidence < holdConfidence ? "low_confidence" : null;
}

function decide(
  from: Direction,
  { smoothed, confidence }: { readonly smoothed: number; readonly confidence: number },
  thresholds: SignalThresholds,
): Direction {
  const { enterLong, exitLong, enterShort, exitShort, enterConfidence } = thresholds;
  const mayEnter = enterConfidence === null || confidence >= enterConfidence;
  if (mayEnter && smoothed >= enterLong) return "LONG";
  if (mayEnter && smoothed <= enterShort) return "SHORT";
  if (from === "LONG" && smoothed >= exitLong) return "LONG";
  if (from === "SHORT" && smoothed <= exitShort) return "SHORT";
  return "WAIT";
}
