import { memoByVersion } from "../lib/memo.ts";
import type { RecordList } from "../market/records.ts";
import { type ClosedSnapshots, createClosedSnapshots } from "./closed-snapshots.ts";
import type { PeerTables } from "./peers.ts";
import type { SnapshotArchive } from "./scoring-engine.ts";
import type { SignalRecord } from "./signal-records.ts";
import type { Snapshot } from "./snapshot.ts";

/** The snapshots in memory, readable by instrument and time. */
export interface MemoryArchive extends SnapshotArchive {
  /** Rises whenever what can be read here has changed. */
  edition(): number;
  /** The latest instant that any snapshot here is of, Unix milliseconds; minus infinity without one. */
  latestAt(): number;
  /** The newest snapshot of an instrument. */
  newest(symbol: string): Snapshot | undefined;
  /** The newest snapshots of all instruments, in alphabetical order of their symbols; one list as
   *  long as the edition is the same. */
  allNewest(): readonly Snapshot[];
  /** The last snapshot at or before an instant, with factors only while they are kept. */
  lastAt(symbol: string, at: number): Snapshot | SignalRecord | undefined;
  /** Final snapshots of the sessions that closed in [from, to], oldest first. */
  history(symbol: string, from: number, to: number): RecordList<SignalRecord>;
  /** Final snapshots of the sessions that closed after an instant, oldest first, at a cost that
   *  depends only on how many there are. */
  closedAfter(symbol: string, at: number): readonly (Snapshot | SignalRecord)[];
  /** Every table that a kept snapshot was made with, newest first. */
  tables(): readonly PeerTables[];
}

/** Snapshots of one instrument. */
interface InstrumentSnapshots {
  newest: Snapshot;
  readonly closed: ClosedSnapshots;
}

/** The snapshots of one replay, by symbol. */
interface Index {
  readonly instruments: Map<string, InstrumentSnapshots>;
  latestAt: number;
}

const emptyIndex = (): Index => ({ instruments: new Map(), latestAt: Number.NEGATIVE_INFINITY });

/** Creates an empty archive. Readers see what was kept before `clear` until `publish`. */
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
  return {
    clear() {
      written = emptyIndex();
    },
    publish() {
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
    newest: (symbol) => entryOf(symbol)?.newest,
    allNewest: perEdition(() => sorted(shown.instruments.values())),
    lastAt(symbol, at) {
      const { newest, closed } = entryOf(symbol) ?? {};
      return newest && newest.at <= at ? newest : closed?.lastAt(at);
    },
    history: (symbol, from, to) => entryOf(symbol)?.closed.between(from, to) ?? [],
    closedAfter: (symbol, at) => entryOf(symbol)?.closed.after(at) ?? [],
    tables: perEdition(() => tablesOf(shown.instruments.values())),
  };
}

const sorted = (instruments: Iterable<InstrumentSnapshots>): readonly Snapshot[] =>
  Array.from(instruments, ({ newest }) => newest).sort((a, b) =>
    a.instrument.symbol < b.instrument.symbol ? -1 : 1,
  );

function tablesOf(instruments: Iterable<InstrumentSnapshots>): readonly PeerTables[] {
  const found = new Set<PeerTables>();
  for (const { newest, closed } of instruments) {
    for (const { tables } of [newest, ...closed.whole]) {
      if (tables !== undefined) found.add(tables);
    }
  }
  return [...found].sort((a, b) => (b.epoch ?? 0) - (a.epoch ?? 0));
}
