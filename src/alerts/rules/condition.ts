import type { VolatilityReading } from "../../factors/volatility.ts";
import type { Instrument } from "../../market/instrument.ts";
import {
  detectRangeAlert,
  type RangeAlert,
  type RangeSession,
  type WatchedRange,
} from "../../risk/range-events.ts";
import {
  DEFAULT_SESSIONS_BEFORE_REPORT,
  detectReportAlert,
  type ReportAlert,
  type ReportSession,
  type ReportState,
} from "../../score/report-events.ts";
import {
  detectSignalShift,
  detectVolatilityAlert,
  EVENT_RULES,
  type EventRules,
  type SessionSnapshot,
  type ShiftState,
  type SignalShift,
  type VolatilityAlert,
  type VolatilityState,
} from "../../score/shift-and-volatility-events.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import {
  DEFAULT_STEADINESS_LEVEL,
  detectSteadinessAlert,
  type SteadinessAlert,
  type SteadinessState,
} from "../../score/steadiness-events.ts";
import type { Stored } from "../../store/port/records.ts";
import type { AlertKind, AlertThresholds } from "../alert.ts";
import { alertStatusAt } from "../alert.ts";
import type { ResolvedAlert } from "../watchlists/watchlist.ts";

/**
 * Distance, in points, within which the score rule of an alert with this threshold is re-armed: the
 * same share of the threshold as in the published rules.
 */
const rearmWithin = (scoreMove: number): number =>
  (scoreMove * EVENT_RULES.rearmWithin) / EVENT_RULES.scoreMove;

/**
 * An event kind with its thresholds. Alerts with equal thresholds share a condition, so that it is
 * evaluated once per instrument.
 */
export interface AlertCondition {
  /** Unique key of the kind and thresholds; contains no space. */
  readonly key: string;
  readonly kind: AlertKind;
  readonly rules: EventRules;
  /** Number of sessions by which the event precedes an expected report. */
  readonly reportSessions: number;
  /** Level of steadiness whose crossing causes an event, in points. */
  readonly steadinessLevel: number;
}

/**
 * State of a condition for one instrument. `at` is the close of the session that last changed the
 * state, in milliseconds since the epoch.
 */
export type ConditionState = { readonly at: number } & (
  | { readonly kind: "signal_shift"; readonly state: ShiftState }
  | { readonly kind: "volatility"; readonly state: VolatilityState }
  | { readonly kind: "report"; readonly state: ReportState }
  | { readonly kind: "range"; readonly state: WatchedRange }
  | { readonly kind: "steadiness"; readonly state: SteadinessState }
);

/** The input of a condition: a closed session of one instrument. */
export interface ConditionInput extends SessionSnapshot {
  /** Volatility of the session; `undefined` when there are too few bars. */
  readonly reading: VolatilityReading | undefined;
  /** Absent for instruments that file no reports, and for conditions that are not about reports. */
  readonly reports?: ReportSession | undefined;
  /** Absent for instruments without a range, and for conditions that are not about ranges. */
  readonly range?: RangeSession | undefined;
}

/** Result of evaluating a condition. */
interface ConditionResult {
  /**
   * The new state, or the same object if the state did not change; `undefined` when there is no
   * reading yet.
   */
  readonly state: ConditionState | undefined;
  readonly event:
    | SignalShift
    | VolatilityAlert
    | ReportAlert
    | RangeAlert
    | SteadinessAlert
    | undefined;
}

/** The condition of an alert for one of its event kinds. */
export function alertConditionOf(
  kind: AlertKind,
  {
    scoreMove,
    volatilityZ,
    cooldownDays,
    reportSessions = DEFAULT_SESSIONS_BEFORE_REPORT,
    steadinessLevel = DEFAULT_STEADINESS_LEVEL,
  }: AlertThresholds,
): AlertCondition {
  const quiet = cooldownDays ?? "method";
  const rules = { ...EVENT_RULES, quietDays: cooldownDays };
  const bounds = { reportSessions, steadinessLevel };
  switch (kind) {
    case "signal_shift": {
      const farMove = scoreMove ?? Number.POSITIVE_INFINITY;
      return {
        key: `${kind}:${scoreMove}:${quiet}`,
        kind,
        rules: { ...rules, scoreMove: farMove, rearmWithin: rearmWithin(farMove) },
        ...bounds,
      };
    }
    case "volatility":
      return {
        key: `${kind}:${volatilityZ}:${quiet}`,
        kind,
        rules: { ...rules, highZ: volatilityZ },
        ...bounds,
      };
    case "report":
      return { key: `${kind}:${reportSessions}`, kind, rules, ...bounds };
    case "range":
      return { key: kind, kind, rules, ...bounds };
    case "steadiness":
      return { key: `${kind}:${steadinessLevel}`, kind, rules, ...bounds };
  }
}

/**
 * Evaluates a condition on the next session of an instrument. The first session only initializes
 * the state and never fires.
 */
export function evaluateCondition(
  condition: AlertCondition,
  before: ConditionState | undefined,
  session: ConditionInput,
): ConditionResult {
  switch (condition.kind) {
    case "signal_shift":
      return evaluateSignal(condition, before, session);
    case "volatility":
      return evaluateVolatility(condition, before, session);
    case "report":
      return evaluateReport(condition, before, session);
    case "range":
      return evaluateRange(before, session);
    case "steadiness":
      return evaluateSteadiness(condition, before, session);
  }
}

function evaluateSignal(
  { rules }: AlertCondition,
  before: ConditionState | undefined,
  session: ConditionInput,
): ConditionResult {
  const known = before?.kind === "signal_shift" ? before.state : undefined;
  const { state, event } = detectSignalShift(known, session, rules);
  const { at } = session.snapshot;
  return { state: state === known ? before : { kind: "signal_shift", at, state }, event };
}

