import type { VolatilityReading } from "../../factors/volatility.ts";
import {
  EVENT_RULES,
  type EventRules,
  type ShiftState,
  type Sighting,
  type SignalShift,
  signalShift,
  type VolatilityAlert,
  type VolatilityState,
  volatilityAlert,
} from "../../score/events.ts";
import type { AlertKind, Thresholds } from "../alert.ts";

/** A score is armed again within a third of the move that is told: 5 points of 15. */
const REARM_DIVISOR = 3;

/** Something that is looked for, whoever wants to know: alerts with equal thresholds share it. */
export interface Condition {
  /** The same for equal kinds and thresholds; has no spaces. */
  readonly key: string;
  readonly kind: AlertKind;
  readonly rules: EventRules;
}

/** What is remembered of an instrument, and the close of the session after which it was written,
 *  Unix milliseconds; nothing changed in those since. */
export type ConditionState = { readonly at: number } & (
  | { readonly kind: "signal_shift"; readonly state: ShiftState }
  | { readonly kind: "volatility"; readonly state: VolatilityState }
);

/** A closed session as it is looked at. */
export interface ClosedSession extends Sighting {
  /** Absent where too little is known. */
  readonly reading: VolatilityReading | undefined;
}

/** What a session changes. */
export interface ConditionResult {
  /** The state that was given when nothing changes; `undefined` where there is nothing to see. */
  readonly after: ConditionState | undefined;
  readonly event: SignalShift | VolatilityAlert | undefined;
}

/** The watch of an alert for one of its kinds. */
export function conditionOf(
  kind: AlertKind,
  { scoreMove, volatilityZ, cooldownDays }: Thresholds,
): Condition {
  const quiet = cooldownDays ?? "method";
  const rules = { ...EVENT_RULES, quietDays: cooldownDays };
  switch (kind) {
    case "signal_shift": {
      const rearmWithin = scoreMove / REARM_DIVISOR;
      return {
        key: `${kind}:${scoreMove}:${quiet}`,
        kind,
        rules: { ...rules, scoreMove, rearmWithin },
      };
    }
    case "volatility":
      return {
        key: `${kind}:${volatilityZ}:${quiet}`,
        kind,
        rules: { ...rules, highZ: volatilityZ },
      };
  }
}

/** Looks at the next session of an instrument; the first is never news. */
export function evaluateCondition(
  watch: Condition,
  before: ConditionState | undefined,
  session: ClosedSession,
): ConditionResult {
  return watch.kind === "signal_shift"
    ? lookAtSignal(watch, before, session)
    : lookAtVolatility(watch, before, session);
}

function lookAtSignal(
  { rules }: Condition,
  before: ConditionState | undefined,
  session: ClosedSession,
): ConditionResult {
  const known = before?.kind === "signal_shift" ? before.state : undefined;
  const { state, event } = signalShift(known, session, rules);
  const { at } = session.snapshot;
  return { after: state === known ? before : { kind: "signal_shift", at, state }, event };
}

function lookAtVolatility(
  { rules }: Condition,
  before: ConditionState | undefined,
  session: ClosedSession,
): ConditionResult {
  const { reading, snapshot } = session;
  // Without trading there is no volatility to judge.
  if (reading === undefined || snapshot.status === "stale") {
    return { after: before, event: undefined };
  }
  const known = before?.kind === "volatility" ? before.state : undefined;
  const { state, event } = volatilityAlert(known, { ...session, reading }, rules);
  const { at } = snapshot;
  return { after: state === known ? before : { kind: "volatility", at, state }, event };
}
