import { type Benchmark, createBenchmark } from "../factors/benchmark.ts";
import { MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import { createPriceHistories, recomputeSumsAndPeak } from "../factors/price-history.ts";
import type { AssetClass } from "../market/instrument.ts";
import { createRecordReader } from "../market/point-in-time.ts";
import type { Bar, InstrumentRecords } from "../market/records.ts";
import type { AuthorActivity } from "../messages/message-weight.ts";
import { CANDIDATE_RULES, candidateReading } from "./candidate.ts";
import type { CloseTables } from "./close-tables.ts";
import { rankCoins } from "./coin-steadiness.ts";
import { BASE_FACTOR_WEIGHTS, composeScore, FACTORS_BY_CLASS } from "./composite.ts";
import {
  advanceInstrument,
  beginSession,
  type ClassContext,
  createInstrumentState,
  endSession,
  type InstrumentState,
  measureInstrument,
} from "./instrument-state.ts";
import type { MessageTextAnalyzer } from "./message-stream.ts";
import { emptyPeerTables, freezePeerTables, type PeerTables } from "./peers.ts";
import {
  computeFactorReadings,
  type MeasuredInstrument,
  type ReadingContext,
  readCrowd,
} from "./readings.ts";
import type { RecordSeries } from "./record-series.ts";
import type { SavedSignals } from "./saved-signals.ts";
import { nextSignal, type SessionScore, type SignalState } from "./signal-hysteresis.ts";
import { createSnapshot, type Snapshot } from "./snapshot.ts";
import { measureStock } from "./stock-ranking.ts";
import { NOT_RANKED } from "./stock-score.ts";
import {
  closeStocks,
  pausedStockSignal,
  type ScoredInstrument,
  scoreBetween,
} from "./stock-scoring.ts";
import { rankStocks } from "./stock-steadiness.ts";

/** Number of instruments in the class benchmark: those with the largest turnover. */
export const BENCHMARK_SIZE = 500;

/** Receives the snapshots that a class scorer computes. */
export interface SnapshotSink {
  /**
   * Stores the final snapshot of a session, which is also the newest snapshot of the instrument.
   *
   * @param ahead Number of final snapshots that will follow before the next read. Default: 0.
   */
  addClosed(snapshot: Snapshot, ahead?: number): void;
  /** Stores the newest snapshot of an instrument, which the next snapshot replaces. */
  setNewest(snapshot: Snapshot): void;
}

/** An instant, and whether it still belongs to the session that closed last. */
interface Moment {
  /** Unix milliseconds; never decreases between calls. */
  readonly at: number;
  /** Whether `at` still belongs to the session that closed last. */
  readonly isSameSession: boolean;
}

/** The records and calendar of a class up to an instant. */
interface ClassView extends Moment {
  /** The records of the class: the same instruments in the same order on every call. */
  readonly group: readonly InstrumentRecords[];
  /**
   * Closes of the sessions in the calendar of the class, ascending; closes after `at` are not read.
   */
  readonly closes: readonly number[];
  /**
   * Unix milliseconds; final snapshots of sessions that close before this instant are not stored.
   */
  readonly servedFrom: number;
  /** Records of a broad fund, for the benchmark of few stocks; absent for the other classes. */
  readonly fund?: InstrumentRecords | undefined;
}

/** Scores the instruments of one asset class session by session, so that signals have a history. */
export class ClassScorer {
  readonly #assetClass: AssetClass;
  readonly #dayMs: number;
  /** Sessions that close after this instant are scored, Unix milliseconds. */
  readonly #scoredAfter: number;
  readonly #kept: SavedSignals | undefined;
  readonly #sink: SnapshotSink;
  readonly #series: Pick<RecordSeries, "at">;
  readonly #benchmark: Benchmark;
  /** State that the instruments of the class share. */
  readonly #shared: ClassContext;
  /** States of the instruments, by position in the class. */
  readonly #states: InstrumentState[] = [];
  readonly #readFund = createRecordReader<Bar>();
  /** Closes of the sessions processed so far, Unix milliseconds. */
  readonly #closes: number[] = [];
  /** Peer tables computed at the second newest close. */
  #tablesBefore: PeerTables;
  /** Peer tables computed at the newest close. */
  #tables: PeerTables;
  #drift = 0;

  /**
   * Creates a scorer that starts before the first record of the class.
   *
   * @param options.dayMs Length of a market day in milliseconds.
   * @param options.scoredFrom Sessions that close before this instant (Unix milliseconds) warm up
   * the running statistics and are not scored.
   * @param options.kept Signals stored after a close, from which the replay continues; sessions up
   * to that close are not scored either.
   * @param options.series The series of the records to score.
   */
  constructor(options: {
    readonly assetClass: AssetClass;
    readonly dayMs: number;
    readonly scoredFrom: number;
    readonly kept: SavedSignals | undefined;
    readonly authors: AuthorActivity;
    readonly readText: MessageTextAnalyzer;
    readonly sink: SnapshotSink;
    readonly series: Pick<RecordSeries, "at">;
  }) {
    const { assetClass, dayMs, scoredFrom, kept, authors, readText, sink, series } = options;
    this.#assetClass = assetClass;
    this.#dayMs = dayMs;
    this.#scoredAfter = kept?.at ?? scoredFrom - 1;
    this.#kept = kept;
    this.#sink = sink;
    this.#series = series;
    this.#benchmark = createBenchmark(assetClass);
    this.#shared = {
      benchmark: this.#benchmark,
      feedTimes: { mentions: null, offExchange: null },
      authors,
      readText,
      newPriceHistory: createPriceHistories(),
      dayMs,
    };
    this.#tablesBefore = emptyPeerTables(assetClass);
    this.#tables = emptyPeerTables(assetClass);
  }

  /** Largest difference found so far between a running sum and its recomputation, in log units. */
  get drift(): number {
    return this.#drift;
  }

  /**
   * Scores every session that closed by `at` and decides its signals. If `at` is later than the
   * newest close, scores and factors are then updated to `at`, but signals are not. Yields after
   * every session.
   */
  *advance(view: ClassView): Generator<void, void> {
    const { group, closes, at, isSameSession } = view;
    for (let ahead = this.#countNew(closes, at) - 1; ahead >= 0; ahead--) {
      this.#closeSession(view, ahead);
      yield;
    }
    if (at === this.#closes.at(-1)) return;
    const moment = { at, isSameSession };
    for (const [position, records] of group.entries()) this.#advanceAt(position, records, moment);
    this.#scoreInterim(moment);
  }

  /** Number of closed sessions that were processed. */
  get sessions(): number {
    return this.#closes.length;
  }

  /** The newest scored close, Unix milliseconds; `undefined` if no session was scored. */
  get scoredAt(): number | undefined {
    const newest = this.#closes.at(-1);
    return newest !== undefined && newest > this.#scoredAfter ? newest : undefined;
  }

  /** The signals as of the newest close, by symbol. */
  signals(): ReadonlyMap<string, SignalState> {
    return new Map(
      this.#states.flatMap(({ instrument, signal }) =>
        signal === undefined ? [] : [[instrument.symbol, signal] as const],
      ),
    );
  }

  /** Number of sessions that closed by `at` and are not processed yet. */
  #countNew(closes: readonly number[], at: number): number {
    const scored = this.#closes.length;
    let next = scored;
    while ((closes[next] ?? Number.POSITIVE_INFINITY) <= at) next++;
    return next - scored;
  }

  /** Updates the state of one instrument to a moment. */
  #advanceAt(position: number, records: InstrumentRecords, { at, isSameSession }: Moment): void {
    this.#states[position] ??= createInstrumentState(records, this.#shared);
    const state = this.#states[position];
    if (!isSameSession) beginSession(state);
    advanceInstrument(state, { records, at }, this.#shared);
  }

  /**
   * Processes the next session up to its close.
   *
   * @param ahead Number of sessions that are processed right after this one.
   */
  #closeSession({ group, closes, servedFrom, fund }: ClassView, ahead: number): void {
    const at = closes[this.#closes.length] as number;
    this.#closes.push(at);
    const moment = { at, isSameSession: false };
    for (let position = 0; position < group.length; position++) {
      this.#advanceAt(position, group[position] as InstrumentRecords, moment);
    }
    if (fund !== undefined) {
      for (const bar of this.#readFund(fund.bars, at)) this.#benchmark.noteFund(bar);
    }
    this.#benchmark.close();
    const next = closes[this.#closes.length] ?? Number.POSITIVE_INFINITY;
    if (at === this.#kept?.at) this.#carryOn(this.#kept);
    if (next > this.#scoredAfter) this.#scoreSession(at, at >= servedFrom ? ahead : undefined);
    for (const state of this.#states) endSession(state, at);
    chooseBenchmark(this.#states);
  }

  /** Restores signals that an earlier replay stored. */
  #carryOn({ signals }: SavedSignals): void {
    for (const state of this.#states) state.signal = signals.get(state.instrument.symbol);
  }

  /**
   * Scores a session, and computes the tables with which the next instants are compared. For the
   * last session before the first scored one, only the tables are computed.
   *
   * @param ahead Number of sessions that are processed right after this one; `undefined` if its
   * snapshots are not stored.
   */
  #scoreSession(at: number, ahead: number | undefined): void {
    this.#tablesBefore = this.#tables;
    const context = this.#contextAt(at, this.#tablesBefore);
    const measured = this.#states.flatMap((state) => {
      this.#recomputeSums(state);
      return measure(state, context) ?? [];
    });
    // An instrument that has stopped trading is not a peer.
    const peers = measured.filter(({ missedSessions }) => missedSessions <= 1);
    const frozen = freezePeerTables(
      peers.map(({ measurement }) => measurement),
      { assetClass: this.#assetClass, epoch: at },
    );
    if (this.#assetClass === "stock") this.#closeStocks(measured, context, { frozen, ahead });
    else this.#closeOthers(measured, context, { frozen, ahead });
  }

  /** Ranks and scores the stocks of a closed session. */
  #closeStocks(
    measured: readonly MeasuredInstrument[],
    before: ReadingContext,
    { frozen, ahead }: { readonly frozen: PeerTables; readonly ahead: number | undefined },
  ): void {
    const { at } = before;
    const isDecided = at > this.#scoredAfter;
    const market = this.#benchmark.returns;
    const marketMonthReturn = market
      .slice(-CANDIDATE_RULES.reversalSessions)
      .reduce((sum, one) => sum + one, 0);
    const close = { at, marketMonthReturn, isDecided };
    const { tables, resultAt, signalAt } = closeStocks(measured, before, close);
    const isStored = ahead !== undefined;
    // At a close with too few bars nothing was ranked.
    const stocks = isStored && tables.at === at ? this.#compareStocks(tables) : tables;
    this.#tablesBefore = { ...this.#tablesBefore, epoch: at, stocks };
    this.#tables = { ...frozen, stocks };
    if (!isDecided) return;
    const context = { ...before, tables: this.#tablesBefore };
    measured.forEach((one, position) => {
      const signal = signalAt(position);
      one.state.signal = signal;
      if (!isStored) return;
      this.#sink.addClosed(snapshotOf(one, resultAt(position), signal, context), ahead);
    });
  }

  /**
   * Computes the results of a close that are beside the score: the candidate method, the steadiness
   * and the exposures.
   */
  #compareStocks(tables: CloseTables): CloseTables {
    for (const state of this.#states) {
      const { standing } = state;
      state.candidate = standing && candidateReading(standing, tables);
    }
    const market = this.#benchmark.returns;
    return rankStocks(this.#states, tables, { market, dayMs: this.#dayMs });
  }

  /** Scores the funds or coins of a closed session, and ranks the coins. */
  #closeOthers(
    measured: readonly MeasuredInstrument[],
    before: ReadingContext,
    { frozen, ahead }: { readonly frozen: PeerTables; readonly ahead: number | undefined },
  ): void {
    const { at } = before;
    const isRanked = this.#assetClass === "crypto" && ahead !== undefined;
    const ranked = isRanked ? { coins: rankCoins(this.#states, at) } : {};
    this.#tablesBefore = { ...this.#tablesBefore, ...ranked };
    this.#tables = { ...frozen, ...ranked };
    if (at <= this.#scoredAfter) return;
    const context = { ...before, tables: this.#tablesBefore };
    for (const one of measured) {
      const { state } = one;
      const result = scoreReadings(one, context);
      state.signal = nextSignal(state.signal, sessionScore(one, result, context));
      if (ahead === undefined) continue;
      this.#sink.addClosed(snapshotOf(one, result, state.signal, context), ahead);
    }
  }

  /** Recomputes running sums once per epoch, so that rounding errors do not accumulate. */
  #recomputeSums({ listed }: InstrumentState): void {
    if (listed === undefined) return;
    this.#drift = Math.max(this.#drift, recomputeSumsAndPeak(listed, this.#benchmark.returns));
  }

  #scoreInterim({ at, isSameSession }: Moment): void {
    const context = this.#contextAt(at, isSameSession ? this.#tablesBefore : this.#tables);
    for (const state of this.#states) {
      const one = measure(state, context);
      if (one !== undefined) this.#sink.setNewest(this.#interim(one, context));
    }
  }

  #interim(one: MeasuredInstrument, context: ReadingContext): Snapshot {
    const { state, missedSessions } = one;
    const { signal: closed } = state;
    const isPaused = closed === undefined || missedSessions > 1;
    if (this.#assetClass === "stock") {
      const signal = isPaused ? pausedStockSignal(one, context.at) : closed;
      return snapshotOf(one, scoreBetween(one, context), signal, context);
    }
    const result = scoreReadings(one, context);
    const signal = isPaused ? nextSignal(closed, sessionScore(one, result, context)) : closed;
    return snapshotOf(one, result, signal, context);
  }

  #contextAt(at: number, tables: PeerTables): ReadingContext {
    const { feedTimes } = this.#shared;
    return {
      at,
      dayMs: this.#dayMs,
      series: this.#series.at(at),
      tables,
      momentum: {
        at,
        assetClass: this.#assetClass,
        dayMs: this.#dayMs,
        tables: tables.momentum,
        marketVolatility: this.#benchmark.volatility,
      },
      closesAfter: (instant) => countAfter(this.#closes, instant),
      mentionsAt: feedTimes.mentions,
      printsAt: feedTimes.offExchange,
    };
  }
}

/** Selects the benchmark for the next session; in a small class, all instruments belong to it. */
function chooseBenchmark(states: readonly InstrumentState[]): void {
  if (states.length <= BENCHMARK_SIZE) return;
  const turnovers = Float64Array.from(states, ({ turnover }) => turnover ?? 0).sort();
  const least = turnovers.at(-BENCHMARK_SIZE) as number;
  for (const state of states) state.isBenchmarked = (state.turnover ?? 0) >= least;
}

/**
 * Measures an instrument; `undefined` before its first bar. If the price is too old, the number of
 * missed sessions is infinite.
 */
function measure(state: InstrumentState, context: ReadingContext): MeasuredInstrument | undefined {
  const { at, dayMs, closesAfter } = context;
  const { newestBar, instrument } = state;
  if (newestBar === undefined) return undefined;
  const isTooOld = at - newestBar.availableAt > MAX_BAR_AGE_DAYS[instrument.assetClass] * dayMs;
  const missedSessions = isTooOld ? Number.POSITIVE_INFINITY : closesAfter(newestBar.availableAt);
  const measurement = measureInstrument(state, at, dayMs);
  const crowd = readCrowd(state, measurement, context);
  const isStock = instrument.assetClass === "stock";
  const raw = isStock ? measureStock(state, measurement, crowd) : NOT_RANKED;
  return { state, measurement, missedSessions, crowd, raw };
}

/** Reads and combines the factors of a fund or coin. */
function scoreReadings(measured: MeasuredInstrument, context: ReadingContext): ScoredInstrument {
  const readings = computeFactorReadings(measured, context);
  const { assetClass } = measured.state.instrument;
  const weights = BASE_FACTOR_WEIGHTS[assetClass];
  const composite = composeScore(readings, weights, FACTORS_BY_CLASS[assetClass]);
  return { readings, composite, split: composite };
}

/** Selects what determines the signal of a fund or coin. */
const sessionScore = (
  { state: { instrument, bars }, missedSessions }: MeasuredInstrument,
  { composite: { score, confidence, coverage } }: ScoredInstrument,
  { at }: ReadingContext,
): SessionScore => ({
  at,
  assetClass: instrument.assetClass,
  score: score as number,
  confidence,
  coverage,
  bars,
  missedSessions,
});

/** Assembles the snapshot of an instrument. */
function snapshotOf(
  { state, missedSessions }: MeasuredInstrument,
  { readings, composite, split, ranking }: ScoredInstrument,
  signal: SignalState,
  { at, series, tables }: ReadingContext,
): Snapshot {
  const { instrument, newestBar, candidate, steadiness, exposures } = state;
  return createSnapshot(
    {
      instrument,
      at,
      series,
      readings,
      split,
      newestBar,
      missedSessions,
      tables,
      candidate,
      steadiness,
      exposures,
      ranking,
    },
    composite,
    signal,
  );
}

/** Number of elements of `closes`, which must be ascending, that are after an instant. */
function countAfter(closes: readonly number[], instant: number): number {
  let count = 0;
  while ((closes[closes.length - 1 - count] ?? 0) > instant) count++;
  return count;
}
