import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { FACTORS } from "../factors/reading.ts";
import { recordedCandidate } from "../method/recorded-candidate.ts";
import { runningMethod } from "../method/running.ts";
import { factorEvidenceOf, type PastSnapshot } from "../score/snapshot.ts";
import type { MemoryArchive } from "../score/snapshot-archive.ts";
import type { Archive, ArchiveRow } from "../store/port/archive.ts";
import { archivePages } from "../store/port/read-all.ts";

/**
 * Archive kind of session snapshots. They are kept forever, because the published scores are
 * evaluated from these snapshots. A row takes about 2.5 kB on disk, so 1,000 instruments take about
 * 630 MB a year.
 */
const SNAPSHOT_KIND = "snapshot";

/**
 * Number of rows written per step. A step takes a few milliseconds, so that requests are not
 * delayed by more than that.
 */
const ROWS_PER_STEP = 200;

/**
 * Maximum number of market days for which recording catches up on sessions that closed while no
 * process was running.
 */
const CATCH_UP_DAYS = 30;

/** Dependencies of `createSessionArchiveJob`. */
export interface SessionArchiveJobOptions {
  readonly archive: Archive;
  readonly snapshots: Pick<MemoryArchive, "allNewest" | "history">;
  /**
   * Instant up to which sessions have been scored, in milliseconds since the epoch; never
   * decreases.
   */
  readonly knownUntil: () => number;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /**
   * Whether the price history is complete from the start. If history arrives gradually, sessions
   * that closed before the first start are not recorded, because their signals were never
   * published.
   */
  readonly hasWholeHistory: boolean;
  /** Derives the row id of a snapshot; the same snapshot always has the same id. */
  readonly idOf: (snapshot: PastSnapshot) => string;
}

/**
 * Creates the job that records the final snapshot of every session, in the order in which sessions
 * closed. The newest row marks the progress, from which this or another process continues after a
 * restart. Existing rows are not overwritten and keep what was published first.
 *
 * @returns A function that records some snapshots and returns their number; 0 if there are no new
 * ones. After an error, the next call retries the same snapshots.
 */
export function createSessionArchiveJob(options: SessionArchiveJobOptions): () => Promise<number> {
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
  let before: RecordedSession | undefined;

  return async () => {
    if (waiting.length === 0) {
      const until = knownUntil();
      if (until === recordedUntil) return 0;
      if (recordedUntil === undefined) {
        before = await lastRecorded(archive, until);
        recordedUntil = beginning(options, until, before) - 1;
      }
      waiting = closedIn(options.snapshots, recordedUntil + 1, until);
      recordedUntil = until;
    }
    const some = waiting.slice(0, ROWS_PER_STEP);
    const isNew = ({ at, instrument }: PastSnapshot) =>
      at !== before?.at || !before.symbols.has(instrument.symbol);
    await archive.append(some.filter(isNew).map(rowOf));
    waiting = waiting.slice(ROWS_PER_STEP);
    // The embedded store writes synchronously, so other work must be able to run between two steps.
    await setImmediate();
    return some.length;
  };
}

/**
 * The row body for a snapshot. It contains the epoch of the peer tables instead of the tables
 * themselves. All instruments of an asset class share these tables, which are larger than all of
 * the instruments' snapshots together.
 */
function bodyOf({ tables, ...snapshot }: PastSnapshot) {
  const candidate = recordedCandidate(snapshot.candidate);
  return { ...snapshot, candidate, tablesEpoch: tables?.epoch ?? null };
}

/**
 * Compares the recorded snapshots of the sessions that closed in the interval [from, to] with those
 * in memory. Where they differ, because data was corrected, or because the method or the record
 * series has changed, the recorded snapshot is served.
 */
export async function serveRecordedSnapshots(
  archive: Archive,
  snapshots: RecordedMemory,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  let session: ArchiveRow[] = [];
  const selection = { from, to, order: "oldest" } as const;
  for await (const page of archivePages(archive, SNAPSHOT_KIND, selection)) {
    for (const row of page) {
      if (row.at !== session[0]?.at) {
        serveSession(session, snapshots);
        session = [];
      }
      session.push(row);
    }
  }
  serveSession(session, snapshots);
}

/** The snapshots in memory, with which recorded snapshots are compared. */
type RecordedMemory = Pick<MemoryArchive, "addRecorded" | "addRecordedSeries" | "lastAt">;

/**
 * Compares the recorded snapshots of one closing instant with those in memory.
 *
 * @param rows Rows of the sessions that closed at that instant.
 */
