import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { isoInstant } from "../answers/shared-members.ts";
import { liveClaimTerms } from "../grading/live-claim.ts";
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
import type { ClosedSession } from "./closed-sessions.ts";
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
import type { LogState, UnfinishedRun, UnsettledRun } from "./log-state.ts";
import type { LogAppend, LoggedRun, LogStore, StoredCheckpoint } from "./log-store.ts";

/**
 * Maximum time spent on computing one chunk of leaves, in milliseconds, excluding the commit. A
 * bundle takes 5 ms.
 */
const CHUNK_MS = 8;

/** Number of market days after which the sandbox logs method and universes again. */
const YEAR_DAYS = 365;

/** Number of simulated years whose entries the sandbox stores; a simulated day takes a minute. */
const KEPT_YEARS = 3;

/** Dependencies of the writer of runs. */
export interface RunWriterOptions {
  readonly store: LogStore;
  readonly committer: Committer;
  readonly snapshots: Pick<MemoryArchive, "allNewest" | "lastAt">;
  readonly market: Pick<Market, "mode" | "dayMs" | "recordsUntil">;
  readonly riskTable: RiskTable;
  /** The current time of the market, Unix milliseconds. */
  readonly marketNow: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Returns the time of a monotonic clock in milliseconds. */
  readonly monotonic: () => number;
}

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

/** Appends runs: the manifest of a session, then the decision on each instrument. */
export class RunWriter {
  readonly #options: RunWriterOptions;
  #open: RunInProgress | undefined;
  readonly #sigmaAt = createSigmaReader();

  constructor(options: RunWriterOptions) {
    this.#options = options;
  }

  /**
   * Begins the run of a session, with all leaves that it refers to. In the sandbox, a year that is
   * over ends first.
   */
  async start(state: Stored<LogState>, session: ClosedSession): Promise<Stored<LogState>> {
    const { store } = this.#options;
    const ended = await this.#endOfYear(state.value, session);
    return store.append(state, ended ?? (await this.#beginning(state.value, session)));
  }

  /** The leaves that begin a run. A method or a universe that has changed comes before the run. */
  async #beginning(state: LogState, { assetClass, close }: ClosedSession): Promise<LogAppend> {
    const { snapshots, market, riskTable, marketNow, now } = this.#options;
    const symbols = snapshots
      .allNewest()
      .filter(({ instrument }) => instrument.assetClass === assetClass)
      .map(({ instrument }) => instrument.symbol)
      .filter((symbol) => snapshots.lastAt(symbol, close) !== undefined);
    const leaves: Leaf[] = [];
    const nextIndex = () => treeSizeOf(state) + leaves.length;
    const anchor = await this.#nextAnchor(state);
    if (anchor !== undefined) leaves.push(anchorLeaf(anchor.note));
    const { record, replaces } = state;
    const registration: MethodRegistration = { market: market.mode, riskTable, record };
    const registered = methodRegistrationHash(registration);
    let { method, claims } = state;
    if (method?.sha256 !== registered) {
      method = { index: nextIndex(), sha256: registered };
      leaves.push(methodLeaf(registration, now(), replaces));
      const { methodHash } = runningMethod();
      const terms = liveClaimTerms(marketNow());
      const claim = claims?.[methodHash] ?? { index: nextIndex(), terms };
      claims = { ...claims, [methodHash]: claim };
      leaves.push(claimLeaf(claim.terms, now()));
    }
    const sha256 = hash("sha256", JSON.stringify(symbols), "hex");
    let mark = state.universes[assetClass];
    if (mark?.sha256 !== sha256) {
      mark = { sha256, index: nextIndex() };
      leaves.push(...universeLeaves(assetClass, symbols));
    }
    const [index, universe] = [nextIndex(), mark.index];
    leaves.push(runLeaf({ assetClass, close, at: now(), universe, results: symbols.length }));
    const change = {
      method,
      ...(claims && { claims }),
      universes: { ...state.universes, [assetClass]: mark },
      open: { index, assetClass, close },
      ...(anchor && { anchored: anchor.size }),
    };
    return { leaves, change, run: { index, assetClass, close, universe, symbols } };
  }

  /** The last cosigned checkpoint, if its cosignatures are not logged yet. */
  async #nextAnchor({ anchored = 0 }: LogState): Promise<StoredCheckpoint | undefined> {
    const cosigned = await this.#options.store.cosigned();
    return cosigned !== undefined && cosigned.size > anchored ? cosigned : undefined;
  }

  /**
   * Prunes a sandbox whose year is over by the next session. The next runs log method and universes
   * again, so that new entries can still be verified after those of earlier years are deleted. A
   * process that ends before the year is recorded as over leaves the same to prune.
   */
  async #endOfYear(state: LogState, { close }: ClosedSession): Promise<LogAppend | undefined> {
    const { id, repeatedAt } = state;
    const { store, market } = this.#options;
    const { mode, dayMs } = market;
    if (mode !== "sandbox" || close - repeatedAt < YEAR_DAYS * dayMs) return undefined;
    // After a long stop, runs whose returns are not logged yet can be older than that.
    const closes = await this.#closesToSettle(state);
    const kept = Math.min(close - KEPT_YEARS * YEAR_DAYS * dayMs, ...closes);
    const first = await store.firstRunFrom(id, kept);
    if (first !== undefined) await store.prune(first, kept);
    return { leaves: [], change: { repeatedAt: close, method: null, universes: {} } };
  }

  /** Closes of the runs that are going to be settled. One that is not stored never is. */
  async #closesToSettle({ id, unsettled }: LogState): Promise<readonly number[]> {
    const closes: number[] = [];
    for (const { assetClass, close, index } of unsettled) {
      const run = await this.#options.store.runAt(id, assetClass, close);
      if (run?.index === index) closes.push(close);
    }
    return closes;
  }

  /** Appends the next results of the open run. */
  async goOn(state: Stored<LogState>, open: UnfinishedRun): Promise<Stored<LogState>> {
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
    const complete: UnsettledRun = {
      index,
      assetClass,
      close,
      method,
      coveredAt: null,
      settled: 0,
      settlements: [],
    };
    const unsettled = [...state.value.unsettled, complete];
    const change = isComplete ? { open: null, recordedUntil, unsettled } : {};
    return this.#options.store.append(state, { leaves, change });
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
