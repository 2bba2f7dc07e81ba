import type { SteadinessReading } from "./steadiness.ts";

/** Level of an alert that names none: below it is the riskiest fifth of the class. */
export const DEFAULT_STEADINESS_LEVEL = 20;

/** Distance from the level, in points, at which the rule is armed again after an event. */
export const STEADINESS_REARM_POINTS = 5;

/** The side of the level to which steadiness has moved; at the level it is `above`. */
export const STEADINESS_ALERT_REASONS = ["below", "above"] as const;
type Side = (typeof STEADINESS_ALERT_REASONS)[number];

/** The event that the steadiness of a stock or coin crossed a level. */
export interface SteadinessAlert {
  readonly kind: "steadiness.alert";
  readonly reason: Side;
  /** In points. */
  readonly level: number;
  readonly reading: SteadinessReading;
}

/** State of the steadiness events of one instrument after a closed session. */
export interface SteadinessState {
  /** Side at the last event; before any event, at the first session. */
  readonly side: Side;
  /** Whether steadiness has been away from the level since the last event. */
  readonly isArmed: boolean;
}

/**
 * Finds the `steadiness.alert` event of a closed session: steadiness, in whole points as answers
 * show it, is on the other side of the level than at the last event, and has been at least
 * `STEADINESS_REARM_POINTS` away from the level since.
 *
 * @param state State after the previous session; `undefined` for the first session, which never
 * causes an event.
 * @param level In whole points.
 * @returns The state after the session, which is the same object if nothing changed.
 */
export function detectSteadinessAlert(
  state: SteadinessState | undefined,
  reading: SteadinessReading,
  level: number,
): { readonly state: SteadinessState; readonly event?: SteadinessAlert } {
  const points = Math.round(reading.value);
  const side = points < level ? "below" : "above";
  if (state === undefined) return { state: { side, isArmed: true } };
  const isAway = Math.abs(points - level) >= STEADINESS_REARM_POINTS;
  const isArmed = state.isArmed || isAway;
  if (side === state.side || !isArmed) {
    return { state: isArmed === state.isArmed ? state : { ...state, isArmed } };
  }
  return {
    state: { side, isArmed: isAway },
    event: { kind: "steadiness.alert", reason: side, level, reading },
  };
}
