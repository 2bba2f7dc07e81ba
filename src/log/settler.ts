import { setImmediate } from "node:timers/promises";
import type { GradedRun, TrackRecordTerms } from "../grading/track-record.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { HorizonQuantiles } from "../risk/table.ts";
import type { Stored } from "../store/port/records.ts";
import { TILE_WIDTH } from "../tree/tiles.ts";
import { treeSizeOf } from "../tree/tree-store.ts";
import { exclusionOutcomeOf, gradeSettlement, type LoggedStatement } from "./graded-settlement.ts";
import { type Leaf, outcomeLeaf, type SettlementOutcome, settlementLeaf } from "./leaves.ts";
import type { LogState, OpenSettlement, UnsettledRun } from "./log-state.ts";
import type { LogAppend, LoggedRun, LogStore } from "./log-store.ts";
import {
  CONFIRMATION_SESSIONS,
  computeRunOutcomes,
  MAX_PRICE_WAIT_SESSIONS,
  outcomesWithoutReturns,
  type RunToSettle,
  type SettlementMarket,
} from "./outcomes.ts";

/** Dependencies of the settler. */
export interface SettlerOptions {
  readonly store: LogStore;
  readonly market: SettlementMarket;
  /** Instant up to which sessions are complete, Unix milliseconds. */
  readonly knownUntil: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

/** A run and the horizon over which it is due for settlement. */
export interface DueSettlement {
  readonly run: UnsettledRun;
  readonly horizon: number;
  /**
   * Index of the settlement that is checked for a correction; `null` if that index is not known,
   * absent for the first settlement over the horizon.
   */
  readonly corrects?: number | null | undefined;
  /** Whether the settlement no longer waits for missing prices. */
  readonly isFinal: boolean;
}

/** The computed outcomes of a run. `entry` and `exit` are `undefined` if there are no returns. */
interface Settlement {
  readonly due: DueSettlement;
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
 * The next settlement to append. Its run has been covered by a checkpoint, and enough later
 * sessions have been logged. Settlements that no longer wait for prices come first; if there are
 * none, the oldest settlement is next. No settlement is therefore more than
 * `MAX_PRICE_WAIT_SESSIONS` late, which verifiers rely on.
 *
 * @returns `undefined` if no settlement is due.
 */
export function findDueSettlement({ unsettled, record }: LogState): DueSettlement | undefined {
  const due = unsettled.flatMap((run): readonly DueSettlement[] => {
    const { horizon, corrects, after } = stepOf(run, record);
    const later = unsettled.filter(
      ({ assetClass, close }) => assetClass === run.assetClass && close > run.close,
    ).length;
    // `after` counts the entry session, the horizon, and a session in which doubtful prices are
    // confirmed.
    if (run.coveredAt === null || later < after) return [];
    return [{ run, horizon, corrects, isFinal: later >= after + MAX_PRICE_WAIT_SESSIONS }];
  });
  return due.find(({ isFinal }) => isFinal) ?? due[0];
}

/**
 * The next step of a run: it is settled over each horizon and, some sessions after the longest
 * horizon, each settlement is checked for corrections.
 *
 * @returns The step, which is due `after` sessions after the run.
 */
function stepOf({ assetClass, settled, settlements }: UnsettledRun, record: TrackRecordTerms) {
  const horizons = horizonsOf(assetClass, record);
  const horizon = horizons[settled % horizons.length] as number;
  if (settled < horizons.length) return { horizon, after: horizon + CONFIRMATION_SESSIONS };
  const last = horizons.at(-1) as number;
  const after = last + CONFIRMATION_SESSIONS + record.rules.correctedWithin;
  return { horizon, after, corrects: settlements[settled - horizons.length] };
}

const horizonsOf = (assetClass: AssetClass, { horizons }: TrackRecordTerms): readonly number[] =>
  horizons[assetClass] ?? [];

/**
 * Logs the returns that followed the statements: a settlement for each run and horizon, with an
 * outcome for each result of the run.
 */
export class Settler {
  readonly #options: SettlerOptions;
  /**
   * The last computed settlement, and the size of the log after its most recently appended leaves.
   */
  #appended: { readonly settlement: Settlement; readonly size: number } | undefined;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /**
   * Starts a settlement, or skips a check for corrections that finds no difference.
   *
   * @returns The new state; `undefined` if the prices are not known yet, or if another process has
   * appended in the meantime.
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
    const settling = { index: treeSizeOf(state.value), run: index };
    return this.#append(state, { leaves: [leaf], change: { settling } }, settlement);
  }

