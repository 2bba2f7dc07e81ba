import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { FACTORS } from "../factors/reading.ts";
import { evidenceOf, METHOD_VERSION, type PastSnapshot } from "../score/snapshot.ts";
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

/** How far back a process records sessions that closed while no process was running, in market
 *  days. */
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
 * Compares the recorded snapshots of the sessions that closed in [from, to] with those in memory.
 * If they differ, because records were corrected since, or because the method or the series has
 * changed, the recorded one is served.
 */
export async function serveRecorded(
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

/** The snapshots in memory, which are compared with the recorded ones. */
type RecordedMemory = Pick<MemoryArchive, "addRecorded" | "addRecordedSeries" | "lastAt">;

/** @param rows Rows of the sessions that closed at one instant. */
function serveSession(rows: readonly ArchiveRow[], snapshots: RecordedMemory): void {
  for (const [symbol = "", some] of Map.groupBy(rows, ({ subject }) => subject)) {
    const at = rows[0]?.at ?? 0;
    const found = snapshots.lastAt(symbol, at);
    if (found?.at !== at) continue;
    const ofSymbol = some.map(recordedSnapshot);
    // One of the present method takes precedence over another, and among those one of the same series.
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

/** The snapshot of a row; factors only by the method in use, since only it can explain them. */
function recordedSnapshot({ id, body }: ArchiveRow): PastSnapshot {
  const { tablesEpoch: _, factors, ...rest } = body as RecordedBody;
  const [, , methodVersion = ""] = id.split("/");
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

/**
 * Whether two snapshots of one session have the same factors and candidate, as far as memory has them:
 * of older sessions only z and confidence of each factor. In one series they have.
 */
function isSameInDetail(recorded: PastSnapshot, computed: PastSnapshot): boolean {
  const isWhole = computed.factors !== undefined;
  const detailsOf = (one: PastSnapshot) =>
    asStored(isWhole ? [one.factors, one.candidate] : summaryOf(one));
  return isDeepStrictEqual(detailsOf(recorded), detailsOf(computed));
}

function summaryOf(snapshot: PastSnapshot) {
  const evidence = evidenceOf(snapshot);
  return FACTORS.map((factor) => [evidence?.[factor].z, evidence?.[factor].confidence]);
}

/** A value as it is read from a row. */
const asStored = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** The session that was recorded last, perhaps not for every instrument. */
interface RecordedSession {
  /** Unix milliseconds. */
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

/** Where a process starts recording: at the last recorded session, since its rows may be incomplete. */
function beginning(
  { dayMs, hasWholeHistory }: SessionArchiveOptions,
  until: number,
  before: RecordedSession | undefined,
): number {
  if (before === undefined && !hasWholeHistory) return until;
  return Math.max(before?.at ?? 0, until - CATCH_UP_DAYS * dayMs);
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
