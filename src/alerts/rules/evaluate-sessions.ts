import { setImmediate } from "node:timers/promises";
import type { Instrument } from "../../market/instrument.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import { CollectionCache } from "../../store/port/collection-cache.ts";
import { type Alert, alerts } from "../alert.ts";
import { resolveAlerts } from "../watchlists/watchlist.ts";
import { ClosedSessions, type ClosedSessionsOptions } from "./closed-sessions.ts";
import {
  type ConditionGroup,
  type ConditionState,
  evaluateCondition,
  groupAlertsByCondition,
} from "./condition.ts";
import {
  conditionStateKey,
  EvaluationState,
  type MethodChange,
  type PendingCommit,
} from "./evaluation-state.ts";
import {
  addMethodChange,
  type FanOutOptions,
  type FiredEvent,
  fanOutEvents,
} from "./recipients.ts";

/**
 * Number of evaluations, or of state deletions, per step. The first volatility evaluation reads all
 * bars of an instrument, which takes a fraction of a millisecond.
 */
const EVALUATIONS_PER_STEP = 50;

/**
 * Maximum number of alerts that receive an event in one commit; such a commit takes a few
 * milliseconds.
 */
const ALERTS_PER_COMMIT = 100;

/** Number of records that the event of one alert writes or checks. */
const RECORDS_PER_EVENT = 6;

/** Number of pending records at which a commit is written. */
const RECORDS_PER_COMMIT = RECORDS_PER_EVENT * ALERTS_PER_COMMIT;

/** Dependencies of the evaluator. */
export interface AlertEvaluatorOptions extends FanOutOptions, ClosedSessionsOptions {}

/** One evaluation to perform: a condition, an instrument and the close of a session. */
interface Evaluation {
  readonly group: ConditionGroup;
  readonly snapshot: Snapshot;
}

/** The change of state that an evaluation causes, and the event that fires. */
interface Change {
  /** Record key of the state. */
  readonly key: string;
  readonly state: ConditionState;
  readonly event: FiredEvent | undefined;
}

/**
 * A batch of the alerts that receive the event of a change. The last batch of a change also writes
 * the state.
 */
interface Batch {
  readonly change: Change;
  readonly alertIds: readonly string[];
  readonly isLast: boolean;
}

/** The evaluation of all conditions at one closing instant. */
interface Round {
  /** When the session closed, in milliseconds since the epoch. */
  readonly closedAt: number;
  /** Keys of states that no alert needs any longer. */
  readonly unused: string[];
  readonly evaluations: Iterator<Evaluation>;
  /** Changes that are not written yet. */
  pending: PendingCommit;
}

/**
 * Evaluates the conditions of alerts on closed sessions. Sessions are evaluated in closing order,
 * each exactly once, regardless of which process is the leader. An event, the state of its
 * condition and its deliveries are committed together. Anything that was not committed is evaluated
 * again.
 */
export class AlertEvaluator {
  readonly #options: AlertEvaluatorOptions;
  readonly #sessions: ClosedSessions;
  /** Keeps the alerts from one session to the next, because only a few of them change. */
  readonly #alerts: CollectionCache<Alert>;
  #state: EvaluationState | undefined;
  #round: Round | undefined;
  /** The value of `knownUntil` when all sessions had been evaluated. */
  #idleUntil: number | undefined;

  constructor(options: AlertEvaluatorOptions) {
    this.#options = options;
    this.#sessions = new ClosedSessions(options);
    this.#alerts = new CollectionCache(options.records, alerts);
  }

  /**
   * Evaluates a limited number of conditions. After an error, the next call continues from the
   * stored state.
   *
   * @returns 1 if there was work; 0 if no session has closed since the last call.
   */
  async tick(): Promise<number> {
    try {
      return await this.#evaluateNext();
    } catch (error) {
      this.#reload();
      throw error;
    }
  }

