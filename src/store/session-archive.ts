import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { METHOD_VERSION, type PastSnapshot } from "../score/snapshot.ts";
import type { MemoryArchive } from "../score/snapshot-archive.ts";
import type { Archive, ArchiveRow } from "./port/archive.ts";
import { archivePages } from "./port/read-all.ts";

/**
 * Kind of the rows. They are kept forever, since they are the record by which scores are evaluated: a row
 * takes about 2.5 kB on disk, so 1,000 instruments take about 630 MB a year.
 */
const SNAPSHOT_KIND = "snapshot";

/** Rows per step: a few milliseconds of work, so that no request waits longer. */
const ROWS_PER_STEP = 200;

/** Sessions that closed while no process recorded them are caught up this many market days back. */
const CATCH_UP_DAYS = 30;

/** Dependencies of the session archive. */
export interface SessionArchiveOptions {
  readonly archive: Archive;
  readonly snapshots: Pick<MemoryArchive, "allNewest" | "history">;
  /** Instant up to which sessions have been scored, Unix milliseconds; never decreases. */
  readonly knownUntil: () => number;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /**
   * Whether history is complete from the start. If it arrives gradually, sessions that closed before
   * the first start are not recorded, because their signals were never published.
   */
  readonly hasWholeHistory: boolean;
  /** Deterministic id of a snapshot. */
  readonly idOf: (snapshot: PastSnapshot) => string;
}

/**
 * Records the final snapshot of every session, in the order in which sessions closed. The newest row
 * marks the progress, so a restart or another process continues where one stopped; existing rows keep
 * what was first published.
 *
 * @returns A step of the work: records some snapshots and returns how many, 0 if there are no new ones.
 *   After an error the next call retries the same ones.
 */
export function createSessionArchive(options: SessionArchiveOptions): () => Promise<number> {
  const { archive, knownUntil, idOf } = options;
  const rowOf = (snapshot: PastSnapshot): ArchiveRow => ({
    kind: SNAPSHOT_KIND,
    at: snapshot.at,
    id: idOf(snapshot),
    subject: snapshot.instrument.symbol,
    body: bodyOf(snapshot),
  });
  let waiting: readonly PastSnapshot[] = [];
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
    // An embedded store writes synchronously, so other work must run between two steps.
    await setImmediate();
    return some.length;
  };
}

/**
 * The snapshot with the epoch of its peer tables in place of the tables, which a class shares and which
 * are larger than all its snapshots.
 */
function bodyOf({ tables, ...snapshot }: PastSnapshot) {
  return { ...snapshot, tablesEpoch: tables?.epoch ?? null };
}

/**
 * Compares the recorded snapshots of the sessions that closed in [from, to] with those in memory. Where
 * they differ, because records were corrected since or because the method was another, memory serves the
 * recorded one.
 */
export async function serveRecorded(
  archive: Archive,
  snapshots: Pick<MemoryArchive, "lastAt" | "addRecorded">,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const ofThisMethod = new Set<string>();
  const selection = { from, to, order: "oldest" } as const;
  for await (const page of archivePages(archive, SNAPSHOT_KIND, selection)) {
    for (const row of page) {
      const recorded = recordedSnapshot(row);
      const session = `${row.subject} ${row.at}`;
      // A row of the present method takes precedence over one of the same session by another.
      if (recorded.methodVersion === undefined) ofThisMethod.add(session);
      else if (ofThisMethod.has(session)) continue;
      const found = snapshots.lastAt(row.subject ?? "", row.at);
      if (found?.at === row.at && !isSame(recorded, found)) snapshots.addRecorded(recorded);
    }
  }
}

/** The snapshot of a row; factors only by the method in use, since only it can explain them. */
function recordedSnapshot({ id, body }: ArchiveRow): PastSnapshot {
  const { tablesEpoch: _, factors, ...rest } = body as RecordedBody;
  const methodVersion = id.slice(id.lastIndexOf("/") + 1);
  if (methodVersion !== METHOD_VERSION) return { ...rest, methodVersion };
  return factors === undefined ? rest : { ...rest, factors };
}

/** Body of a row, as `bodyOf` writes it. */
type RecordedBody = Omit<PastSnapshot, "tables" | "methodVersion"> & {
  readonly tablesEpoch: number | null;
};

/** Whether two snapshots of one session are equal in what is compared. */
const isSame = (one: PastSnapshot, other: PastSnapshot): boolean =>
  isDeepStrictEqual(comparedFields(one), comparedFields(other));

function comparedFields(snapshot: PastSnapshot) {
  const { methodVersion, status, score, confidence, coverage, signal, price } = snapshot;
  return { methodVersion, status, score, confidence, coverage, signal, price };
}

/** Where a process starts recording: at the last recorded session, since its rows may be incomplete. */
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
): readonly PastSnapshot[] {
  return snapshots
    .allNewest()
    .flatMap(({ instrument }) => [...snapshots.history(instrument.symbol, from, to)])
    .sort((a, b) => a.at - b.at);
}
