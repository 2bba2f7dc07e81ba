import { randomUUID } from "node:crypto";
import { METHOD_VERSION } from "../../score/snapshot.ts";
import { insert, put, remove, removeGroup, replace } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import type { ConditionState } from "./condition.ts";

/** How far evaluation has come. */
interface Progress {
  /** Every session that closed up to this instant is evaluated, Unix milliseconds of the market. */
  readonly until: number;
  /** `at` of the newest event row; the next row gets a later one. */
  readonly newestEventAt: number;
  /** Events of the current session that only some alerts have a row of yet: by event, the id of the
   *  last alert that has one. */
  readonly toldThrough: Readonly<Record<string, string>>;
}

/** Progress as it is stored. */
interface StoredProgress extends Progress {
  /** Version of the method that the states were computed with. */
  readonly methodVersion: string;
  /** Random id of the commit that wrote the record. */
  readonly turn: string;
}

/** States of conditions, by `stateKey`. */
const conditionStates = collection<ConditionState>("watch-states");

/** Group of all states. */
const CONDITION_STATES = "watch-states";

/** Evaluation progress; its only key is `PROGRESS_KEY`. */
export const progressRecords = collection<StoredProgress>("alert-progress");

/** Key of the only progress record. */
export const PROGRESS_KEY = "decision";

/** Key of the state of a condition for an instrument. */
export const stateKey = (conditionKey: string, symbol: string): string =>
  `${conditionKey} ${symbol}`;

/** The two parts of a state's key; the first contains no space. */
function partsOfKey(key: string): readonly [conditionKey: string, symbol: string] {
  const space = key.indexOf(" ");
  return [key.slice(0, space), key.slice(space + 1)];
}

/** States and events that the next commit writes together. */
export interface PendingCommit {
  /** Changed states by `stateKey`; `undefined` deletes one. */
  readonly states: Map<string, ConditionState | undefined>;
  /** Operations that write and enqueue the events. */
  readonly operations: Operation[];
  /** Sequence numbers that the events get, by record key. */
  readonly sequences: Map<string, number>;
  /** `at` of the newest event row, including the events of this commit. */
  newestEventAt: number;
  toldThrough: Progress["toldThrough"];
}

/** The market whose sessions are evaluated. */
interface MarketTime {
  /** Instant up to which the market is known, Unix milliseconds. */
  readonly knownUntil: number;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** States of all conditions and how far evaluation has come, in memory and in the store. */
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
   * Loads the state. In a new store, and when market time has gone back because a replay starts over,
   * evaluation begins with the sessions that close from now on. States of another version of the
   * method are deleted, because its scores are not comparable.
   */
  static async open(records: Records, time: MarketTime): Promise<EvaluationState> {
    for (;;) {
      const stored = await records.get(progressRecords, PROGRESS_KEY);
      const progress = progressFrom(stored?.value, time);
      if (stored !== undefined && progress === stored.value) {
        const states = await readAll(records, conditionStates);
        return new EvaluationState(records, stored.value, states);
      }
      const value = storedProgress(progress);
      const started = stored
        ? replace(progressRecords, stored, { value })
        : insert(progressRecords, { key: PROGRESS_KEY, value });
      await records.commit([started, removeGroup(CONDITION_STATES)]);
    }
  }

  get progress(): Progress {
    return this.#progress;
  }

  get(key: string): ConditionState | undefined {
    return this.#states.get(key);
  }

  /** Condition key and symbol of every state. */
  keys(): readonly (readonly [conditionKey: string, symbol: string])[] {
    return [...this.#states.keys()].map(partsOfKey);
  }

  /** An empty commit that continues from the last one. */
  begin(): PendingCommit {
    return {
      states: new Map(),
      operations: [],
      sequences: new Map(),
      newestEventAt: this.#progress.newestEventAt,
      toldThrough: this.#progress.toldThrough,
    };
  }

  /**
   * Writes a pending commit. Every commit replaces the progress record, and only if it is still the
   * one that this object wrote last: of two processes that both believe to lead, one notices and no
   * session is evaluated twice.
   *
   * @param until New value of `progress.until`.
   * @returns `false` when nothing was written, because another leader was first or an operation
   *   failed; this object may then be out of date.
   */
  async commit(pending: PendingCommit, until = this.#progress.until): Promise<boolean> {
    const { states, operations, newestEventAt, toldThrough } = pending;
    const before = await this.#records.get(progressRecords, PROGRESS_KEY);
    if (before?.value.turn !== this.#progress.turn) return false;
    const value = storedProgress({ until, newestEventAt, toldThrough });
    const advanced = replace(progressRecords, before, { value });
    const written = [...states].map(([key, state]) => writeState(key, state));
    if (!(await this.#records.commit([advanced, ...written, ...operations]))) return false;
    this.#progress = value;
    for (const [key, state] of states) {
      if (state === undefined) this.#states.delete(key);
      else this.#states.set(key, state);
    }
    return true;
  }
}

/** The stored progress itself when it is still valid, or where to begin instead. */
function progressFrom(
  stored: StoredProgress | undefined,
  { knownUntil, dayMs }: MarketTime,
): Progress {
  if (stored === undefined) return { until: knownUntil, newestEventAt: 0, toldThrough: {} };
  // A day of tolerance: the clock of the process that led before may have been a little ahead.
  const isBack = stored.until > knownUntil + dayMs;
  if (!isBack && stored.methodVersion === METHOD_VERSION) return stored;
  const { newestEventAt, until } = stored;
  return { until: isBack ? knownUntil : until, newestEventAt, toldThrough: {} };
}

const storedProgress = ({ until, newestEventAt, toldThrough }: Progress): StoredProgress => ({
  until,
  newestEventAt,
  toldThrough,
  methodVersion: METHOD_VERSION,
  turn: randomUUID(),
});

const writeState = (key: string, state: ConditionState | undefined): Operation =>
  state === undefined
    ? remove(conditionStates, key)
    : put(conditionStates, { key, value: state, groups: [CONDITION_STATES] });
