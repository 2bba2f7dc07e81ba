import { scheduleTimer, startLoop } from "../lib/loop.ts";
import { FEEDS, type Feed } from "../market/records.ts";
import type { ReceivedObservation } from "../sources/live/record-book.ts";
import type { Archive } from "../store/port/archive.ts";
import { archivePages } from "../store/port/read-all.ts";
import type { Store } from "../store/port/store.ts";
import type { Transaction } from "../store/transact.ts";
import { archiveKindOf, observationOf } from "./market-rows.ts";

/** Announcement topic that wakes the followers of observations. */
const OBSERVATIONS_TOPIC = "market-data";

/** Archive kinds of observations. */
const OBSERVATION_KINDS: ReadonlySet<string> = new Set(FEEDS.map(archiveKindOf));

/** Number of rows per read. */
const ROW_PAGE = 5_000;

/**
 * Interval in milliseconds at which followers look for new observations, since an announcement may
 * be lost.
 */
const POLL_EVERY_MS = 2_000;

/**
 * An observation that seems to have arrived more than this long before it could be read, in
 * milliseconds, comes from a process whose clock differs.
 */
const MAX_DELAY_MS = 3_600_000;

/** Minimum time between two warnings about differing clocks, in milliseconds. */
const WARN_EVERY_MS = 3_600_000;

/** Tells every process that observations were persisted. */
export function announceObservations(tx: Transaction): void {
  tx.announce(OBSERVATIONS_TOPIC);
}

/**
 * Reads the persisted observations of a feed in pages, oldest first.
 *
 * @param from Start of the period, inclusive, Unix milliseconds.
 */
export async function* readObservations(
  archive: Archive,
  feed: Feed,
  from: number,
): AsyncGenerator<readonly ReceivedObservation[]> {
  const selection = { from, order: "oldest" } as const;
  for await (const rows of archivePages(archive, archiveKindOf(feed), selection, ROW_PAGE)) {
    yield rows.map(observationOf);
  }
}

/** Dependencies of a follower of observations. */
interface ObservationFollowerOptions {
  readonly archive: Archive;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Receives new observations, in the order of their commits. */
  readonly market: { take(observed: readonly ReceivedObservation[]): void };
  /** Reads all observations of the archive that the market needs. */
  readonly takeAll: () => Promise<void>;
  /**
   * Called at most once an hour, with the apparent age in milliseconds, when what was read seems to
   * have arrived more than an hour before it could be read.
   */
  readonly onOtherTime?: (ageMs: number) => void;
}

/**
 * Reads all observations, then returns a function that reads those that any process, this one
 * included, has persisted since then, one page per call. The market receives them once, except that
 * those of the first reading may come again. The function resolves with 0 if nothing was new; after
 * a failure, the next call reads the same page again.
 */
export async function openObservationFollower({
  archive,
  now,
  market,
  takeAll,
  onOtherTime,
}: ObservationFollowerOptions): Promise<() => Promise<number>> {
  /** When everything persisted until then had been read. */
  let caughtUpAt = now();
  let warnedAt = Number.NEGATIVE_INFINITY;
  const checkTime = (observed: readonly ReceivedObservation[]) => {
    const newestAt = observed.reduce((at, one) => Math.max(at, one.observedAt), 0);
    const at = now();
    if (caughtUpAt - newestAt <= MAX_DELAY_MS || Math.abs(at - warnedAt) < WARN_EVERY_MS) return;
    warnedAt = at;
    onOtherTime?.(at - newestAt);
  };
  let place = await archive.lastPlace();
  await takeAll();
  return async () => {
    const at = now();
    const next = await archive.follow(OBSERVATION_KINDS, place, ROW_PAGE);
    const observed = next.rows.map(observationOf);
    if (observed.length > 0) {
      market.take(observed);
      checkTime(observed);
    }
    const passed = next.place - place;
    if (passed === 0) caughtUpAt = at;
    place = next.place;
    return passed;
  };
}

/** Calls `step` whenever observations are announced, and every 2 s in case that is lost. */
export function startFollowing(
  step: () => Promise<number>,
  { records, onError }: Pick<Store, "records"> & { readonly onError: (error: unknown) => void },
) {
  const loop = startLoop({ tick: step, everyMs: POLL_EVERY_MS, onError, schedule: scheduleTimer });
  const stopListening = records.onAnnounce(OBSERVATIONS_TOPIC, loop.wake);
  return {
    /** Resolves when the read in progress has ended. */
    async stop() {
      stopListening();
      await loop.stop();
    },
  };
}
