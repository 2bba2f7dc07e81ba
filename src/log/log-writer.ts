import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { isoInstant } from "../answers/common.ts";
import { liveClaimTerms } from "../grading/live-claim.ts";
import { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import { newestKnownRecord } from "../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../market/records.ts";
import { runningMethod } from "../method/running.ts";
import { type HorizonSpread, horizonSigma, sessionsToReport } from "../risk/report-days.ts";
import { createSigmaReader } from "../risk/sigma-reader.ts";
import type { HorizonQuantiles, RiskTable } from "../risk/table.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import type { MemoryArchive } from "../score/snapshot-archive.ts";
import type { Stored } from "../store/port/records.ts";
import { TILE_WIDTH } from "../tree/tiles.ts";
import { treeSizeOf } from "../tree/tree-store.ts";
import type { LastCheckpointFile } from "./last-checkpoint-file.ts";
import {
  anchorLeaf,
  type Committer,
  claimLeaf,
  failedLeaf,
  type Leaf,
  type MethodRegistration,
  methodLeaf,
  methodRegistrationHash,
  runLeaf,
  signalLeaf,
  universeLeaves,
} from "./leaves.ts";
import type { LogSigner } from "./log-signer.ts";
import type { LogState, UnfinishedRun } from "./log-state.ts";
import type { LoggedRun, LogStore, StoredCheckpoint } from "./log-store.ts";
import { formerLogOrigins, newLogState } from "./new-log.ts";
import { findDueSettlement, Settler } from "./settler.ts";
import type { WitnessClient } from "./witness/witness-client.ts";

/**
 * How far back the writer catches up at startup on sessions that closed while no process was
 * logging, in market days.
 */
const CATCH_UP_DAYS = 30;

/**
 * Maximum time spent on computing one chunk of leaves, in milliseconds, excluding the commit. A
 * bundle takes 5 ms.
 */
const CHUNK_MS = 8;

/** Number of market days after which the sandbox logs method and universes again. */
const YEAR_DAYS = 365;

/** Number of simulated years whose entries the sandbox stores; a simulated day takes a minute. */
const KEPT_YEARS = 3;

/** Dependencies of the writer. */
export interface WriterOptions {
  readonly store: LogStore;
  readonly head: LastCheckpointFile;
  readonly signer: LogSigner;
  /** Obtains cosignatures on checkpoints; `undefined` without witnesses. */
  readonly witnesses?: Pick<WitnessClient, "tick" | "refusal"> | undefined;
  readonly committer: Committer;
  readonly snapshots: Pick<MemoryArchive, "allNewest" | "history" | "lastAt">;
  readonly market: Pick<Market, "mode" | "dayMs" | "recordsUntil" | "scoredFrom">;
  readonly riskTable: RiskTable;
  /** The current time of the market, Unix milliseconds. */
  readonly marketNow: () => number;
  /** Instant up to which sessions have been scored, Unix milliseconds; never decreases. */
  readonly knownUntil: () => number;
  /** Public host, the first part of the origin of a new log. */
  readonly host: string;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Returns the time of a monotonic clock in milliseconds. */
  readonly monotonic: () => number;
  /** Called with the reason when the log must not be signed. */
  readonly onRefusal: (reason: string) => void;
}

/** A session of an asset class, with its close in Unix milliseconds. */
type Session = Pick<UnfinishedRun, "assetClass" | "close">;

/**
 * The open run, with the data needed to complete it. Another version of the service may have begun
 * it.
 */
interface RunInProgress extends LoggedRun {
  /** Id of the log that contains the run. */
  readonly logId: string;
  /** Method hash in the leaf of the run. */
  readonly methodHash: string;
  /** Index of the method leaf in force for the run; `null` if the log no longer stores it. */
  readonly method: number | null;
  /** Forecast horizons that the method of the run registers; `null` if it registers none. */
  readonly horizons: readonly HorizonSpread[] | null;
  /**
   * The market records of each instrument by symbol, as known when this process began or resumed
   * the run.
   */
  readonly records: ReadonlyMap<string, InstrumentRecords>;
}

/**
 * Appends the decisions after each session: the leaf of the run, then a leaf for each instrument.
 * Checkpoints cover only complete runs. If the process ends in between, the run stays open until
 * the next leader completes it.
 */
export class LogWriter {
  readonly #options: WriterOptions;
  #hasStarted = false;
  #isChecked = false;
  #refusal: string | undefined;
  /** Whether a tick is running, or the last tick did any work. */
  #isAtWork = false;
  /** The state after the last append; another process may have appended since then. */
  #state: Stored<LogState> | undefined;
  #open: RunInProgress | undefined;
  /**
   * Sessions to log, oldest first: sessions that were known by `#listedUntil` and are not logged
   * yet.
   */
  #sessions: readonly Session[] = [];
  #listedUntil = Number.NEGATIVE_INFINITY;
  readonly #sigmaAt = createSigmaReader();
  readonly #settler: Settler;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#settler = new Settler(options);
  }

  /** Whether each start begins a new log: a replay is a new history each time. */
  get #startsAnew(): boolean {
    return this.#options.market.mode === "replay";
  }

  /** Whether signing is allowed and there are closed sessions that are not logged. */
  get isBehind(): boolean {
    if (this.#refusal !== undefined) return false;
    if (this.#isAtWork || this.#sessions.length > 0) return true;
    return this.#closedUntil(this.#options.knownUntil()).length > 0;
  }

  /**
   * Performs one step of the leader's work.
   *
   * @returns 1 if it did any work, 0 if there was nothing to do.
   */
  async tick(): Promise<number> {
    this.#isAtWork = true;
    let worked = 0;
    try {
      worked = await this.#step();
    } finally {
      this.#isAtWork = worked > 0;
    }
    return worked;
  }

  async #step(): Promise<number> {
    const { store } = this.#options;
    const state = this.#state ?? (await store.state());
    this.#state = undefined;
    if (state === undefined || (this.#startsAnew && !this.#hasStarted)) return this.#start(state);
    const { id } = state.value;
    if (this.#options.witnesses?.refusal(id) !== undefined) this.#isChecked = false;
    if (!this.#isChecked && !(await this.#check(state.value))) return 0;
    const { open, unsettled } = state.value;
    if (open !== null) return this.#goOn(state, open);
    if (unsettled.some(({ coveredAt }) => coveredAt === null)) return this.#sign(state);
    const settled = await this.#settle(state);
    if (settled !== undefined) return settled;
    const checkpoint = await store.checkpoint();
    const size = treeSizeOf(state.value);
    if (checkpoint?.id !== id || checkpoint.size < size) return this.#sign(state);
    return this.#startNextRun(state);
  }

  /**
   * Appends the next part of a settlement.
   *
   * @returns 1 if it did any work, 0 if it has to wait, `undefined` if no settlement is due.
   */
  async #settle(state: Stored<LogState>): Promise<number | undefined> {
    const { settling, unsettled } = state.value;
    const knownUntil = this.#options.knownUntil();
    // A new leader that has not caught up yet may lack prices that the previous leader had.
    if (unsettled.some(({ close }) => close > knownUntil)) return settling ? 0 : undefined;
    if (settling) return this.#appended(await this.#settler.goOn(state, settling));
    const due = findDueSettlement(state.value);
    const started = due && (await this.#settler.start(state, due));
    return started && this.#appended(started);
  }

  async #appended(state: Stored<LogState> | undefined): Promise<number> {
    this.#state = state;
    // An embedded store writes synchronously, so other work must run between two chunks.
    await setImmediate();
    return 1;
  }

  /**
   * Compares the log with earlier signed checkpoints and with the checkpoints that witnesses have
   * seen, since the previous leader may have been another process.
   */
  async #check(state: LogState): Promise<boolean> {
    const { store, signer, witnesses } = this.#options;
    await witnesses?.tick();
    const refusal = (await signer.refusal(state)) ?? witnesses?.refusal(state.id);
    if (refusal !== undefined && refusal !== this.#refusal) this.#options.onRefusal(refusal);
    this.#refusal = refusal;
    this.#isChecked = refusal === undefined;
    await store.announceRefusal(refusal);
    return this.#isChecked;
  }

  async #start(before: Stored<LogState> | undefined): Promise<number> {
    const { store, head, host, now, marketNow } = this.#options;
    const startsAnew = this.#startsAnew;
    // The checkpoint in `log-head` belongs to another log if this store was created after that log
    // was signed here.
    const kept = head.read();
    const replaces = (!startsAnew && kept?.note.text) || null;
    const recordedUntil = this.#beforeNewest();
    const former = formerLogOrigins(before?.value, kept);
    const beganAt = marketNow();
    const state = newLogState(host, { createdAt: now(), beganAt, recordedUntil, replaces, former });
    this.#hasStarted = await store.start(before, state);
    return 1;
  }

  /**
   * An instant just before the newest session of each class: a new log begins with these sessions,
   * because current answers are based on them.
   */
  #beforeNewest(): LogState["recordedUntil"] {
    const newest = new Map<AssetClass, number>();
    const { snapshots, knownUntil } = this.#options;
    for (const { instrument } of snapshots.allNewest()) {
      const { assetClass, symbol } = instrument;
      const close = snapshots.history(symbol, 0, knownUntil()).at(-1)?.at ?? 0;
      newest.set(assetClass, Math.max(close, newest.get(assetClass) ?? 0));
    }
    return Object.fromEntries([...newest].map(([assetClass, close]) => [assetClass, close - 1]));
  }

  async #sign(state: Stored<LogState>): Promise<number> {
    const { signer, marketNow } = this.#options;
    const unsettled = state.value.unsettled.map((run) => ({
      ...run,
      coveredAt: run.coveredAt ?? marketNow(),
    }));
    try {
      await signer.sign(state, { unsettled });
    } catch (error) {
      this.#isChecked = false;
      throw error;
    }
    return 1;
  }

  async #startNextRun(state: Stored<LogState>): Promise<number> {
    const next = this.#nextSession(state.value);
    if (next === undefined) return 0;
    // The preceding step, listing the sessions of thousands of instruments, takes as long as
    // appending a chunk.
    await setImmediate();
    const { snapshots, market, now } = this.#options;
    const { assetClass, close } = next;
    if (market.mode === "sandbox" && (await this.#endYear(state, close))) return 1;
    const symbols = snapshots
      .allNewest()
      .filter(({ instrument }) => instrument.assetClass === assetClass)
      .map(({ instrument }) => instrument.symbol)
      .filter((symbol) => snapshots.lastAt(symbol, close) !== undefined);
    const anchor = await this.#nextAnchor(state.value);
    const leaves: Leaf[] = anchor === undefined ? [] : [anchorLeaf(anchor.note)];
    const first = treeSizeOf(state.value);
    const registration = this.#registration(state.value);
    const registered = methodRegistrationHash(registration);
    let { method, claims } = state.value;
    if (method?.sha256 !== registered) {
      method = { index: first + leaves.length, sha256: registered };
      leaves.push(methodLeaf(registration, now(), state.value.replaces));
      const { methodHash } = runningMethod();
      const claim = claims?.[methodHash] ?? {
        index: first + leaves.length,
        terms: liveClaimTerms(this.#options.marketNow()),
      };
      claims = { ...claims, [methodHash]: claim };
      leaves.push(claimLeaf(claim.terms, now()));
    }
    const sha256 = hash("sha256", JSON.stringify(symbols), "hex");
    let mark = state.value.universes[assetClass];
    if (mark?.sha256 !== sha256) {
      mark = { sha256, index: first + leaves.length };
      leaves.push(...universeLeaves(assetClass, symbols));
    }
    const index = first + leaves.length;
    const universe = mark.index;
    leaves.push(runLeaf({ assetClass, close, at: now(), universe, results: symbols.length }));
    const run = { index, assetClass, close, universe, symbols };
    const change = {
      method,
      ...(claims && { claims }),
      universes: { ...state.value.universes, [assetClass]: mark },
      open: { index, assetClass, close },
      ...(anchor && { anchored: anchor.size }),
    };
    this.#state = await this.#options.store.append(state, { leaves, change, run });
    return 1;
  }

  #registration({ record }: LogState): MethodRegistration {
    const { market, riskTable } = this.#options;
    return { market: market.mode, riskTable, record };
  }

  /** The published checkpoint, if its cosignatures are not logged yet. */
  async #nextAnchor({ anchored = 0 }: LogState): Promise<StoredCheckpoint | undefined> {
    const { store, witnesses } = this.#options;
    const published = witnesses && (await store.published());
    return published !== undefined && published.size > anchored ? published : undefined;
  }

  /**
   * Ends a year of the sandbox if it is over: the next runs log method and universes again, so that
   * new entries can still be verified after those of earlier years are deleted.
   *
   * @returns Whether a year has ended.
   */
  async #endYear(state: Stored<LogState>, close: number): Promise<boolean> {
    const { store, market } = this.#options;
    const { dayMs } = market;
    const { id, repeatedAt } = state.value;
    if (close - repeatedAt < YEAR_DAYS * dayMs) return false;
    const kept = close - KEPT_YEARS * YEAR_DAYS * dayMs;
    const first = await store.firstRunFrom(id, kept);
    if (first !== undefined) await store.prune(first, kept);
    const change = { repeatedAt: close, method: null, universes: {} };
    this.#state = await store.append(state, { leaves: [], change });
    return true;
  }

  /** The oldest session that is not logged yet. */
  #nextSession({ recordedUntil }: LogState): Session | undefined {
    const until = this.#options.knownUntil();
    const isNew = ({ assetClass, close }: Session) => close > (recordedUntil[assetClass] ?? 0);
    const left = this.#sessions.filter(isNew);
    if (left.length === 0 && until > this.#listedUntil) {
      this.#sessions = this.#closedUntil(until).filter(isNew);
      this.#listedUntil = until;
      return this.#sessions[0];
    }
    this.#sessions = left;
    return left[0];
  }

  #closedUntil(until: number): readonly Session[] {
    const { snapshots, market } = this.#options;
    // After its first listing, the writer skips no session, however far it falls behind.
    const isStart = this.#listedUntil === Number.NEGATIVE_INFINITY;
    const from = isStart ? until - CATCH_UP_DAYS * market.dayMs : this.#listedUntil + 1;
    const closes = new Map(AssetClass.options.map((one) => [one, new Set<number>()]));
    for (const { instrument } of snapshots.allNewest()) {
      const ofClass = closes.get(instrument.assetClass);
      for (const { at } of snapshots.history(instrument.symbol, from, until)) ofClass?.add(at);
    }
    return [...closes]
      .flatMap(([assetClass, found]) => [...found].map((close) => ({ assetClass, close })))
      .sort((a, b) => a.close - b.close);
  }

  /** Appends the next results of the open run. */
  async #goOn(state: Stored<LogState>, open: UnfinishedRun): Promise<number> {
    const { store } = this.#options;
    const run = await this.#inProgress(state.value, open);
    const { symbols, index, assetClass, close, method } = run;
    const size = treeSizeOf(state.value);
    const done = size - index - 1;
    // Chunks end at the end of a bundle, where the tree has the shortest edge; every commit
    // rewrites the edge.
    const end = done + TILE_WIDTH - (size % TILE_WIDTH);
    const leaves = this.#results(symbols.slice(done, end), state.value, run);
    const isComplete = done + leaves.length === symbols.length;
    const recordedUntil = { ...state.value.recordedUntil, [assetClass]: close };
    const complete = { index, assetClass, close, method, coveredAt: null };
    const unsettled = [...state.value.unsettled, { ...complete, settled: 0, settlements: [] }];
    const change = isComplete ? { open: null, recordedUntil, unsettled } : {};
    return this.#appended(await store.append(state, { leaves, change }));
  }

  async #inProgress({ id, method }: LogState, open: UnfinishedRun): Promise<RunInProgress> {
    const { store, market } = this.#options;
    const { assetClass, close, index } = open;
    if (this.#open?.index === index && this.#open.logId === id) return this.#open;
    const run = (await store.runAt(id, assetClass, close)) as LoggedRun;
    const leaf = async (at: number) => JSON.parse((await store.entry(id, at)) ?? "{}");
    const methodIndex = method?.index ?? (await store.methodBefore(id, index)) ?? null;
    const registered = methodIndex === null ? {} : await leaf(methodIndex);
    const tables: readonly HorizonQuantiles[] | undefined = registered.risk?.[assetClass];
    const records = market.recordsUntil(close);
    this.#open = {
      ...run,
      logId: id,
      methodHash: String((await leaf(index)).methodHash),
      method: methodIndex,
      horizons: tables ?? null,
      records: new Map(records.map((one) => [one.instrument.symbol, one])),
    };
    await setImmediate();
    return this.#open;
  }

  /** The leaves of as many instruments as can be computed in `CHUNK_MS`, at least one. */
  #results(symbols: readonly string[], { origin }: LogState, run: RunInProgress): readonly Leaf[] {
    const { snapshots, committer, monotonic } = this.#options;
    const { close, methodHash } = run;
    const place = { run: run.index, close: isoInstant(close) };
    const until = monotonic() + CHUNK_MS;
    const leaves: Leaf[] = [];
    for (const symbol of symbols) {
      const snapshot = snapshots.lastAt(symbol, close);
      leaves.push(
        snapshot?.at === close && isOfMethod(snapshot, methodHash)
          ? signalLeaf(snapshot, place, {
              commitments: committer.commit(snapshot, origin),
              sigmas: this.#sigmasOf(symbol, run),
            })
          : failedLeaf(symbol, place),
      );
      if (monotonic() >= until) break;
    }
    return leaves;
  }

  /** Forecast standard deviations over the registered horizons; `null` without a forecast. */
  #sigmasOf(symbol: string, { assetClass, close, records, horizons }: RunInProgress) {
    const found = records.get(symbol);
    if (found === undefined || horizons === null) return null;
    const sigma = this.#sigmaAt(found.bars, assetClass, close);
    if (sigma === undefined) return null;
    const bar = newestKnownRecord(found.bars, close) as Bar;
    return horizons.map((one) => horizonSigma(sigma, one, sessionsToReport(one, found, bar)));
  }
}

/**
 * Whether a snapshot was computed by the method with this hash. A method version ends with the
 * first digits of its hash; versions without these digits never match.
 */
function isOfMethod(
  { methodVersion = runningMethod().version }: PastSnapshot,
  methodHash: string,
): boolean {
  const [, digits = ""] = methodVersion.split(/\+(?:modified\.)?/);
  return digits !== "" && methodHash.startsWith(digits);
}