  async #evaluateNext(): Promise<number> {
    const { records, market, knownUntil, now } = this.#options;
    const until = knownUntil();
    if (this.#round === undefined && until === this.#idleUntil) return 0;
    this.#state ??= await EvaluationState.open(records, {
      knownUntil: until,
      dayMs: market.dayMs,
      now: now().getTime(),
    });
    const { methodChange } = this.#state.progress;
    if (methodChange !== undefined) {
      if (!(await this.#tellOf(methodChange, this.#state))) this.#reload();
      return 1;
    }
    this.#round ??= await this.#beginRound(this.#state);
    if (this.#round === undefined) {
      this.#idleUntil = until;
      return 0;
    }
    const outcome = await this.#continueRound(this.#round, this.#state);
    if (outcome === "overtaken") this.#reload();
    if (outcome === "done") this.#round = undefined;
    // The embedded store writes synchronously, so requests are served between two steps.
    await setImmediate();
    return 1;
  }

  /**
   * Tells some alerts of another method, before the first session that it scored is evaluated.
   *
   * @returns `false` when nothing was written.
   */
  async #tellOf(change: MethodChange, state: EvaluationState): Promise<boolean> {
    const stored = await this.#alerts.read();
    const waiting = stored
      .filter(({ key, value }) => key > change.toldThrough && value.createdAt <= change.at)
      .map(({ key }) => key)
      .sort();
    const told = waiting.slice(0, ALERTS_PER_COMMIT);
    const pending = state.begin();
    for (const id of told) await addMethodChange(change, id, pending, this.#options);
    pending.methodChange =
      told.length === waiting.length ? undefined : { ...change, toldThrough: told.at(-1) ?? "" };
    return state.commit(pending);
  }

  #reload(): void {
    this.#state = undefined;
    this.#round = undefined;
  }

  async #beginRound(state: EvaluationState): Promise<Round | undefined> {
    const { records, now, snapshots } = this.#options;
    const session = this.#sessions.next(state.progress.until);
    if (session === undefined) return undefined;
    const watching = await resolveAlerts(records, await this.#alerts.read());
    const groups = groupAlertsByCondition(watching, now().getTime());
    const instruments = snapshots.allNewest().map(({ instrument }) => instrument);
    return {
      closedAt: session.at,
      unused: unusedStates(state, groups, instruments),
      evaluations: evaluationsOf(groups, session.snapshots),
      pending: state.begin(),
    };
  }

  /**
   * Continues a round by one step.
   *
   * @returns `overtaken` when another process has evaluated the session in the meantime, or an
   * alert that receives an event was changed.
   */
  async #continueRound(
    round: Round,
    state: EvaluationState,
  ): Promise<"done" | "unfinished" | "overtaken"> {
    const deleted = round.unused.splice(0, EVALUATIONS_PER_STEP);
    for (const key of deleted) round.pending.states.set(key, undefined);
    const some = take(round.evaluations, EVALUATIONS_PER_STEP - deleted.length);
    const pending = await this.#evaluate(some, round.pending, state);
    if (pending === undefined) return "overtaken";
    round.pending = pending;
    if (deleted.length + some.length === EVALUATIONS_PER_STEP) return "unfinished";
    const last = { ...pending, toldThrough: {} };
    return (await state.commit(last, round.closedAt)) ? "done" : "overtaken";
  }

  /**
   * Evaluates conditions, and commits whenever enough records are pending.
   *
   * @returns The commit that is still pending; `undefined` when a commit failed.
   */
  async #evaluate(
    evaluations: readonly Evaluation[],
    pending: PendingCommit,
    state: EvaluationState,
  ): Promise<PendingCommit | undefined> {
    let open = pending;
    for (const batch of evaluations.flatMap((each) => this.#batchesOf(each, state))) {
      await this.#add(batch, open);
      const size = RECORDS_PER_EVENT * open.events.length + open.states.size;
      if (batch.isLast && size < RECORDS_PER_COMMIT) continue;
      if (!(await state.commit(open))) return undefined;
      open = state.begin();
    }
    return open;
  }

  async #add({ change, alertIds, isLast }: Batch, pending: PendingCommit): Promise<void> {
    if (change.event !== undefined)
      await fanOutEvents(change.event, alertIds, pending, this.#options);
    if (isLast) pending.states.set(change.key, change.state);
    else {
      pending.toldThrough = { ...pending.toldThrough, [eventKey(change)]: alertIds.at(-1) ?? "" };
    }
  }

  /** The batches that an evaluation causes; empty when the state does not change. */
  #batchesOf(evaluation: Evaluation, state: EvaluationState): readonly Batch[] {
    const change = this.#changeOf(evaluation, state);
    if (change === undefined) return [];
    const alertIds = remainingAlerts(change, evaluation, state);
    const count = Math.max(1, Math.ceil(alertIds.length / ALERTS_PER_COMMIT));
    return Array.from({ length: count }, (_, index) => ({
      change,
      alertIds: alertIds.slice(index * ALERTS_PER_COMMIT, (index + 1) * ALERTS_PER_COMMIT),
      isLast: index === count - 1,
    }));
  }

  #changeOf({ group, snapshot }: Evaluation, state: EvaluationState): Change | undefined {
    const { condition } = group;
    const key = conditionStateKey(condition.key, snapshot.instrument.symbol);
    const known = state.get(key);
    // Already evaluated: the previous leader stopped in the middle of the session.
    if (known !== undefined && known.at >= snapshot.at) return undefined;
    const evaluate = (one: Snapshot, before: ConditionState | undefined) =>
      evaluateCondition(condition, before, this.#sessions.inputOf(one, condition.kind));

    // A new condition is initialized with the previous session, so that the current session can
    // already fire it.
    const previous = known === undefined ? this.#sessions.before(snapshot) : undefined;
    const before = previous === undefined ? known : evaluate(previous, undefined).state;
    const { state: after, event } = evaluate(snapshot, before);
    if (after === undefined || after === known) return undefined;
    return { key, state: after, event: event && { condition, event, snapshot } };
  }
}

