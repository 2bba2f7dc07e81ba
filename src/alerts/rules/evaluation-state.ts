import { randomUUID } from "node:crypto";
import { METHOD_VERSION } from "../../score/snapshot.ts";
import { insert, put, remove, removeGroup, replace } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import type { ConditionState } from "./condition.ts";

/** How far the decision has come. */
export interface Progress {
  /** Every session that closed up to then is decided, Unix milliseconds of the market. */
  readonly until: number;
  /** `at` of the newest event row, so that the next one comes later. */
  readonly newestEventAt: number;
  /** News of the session under way that only some of its alerts were told of: the last of these. */
  readonly toldThrough: Readonly<Record<string, string>>;
}

/** Progress as it is kept. */
interface KeptProgress extends Progress {
  /** Version of the method by which the states were decided. */
  readonly methodVersion: string;
  /** Made up by the commit that wrote it. */
  readonly turn: string;
}

/** What is remembered of watched instruments, by `stateKey`. */
const watchStates = collection<ConditionState>("watch-states");

/** Group of all of them. */
const WATCH_STATES = "watch-states";

/** How far the decision has come, by `PROGRESS_KEY`. */
export const progressRecords = collection<KeptProgress>("alert-progress");

/** There is one. */
export const PROGRESS_KEY = "decision";

/** Where the state of an instrument is kept. */
export const stateKey = (watchKey: string, symbol: string): string => `${watchKey} ${symbol}`;

/** What one commit is to write. */
interface Entry extends Partial<Progress> {
  /** By `stateKey`; `undefined` forgets one. */
  readonly states: ReadonlyMap<string, ConditionState | undefined>;
  /** What happens besides. */
  readonly steps: readonly Operation[];
}

/** What the decision remembers, and how far it has come. */
export interface EvaluationState {
  readonly progress: Progress;
  state(key: string): ConditionState | undefined;
  /** Watch key and symbol of every state. */
  places(): readonly (readonly [watchKey: string, symbol: string])[];
  /**
   * Writes an entry. All commits of the decision go through one record, each only if that is as the
   * last commit of this ledger left it: so two leaders never decide the same, and whoever comes
   * second notices.
   *
   * @returns Whether it was written. When not, another leader was first or another step did not
   *   hold; the ledger may be of no use any more.
   */
  commit(entry: Entry): Promise<boolean>;
}

/** The market whose sessions are decided. */
export interface LedgerOptions {
  readonly records: Records;
  /** Instant up to which the market is known, Unix milliseconds. */
  readonly knownUntil: number;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/**
 * Opens what was remembered. In a new store, and when the market's time has gone back as that of a
 * replay that starts over, only what closes from now on is decided. What was decided by another
 * version of the method is forgotten, since its scores cannot be compared.
 */
export async function openEvaluationState(options: LedgerOptions): Promise<EvaluationState> {
  const { records } = options;
  for (;;) {
    const stored = await records.get(progressRecords, PROGRESS_KEY);
    const progress = progressFrom(stored?.value, options);
    if (stored !== undefined && progress === stored.value) {
      return ledgerOf(records, stored.value, await readAll(records, watchStates));
    }
    const value = kept(progress);
    const begun = stored
      ? replace(progressRecords, stored, { value })
      : insert(progressRecords, { key: PROGRESS_KEY, value });
    await records.commit([begun, removeGroup(WATCH_STATES)]);
  }
}

/** The progress that was kept, or where to begin instead. */
function progressFrom(
  before: KeptProgress | undefined,
  { knownUntil, dayMs }: LedgerOptions,
): Progress {
  if (before === undefined) return { until: knownUntil, newestEventAt: 0, toldThrough: {} };
  // The clock of the process that led before may have been a little ahead.
  const isBack = before.until > knownUntil + dayMs;
  if (!isBack && before.methodVersion === METHOD_VERSION) return before;
  const { newestEventAt, until } = before;
  return { until: isBack ? knownUntil : until, newestEventAt, toldThrough: {} };
}

/** Progress as a commit writes it. */
const kept = ({ until, newestEventAt, toldThrough }: Progress): KeptProgress => ({
  ...{ until, newestEventAt, toldThrough },
  methodVersion: METHOD_VERSION,
  turn: randomUUID(),
});

function ledgerOf(
  records: Records,
  opened: KeptProgress,
  stored: readonly Stored<ConditionState>[],
): EvaluationState {
  const states = new Map(stored.map(({ key, value }) => [key, value]));
  let progress = opened;
  return {
    get progress() {
      return progress;
    },
    state: (key) => states.get(key),
    places: () => [...states.keys()].map(placeOf),
    async commit({ states: changed, steps, ...rest }) {
      const now = await records.get(progressRecords, PROGRESS_KEY);
      if (now?.value.turn !== progress.turn) return false;
      const value = kept({ ...progress, ...rest });
      const moved = replace(progressRecords, now, { value });
      const written = [...changed].map(([key, state]) => writing(key, state));
      if (!(await records.commit([moved, ...written, ...steps]))) return false;
      progress = value;
      for (const [key, state] of changed) {
        if (state === undefined) states.delete(key);
        else states.set(key, state);
      }
      return true;
    },
  };
}

const writing = (key: string, state: ConditionState | undefined): Operation =>
  state === undefined
    ? remove(watchStates, key)
    : put(watchStates, { key, value: state, groups: [WATCH_STATES] });

/** The two parts of a state's key; the first has no spaces. */
function placeOf(key: string): readonly [string, string] {
  const space = key.indexOf(" ");
  return [key.slice(0, space), key.slice(space + 1)];
}