function serveSession(rows: readonly ArchiveRow[], snapshots: RecordedMemory): void {
  for (const [symbol = "", some] of Map.groupBy(rows, ({ subject }) => subject)) {
    const at = rows[0]?.at ?? 0;
    const found = snapshots.lastAt(symbol, at);
    if (found?.at !== at) continue;
    const ofSymbol = some.map(recordedSnapshot);
    // Snapshots of the current method take precedence over snapshots of other methods. Among those
    // of the current method, a snapshot with the same series as the snapshot in memory takes
    // precedence.
    const ofMethod = ofSymbol.filter(({ methodVersion }) => methodVersion === undefined);
    const said =
      ofMethod.find(({ series }) => series === found.series) ?? ofMethod[0] ?? ofSymbol[0];
    if (said === undefined) continue;
    const isOfSeries = said.series === found.series;
    if (!isSame(said, found)) snapshots.addRecorded(said);
    else if (!isOfSeries && !isSameInDetail(said, found)) snapshots.addRecorded(said);
    else if (!isOfSeries) snapshots.addRecordedSeries(said);
  }
}

/**
 * Restores the snapshot of a row. The factors are omitted if another version of the method computed
 * them, because the current version cannot explain them.
 */
function recordedSnapshot({ id, body }: ArchiveRow): PastSnapshot {
  const { tablesEpoch: _, factors, ...rest } = body as RecordedBody;
  const [, , methodVersion = ""] = id.split("/");
  if (methodVersion !== runningMethod().version) return { ...rest, methodVersion };
  return factors === undefined ? rest : { ...rest, factors };
}

/** Body of a row, in the form that `bodyOf` writes. */
type RecordedBody = Omit<PastSnapshot, "tables" | "methodVersion"> & {
  readonly tablesEpoch: number | null;
};

/**
 * Whether two snapshots of one session are equal in status, score, confidence, coverage, signal,
 * price and method version.
 */
const isSame = (one: PastSnapshot, other: PastSnapshot): boolean =>
  isDeepStrictEqual(comparedFields(one), comparedFields(other));

function comparedFields(snapshot: PastSnapshot) {
  const { methodVersion, status, score, confidence, coverage, signal, price } = snapshot;
  return { methodVersion, status, score, confidence, coverage, signal, price };
}

/**
 * Whether two snapshots of one session have the same factors and the same result of the candidate
 * method. For older sessions, memory has only the z-score and the confidence of each factor, so
 * only those are compared. Snapshots of the same record series are always equal in these details.
 */
function isSameInDetail(recorded: PastSnapshot, computed: PastSnapshot): boolean {
  const isWhole = computed.factors !== undefined;
  const detailsOf = (one: PastSnapshot) =>
    asStored(isWhole ? [one.factors, recordedCandidate(one.candidate)] : summaryOf(one));
  return isDeepStrictEqual(detailsOf(recorded), detailsOf(computed));
}

function summaryOf(snapshot: PastSnapshot) {
  const evidence = factorEvidenceOf(snapshot);
  return FACTORS.map((factor) => [evidence?.[factor].z, evidence?.[factor].confidence]);
}

/** A value in the form in which it is read back from a row. */
const asStored = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** The session that was recorded last. Some instruments may be missing. */
interface RecordedSession {
  /** Close of the session, in milliseconds since the epoch. */
  readonly at: number;
  readonly symbols: ReadonlySet<string>;
}

async function lastRecorded(archive: Archive, to: number): Promise<RecordedSession | undefined> {
  const [newest] = await archive.read(SNAPSHOT_KIND, { to, order: "newest", limit: 1 });
  if (newest === undefined) return undefined;
  const { at } = newest;
  const symbols = new Set<string>();
  const session = { from: at, to: at, order: "oldest" } as const;
  for await (const page of archivePages(archive, SNAPSHOT_KIND, session)) {
    for (const { subject = "" } of page) symbols.add(subject);
  }
  return { at, symbols };
}

/**
 * The instant from which a process starts recording: the close of the last recorded session,
 * because its rows may be incomplete, but at most `CATCH_UP_DAYS` market days before `until`.
 */
function beginning(
  { dayMs, hasWholeHistory }: SessionArchiveJobOptions,
  until: number,
  before: RecordedSession | undefined,
): number {
  if (before === undefined && !hasWholeHistory) return until;
  return Math.max(before?.at ?? 0, until - CATCH_UP_DAYS * dayMs);
}

/** Final snapshots of the sessions that closed in the interval [from, to], oldest first. */
function closedIn(
  snapshots: SessionArchiveJobOptions["snapshots"],
  from: number,
  to: number,
): readonly PastSnapshot[] {
  return snapshots
    .allNewest()
    .flatMap(({ instrument }) => [...snapshots.history(instrument.symbol, from, to)])
    .sort((a, b) => a.at - b.at);
}