/** Key of an event in `toldThrough`. */
const eventKey = ({ key, state }: Change): string => `${key} ${state.at}`;

/** Ids of the alerts that have not received the event yet. */
function remainingAlerts(
  change: Change,
  { group, snapshot }: Evaluation,
  { progress: { toldThrough } }: EvaluationState,
): readonly string[] {
  if (change.event === undefined) return [];
  const through = toldThrough[eventKey(change)] ?? "";
  return group.subscribers(snapshot).filter((id) => id > through);
}

/**
 * Keys of the states that no alert covers any longer. These states are deleted, so that a later
 * alert does not continue from them.
 */
function unusedStates(
  state: EvaluationState,
  groups: readonly ConditionGroup[],
  instruments: readonly Instrument[],
): string[] {
  const byKey = new Map(groups.map((group) => [group.condition.key, group]));
  const bySymbol = new Map(instruments.map((instrument) => [instrument.symbol, instrument]));
  const isCovered = (conditionKey: string, symbol: string): boolean => {
    const instrument = bySymbol.get(symbol);
    return instrument !== undefined && (byKey.get(conditionKey)?.covers(instrument) ?? false);
  };
  return state
    .keys()
    .filter(([conditionKey, symbol]) => !isCovered(conditionKey, symbol))
    .map(([conditionKey, symbol]) => conditionStateKey(conditionKey, symbol));
}

function* evaluationsOf(
  groups: readonly ConditionGroup[],
  snapshots: ReadonlyMap<string, Snapshot>,
): Generator<Evaluation> {
  for (const group of groups) {
    for (const snapshot of group.covered(snapshots)) yield { group, snapshot };
  }
}

function take<T>(from: Iterator<T>, most: number): readonly T[] {
  const taken: T[] = [];
  while (taken.length < most) {
    const { value, done } = from.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}
