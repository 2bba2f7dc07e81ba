import { setImmediate } from "node:timers/promises";
import type { AssetClass } from "../market/instrument.ts";
import type { HorizonQuantiles } from "../risk/table.ts";
import type { Stored } from "../store/port/records.ts";
import { TILE_WIDTH } from "../tree/tiles.ts";
import { treeSizeOf } from "../tree/tree-store.ts";
import { exclusionOutcomeOf, gradeSettlement, type LoggedStatement } from "./graded-settlement.ts";
import { type Leaf, outcomeLeaf, type SettlementOutcome, settlementLeaf } from "./leaves.ts";
import type { LogState, OpenSettlement, UnsettledRun } from "./log-state.ts";
import type { LogAppend, LoggedGrade, LoggedRun, LogStore } from "./log-store.ts";
import {
  computeRunOutcomes,
  outcomesWithoutReturns,
  type RunToSettle,
  type SettlementMarket,
} from "./outcomes.ts";
import {
  type DueSettlement,
  dueSettlements,
  type NextSettlement,
  nextSettlement,
  unsettledAfter,
} from "./settlement-schedule.ts";

/** Dependencies of the settler. */
export interface SettlerOptions {
  readonly store: LogStore;
  readonly market: SettlementMarket;
  /** Instant up to which sessions are complete, Unix milliseconds. */
  readonly knownUntil: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Called once for each run that cannot be settled, because it is not stored. */
  readonly onMissingRun: (run: UnsettledRun) => void;
}

/** The computed outcomes of a run. `entry` and `exit` are `undefined` if there are no returns. */
interface Settlement {
  readonly of: NextSettlement;
  readonly run: LoggedRun;
  /** The logged decisions of the run, in the order of the outcomes. */
  readonly statements: readonly LoggedStatement[];
  readonly outcomes: readonly SettlementOutcome[];
  readonly entry?: number | undefined;
  readonly exit?: number | undefined;
}

/** The part of a method leaf that is used to grade runs. */
interface RegisteredRisk {
  readonly risk: Readonly<Partial<Record<AssetClass, readonly HorizonQuantiles[]>>>;
}

/** The part of a run leaf by which the track record tells methods apart. */
interface RunLeaf {
  readonly methodHash: string;
}

/** The members of a settlement leaf that are read back from the log. */
interface LoggedSettlement {
  readonly entry: string | null;
  readonly exit: string | null;
}

/**
 * Logs the returns that followed the statements: a settlement for each run and horizon, with an
 * outcome for each result of the run.
 */
export class Settler {
  readonly #options: SettlerOptions;
  /** The settlement that was computed last, and the revision of the state that it left open. */
  #open: { readonly settlement: Settlement; readonly revision: number } | undefined;
  /** The missing runs that were reported: the id of the log and the index of the run. */
  readonly #missing = new Set<string>();

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /**
   * Begins the settlement that is due, or passes over one that would correct nothing. A run that is
   * not stored is reported, and does not hold up the others.
   *
   * @returns The new state; `undefined` if none is due, or if its prices are not known yet.
   */
  async startNext(state: Stored<LogState>): Promise<Stored<LogState> | undefined> {
    if (this.#lacksSessions(state.value)) return undefined;
    for (const due of dueSettlements(state.value)) {
      if (due.corrects === null) return this.#passOver(state, due);
      const run = await this.#runOf(state.value, due.run);
      if (run !== undefined) return this.#start(state, due, run);
      // Earlier versions may have deleted the run of a sandbox. Nothing of it is then corrected.
      if (due.corrects !== undefined) return this.#passOver(state, due);
      this.#report(state.value, due.run);
    }
    return undefined;
  }

  async #start(
    state: Stored<LogState>,
    due: DueSettlement,
    logged: LoggedRun,
  ): Promise<Stored<LogState> | undefined> {
    const { corrects } = due;
    const settlement = await this.#compute(state.value, due, logged);
    if (typeof corrects === "number" && !(await this.#differs(state.value, settlement, corrects))) {
      return this.#passOver(state, due);
    }
    if (settlement === undefined) return undefined;
    const { assetClass, close, coveredAt, index } = due.run;
    const { entry = null, exit = null, run } = settlement;
    const leaf = settlementLeaf({
      assetClass,
      run: index,
      close,
      horizon: due.horizon,
      entry,
      exit,
      coveredAt: coveredAt as number,
      at: this.#options.now(),
      results: run.symbols.length,
      ...(typeof corrects === "number" && { corrects }),
    });
    const settling = { index: treeSizeOf(state.value), run: index };
    return this.#leaveOpen(state, { leaves: [leaf], change: { settling } }, settlement);
  }

  /** Whether this process knows fewer sessions than are logged, and so may lack prices. */
  #lacksSessions({ unsettled }: LogState): boolean {
    const knownUntil = this.#options.knownUntil();
    return unsettled.some(({ close }) => close > knownUntil);
  }

