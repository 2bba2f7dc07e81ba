import { type Benchmark, createBenchmark } from "../factors/benchmark.ts";
import type { AuthorActivity } from "../factors/message-weight.ts";
import { MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import { createPriceHistories, type PriceHistory, recompute } from "../factors/price-history.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { chooseBenchmark } from "./benchmarked.ts";
import { type Composite, compose, WEIGHTS } from "./composite.ts";
import {
  advanceTrack,
  beginSession,
  createTrack,
  endSession,
  type FeedTimes,
  type Measurement,
  measureTrack,
  type Track,
} from "./instrument-state.ts";
import type { TextReader } from "./message-stream.ts";
import { freezePeers, noPeers, type PeerTables } from "./peers.ts";
import { type Observed, type ReadingContext, readFactors } from "./readings.ts";
import { nextSignal, type SessionScore, type SignalState } from "./signal-hysteresis.ts";
import { createSnapshot, type Evaluation, type Snapshot, sessionScore } from "./snapshot.ts";

/** Receives every snapshot of a walk. */
export interface SnapshotSink {
  /**
   * Keeps a session's final snapshot, which is also the newest one.
   *
   * @param ahead Sessions whose snapshots follow before anyone reads. Default: 0.
   */
  addClosed(snapshot: Snapshot, ahead?: number): void;
  /** Replaces the newest snapshot of the instrument until the next one. */
  setNewest(snapshot: Snapshot): void;
}

/** An instant of a class, and the session to which it belongs. */
interface Moment {
  /** Unix milliseconds, never falling from call to call. */
  readonly at: number;
  /** Whether `at` lies in the day of the newest close, and not in one after it. */
  readonly isSameSession: boolean;
}

/** A class up to an instant: what to score and against which calendar. */
interface ClassView extends Moment {
  /** The class's records, the same instruments in the same order on every call. */
  readonly group: readonly InstrumentRecords[];
  /** When the sessions of the class's calendar closed, ascending; later ones are not read. */
  readonly closes: readonly number[];
}

/** One asset class walked session by session, so that signals have a past. */
export interface ClassWalk {
  /**
   * Scores every session that closed by `at` and decides its signals. When `at` is later than the
   * newest close, scores and factors are brought up to it and the signals stand. Yields after every
   * session.
   */
  advance(view: ClassView): Generator<void, void>;
  /**
   * The same for the instruments at some positions, at a cost that does not depend on how many
   * there are in all. No session may have closed since the last call.
   */
  advanceSome(view: ClassView, positions: readonly number[]): void;
  /** Largest difference, in log units, of a running figure from its recomputation, ever seen. */
  readonly drift: number;
}

/** Options of a walk. */
interface WalkOptions {
  readonly assetClass: AssetClass;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** Sessions that close before this instant (Unix milliseconds) warm up and are not scored. */
  readonly origin: number;
  readonly authors: AuthorActivity;
  readonly readText: TextReader;
  readonly sink: SnapshotSink;
}

/** How far the walk has come. */
interface Walk extends WalkOptions {
  readonly benchmark: Benchmark;
  readonly feedTimes: FeedTimes;
  readonly newPriceHistory: () => PriceHistory;
  /** By position in the class. */
  readonly tracks: Track[];
  /** Sessions closed so far, in Unix milliseconds. */
  readonly closed: number[];
  /** Tables frozen at the close before the newest session, and at the newest close. */
  tablesBefore: PeerTables;
  tables: PeerTables;
  drift: number;
}

/** Starts a walk before the first record of the class. */
export function createClassWalk(options: WalkOptions): ClassWalk {
  const { assetClass } = options;
  const walk: Walk = {
    ...options,
    benchmark: createBenchmark(assetClass),
    feedTimes: { mentions: null, offExchange: null },
    newPriceHistory: createPriceHistories(),
    tracks: [],
    closed: [],
    tablesBefore: noPeers(assetClass),
    tables: noPeers(assetClass),
    drift: 0,
  };
  return {
    *advance({ group, closes, ...moment }) {
      for (let ahead = countNew(walk, closes, moment.at) - 1; ahead >= 0; ahead--) {
        closeSession(walk, { group, closes, ahead });
        yield;
      }
      if (moment.at === walk.closed.at(-1)) return;
      for (const position of group.keys()) advanceAt(walk, { group, position }, moment);
      scoreInterim(walk, walk.tracks, moment);
    },
    advanceSome({ group, ...moment }, positions) {
      for (const position of positions) advanceAt(walk, { group, position }, moment);
      const some = positions.map((position) => walk.tracks[position] as Track);
      scoreInterim(walk, some, moment);
    },
    get drift() {
      return walk.drift;
    },
  };
}

/** Sessions that closed by an instant and are not walked yet. */
function countNew({ closed }: Walk, closes: readonly number[], at: number): number {
  let next = closed.length;
  while ((closes[next] ?? Number.POSITIVE_INFINITY) <= at) next++;
  return next - closed.length;
}

/** Brings an instrument up to a moment. */
function advanceAt(
  walk: Walk,
  { group, position }: { readonly group: readonly InstrumentRecords[]; readonly position: number },
  { at, isSameSession }: Moment,
): void {
  const records = group[position] as InstrumentRecords;
  walk.tracks[position] ??= createTrack(records, walk);
  const track = walk.tracks[position];
  if (!isSameSession) beginSession(track);
  advanceTrack(track, { records, at }, walk);
}

/** A session that is to be closed: the next of the calendar. */
interface Closing extends Pick<ClassView, "group" | "closes"> {
  /** Sessions that close right after it. */
  readonly ahead: number;
}

function closeSession(walk: Walk, { group, closes, ahead }: Closing): void {
  const { closed, benchmark, tracks, dayMs, origin } = walk;
  const at = closes[closed.length] as number;
  closed.push(at);
  for (const position of group.keys()) {
    advanceAt(walk, { group, position }, { at, isSameSession: false });
  }
  benchmark.close();
  const next = closes[closed.length] ?? Number.POSITIVE_INFINITY;
  if (next >= origin) gradeSession(walk, at, ahead);
  for (const track of tracks) endSession(track, at, dayMs);
  chooseBenchmark(tracks);
}

/** Scores a session against the tables frozen before it, and freezes those for the next. */
function gradeSession(walk: Walk, at: number, ahead: number): void {
  walk.tablesBefore = walk.tables;
  const context = contextOf(walk, at, walk.tablesBefore);
  const peers: Measurement[] = [];
  for (const track of walk.tracks) {
    recomputeSums(walk, track);
    const observed = observe(track, context);
    if (observed === undefined) continue;
    // A long-gone instrument is nobody's peer.
    if (observed.missedSessions <= 1) peers.push(observed.measurement);
    if (at >= walk.origin) walk.sink.addClosed(scoreClosed(observed, context), ahead);
  }
  walk.tables = freezePeers(peers, { assetClass: walk.assetClass, epoch: at });
}

/** Running sums are worked out afresh once per epoch. */
function recomputeSums(walk: Walk, { listed }: Track): void {
  if (listed === undefined) return;
  walk.drift = Math.max(walk.drift, recompute(listed, walk.benchmark.returns));
}

/** Signals are decided at closes. */
function scoreClosed(observed: Observed, context: ReadingContext): Snapshot {
  const { evaluation, composite } = evaluate(observed, context);
  const { track } = observed;
  track.signal = nextSignal(track.signal, sessionScore(evaluation, composite));
  return createSnapshot(evaluation, composite, track.signal);
}

function scoreInterim(walk: Walk, tracks: readonly Track[], { at, isSameSession }: Moment): void {
  const context = contextOf(walk, at, isSameSession ? walk.tablesBefore : walk.tables);
  for (const track of tracks) {
    const observed = observe(track, context);
    if (observed === undefined) continue;
    const { evaluation, composite } = evaluate(observed, context);
    const signal = standingSignal(track.signal, sessionScore(evaluation, composite));
    walk.sink.setNewest(createSnapshot(evaluation, composite, signal));
  }
}

/** Between two closes only a long pause in trading ends a signal. */
const standingSignal = (closed: SignalState | undefined, session: SessionScore): SignalState =>
  closed !== undefined && session.missedSessions <= 1 ? closed : nextSignal(closed, session);

function contextOf(walk: Walk, at: number, tables: PeerTables): ReadingContext {
  const { assetClass, dayMs, benchmark, feedTimes } = walk;
  const marketVolatility = benchmark.volatility;
  return {
    at,
    dayMs,
    tables,
    momentum: { at, assetClass, dayMs, tables: tables.momentum, marketVolatility },
    closesAfter: (instant) => countAfter(walk.closed, instant),
    mentionsAt: feedTimes.mentions,
    printsAt: feedTimes.offExchange,
  };
}

/**
 * Measures an instrument, `undefined` before its first bar. A price that is too old counts as if
 * infinitely many sessions had been missed.
 */
function observe(
  track: Track,
  { at, dayMs, closesAfter }: Pick<ReadingContext, "at" | "dayMs" | "closesAfter">,
): Observed | undefined {
  const { newestBar, instrument } = track;
  if (newestBar === undefined) return undefined;
  const isTooOld = at - newestBar.availableAt > MAX_BAR_AGE_DAYS[instrument.assetClass] * dayMs;
  const missedSessions = isTooOld ? Number.POSITIVE_INFINITY : closesAfter(newestBar.availableAt);
  return { track, measurement: measureTrack(track, at, dayMs), missedSessions };
}

/** Reads and combines the factors of one instrument. */
function evaluate(
  observed: Observed,
  context: ReadingContext,
): { readonly evaluation: Evaluation; readonly composite: Composite } {
  const { instrument, bars, newestBar } = observed.track;
  const { missedSessions } = observed;
  const readings = readFactors(observed, context);
  const { at, tables } = context;
  const evaluation = { instrument, at, readings, bars, newestBar, missedSessions, tables };
  return { evaluation, composite: compose(readings, WEIGHTS[instrument.assetClass]) };
}

/** How many ascending instants lie after another. */
function countAfter(closes: readonly number[], instant: number): number {
  let count = 0;
  while ((closes[closes.length - 1 - count] ?? 0) > instant) count++;
  return count;
}
