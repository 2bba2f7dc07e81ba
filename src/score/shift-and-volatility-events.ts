import type { Factor } from "../factors/reading.ts";
import type { VolatilityReading } from "../factors/volatility.ts";
import type { Snapshot } from "./snapshot.ts";

/** Thresholds of signal and volatility events. */
export interface EventRules {
  /**
   * Minimum change of the score since the last event, in points, that causes an event; infinite if
   * changes of the score cause no events.
   */
  readonly scoreMove: number;
  /**
   * Maximum distance of the score from the score at the last event, in points, at which the score
   * rule is re-armed.
   */
  readonly rearmWithin: number;
  /**
   * z from which volatility is high, z from which it is extreme, and z below which the rule is
   * re-armed.
   */
  readonly highZ: number;
  readonly extremeZ: number;
  readonly rearmZ: number;
  /** A return of at least this many slow standard deviations is extreme, regardless of z. */
  readonly extremeSigmas: number;
  /**
   * Quiet time after an event, in market days; `null` means the rest of the session, or
   * `coinQuietDays` for coins.
   */
  readonly quietDays: number | null;
}

/** Default thresholds, as published with the method. */
export const EVENT_RULES = {
  scoreMove: 15,
  rearmWithin: 5,
  highZ: 2.5,
  extremeZ: 4,
  rearmZ: 1,
  extremeSigmas: 4,
  quietDays: null,
  coinQuietDays: 0.25,
} as const satisfies EventRules & Readonly<Record<"coinQuietDays", number>>;

/** Score and signal before or after an event. */
export interface EventPoint {
  /** Instant of the snapshot, Unix milliseconds. */
  readonly at: number;
  readonly series?: string | undefined;
  readonly direction: Snapshot["signal"]["direction"];
  /** `null` for a stock without a score. */
  readonly score: number | null;
  /** Contribution of each factor to the score, in points. */
  readonly contributions: Readonly<Record<Factor, number>>;
}

/**
 * `direction`: the signal changed between LONG, SHORT and WAIT; `score`: the score moved far while
 * the signal stayed the same.
 */
export const SIGNAL_SHIFT_REASONS = ["direction", "score"] as const;
type ShiftReason = (typeof SIGNAL_SHIFT_REASONS)[number];

/** The event that the signal changed, or that the score moved far. */
export interface SignalShift {
  readonly kind: "signal.shift";
  readonly reason: ShiftReason;
  /** Score and signal at the last event, or at the first snapshot if there was no event. */
  readonly before: EventPoint;
  readonly after: EventPoint;
}

/** State of the signal events of one instrument after a snapshot. */
export interface ShiftState {
  /** The last event, or the first snapshot if there was no event. */
  readonly last: EventPoint;
  /** Session of the last event; `null` if there was no event, so that there is no quiet time. */
  readonly session: string | null;
  /** Whether the score has returned close to the score at the last event. */
  readonly isArmed: boolean;
}

/** A snapshot, the label of its session and the length of a market day in milliseconds. */
export interface SessionSnapshot {
  readonly snapshot: Snapshot;
  readonly session: string;
  readonly dayMs: number;
}

/**
 * Finds the `signal.shift` event of a snapshot. A change within the quiet time causes an event
 * after the quiet time if the change persists.
 *
 * @param state State after the previous snapshot; `undefined` for the first snapshot, which never
 * causes an event.
 * @returns The state after the snapshot, which is the same object if nothing changed.
 */
export function detectSignalShift(
  state: ShiftState | undefined,
  sighting: SessionSnapshot,
  rules: EventRules = EVENT_RULES,
): { readonly state: ShiftState; readonly event?: SignalShift } {
  const after = pointOf(sighting.snapshot);
  if (state === undefined) return { state: { last: after, session: null, isArmed: true } };

  const { last, session } = state;
  const move = distance(last, after);
  const isArmed = state.isArmed || move <= rules.rearmWithin;
  const reason = reasonOf(last, after, isArmed ? rules.scoreMove : Number.POSITIVE_INFINITY);
  const lastEvent = session === null ? null : { at: last.at, session };
  if (reason === undefined || isQuiet(lastEvent, sighting, rules)) {
    return { state: isArmed === state.isArmed ? state : { ...state, isArmed } };
  }
  return {
    state: { last: after, session: sighting.session, isArmed: false },
    event: { kind: "signal.shift", reason, before: last, after },
  };
}

function pointOf({ at, series, score, signal, factors }: Snapshot): EventPoint {
  const { momentum, valuation, social, darkpool } = factors;
  const contributions = {
    momentum: momentum.contribution,
    valuation: valuation.contribution,
    social: social.contribution,
    darkpool: darkpool.contribution,
  };
  return { at, series, direction: signal.direction, score, contributions };
}

