import type { SnapshotArchive } from "../score/engine.ts";
import type { Snapshot } from "../score/snapshot.ts";

/** Sessions for which the whole snapshot is kept; older ones keep what a signal answer needs. */
const FULL_SESSIONS = 30;

/** Sessions kept per instrument; older ones are forgotten. */
const MAX_SESSIONS = 1_000;

/** A snapshot without its factors. */
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
}

interface Shelf {
  /** `undefined` while a restarted walk has not come to the instrument. */
  newest: Snapshot | undefined;
  /** Final snapshots, oldest first; the last `FULL_SESSIONS` are whole. */
  readonly closed: (Snapshot | SignalRecord)[];
}

/** Creates an empty archive. What is on record stays as it was recorded. */
export function createSnapshotArchive(): MemoryArchive {
  const shelves = new Map<string, Shelf>();
  const shelfOf = ({ instrument: { symbol } }: Snapshot) => {
    const shelf = shelves.get(symbol) ?? { newest: undefined, closed: [] };
    shelves.set(symbol, shelf);
    return shelf;
  };
  return {
    restart() {
      for (const shelf of shelves.values()) shelf.newest = undefined;
    },
    addClosed(snapshot) {
      const shelf = shelfOf(snapshot);
      shelf.newest = snapshot;
      if ((shelf.closed.at(-1)?.at ?? 0) < snapshot.at) record(shelf.closed, snapshot);
    },
    setNewest(snapshot) {
      shelfOf(snapshot).newest = snapshot;
    },
    newest: (symbol) => shelves.get(symbol)?.newest,
    allNewest: () =>
      [...shelves.values()]
        .flatMap(({ newest }) => newest ?? [])
        .sort((a, b) => (a.instrument.symbol < b.instrument.symbol ? -1 : 1)),
    lastAt(symbol, at) {
      const { newest, closed = [] } = shelves.get(symbol) ?? {};
      return newest && newest.at <= at ? newest : closed.findLast((past) => past.at <= at);
    },
    history: (symbol, from, to) =>
      (shelves.get(symbol)?.closed ?? []).filter(({ at }) => at >= from && at <= to),
  };
}

function record(closed: (Snapshot | SignalRecord)[], snapshot: Snapshot): void {
  const thinned = closed.at(-FULL_SESSIONS);
  if (thinned !== undefined) closed[closed.length - FULL_SESSIONS] = thin(thinned);
  if (closed.push(snapshot) > MAX_SESSIONS) closed.shift();
}

function thin(snapshot: Snapshot | SignalRecord): SignalRecord {
  if (!("factors" in snapshot)) return snapshot;
  const { factors: _, ...rest } = snapshot;
  return rest;
}
