import { type Benchmark, createBenchmark } from "../factors/benchmark.ts";
import type { AuthorActivity } from "../factors/message-weight.ts";
import { MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import { createPriceHistories, recomputeSumsAndPeak } from "../factors/price-history.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { CANDIDATE_RULES } from "./candidate.ts";
import { rankClose } from "./close-ranking.ts";
import {
  BASE_FACTOR_WEIGHTS,
  type Composite,
  composeScore,
  FACTORS_BY_CLASS,
} from "./composite.ts";
import {
  advanceInstrument,
  beginSession,
  type ClassContext,
  createInstrumentState,
  endSession,
  type InstrumentMeasurement,
  type InstrumentState,
  measureInstrument,
} from "./instrument-state.ts";
import type { MessageTextAnalyzer } from "./message-stream.ts";
import { emptyPeerTables, freezePeerTables, type PeerTables } from "./peers.ts";
import { computeFactorReadings, type MeasuredInstrument, type ReadingContext } from "./readings.ts";
import type { RecordSeries } from "./record-series.ts";
import type { SavedSignals } from "./saved-signals.ts";
import { nextSignal, type SessionScore, type SignalState } from "./signal-hysteresis.ts";
import { createSnapshot, type Snapshot, type SnapshotInputs, sessionScore } from "./snapshot.ts";

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
  #closeSession({ group, closes, servedFrom }: ClassView, ahead: number): void {
    const at = closes[this.#closes.length] as number;
    this.#closes.push(at);
    const moment = { at, isSameSession: false };
    for (let position = 0; position < group.length; position++) {
      this.#advanceAt(position, group[position] as InstrumentRecords, moment);
    }
    this.#benchmark.close();
    const next = closes[this.#closes.length] ?? Number.POSITIVE_INFINITY;
    if (next > this.#scoredAfter) this.#scoreSession(at, at >= servedFrom ? ahead : undefined);
    if (at === this.#kept?.at) this.#carryOn(this.#kept);
    for (const state of this.#states) endSession(state, at, this.#dayMs);
    chooseBenchmark(this.#states);
  }

  /** Restores signals that an earlier replay stored. */
  #carryOn({ signals }: SavedSignals): void {
    for (const state of this.#states) state.signal = signals.get(state.instrument.symbol);
  }

  /**
   * Scores a session with the peer tables of the previous close, and computes the tables for the
   * next session. For the last session before the first scored one, only the tables are computed.
   *
   * @param ahead Number of sessions that are processed right after this one; `undefined` if its
   * snapshots are not stored.
   */
  #scoreSession(at: number, ahead: number | undefined): void {
    this.#tablesBefore = this.#tables;
    const context = this.#contextAt(at, this.#tablesBefore);
    for (const state of this.#states) this.#recomputeSums(state);
    const isStored = ahead !== undefined;
    if (isStored && this.#assetClass === CANDIDATE_RULES.assetClass) {
      rankClose(this.#states, { at, market: this.#benchmark.returns, dayMs: this.#dayMs });
    }
    const peers: InstrumentMeasurement[] = [];
    for (const state of this.#states) {
      const measured = measure(state, context);
      if (measured === undefined) continue;
      // An instrument that has stopped trading is not a peer.
      if (measured.missedSessions <= 1) peers.push(measured.measurement);
      if (at <= this.#scoredAfter) continue;
      const { inputs, composite } = evaluate(measured, context);
      state.signal = nextSignal(state.signal, sessionScore(inputs, composite));
      if (ahead === undefined) continue;
      this.#sink.addClosed(createSnapshot(inputs, composite, state.signal), ahead);
    }
    this.#tables = freezePeerTables(peers, { assetClass: this.#assetClass, epoch: at });
  }

  /** Recomputes running sums once per epoch, so that rounding errors do not accumulate. */
  #recomputeSums({ listed }: InstrumentState): void {
    if (listed === undefined) return;
    this.#drift = Math.max(this.#drift, recomputeSumsAndPeak(listed, this.#benchmark.returns));
  }

  #scoreInterim({ at, isSameSession }: Moment): void {
    const context = this.#contextAt(at, isSameSession ? this.#tablesBefore : this.#tables);
    for (const state of this.#states) {
      const measured = measure(state, context);
      if (measured === undefined) continue;
      const { inputs, composite } = evaluate(measured, context);
      const signal = currentSignal(state.signal, sessionScore(inputs, composite));
      this.#sink.setNewest(createSnapshot(inputs, composite, signal));
    }
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
 * The signal between two closes: the signal of the last close, unless trading has paused for too
 * long.
 */
const currentSignal = (closed: SignalState | undefined, session: SessionScore): SignalState =>
  closed !== undefined && session.missedSessions <= 1 ? closed : nextSignal(closed, session);

/**
 * Measures an instrument; `undefined` before its first bar. If the price is too old, the number of
 * missed sessions is infinite.
 */
function measure(
  state: InstrumentState,
  { at, dayMs, closesAfter }: ReadingContext,
): MeasuredInstrument | undefined {
  const { newestBar, instrument } = state;
  if (newestBar === undefined) return undefined;
  const isTooOld = at - newestBar.availableAt > MAX_BAR_AGE_DAYS[instrument.assetClass] * dayMs;
  const missedSessions = isTooOld ? Number.POSITIVE_INFINITY : closesAfter(newestBar.availableAt);
  return { state, measurement: measureInstrument(state, at, dayMs), missedSessions };
}

/** Reads and combines the factors of one instrument. */
function evaluate(
  measured: MeasuredInstrument,
  context: ReadingContext,
): { readonly inputs: SnapshotInputs; readonly composite: Composite } {
  const { instrument, bars, newestBar, candidate, steadiness, exposures } = measured.state;
  const { missedSessions } = measured;
  const readings = computeFactorReadings(measured, context);
  const { at, series, tables } = context;
  const { assetClass } = instrument;
  const inputs: SnapshotInputs = {
    instrument,
    at,
    series,
    readings,
    bars,
    newestBar,
    missedSessions,
    tables,
    candidate,
    steadiness,
    exposures,
  };
  return {
    inputs,
    composite: composeScore(
      readings,
      BASE_FACTOR_WEIGHTS[assetClass],
      FACTORS_BY_CLASS[assetClass],
    ),
  };
}

/** Number of elements of `closes`, which must be ascending, that are after an instant. */
function countAfter(closes: readonly number[], instant: number): number {
  let count = 0;
  while ((closes[closes.length - 1 - count] ?? 0) > instant) count++;
  return count;
}
