import type { Factor } from "../factors/reading.ts";
import type { VolatilityReading } from "../factors/volatility.ts";
import type { Snapshot } from "./snapshot.ts";

/** When a snapshot is news (method 3.3). */
export const EVENT_RULES = {
  /** Points of score since the last event that are news, and from which it must first calm down. */
  scoreMove: 15,
  rearmWithin: 5,
  /** Quiet time of a coin after an event, in market days; stocks and funds: the session's rest. */
  coinQuietDays: 0.25,
  /** z of volatility that is high and extreme, and below which the alert is armed again. */
  highZ: 2.5,
  extremeZ: 4,
  rearmZ: 1,
  /** A return of this many slow standard deviations is extreme whatever its z. */
  extremeSigmas: 4,
} as const;

/** What an event says of the snapshot before or after. */
interface EventPoint {
  /** Unix milliseconds. */
  readonly at: number;
  readonly direction: Snapshot["signal"]["direction"];
  readonly score: number;
  /** Points of score by factor. */
  readonly contributions: Readonly<Record<Factor, number>>;
}

/** The signal or the score of an instrument moved far enough to be told. */
export interface SignalShift {
  readonly kind: "signal.shift";
  /** `direction`: LONG, SHORT or WAIT changed; `score`: 15 points within the same direction. */
  readonly reason: "direction" | "score";
  /** At the last event, or where watching began. */
  readonly before: EventPoint;
  readonly after: EventPoint;
}

/** What is remembered between snapshots of one instrument. */
export interface ShiftState {
  /** The last event, or where watching began. */
  readonly last: EventPoint;
  /** Session of the last event; `null` when there was none, so that nothing must stay quiet. */
  readonly session: string | null;
  /** Whether the score has been within 5 points of the last event's since. */
  readonly isArmed: boolean;
}

/** A snapshot, the label of its session and the length of a market day in milliseconds. */
export interface Sighting {
  readonly snapshot: Snapshot;
  readonly session: string;
  readonly dayMs: number;
}

/**
 * Whether a snapshot is news. A change that falls into the quiet time is told afterwards, if it
 * still holds.
 *
 * @param state After the snapshot before, `undefined` for the first: that one is no news.
 */
export function signalShift(
  state: ShiftState | undefined,
  sighting: Sighting,
): { readonly state: ShiftState; readonly event?: SignalShift } {
  const after = pointOf(sighting.snapshot);
  if (state === undefined) return { state: { last: after, session: null, isArmed: true } };

  const move = Math.abs(after.score - state.last.score);
  const isArmed = state.isArmed || move <= EVENT_RULES.rearmWithin;
  const reason = reasonOf(state.last, after, isArmed);
  if (reason === undefined || isQuiet(state, sighting)) return { state: { ...state, isArmed } };
  return {
    state: { last: after, session: sighting.session, isArmed: false },
    event: { kind: "signal.shift", reason, before: state.last, after },
  };
}

function pointOf({ at, score, signal, factors }: Snapshot): EventPoint {
  const { momentum, valuation, social, darkpool } = factors;
  const contributions = {
    momentum: momentum.contribution,
    valuation: valuation.contribution,
    social: social.contribution,
    darkpool: darkpool.contribution,
  };
  return { at, direction: signal.direction, score, contributions };
}

function reasonOf(
  last: EventPoint,
  after: EventPoint,
  isArmed: boolean,
): SignalShift["reason"] | undefined {
  if (after.direction !== last.direction) return "direction";
  const move = Math.abs(after.score - last.score);
  return isArmed && move >= EVENT_RULES.scoreMove ? "score" : undefined;
}

function isQuiet({ last, session }: ShiftState, { snapshot, ...now }: Sighting): boolean {
  const { assetClass } = snapshot.instrument;
  if (session === null) return false;
  if (assetClass !== "crypto") return session === now.session;
  return snapshot.at - last.at < EVENT_RULES.coinQuietDays * now.dayMs;
}

/** How unusual the volatility of an instrument is, in rising order. */
const ALERT_LEVELS = ["calm", "high", "extreme"] as const;
/** One of them. */
export type AlertLevel = (typeof ALERT_LEVELS)[number];

/** Volatility of an instrument is far above its habit, or one session moved it very far. */
export interface VolatilityAlert {
  readonly kind: "volatility.alert";
  readonly severity: Exclude<AlertLevel, "calm">;
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  readonly reading: VolatilityReading;
}

/**
 * Whether the volatility of a closed session is news: at z >= 2.5, again at z >= 4 or a return of
 * 4 slow standard deviations; then not before z was below 1.
 *
 * @param level What was told since the volatility was last calm.
 * @param at Close of the session, Unix milliseconds.
 */
export function volatilityAlert(
  level: AlertLevel,
  reading: VolatilityReading,
  at: number,
): { readonly level: AlertLevel; readonly event?: VolatilityAlert } {
  const severity = severityOf(reading);
  if (severity !== "calm" && ALERT_LEVELS.indexOf(severity) > ALERT_LEVELS.indexOf(level)) {
    return { level: severity, event: { kind: "volatility.alert", severity, at, reading } };
  }
  const isOver = severity === "calm" && reading.z !== null && reading.z < EVENT_RULES.rearmZ;
  return { level: isOver ? "calm" : level };
}

function severityOf({ z, logReturn, slowSigma }: VolatilityReading): AlertLevel {
  const { extremeSigmas, extremeZ, highZ } = EVENT_RULES;
  const isJump = Math.abs(logReturn) >= extremeSigmas * slowSigma;
  if (isJump || (z !== null && z >= extremeZ)) return "extreme";
  return z !== null && z >= highZ ? "high" : "calm";
}