  #passOver(state: Stored<LogState>, due: DueSettlement): Promise<Stored<LogState>> {
    const unsettled = unsettledAfter(state.value, due);
    return this.#options.store.append(state, { leaves: [], change: { unsettled } });
  }

  /** Appends leaves of a settlement, except those that complete it. */
  async #leaveOpen(state: Stored<LogState>, leaves: LogAppend, settlement: Settlement) {
    const open = await this.#options.store.append(state, leaves);
    this.#open = { settlement, revision: open.revision };
    return open;
  }

  /** Whether prices that were corrected after a settlement change its logged outcomes. */
  async #differs(
    state: LogState,
    settlement: Settlement | undefined,
    corrects: number,
  ): Promise<boolean> {
    // Nothing can be corrected if these sessions are not known, for example after the sandbox has
    // restarted its price history.
    if (settlement?.entry === undefined) return false;
    const { outcomes } = settlement;
    const logged = await this.#read<SettlementOutcome>(state.id, corrects + 1, outcomes.length);
    return outcomes.some((outcome, at) => !isSameOutcome(outcome, logged[at]));
  }

  /**
   * Appends the next outcomes of the open settlement.
   *
   * @returns The new state; `undefined` if the prices are not known yet.
   */
  async goOn(state: Stored<LogState>, open: OpenSettlement): Promise<Stored<LogState> | undefined> {
    if (this.#lacksSessions(state.value)) return undefined;
    const settlement = await this.#settlementOf(state, open);
    if (settlement === undefined) return undefined;
    const { run, outcomes } = settlement;
    const done = treeSizeOf(state.value) - open.index - 1;
    const next = outcomes.slice(done, done + TILE_WIDTH);
    const leaves = next.map((outcome, at): Leaf => {
      const place = done + at;
      const symbol = run.symbols[place] as string;
      const signal = run.index + 1 + place;
      return outcomeLeaf(outcome, { settlement: open.index, signal, symbol });
    });
    if (done + leaves.length < outcomes.length) {
      return this.#leaveOpen(state, { leaves, change: {} }, settlement);
    }
    const grade = await this.#grade(state.value, open, settlement);
    // Grading thousands of outcomes takes as long as appending a chunk.
    await setImmediate();
    const unsettled = unsettledAfter(state.value, settlement.of, open.index);
    const change = { settling: null, unsettled };
    return this.#options.store.append(state, { leaves, change, grade });
  }

  /**
   * The open settlement. After a restart, or when another process appended last, the outcomes that
   * are not logged yet are computed again; logged outcomes and the logged closes stay unchanged.
   */
  async #settlementOf(
    { value: state, revision }: Stored<LogState>,
    open: OpenSettlement,
  ): Promise<Settlement | undefined> {
    if (this.#open?.revision === revision) return this.#open.settlement;
    const unsettled = state.unsettled.find(({ index }) => index === open.run) as UnsettledRun;
    const run = await this.#runOf(state, unsettled);
    if (run === undefined) {
      this.#report(state, unsettled);
      return undefined;
    }
    const due = { ...nextSettlement(unsettled, state), isFinal: true };
    const computed = await this.#compute(state, due, run);
    if (computed === undefined) return undefined;
    const [leaf] = await this.#read<LoggedSettlement>(state.id, open.index, 1);
    const [entry, exit] = [instantOf(leaf?.entry), instantOf(leaf?.exit)];
    const done = treeSizeOf(state) - open.index - 1;
    const logged = await this.#read<SettlementOutcome>(state.id, open.index + 1, done);
    const isSame = computed.entry === entry && computed.exit === exit;
    // Returns measured between other closes do not belong to this settlement.
    const left = isSame ? computed.outcomes : outcomesWithoutReturns(computed.run, "unsettled");
    const outcomes = left.map(
      (outcome, at) => logged[at] ?? exclusionOutcomeOf(computed.statements[at]) ?? outcome,
    );
    return { ...computed, entry, exit, outcomes };
  }

  /** The run as it was logged; `undefined` if it is not stored. */
  async #runOf({ id }: LogState, { assetClass, close, index }: UnsettledRun) {
    const run = await this.#options.store.runAt(id, assetClass, close);
    return run?.index === index ? run : undefined;
  }

  #report({ id }: LogState, run: UnsettledRun): void {
    const key = `${id} ${run.index}`;
    if (!this.#missing.has(key)) this.#options.onMissingRun(run);
    this.#missing.add(key);
  }

  async #compute(
    state: LogState,
    due: DueSettlement,
    run: LoggedRun,
  ): Promise<Settlement | undefined> {
    const { assetClass, close, index } = run;
    const wanted = { assetClass, close, symbols: run.symbols, horizon: due.horizon };
    const found = await this.#outcomes(wanted, due);
    if (found === undefined) return undefined;
    const statements = await this.#read<LoggedStatement>(state.id, index + 1, run.symbols.length);
    const outcomes = found.outcomes.map(
      (outcome, at) => exclusionOutcomeOf(statements[at]) ?? outcome,
    );
    return { ...found, of: due, run, statements, outcomes };
  }

  async #outcomes(wanted: RunToSettle, { isFinal }: DueSettlement) {
    const { market, knownUntil } = this.#options;
    const until = knownUntil();
    const unsettled = { outcomes: outcomesWithoutReturns(wanted, "unsettled") };
    // If the sandbox has restarted its price history since the close, prices from before and after
    // the restart are unrelated.
    if (market.scoredFrom?.(wanted.close) !== market.scoredFrom?.(until)) return unsettled;
    const found = await computeRunOutcomes(wanted, market, until);
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
   * Grades a settlement by the ranges that the method of its run registered, even if the current
   * ranges differ.
   */
  async #grade(
    { id }: LogState,
    open: OpenSettlement,
    { run, statements, outcomes, of, entry, exit }: Settlement,
  ): Promise<LoggedGrade> {
    const { assetClass } = run;
    const { horizon, corrects } = of;
    const { close, coveredAt, method } = of.run;
    const [registered] = method === null ? [] : await this.#read<RegisteredRisk>(id, method, 1);
    const { methodHash = "" } = (await this.#read<RunLeaf>(id, run.index, 1))[0] ?? {};
    const terms = { close, coveredAt: coveredAt as number, entry, exit, horizon };
    const tables = registered?.risk[assetClass] ?? [];
    return {
      assetClass,
      horizon,
      end: open.index + 1 + outcomes.length,
      methodHash,
      graded: gradeSettlement(statements, outcomes, terms, tables),
      ...(corrects !== undefined && { isCorrection: true }),
    };
  }
}

const instantOf = (text: string | null | undefined): number | undefined =>
  text ? Date.parse(text) : undefined;

/** Whether a computed outcome equals the logged one, whose numbers were parsed from JSON text. */
const isSameOutcome = (
  computed: SettlementOutcome,
  logged: SettlementOutcome | undefined,
): boolean =>
  Object.entries(computed).every(
    ([name, value]) => logged?.[name as keyof SettlementOutcome] === value,
  );