function reasonOf(last: EventPoint, after: EventPoint, farMove: number): ShiftReason | undefined {
  if (after.direction !== last.direction) return "direction";
  return distance(last, after) >= farMove ? "score" : undefined;
}

/** Points between two scores; 0 if there is none at one of the two. */
const distance = (one: EventPoint, other: EventPoint): number =>
  one.score === null || other.score === null ? 0 : Math.abs(one.score - other.score);

/** Instant and session of an event. */
interface EventTime {
  /** When the event occurred, Unix milliseconds. */
  readonly at: number;
  readonly session: string;
}

function isQuiet(last: EventTime | null, now: SessionSnapshot, { quietDays }: EventRules): boolean {
  if (last === null) return false;
  const { at, instrument } = now.snapshot;
  const isCoin = instrument.assetClass === "crypto";
  const days = quietDays ?? (isCoin ? EVENT_RULES.coinQuietDays : null);
  return days === null ? last.session === now.session : at - last.at < days * now.dayMs;
}

/** How unusual the volatility of an instrument is, in ascending order. */
const ALERT_LEVELS = ["calm", "high", "extreme"] as const;
/** A level of volatility: calm, high or extreme. */
type AlertLevel = (typeof ALERT_LEVELS)[number];

/** The levels that cause events. */
export const VOLATILITY_SEVERITIES = ["high", "extreme"] as const satisfies readonly AlertLevel[];

/** `volatility`: z reached a threshold; `return`: the return of a single session was extreme. */
export const VOLATILITY_ALERT_REASONS = ["volatility", "return"] as const;
type VolatilityReason = (typeof VOLATILITY_ALERT_REASONS)[number];

/**
 * The event that volatility is far above the instrument's own history, or that the return of a
 * session was extreme.
 */
export interface VolatilityAlert {
  readonly kind: "volatility.alert";
  readonly severity: (typeof VOLATILITY_SEVERITIES)[number];
  readonly reason: VolatilityReason;
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  readonly reading: VolatilityReading;
}

/** State of the volatility events of one instrument after a closed session. */
export interface VolatilityState {
  /**
   * Level of the last event since volatility was calm; before any event, the level of the first
   * session.
   */
  readonly level: AlertLevel;
  /** The last event; `null` if there was no event, so that there is no quiet time. */
  readonly told: EventTime | null;
}

/** A closed session and its volatility. */
export interface ClosedSession extends SessionSnapshot {
  readonly reading: VolatilityReading;
}

/**
 * Finds the `volatility.alert` event of a closed session. There is one when volatility becomes
 * high, one more when z or the return becomes extreme, and another only after z fell below
 * `rearmZ`. A change within the quiet time causes an event after the quiet time if it persists.
 *
 * @param state State after the previous session; `undefined` for the first session, which never
 * causes an event.
 * @returns The state after the session, which is the same object if nothing changed.
 */
export function detectVolatilityAlert(
  state: VolatilityState | undefined,
  sighting: ClosedSession,
  rules: EventRules = EVENT_RULES,
): { readonly state: VolatilityState; readonly event?: VolatilityAlert } {
  const { reading, session, snapshot } = sighting;
  const severity = severityOf(reading, rules);
  if (state === undefined) return { state: { level: severity, told: null } };
  if (severity === "calm" || !isAbove(severity, state.level)) {
    const isOver = severity === "calm" && reading.z !== null && reading.z < rules.rearmZ;
    return { state: isOver && state.level !== "calm" ? { ...state, level: "calm" } : state };
  }
  if (isQuiet(state.told, sighting, rules)) return { state };
  const { at } = snapshot;
  const reason = severity === levelByZ(reading, rules) ? "volatility" : "return";
  return {
    state: { level: severity, told: { at, session } },
    event: { kind: "volatility.alert", severity, reason, at, reading },
  };
}

const isAbove = (level: AlertLevel, other: AlertLevel): boolean =>
  ALERT_LEVELS.indexOf(level) > ALERT_LEVELS.indexOf(other);

/** The level that follows from z alone, without the return. */
function levelByZ({ z }: VolatilityReading, { extremeZ, highZ }: EventRules): AlertLevel {
  if (z === null || z < highZ) return "calm";
  return z >= extremeZ ? "extreme" : "high";
}

function severityOf(reading: VolatilityReading, rules: EventRules): AlertLevel {
  const isJump = Math.abs(reading.logReturn) >= rules.extremeSigmas * reading.slowSigma;
  return isJump ? "extreme" : levelByZ(reading, rules);
}
