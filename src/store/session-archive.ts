import { setImmediate } from "node:timers/promises";
import type { SignalRecord } from "../score/signal-records.ts";
import type { MemoryArchive } from "../score/snapshot-archive.ts";
import type { Archive, ArchiveRow } from "./port/archive.ts";

/**
 * Kind of the rows. They are kept for ever, since they are the record that scores are judged by: a
 * row takes about 2.5 kB on disk, so 1,000 instruments about 630 MB a year.
 */
const SNAPSHOT_KIND = "snapshot";

/** Rows of one step: some milliseconds of work, so that no request waits longer. */
const ROWS_PER_STEP = 200;

/** Sessions that closed while nothing recorded them are caught up this many market days back. */
const CATCH_UP_DAYS = 30;

/** What is recorded, and where. */
export interface SessionArchiveOptions {
  readonly archive: Pick<Archive, "append" | "read">;
  readonly snapshots: Pick<MemoryArchive, "allNewest" | "history">;
  /** Instant up to which sessions have been scored, Unix milliseconds, never falling. */
  readonly knownUntil: () => number;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** Whether history is whole from the start on; where it comes in by and by, what closed before the
   *  first start is not recorded: nobody could have believed it. */
  readonly hasWholeHistory: boolean;
  /** Names a snapshot, the same one always alike. */
  readonly idOf: (snapshot: SignalRecord) => string;
}

/**
 * Records the final snapshot of every session, by the order in which sessions closed. The newest
 * row tells how far the record reaches, so a restart or another process goes on where one stopped;
 * what is there already stays as it was first believed.
 *
 * @returns A step of the work: records some snapshots and says how many, 0 when nothing is new.
 *   After an error the next call tries the same ones again.
 */
export function createSessionArchive(options: SessionArchiveOptions): () => Promise<number> {
  const { archive, knownUntil, idOf } = options;
  const rowOf = (snapshot: SignalRecord): ArchiveRow => ({
    kind: SNAPSHOT_KIND,
    at: snapshot.at,
    id: idOf(snapshot),
    subject: snapshot.instrument.symbol,
    body: bodyOf(snapshot),
  });
  let waiting: readonly SignalRecord[] = [];
  let recordedUntil: number | undefined;

  return async () => {
    if (waiting.length === 0) {
      const until = knownUntil();
      if (until === recordedUntil) return 0;
      const from =
        recordedUntil === undefined ? await beginning(options, until) : recordedUntil + 1;
      waiting = closedIn(options.snapshots, from, until);
      recordedUntil = until;
    }
    const some = waiting.slice(0, ROWS_PER_STEP);
    await archive.append(some.map(rowOf));
    waiting = waiting.slice(ROWS_PER_STEP);
    // An embedded store writes at once: others must have their turn between two steps.
    await setImmediate();
    return some.length;
  };
}

/** The snapshot with the epoch of its peer tables in their place: a class shares them, and they are
 *  larger than all its snapshots together. */
function bodyOf({ tables, ...snapshot }: SignalRecord) {
  return { ...snapshot, tablesEpoch: tables?.epoch ?? null };
}

/** From when a process records: the session at which the record ends, since its rows may not all be
 *  there. */
async function beginning(
  { archive, dayMs, hasWholeHistory }: SessionArchiveOptions,
  until: number,
): Promise<number> {
  const newest = { to: until, order: "newest", limit: 1 } as const;
  const [row] = await archive.read(SNAPSHOT_KIND, newest);
  if (row === undefined && !hasWholeHistory) return until;
  return Math.max(row?.at ?? 0, until - CATCH_UP_DAYS * dayMs);
}

/** Final snapshots of the sessions that closed in [from, to], oldest first. */
function closedIn(
  snapshots: SessionArchiveOptions["snapshots"],
  from: number,
  to: number,
): readonly SignalRecord[] {
  return snapshots
    .allNewest()
    .flatMap(({ instrument }) => [...snapshots.history(instrument.symbol, from, to)])
    .sort((a, b) => a.at - b.at);
}
