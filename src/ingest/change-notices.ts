import { setImmediate } from "node:timers/promises";
import { schedule, startLoop } from "../lib/loop.ts";
import type { ReceivedObservation } from "../sources/live/record-book.ts";
import type { Archive, ArchiveRow } from "../store/port/archive.ts";
import { readAll } from "../store/port/read-all.ts";
import type { Store } from "../store/port/store.ts";
import {
  type ObservationBody,
  kindOf,
  merged,
  NOTICE_TTL_MS,
  NOTICE_TOPIC,
  type ChangeNotice,
  noticeRecords,
} from "./rows.ts";

/** Rows that are read at once. */
const PAGE = 5_000;

/** News that are read at once. */
const NOTICE_PAGE = 100;

/** Announcements may be lost: so often the news are looked into anyway, in milliseconds. */
const LOOK_EVERY_MS = 2_000;

/** News are younger; when they seem older, the clock of who told them is not ours. In
 *  milliseconds. */
const OTHER_TIME_MS = 3_600_000;

/** So often that is said, in milliseconds. */
const SAY_EVERY_MS = 3_600_000;

/** Rows of a feed; without `to` all from an instant on. */
type RowSpan = Pick<ChangeNotice, "feed" | "symbol" | "from"> & Partial<ChangeNotice>;

/** What was given, as it was kept, page by page and oldest first. */
export async function* readObserved(
  archive: Pick<Archive, "read">,
  { feed, symbol, from, to }: RowSpan,
): AsyncGenerator<readonly ReceivedObservation[]> {
  const selection = {
    from,
    order: "oldest",
    limit: PAGE,
    ...(to !== undefined && { to }),
    ...(symbol !== null && { subject: symbol }),
  } as const;
  let after: ArchiveRow | undefined;
  do {
    const rows = await archive.read(kindOf(feed), { ...selection, ...(after && { after }) });
    yield rows.map((row) => observedOf(row, feed));
    after = rows.length === PAGE ? rows.at(-1) : undefined;
    // An embedded store reads at once: others must have their turn between two pages.
    await setImmediate();
  } while (after !== undefined);
}

function observedOf(
  { at, id, subject = "", body }: ArchiveRow,
  feed: ChangeNotice["feed"],
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

/** What is needed to read on. */
export interface ChangeReaderOptions {
  readonly store: Pick<Store, "records" | "archive">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Takes in what is new; what is there already comes again. */
  take(observed: readonly ReceivedObservation[]): void;
  /** Takes in everything that there is. */
  takeAll(): Promise<void>;
  /** How long news are kept, in milliseconds; half an hour unless given. */
  readonly ttlMs?: number;
  /** Told, once an hour, that news seem to be so many milliseconds old. */
  readonly onOtherTime?: (ageMs: number) => void;
}

/**
 * Takes in everything; what any process keeps after that is read by the function that it returns,
 * in the order of its news, some at a time. That one resolves with how many news there were, and
 * after a failure reads the same ones again.
 */
export async function openChangeReader(options: ChangeReaderOptions): Promise<() => Promise<number>> {
  const { now, take, takeAll, ttlMs = NOTICE_TTL_MS } = options;
  const { records, archive } = options.store;
  let lookedAt = now();
  let saidAt = Number.NEGATIVE_INFINITY;
  const checkTime = (observedAt: number) => {
    const at = now();
    if (at - observedAt <= OTHER_TIME_MS || Math.abs(at - saidAt) < SAY_EVERY_MS) return;
    saidAt = at;
    options.onOtherTime?.(at - observedAt);
  };
  const before = await readAll(records, noticeRecords);
  let position = before.reduce((newest, { revision }) => Math.max(newest, revision), 0);
  await takeAll();
  return async () => {
    const at = now();
    // Some of the news may be gone.
    if (Math.abs(at - lookedAt) > ttlMs / 2) await takeAll();
    const page = await records.list(noticeRecords, { after: position, limit: NOTICE_PAGE });
    for (const span of merged(page.flatMap(({ value }) => value.news))) {
      for await (const rows of readObserved(archive, span)) take(rows);
    }
    for (const { value } of page) checkTime(value.observedAt);
    position = page.at(-1)?.revision ?? position;
    lookedAt = at;
    return page.length;
  };
}

/** Reads on whenever something was kept, and from time to time. */
export function startChangeReading(
  tick: () => Promise<number>,
  { records, onError }: Pick<Store, "records"> & { readonly onError: (error: unknown) => void },
) {
  const loop = startLoop({ tick, everyMs: LOOK_EVERY_MS, onError, schedule });
  const stopListening = records.onAnnounce(NOTICE_TOPIC, loop.wake);
  return {
    /** Ends when what is being read has been read. */
    async stop() {
      stopListening();
      await loop.stop();
    },
  };
}
