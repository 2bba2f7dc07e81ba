import type { InstrumentRecords } from "../market/records.ts";
import { nextSignal, type SessionScore, type SignalState } from "./direction.ts";
import { evaluate, type Measured, type Moment, measureAll, sharedContext } from "./measured.ts";
import { freezePeers, NO_PEERS, type PeerTables } from "./peers.ts";
import { createSnapshot, type Snapshot, sessionScore } from "./snapshot.ts";
import { createTrack, type Track } from "./track.ts";

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
}

/** An instrument as the walk follows it, with its signal after the newest close. */
interface Follower {
  readonly track: Track;
  readonly after?: SignalState;
}

/** Options of a walk. */
interface WalkOptions {
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
  /** Whether the session after the newest close has begun. */
  isUnderWay: boolean;
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
    isUnderWay: false,
    tablesBefore: NO_PEERS,
    tables: NO_PEERS,
  };
  return {
    advance({ group, closes, at, isSameSession }) {
      while ((closes[walk.closedSessions] ?? Number.POSITIVE_INFINITY) <= at) {
        closeSession(walk, group, closes);
      }
      if (at === closes[walk.closedSessions - 1]) return;
      scoreInterim(walk, group, {
        closes: closes.slice(0, walk.closedSessions),
        at,
        isSameSession,
      });
    },
  };
}

function closeSession(
  walk: Walk,
  group: readonly InstrumentRecords[],
  closes: readonly number[],
): void {
  beginSession(walk);
  walk.closedSessions++;
  walk.isUnderWay = false;
  const past = closes.slice(0, walk.closedSessions);
  const at = past.at(-1) as number;
  const next = closes[walk.closedSessions];

  advanceTracks(walk, group, at);
  if (at >= walk.origin || next === undefined || next >= walk.origin) {
    const moment = { closes: past, at, dayMs: walk.dayMs };
    const measured = measureAll(tracksOf(walk), group, moment);
    walk.tablesBefore = walk.tables;
    if (at >= walk.origin) scoreClosed(walk, measured, moment);
    walk.tables = freezeTrading(measured);
  }
  for (const { track } of walk.followers) track.closeSession(at);
}

/** Once per session, at its close or at the first look at it before that. */
function beginSession(walk: Walk): void {
  if (walk.isUnderWay) return;
  walk.isUnderWay = true;
  for (const { track } of walk.followers) track.beginSession();
}

function scoreInterim(
  walk: Walk,
  group: readonly InstrumentRecords[],
  { closes, at, isSameSession }: Omit<ClassView, "group">,
): void {
  if (!isSameSession) beginSession(walk);
  advanceTracks(walk, group, at);
  const moment = { closes, at, dayMs: walk.dayMs };
  const measured = measureAll(tracksOf(walk), group, moment);
  const tables = isSameSession ? walk.tablesBefore : walk.tables;
  const context = sharedContext(measured, { ...moment, tables });
  for (const one of measured) {
    const { after } = walk.followers[one.index] as Follower;
    const { evaluation, composite } = evaluate(one, context);
    const signal = standingSignal(after, sessionScore(evaluation, composite));
    walk.sink(createSnapshot(evaluation, composite, signal), "interim");
  }
}

/** Signals are decided at closes; between two of them only a long pause in trading ends one. */
const standingSignal = (closed: SignalState | undefined, session: SessionScore): SignalState =>
  closed !== undefined && session.missedSessions <= 1 ? closed : nextSignal(closed, session);

function advanceTracks(walk: Walk, group: readonly InstrumentRecords[], at: number): void {
  walk.followers = group.map((records, index) => {
    const follower = walk.followers[index] ?? { track: createTrack(records, walk.dayMs) };
    follower.track.advance(records, at);
    return follower;
  });
}

/** Scores every instrument against the tables frozen before its newest session. */
function scoreClosed(walk: Walk, measured: readonly Measured[], moment: Moment): void {
  const followers = [...walk.followers];
  const context = sharedContext(measured, { ...moment, tables: walk.tablesBefore });
  for (const one of measured) {
    const { track, after: before } = followers[one.index] as Follower;
    const { evaluation, composite } = evaluate(one, context);
    const after = nextSignal(before, sessionScore(evaluation, composite));
    walk.sink(createSnapshot(evaluation, composite, after), "closed");
    followers[one.index] = { track, after };
  }
  walk.followers = followers;
}

const tracksOf = ({ followers }: Walk) => followers.map(({ track }) => track);

/** Tables of the instruments that still trade: a long-gone one is nobody's peer. */
function freezeTrading(measured: readonly Measured[]): PeerTables {
  const trading = measured.filter(({ missedSessions }) => missedSessions <= 1);
  return freezePeers(trading.map(({ measurement }) => measurement));
}
