import { memoByVersion } from "../lib/memo.ts";
import { createLazyList } from "../market/lazy-list.ts";
import type { RecordList } from "../market/records.ts";
import { type ClosedSnapshots, createClosedSnapshots } from "./closed-snapshots.ts";
import type { PeerTables } from "./peers.ts";
import type { SnapshotArchive } from "./scoring-engine.ts";
import type { SignalRecord } from "./signal-records.ts";
import type { PastSnapshot, Snapshot } from "./snapshot.ts";

/** Snapshots in memory, readable by instrument and time. */
export interface MemoryArchive extends SnapshotArchive {
  /** Version of the readable content; increases with every change. */
  edition(): number;
  /** Instant of the newest snapshot, Unix milliseconds; -Infinity if there is none. */
  latestAt(): number;
  /** The newest snapshot of an instrument. */
  newest(symbol: string): Snapshot | undefined;
  /**
   * The newest snapshots of all instruments, sorted by symbol; the same array until the edition
   * changes.
   */
  allNewest(): readonly Snapshot[];
  /** The last snapshot at or before an instant; factors are present only while they are kept. */
  lastAt(symbol: string, at: number): PastSnapshot | undefined;
  /** Final snapshots of the sessions that closed in [from, to], oldest first. */
  history(symbol: string, from: number, to: number): RecordList<PastSnapshot>;
  /**
   * Final snapshots of the sessions that closed after an instant, oldest first, at a cost
   * proportional to their number.
   */
  closedAfter(symbol: string, at: number): readonly (Snapshot | SignalRecord)[];
  /**
   * Shows the snapshots of an earlier process, without history, until the first replay is
   * published.
   */
  showLast(snapshots: readonly Snapshot[]): void;
  /**
   * Adds a recorded snapshot, which is served as recorded, even if a later replay computes other
   * figures.
   */
  addRecorded(snapshot: PastSnapshot): void;
  /**
   * Like `addRecorded`, for a snapshot that differs from the computed one only in its series. Until
   * the next replay is published, the recorded series replaces the computed one.
   */
  addRecordedSeries(snapshot: PastSnapshot): void;
  /** The peer tables of all snapshots kept in full, newest first. */
  tables(): readonly PeerTables[];
}

/** Snapshots of one instrument. */
interface InstrumentSnapshots {
  newest: Snapshot;
  readonly closed: ClosedSnapshots;
}

/** The stored snapshots of one replay, by symbol. */
interface Index {
  readonly instruments: Map<string, InstrumentSnapshots>;
  latestAt: number;
}

const emptyIndex = (): Index => ({ instruments: new Map(), latestAt: Number.NEGATIVE_INFINITY });

