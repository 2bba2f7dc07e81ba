import { type Benchmark, createBenchmark } from "../factors/benchmark.ts";
import type { AuthorActivity } from "../factors/message-weight.ts";
import { createPriceHistories, type PriceHistory, recompute } from "../factors/price-history.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { chooseBenchmark } from "./benchmarked.ts";
import type { TextReading } from "./conversation.ts";
import { nextSignal, type SessionScore, type SignalState } from "./direction.ts";
import { countAfter, evaluate, type Measured, measureOne } from "./measured.ts";
import { freezePeers, noPeers, type PeerTables } from "./peers.ts";
import type { ReadingContext } from "./readings.ts";
import { createSnapshot, type Snapshot, sessionScore } from "./snapshot.ts";
import { advanceTrack, beginSession, createTrack, endSession, type Track } from "./track.ts";

/** Receives every snapshot of the walk; `closed` ones are final, the others may be replaced. */
type SnapshotSink = (snapshot: Snapshot, kind: "closed" | "interim") => void;

/** A class up to an instant: what to score and against which calendar. */
interface ClassView {
  /** The class's records, the same instruments in the same order on every call. */
  readonly group: readonly InstrumentRecords[];
  /** When the sessions of the class's calendar closed, ascending; later ones are not read. */
  readonly closes: readonly number[];
  /** Unix milliseconds, never falling from call to call. */
  readonly at: number;
  /** Whether `at` lies in the day of the newest close, and not in one after it. */
  readonly isSameSession: boolean;
}

/** One asset class walked session by session, so that signals have a past. */
export interface ClassWalk {
  /**
   * Scores every session that closed by `at` and decides its signals. When `at` is later than the
   * newest close, scores and factors are brought up to it and the signals stand.
   */
  advance(view: ClassView): void;
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
  readonly readText: (text: string) => TextReading;
  readonly sink: SnapshotSink;
}

/** How far the walk has come. */
interface Walk extends WalkOptions {
  readonly benchmark: Benchmark;
  readonly newPriceHistory: () => PriceHistory;
  /** By position in the class, like the signals after the newest close. */
  readonly tracks: Track[];
  readonly signals: (SignalState | undefined)[];
  /** Sessions closed so far, in Unix milliseconds. */
  readonly closed: number[];
  /** Whether the session after the newest close has begun. */
  isUnderWay: boolean;
  /** Tables frozen at the close before the newest session, and at the newest close. */
  tablesBefore: PeerTables;
  tables: PeerTables;
  /** When the newest message, and print or short volume, of the class became known. */
  mentionsAt: number | null;
  printsAt: number | null;
  drift: number;
}

/** Starts a walk before the first record of the class. */
export function createClassWalk(options: WalkOptions): ClassWalk {
  const { assetClass } = options;
  const walk: Walk = {
    ...options,
    benchmark: createBenchmark(assetClass),
    newPriceHistory: createPriceHistories(),
    tracks: [],
    signals: [],
    closed: [],
    isUnderWay: false,
    tablesBefore: noPeers(assetClass),
    tables: noPeers(assetClass),
    mentionsAt: null,
    printsAt: null,
    drift: 0,
  };
  return {
    advance({ group, closes, at, isSameSession }) {
      while ((closes[walk.closed.length] ?? Number.POSITIVE_INFINITY) <= at) {
        closeSession(walk, group, closes);
      }
      if (at === walk.closed.at(-1)) return;
      if (!isSameSession) startSession(walk);
      scoreInterim(walk, advanceTo(walk, group, at), { at, isSameSession });
    },
    advanceSome({ group, at, isSameSession }, positions) {
      if (!isSameSession) startSession(walk);
      for (const position of positions) advanceAt(walk, group, { position, at });
      scoreInterim(walk, positions, { at, isSameSession });
    },
    get drift() {
      return walk.drift;
    },
  };
}

function closeSession(
  walk: Walk,
  group: readonly InstrumentRecords[],
  closes: readonly number[],
): void {
  const { closed, benchmark, tracks, dayMs, origin } = walk;
  const at = closes[closed.length] as number;
  const next = closes[closed.length + 1];
  startSession(walk);
  closed.push(at);
  walk.isUnderWay = false;

  const positions = advanceTo(walk, group, at);
  benchmark.close();
  if (at >= origin || next === undefined || next >= origin) {
    recomputeAll(walk);
    const measured = measureAll(walk, positions, at);
    walk.tablesBefore = walk.tables;
    if (at >= origin) scoreClosed(walk, measured, at);
    walk.tables = freezeTrading(walk, measured, at);
  }
  for (const track of tracks) endSession(track, at, dayMs);
  chooseBenchmark(tracks);
}

