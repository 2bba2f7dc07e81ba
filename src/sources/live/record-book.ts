import { DAY_MS } from "../../lib/day.ts";
import { BarFilter } from "../../market/bar-quality.ts";
import { withLogReturn } from "../../market/bar-return.ts";
import type { AssetClass, Instrument } from "../../market/instrument.ts";
import { createLazyList } from "../../market/lazy-list.ts";
import type {
  Bar,
  BarDoubt,
  Feed,
  InstrumentRecords,
  Mention,
  PointInTimeRecord,
  RecordList,
  ReportedBar,
} from "../../market/records.ts";
import type { Observation } from "./provider.ts";
import { barDueTimes } from "./publication-times.ts";

/** An observation with its provider and the time of its arrival. */
export type ReceivedObservation = Observation & {
  readonly provider: string;
  /** When the observation arrived, Unix milliseconds. */
  readonly observedAt: number;
};

/**
 * An observation that arrives more than this long after its publication, in milliseconds, is
 * backfilled history and counts as known from its publication. Other observations count as known no
 * earlier than their arrival.
 */
const HISTORY_MS = 2 * DAY_MS;

/**
 * Feeds whose records count as known from their arrival, regardless of the time in the record. Bars
 * and figures often arrive before the fixed publication time in the record, and then count as known
 * from that time.
 */
const REPORTED_FEEDS: ReadonlySet<Feed> = new Set(["mentions", "prints"]);

/**
 * Age at which an arriving message no longer says anything about sentiment, in milliseconds: two
 * half-lives of one day.
 */
export const STALE_MENTION_MS = 2 * DAY_MS;

/**
 * Maximum lateness of a record, in milliseconds; a record is late if records that became known
 * after it were already read. Until a session closes, a late record counts as known only after
 * those records, so that it does not cause a year to be scored again. Causes of delays are slow
 * answers, clocks that differ, and processes that read the records written by another process.
 */
const LATE_MS = 3_600_000;

/** The records of one feed of an instrument. */
interface FeedRecords {
  /** Every record by instant and id, in order of arrival. */
  readonly received: Map<string, PointInTimeRecord>;
  readonly providers: Set<string>;
  /** The list that readers use. */
  shown: ShownList;
  /** Whether `shown` lacks a record or contains a dropped one. */
  isOutdated: boolean;
  /**
   * Earliest instant at which one of the late records became known, Unix milliseconds; infinity if
   * there is none. In `shown`, a late record comes after records that became known later.
   */
  lateFrom: number;
}

/** An empty feed that readers have not seen yet. */
const newFeed = (): FeedRecords => ({
  received: new Map(),
  providers: new Set(),
  shown: orderByTime(new Map()),
  isOutdated: true,
  lateFrom: Number.POSITIVE_INFINITY,
});

/** Every record that providers have reported for one instrument, and the lists that readers use. */
export class RecordBook {
  readonly #calendars: readonly AssetClass[];
  readonly #feeds = new Map<Feed, FeedRecords>();
  #records: InstrumentRecords;
  /** Messages known before this instant (Unix milliseconds) are dropped. */
  #forgottenUntil = Number.NEGATIVE_INFINITY;

  /**
   * @param calendars One asset class for each trading calendar in the market: a close on any of
   * them affects the lists of all instruments.
   */
  constructor(instrument: Instrument, calendars: readonly AssetClass[]) {
    this.#calendars = calendars;
    this.#records = { instrument, bars: [] };
  }

