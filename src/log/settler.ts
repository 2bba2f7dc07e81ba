import { RECORD_HORIZONS } from "../grading/run-grade.ts";
import { type GradedRun, RECORD_RULES } from "../grading/track-record.ts";
import type { RiskTable } from "../risk/table.ts";
import type { Stored } from "../store/port/records.ts";
import { excludedBy, gradeSettlement, type LoggedStatement } from "./graded-settlement.ts";
import { type Leaf, type Outcome, outcomeLeaf, settlementLeaf } from "./leaves.ts";
import type { LoggedRun, LogState, LogStore, OpenSettlement, UnsettledRun } from "./log-store.ts";
import {
  CONFIRMED_AFTER,
  outcomesOf,
  PATIENCE_SESSIONS,
  type RunOutcomes,
  type RunToSettle,
  type SettledMarket,
  withoutReturns,
} from "./outcomes.ts";
import { TILE_WIDTH } from "./tiles.ts";
import { sizeOf } from "./tree-store.ts";

/** Dependencies of the settler. */
export interface SettlerOptions {
  readonly store: LogStore;
  readonly market: SettledMarket;
  readonly riskTable: RiskTable;
  /** Instant up to which sessions are complete, Unix milliseconds. */
  readonly knownUntil: () => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A run and the horizon over which it is due. */
export interface DueSettlement {
  readonly run: UnsettledRun;
  readonly horizon: number;
  /** Index of the settlement that is looked at again; absent: the run is settled for the first time. */
  readonly corrects?: number | undefined;
  /** Whether prices that are missing are waited for no more. */
  readonly isFinal: boolean;
}

/** A settlement that is being appended. */
interface Settlement extends Partial<Pick<RunOutcomes, "entry" | "exit">> {
  readonly due: DueSettlement;
  readonly run: LoggedRun;
  /** What the log says that was decided in the run, and what became of it, in the same order. */
  readonly statements: readonly LoggedStatement[];
  readonly outcomes: readonly Outcome[];
}

/**
 * The oldest settlement whose sessions have closed and were logged, before all others one that waits no
 * more: so none is later than `PATIENCE_SESSIONS`, which verifiers rely on.
 *
 * @returns `undefined`: there is none.
 */
export function dueSettlement({ unsettled = [] }: LogState): DueSettlement | undefined {
  const due = unsettled.flatMap((run): readonly DueSettlement[] => {
    const { horizon, corrects, after } = stepOf(run);
    const later = unsettled.filter(
      ({ assetClass, close }) => assetClass === run.assetClass && close > run.close,
    ).length;
    // The entry, the horizon after it, and a session in which doubted prices are confirmed.
    if (run.coveredAt === null || later < after) return [];
    return [{ run, horizon, corrects, isFinal: later >= after + PATIENCE_SESSIONS }];
  });
  return due.find(({ isFinal }) => isFinal) ?? due[0];
}

/** What is next of a run: it is settled over each horizon, and some sessions after the last that is looked
 *  at again. @returns As the `after`, the sessions after which that is due. */
function stepOf({ assetClass, settled, settlements }: UnsettledRun) {
  const horizons = RECORD_HORIZONS[assetClass];
  const horizon = horizons[settled % horizons.length] as number;
  if (settled < horizons.length) return { horizon, after: horizon + CONFIRMED_AFTER };
  const last = horizons.at(-1) as number;
  const after = last + CONFIRMED_AFTER + RECORD_RULES.correctedWithin;
  return { horizon, after, corrects: settlements?.[settled - horizons.length] };
}

/** Appends the outcomes of statements: a settlement for each run and horizon, with an outcome for each
 *  result of the run. */
export class Settler {
  readonly #options: SettlerOptions;
  /** The settlement that was computed last. */
  #settlement: Settlement | undefined;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /**
   * Starts a settlement.
   *
   * @returns The state now; `undefined` if its prices are not known yet, or if another process has
   *   appended meanwhile.
   */
  async start(state: Stored<LogState>, due: DueSettlement): Promise<Stored<LogState> | undefined> {
    const { store, now } = this.#options;
    const settlement = await this.#compute(state.value, due);
    const { corrects } = due;
    if (corrects !== undefined && !(await this.#differs(state.value, settlement, corrects))) {
      const unsettled = withSettled(state.value, due.run);
      return store.append(state, { leaves: [], change: { unsettled } });
    }
    if (settlement === undefined) return undefined;
    this.#settlement = settlement;
    const { index } = due.run;
    const { entry = null, exit = null, run } = settlement;
    const { assetClass, close, coveredAt } = due.run;
    const leaf = settlementLeaf({
      assetClass,
      run: index,
      close,
      horizon: due.horizon,
      entry,
      exit,
      coveredAt: coveredAt as number,
      at: now(),
      results: run.symbols.length,
      ...(corrects !== undefined && { corrects }),
    });
    const settling = { index: sizeOf(state.value), run: index };
    return store.append(state, { leaves: [leaf], change: { settling } });
  }

  /** Whether prices that were corrected since give other outcomes than the logged ones. */
  async #differs(
    state: LogState,
    settlement: Settlement | undefined,
    corrects: number,
  ): Promise<boolean> {
    // Without these sessions, such as after a restart of the sandbox's record, nothing is known better.
    if (settlement?.entry === undefined) return false;
    const { outcomes } = settlement;
    const logged = await this.#read<Outcome>(state.id, corrects + 1, outcomes.length);
    return outcomes.some((outcome, at) => !isSameOutcome(outcome, logged[at]));
  }