function evaluateVolatility(
  { rules }: AlertCondition,
  before: ConditionState | undefined,
  session: ConditionInput,
): ConditionResult {
  const { reading, snapshot } = session;
  // A stale price gives no valid volatility.
  if (reading === undefined || snapshot.status === "stale") {
    return { state: before, event: undefined };
  }
  const known = before?.kind === "volatility" ? before.state : undefined;
  const { state, event } = detectVolatilityAlert(known, { ...session, reading }, rules);
  const { at } = snapshot;
  return { state: state === known ? before : { kind: "volatility", at, state }, event };
}

function evaluateReport(
  { reportSessions }: AlertCondition,
  before: ConditionState | undefined,
  { reports }: ConditionInput,
): ConditionResult {
  if (reports === undefined) return { state: before, event: undefined };
  const known = before?.kind === "report" ? before.state : undefined;
  const { state, event } = detectReportAlert(known, reports, reportSessions);
  const { at } = reports;
  return { state: state === known ? before : { kind: "report", at, state }, event };
}

function evaluateRange(
  before: ConditionState | undefined,
  { range }: ConditionInput,
): ConditionResult {
  if (range === undefined) return { state: before, event: undefined };
  const known = before?.kind === "range" ? before.state : undefined;
  const { open, event } = detectRangeAlert(known, range);
  if (open === known) return { state: before, event };
  return { state: open && { kind: "range", at: range.at, state: open }, event };
}

function evaluateSteadiness(
  { steadinessLevel }: AlertCondition,
  before: ConditionState | undefined,
  { snapshot: { at, steadiness } }: ConditionInput,
): ConditionResult {
  if (steadiness === undefined) return { state: before, event: undefined };
  const known = before?.kind === "steadiness" ? before.state : undefined;
  const { state, event } = detectSteadinessAlert(known, steadiness, steadinessLevel);
  return { state: state === known ? before : { kind: "steadiness", at, state }, event };
}

/** A stored alert whose watchlist is resolved to its current symbols. */
export type StoredResolvedAlert = Stored<ResolvedAlert>;

/** The alerts that share a condition. */
export class ConditionGroup {
  readonly condition: AlertCondition;
  readonly #bySymbol = new Map<string, Set<StoredResolvedAlert>>();
  readonly #byFilter: StoredResolvedAlert[] = [];

  constructor(condition: AlertCondition) {
    this.condition = condition;
  }

  add(alert: StoredResolvedAlert): void {
    const { watched } = alert.value;
    if (watched.by === "filter") {
      this.#byFilter.push(alert);
      return;
    }
    for (const symbol of watched.symbols) {
      const subscribed = this.#bySymbol.get(symbol) ?? new Set();
      this.#bySymbol.set(symbol, subscribed.add(alert));
    }
  }

  /** Whether at least one of the alerts covers an instrument. */
  covers(instrument: Instrument): boolean {
    return (
      this.#bySymbol.has(instrument.symbol) ||
      this.#byFilter.some(({ value }) => covers(value, instrument))
    );
  }

  /** The snapshots of all instruments that at least one alert covers, without duplicates. */
  covered(snapshots: ReadonlyMap<string, Snapshot>): readonly Snapshot[] {
    if (this.#byFilter.length === 0) {
      return [...this.#bySymbol.keys()].flatMap((symbol) => snapshots.get(symbol) ?? []);
    }
    return [...snapshots.values()].filter(({ instrument }) => this.covers(instrument));
  }

  /** Ids of the alerts that receive an event caused by this snapshot, ascending. */
  subscribers(snapshot: Snapshot): readonly string[] {
    return [...(this.#bySymbol.get(snapshot.instrument.symbol) ?? []), ...this.#byFilter]
      .filter(({ value }) => fits(value, snapshot))
      .map(({ key }) => key)
      .sort();
  }
}

/**
 * Groups alerts by condition. Paused and snoozed alerts are included, so that the condition's state
 * stays current and missed events do not fire later. Expired alerts are left out.
 *
 * @param now Milliseconds since the epoch.
 */
export function groupAlertsByCondition(
  alerts: readonly StoredResolvedAlert[],
  now: number,
): readonly ConditionGroup[] {
  const groups = new Map<string, ConditionGroup>();
  for (const alert of alerts) {
    if (alertStatusAt(alert.value, now) === "expired") continue;
    for (const kind of new Set(alert.value.kinds)) {
      const condition = alertConditionOf(kind, alert.value.thresholds);
      const group = groups.get(condition.key) ?? new ConditionGroup(condition);
      groups.set(condition.key, group);
      group.add(alert);
    }
  }
  return [...groups.values()];
}

/** Whether an alert, in its current form, receives the events of a condition. */
export const receivesEventsOf = (
  alert: ResolvedAlert,
  condition: AlertCondition,
  snapshot: Snapshot,
): boolean =>
  alert.kinds.includes(condition.kind) &&
  alertConditionOf(condition.kind, alert.thresholds).key === condition.key &&
  fits(alert, snapshot);

function fits(alert: ResolvedAlert, { instrument, signal }: Snapshot): boolean {
  const { signal: wanted = null } = alert.watched;
  return covers(alert, instrument) && (wanted === null || wanted === signal.direction);
}

/** Whether an alert watches an instrument, whatever its signal is. */
export function covers(
  { watched }: Pick<ResolvedAlert, "watched">,
  { symbol, assetClass }: Instrument,
): boolean {
  if (watched.by === "symbols") return watched.symbols.includes(symbol);
  return watched.assetClass === null || watched.assetClass === assetClass;
}