/** Creates an empty archive. Until `publish`, readers see the state before `clear`. */
export function createSnapshotArchive(): MemoryArchive {
  let shown = emptyIndex();
  let written = shown;
  let edition = 0;
  const put = (snapshot: Snapshot): InstrumentSnapshots => {
    const { instrument } = snapshot;
    const { closed = createClosedSnapshots(instrument) } =
      written.instruments.get(instrument.symbol) ?? {};
    const entry = { newest: snapshot, closed };
    written.instruments.set(instrument.symbol, entry);
    written.latestAt = Math.max(written.latestAt, snapshot.at);
    if (written === shown) edition++;
    return entry;
  };
  const perEdition = <T>(make: () => T) => memoByVersion(() => edition, make);
  const entryOf = (symbol: string) => shown.instruments.get(symbol);
  const recorded = new Map<string, Map<number, PastSnapshot>>();
  /**
   * Recorded series of snapshots that differ only in the series; cleared when another replay is
   * published, since its figures may differ.
   */
  const recordedSeries = new Map<string, Map<number, string | undefined>>();
  /** The last snapshot that another method recorded, by symbol. */
  const replaced = new Map<string, PastSnapshot>();
  const asRecorded = (one: PastSnapshot): PastSnapshot => {
    const { symbol } = one.instrument;
    const found = recorded.get(symbol)?.get(one.at);
    if (found !== undefined) return found;
    const series = recordedSeries.get(symbol);
    const said = series?.has(one.at) ? { ...one, series: series.get(one.at) } : one;
    const last = replaced.get(symbol);
    return last === undefined ? said : sinceSwitch(said, last, entryOf(symbol)?.closed);
  };
  const newest = (symbol: string): Snapshot | undefined => {
    const found = entryOf(symbol)?.newest;
    const record = found && asRecorded(found);
    return record !== undefined && isWhole(record) ? record : found;
  };
  return {
    clear() {
      written = emptyIndex();
    },
    publish() {
      if (shown !== written) recordedSeries.clear();
      shown = written;
      edition++;
    },
    addClosed(snapshot, ahead = 0) {
      put(snapshot).closed.push(snapshot, ahead);
    },
    setNewest: put,
    forgetBefore(at) {
      for (const { closed } of written.instruments.values()) closed.forgetBefore(at);
      if (written === shown) edition++;
    },
    edition: () => edition,
    latestAt: () => shown.latestAt,
    showLast(snapshots) {
      for (const snapshot of snapshots) put(snapshot);
    },
    addRecorded(snapshot) {
      const { symbol } = snapshot.instrument;
      const known = recorded.get(symbol) ?? new Map<number, PastSnapshot>();
      recorded.set(symbol, known.set(snapshot.at, snapshot));
      const isLater = snapshot.at > (replaced.get(symbol)?.at ?? Number.NEGATIVE_INFINITY);
      if (snapshot.methodVersion !== undefined && isLater) replaced.set(symbol, snapshot);
      edition++;
    },
    addRecordedSeries({ instrument: { symbol }, at, series }) {
      const known = recordedSeries.get(symbol) ?? new Map<number, string | undefined>();
      recordedSeries.set(symbol, known.set(at, series));
      edition++;
    },
    newest,
    allNewest: perEdition(() =>
      [...shown.instruments.keys()].sort().flatMap((symbol) => newest(symbol) ?? []),
    ),
    lastAt(symbol, at) {
      const { newest, closed } = entryOf(symbol) ?? {};
      const found = newest && newest.at <= at ? newest : closed?.lastAt(at);
      return found && asRecorded(found);
    },
    history(symbol, from, to) {
      const list = entryOf(symbol)?.closed.between(from, to) ?? [];
      if (!recorded.has(symbol) && !recordedSeries.has(symbol)) return list;
      return createLazyList(
        () => list.length,
        (index) => asRecorded(list.at(index) as PastSnapshot),
      );
    },
    closedAfter: (symbol, at) => entryOf(symbol)?.closed.after(at) ?? [],
    tables: perEdition(() => tablesOf(shown.instruments.values())),
  };
}

/**
 * A snapshot whose signal begins no earlier than the method that decided it: what that method would
 * have said before, nobody was told. The direction before it is the last that was recorded.
 *
 * @param last The last snapshot that another method recorded.
 */
function sinceSwitch(
  one: PastSnapshot,
  last: PastSnapshot,
  closed: ClosedSnapshots | undefined,
): PastSnapshot {
  const { signal } = one;
  if (one.at <= last.at) return one;
  const [{ at: first } = one] = closed?.after(last.at) ?? [];
  if (signal.since > first) return one;
  const since = Math.min(first, one.at);
  return { ...one, signal: { ...signal, since, previous: last.signal.direction } };
}

/** Whether a snapshot has its factors and was computed with the method in use. */
const isWhole = (one: PastSnapshot): one is Snapshot =>
  one.factors !== undefined && one.methodVersion === undefined;

function tablesOf(instruments: Iterable<InstrumentSnapshots>): readonly PeerTables[] {
  const found = new Set<PeerTables>();
  for (const { newest, closed } of instruments) {
    for (const { tables } of [newest, ...closed.whole]) {
      if (tables !== undefined) found.add(tables);
    }
  }
  return [...found].sort((a, b) => (b.epoch ?? 0) - (a.epoch ?? 0));
}
