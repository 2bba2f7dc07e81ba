import { randomUUID } from "node:crypto";
import { scheduleTimer, startLoop } from "../lib/loop.ts";
import type { Feed } from "../market/records.ts";
import type { Observation } from "../sources/live/provider.ts";
import type { ReceivedObservation } from "../sources/live/record-book.ts";
import type { Archive, ArchiveRow } from "../store/port/archive.ts";
import { archivePages, readAll } from "../store/port/read-all.ts";
import { collection } from "../store/port/records.ts";
import type { Store } from "../store/port/store.ts";
import type { Transaction } from "../store/transact.ts";
import { archiveKindOf, type ObservationBody } from "./market-rows.ts";

/**
 * Change notices tell every process which rows of the archive are new. The process that persists
 * rows commits a notice with them; every process, this one included, follows the notices in the
 * order of their revisions and reads the rows that they describe.
 */

/** Announcement topic that wakes the readers of notices. */
const NOTICE_TOPIC = "market-data";

/**
 * Batches of notices, ordered by revision; a reader continues after the last revision that it read.
 */
export const noticeRecords = collection<NoticeBatch>("ingest-news");

/**
 * How long a notice is stored, in milliseconds. A reader that pauses for more than half of this
 * time rereads all rows.
 */
export const NOTICE_TTL_MS = 1_800_000;

/**
 * How long the embedded store keeps a notice, in milliseconds. This is shorter than
 * `NOTICE_TTL_MS`, because up to 20 answers a second create one notice each, and only one process
 * reads the notices.
 */
const NOTICE_TTL_ALONE_MS = 300_000;

/** How long a store keeps a notice, in milliseconds. */
export const noticeTtlMs = (engine: Store["engine"] | undefined): number =>
  engine === "embedded" ? NOTICE_TTL_ALONE_MS : NOTICE_TTL_MS;

/**
 * Maximum number of symbols in one answer for which each symbol gets notices of its own; for more
 * symbols, notices cover all symbols of a feed.
 */
const MAX_NAMED_SYMBOLS = 25;

/**
 * Maximum gap in milliseconds between rows that share a notice, so that one message dated a day ago
 * does not make every process reread that whole day. Feeds that are not listed have no limit.
 */
const MAX_GAP_MS: Readonly<Partial<Record<Feed, number>>> = { mentions: 600_000, prints: 600_000 };

/** A span of rows of a feed that may be new, for one symbol or, if `null`, for all symbols. */
export interface ChangeNotice {
  readonly feed: Feed;
  readonly symbol: string | null;
  /** Start of the span, inclusive; Unix milliseconds. */
  readonly from: number;
  /** End of the span, inclusive; Unix milliseconds. */
  readonly to: number;
}

/** The notices about one answer of a provider. */
interface NoticeBatch {
  readonly news: readonly ChangeNotice[];
  /**
   * When the answer arrived, by the clock of the process that sent the request, Unix milliseconds.
   */
  readonly observedAt: number;
}

/**
 * Announces observations, so that every process learns of them. Observations that were already stored are
 * announced again: the process may have been killed between writing the rows and the notice.
 *
 * @param options.observedAt When the observations arrived, Unix milliseconds.
 */
export function announceChanges(
  tx: Transaction,
  data: readonly Observation[],
  { observedAt, ttlMs }: { readonly observedAt: number; readonly ttlMs: number },
): void {
  if (data.length === 0) return;
  const value = { news: noticesOf(data), observedAt };
  tx.put(noticeRecords, { key: randomUUID(), value, ttlMs });
  tx.announce(NOTICE_TOPIC);
}

/** Notices whose spans cover the given observations. */
export function noticesOf(data: readonly Observation[]): readonly ChangeNotice[] {
  const isNamed = new Set(data.map(({ symbol }) => symbol)).size <= MAX_NAMED_SYMBOLS;
  return mergeNotices(
    data.map(({ feed, symbol, at }) => ({
      feed,
      symbol: isNamed ? symbol : null,
      from: at,
      to: at,
    })),
  );
}

/** Merges notices of the same feed and symbol, so that their spans are read once. */
export function mergeNotices(notices: readonly ChangeNotice[]): readonly ChangeNotice[] {
  const groups = Map.groupBy(notices, ({ feed, symbol }) => `${feed} ${symbol ?? ""}`);
  return [...groups.values()].flatMap(spansOf);
}

/** Merges the spans of one feed and symbol whose gap is at most `MAX_GAP_MS`. */
function spansOf(group: readonly ChangeNotice[]): readonly ChangeNotice[] {
  const spans: ChangeNotice[] = [];
  for (const one of group.toSorted((a, b) => a.from - b.from)) {
    const last = spans.at(-1);
    const isApart = last === undefined || one.from - last.to > (MAX_GAP_MS[one.feed] ?? Infinity);
    if (isApart) spans.push(one);
    else spans[spans.length - 1] = { ...last, to: Math.max(last.to, one.to) };
  }
  return spans;
}

