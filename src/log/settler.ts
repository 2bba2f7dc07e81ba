import { setImmediate } from "node:timers/promises";
import type { GradedRun, RecordTerms } from "../grading/track-record.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { HorizonQuantiles } from "../risk/table.ts";
import type { Stored } from "../store/port/records.ts";
import { excludedBy, gradeSettlement, type LoggedStatement } from "./graded-settlement.ts";
import { type Leaf, type Outcome, outcomeLeaf, settlementLeaf } from "./leaves.ts";
import type { LogState, OpenSettlement, UnsettledRun } from "./log-state.ts";
import type { Appended, LoggedRun, LogStore } from "./log-store.ts";
import {
  CONFIRMED_AFTER,
  outcomesOf,
  PATIENCE_SESSIONS,
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
  /** Instant up to which sessions are complete, Unix milliseconds. */
  readonly knownUntil: () => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A run and the horizon over which it is due. */
export interface DueSettlement {
  readonly run: UnsettledRun;
  readonly horizon: number;
  /** Index of the settlement that is checked for a correction; `null` if it is not known, absent for the
   *  first settlement of the run. */
  readonly corrects?: number | null | undefined;
  /** Whether the settlement no longer waits for missing prices. */
  readonly isFinal: boolean;
}

/** The outcomes of a run. Both closes are `undefined` if there are no returns. */
interface Settlement {
  readonly due: DueSettlement;
  readonly run: LoggedRun;
  /** The logged decisions of the run, and their outcomes in the same order. */
  readonly statements: readonly LoggedStatement[];
  readonly outcomes: readonly Outcome[];
  readonly entry?: number | undefined;
  readonly exit?: number | undefined;
}

/** The part of a method leaf by which runs are graded. */
interface RegisteredRisk {
  /** Absent in a method of an earlier version. */
  readonly risk?: Readonly<Partial<Record<AssetClass, readonly HorizonQuantiles[]>>>;
}

/** Members of a settlement leaf. */
interface LoggedSettlement {
  readonly entry: string | null;
  readonly exit: string | null;
}

/**
 * The next settlement to append, of a run whose sessions have closed and were logged: first one
 * that no longer waits for prices, else the oldest. No settlement is therefore more than
 * `PATIENCE_SESSIONS` late, on which verifiers rely.
 *
 * @returns `undefined` if there is none.
 */
export function dueSettlement({ unsettled, record }: LogState): DueSettlement | undefined {
  const due = unsettled.flatMap((run): readonly DueSettlement[] => {
    const { horizon, corrects, after } = stepOf(run, record);
    const later = unsettled.filter(
      ({ assetClass, close }) => assetClass === run.assetClass && close > run.close,
    ).length;
    // The entry, the horizon after it, and a session in which doubted prices are confirmed.
    if (run.coveredAt === null || later < after) return [];
    return [{ run, horizon, corrects, isFinal: later >= after + PATIENCE_SESSIONS }];
  });
  return due.find(({ isFinal }) => isFinal) ?? due[0];
}

/** The next step of a run: it is settled over each horizon and, some sessions after the longest,
 *  each settlement is checked for corrections. @returns The step; it is due `after` sessions. */
function stepOf({ assetClass, settled, settlements }: UnsettledRun, record: RecordTerms) {
  const horizons = horizonsOf(assetClass, record);
  const horizon = horizons[settled % horizons.length] as number;
  if (settled < horizons.length) return { horizon, after: horizon + CONFIRMED_AFTER };
  const last = horizons.at(-1) as number;
  const after = last + CONFIRMED_AFTER + record.rules.correctedWithin;
  return { horizon, after, corrects: settlements[settled - horizons.length] };
}

const horizonsOf = (assetClass: AssetClass, { horizons }: RecordTerms): readonly number[] =>
  horizons[assetClass] ?? [];

/** Appends the outcomes of statements: a settlement for each run and horizon, with an outcome for each
 *  result of the run. */
export class Settler {
  readonly #options: SettlerOptions;
  /** The last computed settlement, and the size of the log after its leaves appended so far. */
  #appended: { readonly settlement: Settlement; readonly size: number } | undefined;

  /** The method leaf that was found last, and a run that it was in force for. */
  #foundMethod: { readonly id: string; readonly method: number; readonly run: number } | undefined;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /**
   * Starts a settlement. @returns The new state; `undefined` if its prices are not known yet, or if
   * another process has appended in the meantime.
   */
  async start(state: Stored<LogState>, due: DueSettlement): Promise<Stored<LogState> | undefined> {
    const { store, now } = this.#options;
    const { corrects } = due;
    const pass = () => {
      const unsettled = withSettled(state.value, due.run);
      return store.append(state, { leaves: [], change: { unsettled } });
    };
    if (corrects === null) return pass();
    const settlement = await this.#compute(state.value, due);
    if (corrects !== undefined && !(await this.#differs(state.value, settlement, corrects))) {
      return pass();
    }
    if (settlement === undefined) return undefined;
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
    return this.#append(state, { leaves: [leaf], change: { settling } }, settlement);
  }

  /** Appends some leaves of a settlement; more follow. */
  async #append(state: Stored<LogState>, leaves: Appended, settlement: Settlement) {
    const now = await this.#options.store.append(state, leaves);
    this.#appended = now && { settlement, size: sizeOf(now.value) };
    return now;
  }

  /** Whether prices corrected since then give other outcomes than the logged ones. */
  async #differs(
    state: LogState,
    settlement: Settlement | undefined,
    corrects: number,
  ): Promise<boolean> {
    // Without these sessions, for example after the sandbox's record was restarted, nothing can be
    // corrected.
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
    if (done + leaves.length < outcomes.length) {
      return this.#append(state, { leaves, change: {} }, settlement);
    }
    const { assetClass } = run;
    const { horizon } = due;
    const end = open.index + 1 + outcomes.length;
    const graded = await this.#grade(state.value, settlement);
    // Grading thousands of outcomes takes as long as appending a chunk.
    await setImmediate();
    const isCorrection = due.corrects !== undefined;
    const grade = { assetClass, horizon, end, graded, ...(isCorrection && { isCorrection }) };
    const unsettled = withSettled(state.value, due.run, open.index);
    const change = { settling: null, unsettled };
    return store.append(state, { leaves, change, grade });
  }

  /**
   * The open settlement. After a restart, or when another process appended last, its outcomes are computed
   * again, except those in the log; its closes are those in the log.
   */
  async #resumed(state: LogState, open: OpenSettlement): Promise<Settlement | undefined> {
    const run = state.unsettled.find(({ index }) => index === open.run) as UnsettledRun;
    const { settlement: known, size } = this.#appended ?? {};
    const isKnown = known?.due.run.index === run.index && known.due.run.settled === run.settled;
    if (isKnown && size === sizeOf(state)) return known;
    const { horizon, corrects } = stepOf(run, state.record);
    const computed = await this.#compute(state, { run, horizon, corrects, isFinal: true });
    if (computed === undefined) return undefined;
    const [leaf] = await this.#read<LoggedSettlement>(state.id, open.index, 1);
    const [entry, exit] = [instantOf(leaf?.entry), instantOf(leaf?.exit)];
    const done = sizeOf(state) - open.index - 1;
    const logged = await this.#read<Outcome>(state.id, open.index + 1, done);
    const isSame = computed.entry === entry && computed.exit === exit;
    // Returns between other closes do not belong to this settlement.
    const left = isSame ? computed.outcomes : withoutReturns(computed.run, "unsettled");
    const outcomes = left.map(
      (outcome, at) => logged[at] ?? excludedBy(computed.statements[at]) ?? outcome,
    );
    return { ...computed, entry, exit, outcomes };
  }

  /** The method leaf in force for a run of an earlier version; those of one version mostly share it. */
  async #methodBefore(id: string, index: number): Promise<number | undefined> {
    const known = this.#foundMethod;
    if (known?.id === id && index > known.method && index <= known.run) return known.method;
    const found = await this.#options.store.methodBefore(id, index);
    this.#foundMethod = found === undefined ? undefined : { id, method: found, run: index };
    return found;
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
    // The sandbox has restarted its record: prices before and after are unrelated.
    if (market.scoredFrom?.(wanted.close) !== market.scoredFrom?.(until)) return unsettled;
    const found = await outcomesOf(wanted, market, until);
    return found ?? (isFinal ? unsettled : undefined);
  }

  /** Reads consecutive leaves of the log. Other work runs between two bundles, since an embedded
   *  store reads synchronously. */
  async #read<T>(id: string, first: number, count: number): Promise<T[]> {
    const found: T[] = [];
    for (let at = first; at < first + count; ) {
      const width = Math.min(first + count - at, TILE_WIDTH - (at % TILE_WIDTH));
      const leaves = await this.#options.store.entries(id, at, width);
      found.push(...leaves.map((leaf) => JSON.parse(leaf) as T));
      at += width;
      await setImmediate();
    }
    return found;
  }

  /**
   * Grades by the ranges that the method of the run registered, even if the current ones differ.
   */
  async #grade(
    { id }: LogState,
    { run, statements, outcomes, due, entry, exit }: Settlement,
  ): Promise<GradedRun> {
    const { close, coveredAt, index } = due.run;
    const method = due.run.method ?? (await this.#methodBefore(id, index));
    const [registered] =
      method === undefined ? [] : await this.#read<RegisteredRisk>(id, method, 1);
    const { horizon } = due;
    const terms = { close, coveredAt: coveredAt as number, entry, exit, horizon };
    return gradeSettlement(statements, outcomes, terms, registered?.risk?.[run.assetClass] ?? []);
  }
}

/** The unsettled runs after a step of one of them. @param settlement Index of its settlement. */
const withSettled = (
  { unsettled, record }: LogState,
  { index }: UnsettledRun,
  ...settlement: readonly number[]
): readonly UnsettledRun[] =>
  unsettled
    .map((run): UnsettledRun => {
      if (run.index !== index) return run;
      const settlements = [...run.settlements, ...settlement];
      return { ...run, settled: run.settled + 1, settlements };
    })
    .filter(({ assetClass, settled }) => settled < 2 * horizonsOf(assetClass, record).length);

const instantOf = (text: string | null | undefined): number | undefined =>
  text ? Date.parse(text) : undefined;

/** Whether a computed outcome equals the logged one, whose numbers were parsed from text. */
const isSameOutcome = (computed: Outcome, logged: Outcome | undefined): boolean =>
  Object.entries(computed).every(([name, value]) => logged?.[name as keyof Outcome] === value);
