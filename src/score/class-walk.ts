import { MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { nextSignal, type SignalState } from "./direction.ts";
import { freezePeers, NO_PEERS, type PeerTables } from "./peers.ts";
import { readFactors } from "./readings.ts";
import { createSnapshot, type Snapshot, scoreOf } from "./snapshot.ts";
import { createTrack, type Measurement, type Track } from "./track.ts";

/** Receives every snapshot of the walk; `closed` ones are final, the others may be replaced. */
type SnapshotSink = (snapshot: Snapshot, kind: "closed" | "interim") => void;

/** One asset class walked session by session, so that signals have a past. */
export interface ClassWalk {
  /**
   * Scores every session that closed by `at` and, when `at` is later than the newest close, that
   * session once more with what became known since.
   *
   * @param group The class's records, the same instruments in the same order on every call.
   * @param at Unix milliseconds, never falling.
   */
  advance(group: readonly InstrumentRecords[], at: number): void;
}

/** An instrument as the walk follows it, its signal before and after the newest closed session. */
interface Follower {
  readonly track: Track;
  readonly before?: SignalState;
  readonly after?: SignalState;
}

/** An instrument that trades, as measured at one instant. */
interface Measured {
  readonly index: number;
  readonly records: InstrumentRecords;
  readonly measurement: Measurement;
  readonly missedSessions: number;
}

/** Options of a walk. */
export interface WalkOptions {
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** Sessions that close before this instant (Unix milliseconds) warm up and are not scored. */
  readonly origin: number;
  readonly sink: SnapshotSink;
}

/** How far the walk has come. */
interface Walk extends WalkOptions {
  followers: readonly Follower[];
  closedSessions: number;
  /** Tables frozen at the close before the newest session, and at the newest close. */
  tablesBefore: PeerTables;
  tables: PeerTables;
}

/** Starts a walk before the first record of the class. */
export function createClassWalk(options: WalkOptions): ClassWalk {
  const walk: Walk = {
    ...options,
    followers: [],
    closedSessions: 0,
    tablesBefore: NO_PEERS,
    tables: NO_PEERS,
  };
  return {
    advance(group, at) {
      const closes = sessionCloses(group, at);
      while (walk.closedSessions < closes.length) closeSession(walk, group, closes);
      if (at === closes.at(-1)) return;
      advanceTracks(walk, group, at);
      score(walk, measureAll(walk, group, { closes, at }), { at, kind: "interim" });
    },
  };
}

function closeSession(
  walk: Walk,
  group: readonly InstrumentRecords[],
  closes: readonly number[],
): void {
  walk.closedSessions++;
  const past = closes.slice(0, walk.closedSessions);
  const at = past.at(-1) as number;
  const next = closes[walk.closedSessions];

  for (const { track } of walk.followers) track.conversation.beginSession();
  walk.followers = walk.followers.map(({ track, after }) => ({
    track,
    ...(after && { before: after }),
  }));
  advanceTracks(walk, group, at);
  if (at >= walk.origin || next === undefined || next >= walk.origin) {
    const measured = measureAll(walk, group, { closes: past, at });
    walk.tablesBefore = walk.tables;
    if (at >= walk.origin) score(walk, measured, { at, kind: "closed" });
    walk.tables = freezeTrading(measured);
  }
  for (const { track } of walk.followers) track.conversation.closeSession();
}

function advanceTracks(walk: Walk, group: readonly InstrumentRecords[], at: number): void {
  walk.followers = group.map((records, index) => {
    const follower = walk.followers[index] ?? { track: createTrack(records, walk.dayMs) };
    follower.track.advance(records, at);
    return follower;
  });
}

function measureAll(
  { followers, dayMs }: Walk,
  group: readonly InstrumentRecords[],
  { closes, at }: { readonly closes: readonly number[]; readonly at: number },
): readonly Measured[] {
  return group.flatMap((records, index) => {
    const { track } = followers[index] as Follower;
    const newestBar = track.bars.at(-1);
    if (newestBar === undefined) return [];
    const maxAgeMs = MAX_BAR_AGE_DAYS[records.instrument.assetClass] * dayMs;
    const missed =
      at - newestBar.availableAt > maxAgeMs
        ? Number.POSITIVE_INFINITY
        : missedSessions(closes, newestBar.availableAt);
    return [{ index, records, measurement: track.measure(at), missedSessions: missed }];
  });
}

/** Scores every instrument against the tables frozen before its newest session. */
function score(
  walk: Walk,
  measured: readonly Measured[],
  { at, kind }: { readonly at: number; readonly kind: "closed" | "interim" },
): void {
  const { dayMs, tablesBefore: tables } = walk;
  const followers = [...walk.followers];
  const context = { at, dayMs, tables, ...feedTimes(measured, followers) };
  for (const { index, records, measurement, missedSessions } of measured) {
    const { track, before } = followers[index] as Follower;
    const { instrument } = records;
    const readings = readFactors({ records, track, measurement }, { ...context, missedSessions });
    const newestBar = track.bars.at(-1);
    const evaluation = { instrument, at, readings, newestBar, missedSessions };
    const composite = scoreOf(evaluation);
    const after = nextSignal(before, {
      at,
      assetClass: instrument.assetClass,
      score: composite.score,
      confidence: composite.confidence,
      bars: track.bars.length,
      missedSessions,
    });
    walk.sink(createSnapshot(evaluation, composite, after), kind);
    if (kind === "closed") followers[index] = { track, ...(before && { before }), after };
  }
  walk.followers = followers;
}

/** The instants at which sessions of the class closed, ascending: when any bar became known. */
function sessionCloses(group: readonly InstrumentRecords[], at: number): readonly number[] {
  const closes = new Set<number>();
  for (const { bars } of group) for (const bar of bars) closes.add(bar.availableAt);
  return [...closes].filter((close) => close <= at).sort((a, b) => a - b);
}

/** Sessions closed since an instrument's newest bar became known. */
function missedSessions(closes: readonly number[], newestBarAt: number): number {
  let missed = 0;
  while ((closes.at(-1 - missed) ?? 0) > newestBarAt) missed++;
  return missed;
}

/** Tables of the instruments that still trade: a long-gone one is nobody's peer. */
function freezeTrading(measured: readonly Measured[]): PeerTables {
  const trading = measured.filter(({ missedSessions }) => missedSessions <= 1);
  return freezePeers(trading.map(({ measurement }) => measurement));
}

/** When each feed of the class last had anything at all. */
function feedTimes(measured: readonly Measured[], followers: readonly Follower[]) {
  const newest = (times: readonly (number | null)[]) =>
    times.reduce<number | null>(
      (max, time) => (max === null || (time ?? 0) > max ? time : max),
      null,
    );
  return {
    mentionsAt: newest(followers.map(({ track }) => track.conversation.newestAt)),
    printsAt: newest(
      measured.flatMap(({ measurement: { darkpool } }) => [
        darkpool.block.asOf,
        darkpool.short.asOf,
      ]),
    ),
  };
}