/** Number of rows per read. */
const ROW_PAGE = 5_000;

/** Number of notices per read. */
const NOTICE_PAGE = 100;

/**
 * Interval in milliseconds at which readers check for notices, since an announcement on the topic
 * may be lost.
 */
const POLL_EVERY_MS = 2_000;

/**
 * A notice that appears older than this, in milliseconds, comes from a process whose clock differs.
 */
const MAX_NOTICE_AGE_MS = 3_600_000;

/** Minimum time between two warnings about differing clocks, in milliseconds. */
const WARN_EVERY_MS = 3_600_000;

/** A span of rows of a feed; open-ended without `to`. */
interface RowSpan {
  readonly feed: Feed;
  readonly symbol: string | null;
  readonly from: number;
  readonly to?: number;
}

/** Reads persisted observations in pages, oldest first. */
export async function* readObservations(
  archive: Archive,
  { feed, symbol, from, to }: RowSpan,
): AsyncGenerator<readonly ReceivedObservation[]> {
  const selection = {
    from,
    order: "oldest",
    ...(to !== undefined && { to }),
    ...(symbol !== null && { subject: symbol }),
  } as const;
  for await (const rows of archivePages(archive, archiveKindOf(feed), selection, ROW_PAGE)) {
    yield rows.map((row) => observationOf(row, feed));
  }
}

function observationOf(
  { at, id, subject = "", body }: ArchiveRow,
  feed: Feed,
): ReceivedObservation {
  const { provider, observedAt, record } = body as ObservationBody;
  const name = id.slice(subject.length + 1);
  return {
    feed,
    symbol: subject,
    at,
    id: name,
    provider,
    observedAt,
    record,
  } as ReceivedObservation;
}

/** Dependencies of a reader of notices. */
export interface ChangeReaderOptions {
  readonly store: Pick<Store, "records" | "archive">;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Receives new observations; some may have been received before. */
  readonly market: { take(observed: readonly ReceivedObservation[]): void };
  /** Rereads all observations of the archive. */
  takeAll(): Promise<void>;
  /** How long notices are stored, in milliseconds. Default: half an hour. */
  readonly ttlMs?: number;
  /**
   * Called at most once an hour, with the apparent age in milliseconds, when a notice appears more
   * than an hour old.
   */
  readonly onOtherTime?: (ageMs: number) => void;
}

/**
 * Reads all observations, then returns a function that reads the observations announced since then
 * by any process, one page of notices per call. The function resolves with the number of notices;
 * after a failure, the next call reads the same notices again.
 */
export async function openChangeReader(
  options: ChangeReaderOptions,
): Promise<() => Promise<number>> {
  const { now, market, takeAll, ttlMs = NOTICE_TTL_MS } = options;
  const { records, archive } = options.store;
  let readAt = now();
  let warnedAt = Number.NEGATIVE_INFINITY;
  const checkTime = (observedAt: number) => {
    const at = now();
    if (at - observedAt <= MAX_NOTICE_AGE_MS || Math.abs(at - warnedAt) < WARN_EVERY_MS) return;
    warnedAt = at;
    options.onOtherTime?.(at - observedAt);
  };
  const before = await readAll(records, noticeRecords);
  let position = before.reduce((newest, { revision }) => Math.max(newest, revision), 0);
  await takeAll();
  return async () => {
    const at = now();
    // Notices may have expired unread, so everything is read again.
    if (Math.abs(at - readAt) > ttlMs / 2) await takeAll();
    const page = await records.list(noticeRecords, { after: position, limit: NOTICE_PAGE });
    for (const span of mergeNotices(page.flatMap(({ value }) => value.news))) {
      for await (const rows of readObservations(archive, span)) market.take(rows);
    }
    for (const { value } of page) checkTime(value.observedAt);
    position = page.at(-1)?.revision ?? position;
    readAt = at;
    return page.length;
  };
}

/** Calls `step` whenever a notice is announced, and every 2 s in case an announcement is lost. */
export function startChangeReading(
  step: () => Promise<number>,
  { records, onError }: Pick<Store, "records"> & { readonly onError: (error: unknown) => void },
) {
  const loop = startLoop({ tick: step, everyMs: POLL_EVERY_MS, onError, schedule: scheduleTimer });
  const stopListening = records.onAnnounce(NOTICE_TOPIC, loop.wake);
  return {
    /** Resolves when the read in progress has ended. */
    async stop() {
      stopListening();
      await loop.stop();
    },
  };
}