/** Once per session, at its close or at the first look at it before that. */
function startSession(walk: Walk): void {
  if (walk.isUnderWay) return;
  walk.isUnderWay = true;
  for (const track of walk.tracks) beginSession(track);
}

/** Brings all tracks up to an instant and returns their positions. */
function advanceTo(walk: Walk, group: readonly InstrumentRecords[], at: number): Iterable<number> {
  for (let position = 0; position < group.length; position++) {
    advanceAt(walk, group, { position, at });
  }
  return walk.tracks.keys();
}

function advanceAt(
  walk: Walk,
  group: readonly InstrumentRecords[],
  { position, at }: { readonly position: number; readonly at: number },
): void {
  const records = group[position] as InstrumentRecords;
  walk.tracks[position] ??= createTrack(records, walk);
  advanceTrack(walk.tracks[position], { records, at }, walk);
}

/** Running sums are worked out afresh once per epoch. */
function recomputeAll(walk: Walk): void {
  const { returns } = walk.benchmark;
  for (const { listed } of walk.tracks) {
    if (listed !== undefined) walk.drift = Math.max(walk.drift, recompute(listed, returns));
  }
}

/** Measures the instruments that have traded, and notes how fresh the feeds of the class are. */
function measureAll(walk: Walk, positions: Iterable<number>, at: number): readonly Measured[] {
  const moment = { closes: walk.closed, at, dayMs: walk.dayMs };
  const measured: Measured[] = [];
  for (const position of positions) {
    const one = measureOne(walk.tracks[position] as Track, position, moment);
    if (one === undefined) continue;
    measured.push(one);
    const { block, short } = one.measurement.darkpool;
    walk.mentionsAt = later(walk.mentionsAt, one.track.conversation?.newestAt ?? null);
    walk.printsAt = later(walk.printsAt, later(block.asOf, short.asOf));
  }
  return measured;
}

const later = (a: number | null, b: number | null): number | null =>
  a === null || (b !== null && b > a) ? b : a;

function scoreInterim(
  walk: Walk,
  positions: Iterable<number>,
  { at, isSameSession }: Pick<ClassView, "at" | "isSameSession">,
): void {
  const measured = measureAll(walk, positions, at);
  const context = contextOf(walk, at, isSameSession ? walk.tablesBefore : walk.tables);
  for (const one of measured) {
    const { evaluation, composite } = evaluate(one, context);
    const signal = standingSignal(walk.signals[one.index], sessionScore(evaluation, composite));
    walk.sink(createSnapshot(evaluation, composite, signal), "interim");
  }
}

/** Signals are decided at closes; between two of them only a long pause in trading ends one. */
const standingSignal = (closed: SignalState | undefined, session: SessionScore): SignalState =>
  closed !== undefined && session.missedSessions <= 1 ? closed : nextSignal(closed, session);

/** Scores every instrument against the tables frozen before its newest session. */
function scoreClosed(walk: Walk, measured: readonly Measured[], at: number): void {
  const context = contextOf(walk, at, walk.tablesBefore);
  for (const one of measured) {
    const { evaluation, composite } = evaluate(one, context);
    const after = nextSignal(walk.signals[one.index], sessionScore(evaluation, composite));
    walk.signals[one.index] = after;
    walk.sink(createSnapshot(evaluation, composite, after), "closed");
  }
}

function contextOf(walk: Walk, at: number, tables: PeerTables): ReadingContext {
  const { assetClass, dayMs, benchmark, mentionsAt, printsAt } = walk;
  const marketVolatility = benchmark.volatility;
  return {
    at,
    dayMs,
    tables,
    momentum: { at, assetClass, dayMs, tables: tables.momentum, marketVolatility },
    closesAfter: (instant) => countAfter(walk.closed, instant),
    mentionsAt,
    printsAt,
  };
}

/** Tables of the instruments that still trade: a long-gone one is nobody's peer. */
function freezeTrading(
  { assetClass }: Walk,
  measured: readonly Measured[],
  at: number,
): PeerTables {
  const trading = measured.filter(({ missedSessions }) => missedSessions <= 1);
  return freezePeers(
    trading.map(({ measurement }) => measurement),
    { assetClass, epoch: at },
  );
}