  /** Appends the next outcomes of the open settlement. @returns As `start`. */
  async goOn(state: Stored<LogState>, open: OpenSettlement): Promise<Stored<LogState> | undefined> {
    const { store } = this.#options;
    const settlement = await this.#resumed(state.value, open);
    if (settlement === undefined) return undefined;
    const { run, outcomes, due } = settlement;
    const done = sizeOf(state.value) - open.index - 1;
    const next = outcomes.slice(done, done + TILE_WIDTH);
    const leaves = next.map((outcome, at): Leaf => {
      const place = done + at;
      const symbol = run.symbols[place] as string;
      const signal = run.index + 1 + place;
      return outcomeLeaf(outcome, { settlement: open.index, signal, symbol });
    });
    if (done + leaves.length < outcomes.length) return store.append(state, { leaves, change: {} });
    const { assetClass } = run;
    const { horizon } = due;
    const end = open.index + 1 + outcomes.length;
    const graded = this.#grade(settlement);
    const isCorrection = due.corrects !== undefined;
    const grade = { assetClass, horizon, end, graded, ...(isCorrection && { isCorrection }) };
    const unsettled = withSettled(state.value, due.run, open.index);
    const change = { settling: null, unsettled };
    return store.append(state, { leaves, change, grade });
  }

  /** The open settlement; after a restart its outcomes are computed again, except those in the log. */
  async #resumed(state: LogState, open: OpenSettlement): Promise<Settlement | undefined> {
    const run = state.unsettled?.find(({ index }) => index === open.run) as UnsettledRun;
    const known = this.#settlement?.due.run;
    if (known?.index === run.index && known.settled === run.settled) return this.#settlement;
    const { horizon, corrects } = stepOf(run);
    const settlement = await this.#compute(state, { run, horizon, corrects, isFinal: true });
    const done = sizeOf(state) - open.index - 1;
    const logged = await this.#read<Outcome>(state.id, open.index + 1, done);
    this.#settlement = settlement && {
      ...settlement,
      outcomes: [...logged, ...settlement.outcomes.slice(logged.length)],
    };
    return this.#settlement;
  }

  async #compute(state: LogState, due: DueSettlement): Promise<Settlement | undefined> {
    const { store } = this.#options;
    const { assetClass, close, index } = due.run;
    const run = await store.runAt(state.id, assetClass, close);
    // The sandbox may have dropped the run.
    if (run?.index !== index) return undefined;
    const wanted = { assetClass, close, symbols: run.symbols, horizon: due.horizon };
    const found = await this.#outcomes(wanted, due);
    if (found === undefined) return undefined;
    const statements = await this.#read<LoggedStatement>(state.id, index + 1, run.symbols.length);
    const outcomes = found.outcomes.map((outcome, at) => excludedBy(statements[at]) ?? outcome);
    return { ...found, due, run, statements, outcomes };
  }

  async #outcomes(wanted: RunToSettle, { isFinal }: DueSettlement) {
    const { market, knownUntil } = this.#options;
    const until = knownUntil();
    const unsettled = { outcomes: withoutReturns(wanted, "unsettled") };
    // The sandbox starts its record over: prices before and after have nothing to do with each other.
    if (market.scoredFrom?.(wanted.close) !== market.scoredFrom?.(until)) return unsettled;
    const found = await outcomesOf(wanted, market, until);
    return found ?? (isFinal ? unsettled : undefined);
  }

  /** What the log says in consecutive leaves. */
  async #read<T>(id: string, first: number, count: number): Promise<T[]> {
    const found: T[] = [];
    for (let at = first; at < first + count; ) {
      const width = Math.min(first + count - at, TILE_WIDTH - (at % TILE_WIDTH));
      const leaves = await this.#options.store.entries(id, at, width);
      found.push(...leaves.map((leaf) => JSON.parse(leaf) as T));
      at += width;
    }
    return found;
  }

  #grade({ run, statements, outcomes, due, entry, exit }: Settlement): GradedRun {
    const { close, coveredAt } = due.run;
    const table = this.#options.riskTable.classes[run.assetClass].find(
      ({ horizon }) => horizon === due.horizon,
    );
    const times = { close, coveredAt: coveredAt as number, entry, exit };
    return gradeSettlement(statements, outcomes, times, table);
  }
}

/** The runs that are left after a step of one of them. @param settlement Index of its settlement. */
const withSettled = (
  { unsettled = [] }: LogState,
  { index }: UnsettledRun,
  ...settlement: readonly number[]
): readonly UnsettledRun[] =>
  unsettled
    .map((run): UnsettledRun => {
      if (run.index !== index) return run;
      const settled = run.settled + 1;
      if (run.settlements === undefined) return { ...run, settled };
      return { ...run, settled, settlements: [...run.settlements, ...settlement] };
    })
    .filter(({ assetClass, settled, settlements }) => {
      const looks = settlements === undefined ? 1 : 2;
      return settled < looks * RECORD_HORIZONS[assetClass].length;
    });

/** Whether a computed outcome is the logged one, whose numbers were read back from their text. */
const isSameOutcome = (computed: Outcome, logged: Outcome | undefined): boolean =>
  Object.entries(computed).every(([name, value]) => logged?.[name as keyof Outcome] === value);
