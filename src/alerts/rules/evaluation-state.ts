import { randomUUID } from "node:crypto";
import { runningMethod } from "../../method/running.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Records, type Stored } from "../../store/port/records.ts";
import { type Change, transact, transactOnce } from "../../store/transact.ts";
import type { ConditionState } from "./condition.ts";

/** A change of the scoring method of which some alerts have not been told yet. */
export interface MethodChange {
  /** Versions of the method, as in `runningMethod`. */
  readonly from: string;
  readonly to: string;
  /** When the change was found, in milliseconds since the epoch; later alerts know only `to`. */
  readonly at: number;
  /** Id of the last alert that has been told; alerts are told in the order of their ids. */
  readonly toldThrough: string;
}

/** How far the evaluation of sessions has progressed. */
interface Progress {
  /**
   * Instant up to which all closed sessions have been evaluated, in market time (milliseconds since
   * the epoch).
   */
  readonly until: number;
  /**
   * The `at` of the newest event row, in milliseconds since the epoch. The next row gets a later
   * instant.
   */
  readonly newestEventAt: number;
  /**
   * Events of the current session that only some of their alerts have received. Maps each event key
   * to the id of the last alert that has received the event.
   */
  readonly toldThrough: Readonly<Record<string, string>>;
  /** Absent once all alerts have been told of the method. */
  readonly methodChange?: MethodChange;
}

/** The stored form of the progress. */
interface StoredProgress extends Progress {
  /** Version of the scoring method with which the states were computed. */
  readonly methodVersion: string;
  /** Random id of the commit that wrote this record. */
  readonly turn: string;
}

/** Group of all condition states. */
const CONDITION_STATES = "watch-states";

/** Condition states by `conditionStateKey`. */
const conditionStates = collection<ConditionState>("watch-states", {
  groups: () => [CONDITION_STATES],
});

/** Evaluation progress; its only key is `PROGRESS_KEY`. */
export const progressRecords = collection<StoredProgress>("alert-progress");

/** Key of the only progress record. */
export const PROGRESS_KEY = "decision";

/** Record key of the state of a condition for one instrument. */
export const conditionStateKey = (conditionKey: string, symbol: string): string =>
  `${conditionKey} ${symbol}`;

/** Splits the key of a state at the first space: the condition key contains no space. */
function partsOfKey(key: string): readonly [conditionKey: string, symbol: string] {
  const space = key.indexOf(" ");
  return [key.slice(0, space), key.slice(space + 1)];
}

/** States and events that the next commit writes together. */
export interface PendingCommit {
  /** Changed states by `conditionStateKey`; `undefined` deletes the state. */
  readonly states: Map<string, ConditionState | undefined>;
  /** Each records and queues the event of one alert. */
  readonly events: Change[];
  /** New sequence numbers of the events, by record key. */
  readonly sequences: Map<string, number>;
  /**
   * The `at` of the newest event row, including the events of this commit, in milliseconds since
   * the epoch.
   */
  newestEventAt: number;
  toldThrough: Progress["toldThrough"];
  methodChange: MethodChange | undefined;
}

/** Time of the market whose sessions are evaluated. */
interface MarketTime {
  /** Instant up to which market data is known, in milliseconds since the epoch. */
  readonly knownUntil: number;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: number;
}

/** The states of all conditions and the evaluation progress, held in memory and in the store. */
export class EvaluationState {
  readonly #records: Records;
  readonly #states: Map<string, ConditionState>;
  #progress: StoredProgress;

  private constructor(
    records: Records,
    progress: StoredProgress,
    states: readonly Stored<ConditionState>[],
  ) {
    this.#records = records;
    this.#progress = progress;
    this.#states = new Map(states.map(({ key, value }) => [key, value]));
  }

  /**
   * Loads the state. In a new store, and when market time has gone back because a replay has
   * restarted, evaluation begins with sessions that close from now on. States of another version of
   * the scoring method are deleted, because its scores are not comparable, and the change is kept
   * until the alerts have been told of it.
   */
  static open(records: Records, time: MarketTime): Promise<EvaluationState> {
    return transact(records, async (tx) => {
      const stored = await tx.get(progressRecords, PROGRESS_KEY);
      const progress = progressFrom(stored?.value, time);
      if (stored !== undefined && progress === stored.value) {
        const states = await readAll(records, conditionStates);
        return new EvaluationState(records, stored.value, states);
      }
      const value = storedProgress(progress);
      tx.put(progressRecords, { key: PROGRESS_KEY, value });
      tx.removeGroup(CONDITION_STATES);
      return new EvaluationState(records, value, []);
    });
  }

  get progress(): Progress {
    return this.#progress;
  }

  get(key: string): ConditionState | undefined {
    return this.#states.get(key);
  }

  /** Condition key and symbol of every stored state. */
  keys(): readonly (readonly [conditionKey: string, symbol: string])[] {
    return [...this.#states.keys()].map(partsOfKey);
  }

  /** Begins a pending commit that continues from the last commit. */
  begin(): PendingCommit {
    return {
      states: new Map(),
      events: [],
      sequences: new Map(),
      newestEventAt: this.#progress.newestEventAt,
      toldThrough: this.#progress.toldThrough,
      methodChange: this.#progress.methodChange,
    };
  }

  /**
   * Writes a pending commit. Every commit replaces the progress record, but only if it is still the
   * record that this object wrote last. If two processes both believe they are the leader, one of
   * them fails here, and no session is evaluated twice.
   *
   * @param until New value of `progress.until`.
   * @returns `false` when nothing was written, because another leader committed first or an alert
   * was changed. This object may then be out of date.
   */
  async commit(pending: PendingCommit, until = this.#progress.until): Promise<boolean> {
    const { states, events, newestEventAt, toldThrough, methodChange } = pending;
    const before = await this.#records.get(progressRecords, PROGRESS_KEY);
    if (before?.value.turn !== this.#progress.turn) return false;
    const value = storedProgress({
      until,
      newestEventAt,
      toldThrough,
      ...withChange(methodChange),
    });
    const isWritten = await transactOnce(this.#records, async (tx) => {
      tx.update(progressRecords, before, { value });
      for (const [key, state] of states) {
        if (state === undefined) tx.remove(conditionStates, key);
        else tx.put(conditionStates, { key, value: state });
      }
      for (const write of events) await write(tx);
    });
    if (!isWritten) return false;
    this.#progress = value;
    for (const [key, state] of states) {
      if (state === undefined) this.#states.delete(key);
      else this.#states.set(key, state);
    }
    return true;
  }
}

/**
 * Returns `stored` itself if that progress is still valid, or else the progress from which to
 * begin.
 */
function progressFrom(
  stored: StoredProgress | undefined,
  { knownUntil, dayMs, now }: MarketTime,
): Progress {
  if (stored === undefined) return { until: knownUntil, newestEventAt: 0, toldThrough: {} };
  // One market day of tolerance, because the clock of the previous leader may have been slightly
  // ahead.
  const isBack = stored.until > knownUntil + dayMs;
  const { newestEventAt, methodVersion: from } = stored;
  const to = runningMethod().version;
  if (!isBack && from === to) return stored;
  const methodChange = from === to ? stored.methodChange : { from, to, at: now, toldThrough: "" };
  const until = isBack ? knownUntil : stored.until;
  return { until, newestEventAt, toldThrough: {}, ...withChange(methodChange) };
}

const withChange = (methodChange: MethodChange | undefined) => methodChange && { methodChange };

const storedProgress = (progress: Progress): StoredProgress => ({
  ...progress,
  methodVersion: runningMethod().version,
  turn: randomUUID(),
});