  /**
   * Adds an observation, unless it is already known.
   *
   * @param shownUntil Instant up to which readers have read everything, Unix milliseconds.
   */
  add(observed: ReceivedObservation, shownUntil: number): void {
    const { feed, provider } = observed;
    const record = recordOf(observed);
    if (record === undefined) return;
    if (feed === "mentions" && record.availableAt < this.#forgottenUntil) return;
    const records = this.#feeds.get(feed) ?? newFeed();
    this.#feeds.set(feed, records);
    const key = keyOf(observed);
    if (records.received.has(key)) return;
    records.received.set(key, record);
    records.providers.add(provider);
    show(records, { feed, key, record, shownUntil, calendars: this.#calendars });
  }

  /**
   * Whether the lists must be rebuilt. A late record moves to its proper position when a session of
   * any class has closed, so that all processes score the close from the same records.
   *
   * @param at Unix milliseconds.
   */
  isOutdated(at: number): boolean {
    return [...this.#feeds.values()].some(
      ({ isOutdated, lateFrom }) =>
        isOutdated || (lateFrom <= at && hasClosed(lateFrom, at, this.#calendars)),
    );
  }

  /** Rebuilds the lists from all records. Afterwards, records are added to the new lists. */
  revise(): InstrumentRecords {
    const changed = [...this.#feeds].filter(
      ([, { isOutdated, lateFrom }]) => isOutdated || Number.isFinite(lateFrom),
    );
    for (const [feed, records] of changed) {
      records.shown = orderRecords(feed, records.received);
      records.isOutdated = false;
      records.lateFrom = Number.POSITIVE_INFINITY;
    }
    const lists = changed.flatMap(([feed, { shown }]) => [
      [feed, shown.records] as const,
      ...(shown.doubts ? [["doubtedBars", shown.doubts] as const] : []),
    ]);
    if (lists.length > 0) this.#records = { ...this.#records, ...Object.fromEntries(lists) };
    return this.#records;
  }

  /** All messages, in no particular order. */
  messages(): readonly Mention[] {
    return [...(this.#feeds.get("mentions")?.received.values() ?? [])] as Mention[];
  }

  messageCount(): number {
    return this.#feeds.get("mentions")?.received.size ?? 0;
  }

  /** Drops messages known before an instant (Unix milliseconds), even if they arrive again. */
  forgetMessages(before: number): void {
    this.#forgottenUntil = Math.max(this.#forgottenUntil, before);
    this.#drop(({ availableAt }) => availableAt < this.#forgottenUntil);
  }

  /** Drops the given messages. */
  dropMessages(some: ReadonlySet<PointInTimeRecord>): void {
    this.#drop((message) => some.has(message));
  }

  #drop(isDropped: (record: PointInTimeRecord) => boolean): void {
    const records = this.#feeds.get("mentions");
    if (records === undefined) return;
    for (const [key, record] of records.received) {
      if (!isDropped(record)) continue;
      records.received.delete(key);
      records.isOutdated = true;
    }
  }

  /** Ids of the providers that have reported records, by feed. */
  providers(): ReadonlyMap<Feed, ReadonlySet<string>> {
    return new Map([...this.#feeds].map(([feed, { providers }]) => [feed, providers]));
  }
}

/**
 * Key of an observation. `join` gives one flat string; a template literal would keep its parts,
 * which takes twice the memory.
 */
const keyOf = ({ at, id }: ReceivedObservation): string => [at, id].join(" ");

/** A record to add to a list, and the instant up to which readers have read the list. */
interface Addition {
  readonly feed: Feed;
  readonly key: string;
  readonly record: PointInTimeRecord;
  readonly shownUntil: number;
  readonly calendars: readonly AssetClass[];
}

/** Whether a session closed in [from, until], Unix milliseconds. */
const hasClosed = (from: number, until: number, calendars: readonly AssetClass[]): boolean =>
  calendars.some((calendar) => barDueTimes(from - 1, until, calendar).length > 0);

/**
 * Adds a record to the list that readers use: in order or, if the record is late, after the records
 * that readers have already read.
 */
function show(records: FeedRecords, addition: Addition): void {
  const { feed, key, record, shownUntil } = addition;
  const isInOrder =
    feed !== "bars" || records.shown.newestSession < (record as ReportedBar).session;
  if (records.isOutdated || changesScores(addition) || !isInOrder) {
    records.isOutdated = true;
    return;
  }
  const isLate = record.availableAt <= shownUntil;
  if (isLate) records.lateFrom = Math.min(records.lateFrom, record.availableAt);
  records.shown.add(isLate ? { ...record, availableAt: shownUntil + 1 } : record, key);
}

/**
 * Whether a record changes scores that were computed without it. It does if a session has closed
 * since it became known, if it is more than an hour late, or if it is a bar, which sets the price
 * of its session.
 */
function changesScores({ feed, record, shownUntil, calendars }: Addition): boolean {
  const { availableAt } = record;
  if (availableAt > shownUntil) return false;
  if (feed === "bars" || shownUntil - availableAt >= LATE_MS) return true;
  return hasClosed(availableAt, shownUntil, calendars);
}

/** When an observation counts as known, Unix milliseconds. */
export function observationKnownAt({
  feed,
  record: { availableAt },
  observedAt,
}: ReceivedObservation): number {
  if (observedAt - availableAt > HISTORY_MS) return availableAt;
  return REPORTED_FEEDS.has(feed) ? observedAt : Math.max(availableAt, observedAt);
}

/**
 * The record with the instant from which it counts as known; `undefined` for a message that is too
 * old.
 */
function recordOf(observed: ReceivedObservation): PointInTimeRecord | undefined {
  const { feed, record, observedAt } = observed;
  const availableAt = observationKnownAt(observed);
  if (feed === "mentions" && observedAt - record.availableAt > STALE_MENTION_MS) return undefined;
  return availableAt === record.availableAt ? record : { ...record, availableAt };
}

/** A list of records for readers, oldest first. */
interface ShownList {
  readonly records: RecordList<PointInTimeRecord>;
  /** Doubtful bars; absent in lists of other records. */
  readonly doubts?: RecordList<BarDoubt>;
  /** Session of the newest bar, including doubtful bars; "" in lists of other records. */
  readonly newestSession: string;
  /** Adds a record that counts as known after everything that readers have read. */
  add(record: PointInTimeRecord, key: string): void;
}

const orderRecords = (feed: Feed, received: ReadonlyMap<string, PointInTimeRecord>): ShownList =>
  feed === "bars"
    ? orderBars([...(received as ReadonlyMap<string, ReportedBar>).values()])
    : orderByTime(received);

/**
 * Records in the order in which they became known, and by key within an instant, so that every
 * process has the same order.
 */
function orderByTime(received: ReadonlyMap<string, PointInTimeRecord>): ShownList {
  const inOrder = [...received].sort(
    ([key, one], [otherKey, other]) =>
      one.availableAt - other.availableAt || (key < otherKey ? -1 : 1),
  );
  const keys = inOrder.map(([key]) => key);
  const records = inOrder.map(([, record]) => record);
  return {
    records,
    newestSession: "",
    add(record, key) {
      const before = records.findLastIndex(
        ({ availableAt }, index) =>
          availableAt < record.availableAt ||
          (availableAt === record.availableAt && (keys[index] as string) < key),
      );
      records.splice(before + 1, 0, record);
      keys.splice(before + 1, 0, key);
    },
  };
}

/**
 * The accepted bars in the order of their sessions, each with its return. No bar becomes known
 * before the bar of the previous session. Returns are computed on access, since storing them would
 * take twice the memory.
 */
function orderBars(received: readonly ReportedBar[]): ShownList {
  const bars: ReportedBar[] = [];
  const times: number[] = [];
  const filter = new BarFilter();
  let newestSession = "";
  const add = (reported: ReportedBar) => {
    newestSession = reported.session;
    for (const bar of filter.add(reported)) {
      bars.push(bar);
      times.push(Math.max(times.at(-1) ?? bar.availableAt, bar.availableAt));
    }
  };
  const inOrder = received.toSorted((one, other) => (one.session < other.session ? -1 : 1));
  for (const bar of inOrder) add(bar);
  const read = (index: number): Bar => {
    const bar = bars[index] as ReportedBar;
    const availableAt = times[index] as number;
    return withLogReturn({ ...bar, availableAt }, bars[index - 1]?.close);
  };
  return {
    records: createLazyList(() => bars.length, read),
    doubts: filter.doubts,
    get newestSession() {
      return newestSession;
    },
    add: (bar) => add(bar as ReportedBar),
  };
}
