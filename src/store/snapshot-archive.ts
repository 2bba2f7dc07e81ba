import type { SnapshotArchive } from "../score/engine.ts";
import type { PeerTables } from "../score/peers.ts";
import type { Snapshot } from "../score/snapshot.ts";

/** Sessions for which the whole snapshot is kept; older ones keep what a signal answer needs. */
const FULL_SESSIONS = 30;

/** A snapshot without its factors, nor what they were compared with. */
type SignalRecord = Omit<Snapshot, "factors">;

/** The snapshots in memory, readable by instrument and time. */
export interface MemoryArchive extends SnapshotArchive {
  /** The newest snapshot of an instrument. */
  newest(symbol: string): Snapshot | undefined;
  /** The newest snapshots of all instruments, in alphabetical order of their symbols. */
  allNewest(): readonly Snapshot[];
  /** The last snapshot at or before an instant, with factors only while they are kept. */
  lastAt(symbol: string, at: number): Snapshot | SignalRecord | undefined;
  /** Final snapshots of the sessions that closed in [from, to], oldest first. */
  history(symbol: string, from: number, to: number): readonly SignalRecord[];
  /** Final snapshots of the sessions that closed after an instant, oldest first, at a cost that
   *  depends only on how many there are. */
  closedAfter(symbol: string, at: number): readonly (Snapshot | SignalRecord)[];
  /** Every table that a kept snapshot was made with, newest first. */
  tables(): readonly PeerTables[];
}

interface Shelf {
  newest: Snapshot;
  /** Final snapshots, oldest first; the last `FULL_SESSIONS` are whole. */
  readonly closed: (Snapshot | SignalRecord)[];
}

/** Creates an empty archive. Readers see what was kept before `clear` until `publish`. */
export function createSnapshotArchive(): MemoryArchive {
  let shelves = new Map<string, Shelf>();
  let written = shelves;
  const put = (snapshot: Snapshot): Shelf => {
    const { symbol } = snapshot.instrument;
    const shelf = { newest: snapshot, closed: written.get(symbol)?.closed ?? [] };
    written.set(symbol, shelf);
    return shelf;
  };
  return {
    clear() {
      written = new Map();
    },
    publish() {
      shelves = written;
    },
    addClosed(snapshot) {
      record(put(snapshot).closed, snapshot);
    },
    setNewest: put,
    newest: (symbol) => shelves.get(symbol)?.newest,
    allNewest: () =>
      [...shelves.values()]
        .map(({ newest }) => newest)
        .sort((a, b) => (a.instrument.symbol < b.instrument.symbol ? -1 : 1)),
    lastAt(symbol, at) {
      const { newest, closed = [] } = shelves.get(symbol) ?? {};
      return newest && newest.at <= at ? newest : closed.findLast((past) => past.at <= at);
    },
    history: (symbol, from, to) =>
      (shelves.get(symbol)?.closed ?? []).filter(({ at }) => at >= from && at <= to),
    closedAfter(symbol, at) {
      const { closed = [] } = shelves.get(symbol) ?? {};
      return closed.slice(closed.findLastIndex((past) => past.at <= at) + 1);
    },
    tables: () => tablesOf(shelves.values()),
  };
}

function tablesOf(shelves: Iterable<Shelf>): readonly PeerTables[] {
  const found = new Set<PeerTables>();
  for (const { newest, closed } of shelves) {
    for (const { tables } of [newest, ...closed.slice(-FULL_SESSIONS)]) {
      if (tables !== undefined) found.add(tables);
    }
  }
  return [...found].sort((a, b) => (b.epoch ?? 0) - (a.epoch ?? 0));
}

function record(closed: (Snapshot | SignalRecord)[], snapshot: Snapshot): void {
  const thinned = closed.at(-FULL_SESSIONS);
  if (thinned !== undefined) closed[closed.length - FULL_SESSIONS] = thin(thinned);
  closed.push(snapshot);
}

function thin(snapshot: Snapshot | SignalRecord): SignalRecord {
  if (!("factors" in snapshot)) return snapshot;
  const { factors: _, tables: __, ...rest } = snapshot;
  return rest;
}
