import type { Factor } from "../factors/reading.ts";
import type { VolatilityReading } from "../factors/volatility.ts";
import type { Snapshot } from "./snapshot.ts";

/** Thresholds of the events. */
export interface EventRules {
  /** Change of the score since the last event from which it is an event, in points; infinite if
   *  none is. */
  readonly scoreMove: number;
  /** Distance to the last event's score, in points, within which the rule is re-armed. */
  readonly rearmWithin: number;
  /** z of volatility above which it is high or extreme, and below which the alert is re-armed. */
  readonly highZ: number;
  readonly extremeZ: number;
  readonly rearmZ: number;
  /** A return of this many slow standard deviations is extreme regardless of z. */
  readonly extremeSigmas: number;
  /** Quiet time after an event, in market days; `null`: the rest of the session, for coins
   *  `coinQuietDays`. */
  readonly quietDays: number | null;
}

/** The rules of the method (3.3). */
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

/** The snapshot before or after an event. */
export interface EventPoint {
  /** Unix milliseconds. */
  readonly at: number;
  readonly series?: string | undefined;
  readonly direction: Snapshot["signal"]["direction"];
  readonly score: number;
  /** Points of score by factor. */
  readonly contributions: Readonly<Record<Factor, number>>;
}

/** `direction`: LONG, SHORT or WAIT changed; `score`: it moved far within the same direction. */
export const SHIFT_REASONS = ["direction", "score"] as const;
type ShiftReason = (typeof SHIFT_REASONS)[number];

/** The signal changed, or the score moved far enough for an event. */
export interface SignalShift {
  readonly kind: "signal.shift";
  readonly reason: ShiftReason;
  /** Score and signal at the last event, or at the first snapshot. */
  readonly before: EventPoint;
  readonly after: EventPoint;
}

/** State between two snapshots of one instrument. */
export interface ShiftState {
  /** The last event, or the first snapshot. */
  readonly last: EventPoint;
  /** Session of the last event; `null` when there was none, so that there is no quiet time. */
  readonly session: string | null;
  /** Whether the score has since returned to that of the last event. */
  readonly isArmed: boolean;
}

/** A snapshot, the label of its session and the length of a market day in milliseconds. */
export interface SessionSnapshot {
  readonly snapshot: Snapshot;
  readonly session: string;
  readonly dayMs: number;
}

/**
 * Whether a snapshot triggers a `signal.shift` event. A change within the quiet time triggers one
 * afterwards if it persists.
 *
 * @param state After the snapshot before, `undefined` for the first, which is never an event.
 * @returns The same state when nothing of it changes.
 */
export function signalShift(
  state: ShiftState | undefined,
  sighting: SessionSnapshot,
  rules: EventRules = EVENT_RULES,
): { readonly state: ShiftState; readonly event?: SignalShift } {
  const after = pointOf(sighting.snapshot);
  if (state === undefined) return { state: { last: after, session: null, isArmed: true } };

  const { last, session } = state;
  const move = Math.abs(after.score - last.score);
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
  return Math.abs(after.score - last.score) >= farMove ? "score" : undefined;
}

/** Time of an event. */
interface EventTime {
  /** Unix milliseconds. */
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

/** How unusual the volatility of an instrument is, in rising order. */
const ALERT_LEVELS = ["calm", "high", "extreme"] as const;
/** A level of volatility. */
type AlertLevel = (typeof ALERT_LEVELS)[number];

/** The levels that are events. */
export const SEVERITIES = ["high", "extreme"] as const satisfies readonly AlertLevel[];

/** `volatility`: z against its own history reached a threshold; `return`: a single extreme session. */
export const VOLATILITY_REASONS = ["volatility", "return"] as const;
type VolatilityReason = (typeof VOLATILITY_REASONS)[number];

/** Volatility is far above the instrument's own history, or a single session was extreme. */
export interface VolatilityAlert {
  readonly kind: "volatility.alert";
  readonly severity: (typeof SEVERITIES)[number];
  readonly reason: VolatilityReason;
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  readonly reading: VolatilityReading;
}

/** State between two closed sessions of one instrument. */
export interface VolatilityState {
  /** Level of the last event since volatility was calm, or of the first session. */
  readonly level: AlertLevel;
  /** The last event; `null` when there was none, so that there is no quiet time. */
  readonly told: EventTime | null;
}

/** A closed session and its volatility. */
export interface ClosedSession extends SessionSnapshot {
  readonly reading: VolatilityReading;
}

/**
 * Whether a closed session triggers a `volatility.alert` event: once when volatility is high, once more
 * when z or the return is extreme, and then only after z was low again. A change within the quiet time
 * triggers one afterwards if it persists.
 *
 * @param state After the session before, `undefined` for the first, which is never an event.
 * @returns The same state when nothing of it changes.
 */
export function volatilityAlert(
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

/** The level implied by z alone. */
function levelByZ({ z }: VolatilityReading, { extremeZ, highZ }: EventRules): AlertLevel {
  if (z === null || z < highZ) return "calm";
  return z >= extremeZ ? "extreme" : "high";
}

function severityOf(reading: VolatilityReading, rules: EventRules): AlertLevel {
  const isJump = Math.abs(reading.logReturn) >= rules.extremeSigmas * reading.slowSigma;
  return isJump ? "extreme" : levelByZ(reading, rules);
}