  /** Appends leaves of a settlement, except those that complete it. */
  async #append(state: Stored<LogState>, leaves: LogAppend, settlement: Settlement) {
    const now = await this.#options.store.append(state, leaves);
    this.#appended = now && { settlement, size: treeSizeOf(now.value) };
    return now;
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
   * @returns The new state; `undefined` under the same conditions as in `start`.
   */
  async goOn(state: Stored<LogState>, open: OpenSettlement): Promise<Stored<LogState> | undefined> {
    const { store } = this.#options;
    const settlement = await this.#resumed(state.value, open);
    if (settlement === undefined) return undefined;
    const { run, outcomes, due } = settlement;
    const done = treeSizeOf(state.value) - open.index - 1;
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
    const { methodHash = "" } = (await this.#read<RunLeaf>(state.value.id, run.index, 1))[0] ?? {};
    // Grading thousands of outcomes takes as long as appending a chunk.
    await setImmediate();
    const isCorrection = due.corrects !== undefined;
    const grade = {
      assetClass,
      horizon,
      end,
      methodHash,
      graded,
      ...(isCorrection && { isCorrection }),
    };
    const unsettled = withSettled(state.value, due.run, open.index);
    const change = { settling: null, unsettled };
    return store.append(state, { leaves, change, grade });
  }

  /**
   * The open settlement. After a restart, or when another process appended last, the outcomes that
   * are not logged yet are computed again; logged outcomes and the logged closes stay unchanged.
   */
  async #resumed(state: LogState, open: OpenSettlement): Promise<Settlement | undefined> {
    const run = state.unsettled.find(({ index }) => index === open.run) as UnsettledRun;
    const { settlement: known, size } = this.#appended ?? {};
    const isKnown = known?.due.run.index === run.index && known.due.run.settled === run.settled;
    if (isKnown && size === treeSizeOf(state)) return known;
    const { horizon, corrects } = stepOf(run, state.record);
    const computed = await this.#compute(state, { run, horizon, corrects, isFinal: true });
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

  async #compute(state: LogState, due: DueSettlement): Promise<Settlement | undefined> {
    const { store } = this.#options;
    const { assetClass, close, index } = due.run;
    const run = await store.runAt(state.id, assetClass, close);
    // The sandbox may have deleted the run.
    if (run?.index !== index) return undefined;
    const wanted = { assetClass, close, symbols: run.symbols, horizon: due.horizon };
    const found = await this.#outcomes(wanted, due);
    if (found === undefined) return undefined;
    const statements = await this.#read<LoggedStatement>(state.id, index + 1, run.symbols.length);
    const outcomes = found.outcomes.map(
      (outcome, at) => exclusionOutcomeOf(statements[at]) ?? outcome,
    );
    return { ...found, due, run, statements, outcomes };
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
    { run, statements, outcomes, due, entry, exit }: Settlement,
  ): Promise<GradedRun> {
    const { close, coveredAt, method } = due.run;
    const [registered] = method === null ? [] : await this.#read<RegisteredRisk>(id, method, 1);
    const { horizon } = due;
    const terms = { close, coveredAt: coveredAt as number, entry, exit, horizon };
    return gradeSettlement(statements, outcomes, terms, registered?.risk[run.assetClass] ?? []);
  }
}

/**
 * The unsettled runs after the given run has completed a step.
 *
 * @param settlement Leaf index of the settlement appended in that step.
 */
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

/** Whether a computed outcome equals the logged one, whose numbers were parsed from JSON text. */
const isSameOutcome = (
  computed: SettlementOutcome,
  logged: SettlementOutcome | undefined,
): boolean =>
  Object.entries(computed).every(
    ([name, value]) => logged?.[name as keyof SettlementOutcome] === value,
  );
