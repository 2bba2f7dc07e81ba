import { BarFilter } from "../../market/bar-quality.ts";
import { withReturn } from "../../market/bar-return.ts";
import type { AssetClass, Instrument } from "../../market/instrument.ts";
import { createLazyList } from "../../market/lazy-list.ts";
import type {
  Bar,
  BarDoubt,
  Feed,
  InstrumentRecords,
  Known,
  Mention,
  RecordList,
  ReportedBar,
} from "../../market/records.ts";
import type { Observation } from "./provider.ts";
import { barsDue } from "./publication-times.ts";

/** An observation with its provider and the time of its arrival. */
export type ReceivedObservation = Observation & {
  readonly provider: string;
  /** Unix milliseconds. */
  readonly observedAt: number;
};

/**
 * An observation that arrives this long after its publication, in milliseconds, is backfilled
 * history: it counts as known from its publication. Later ones count as known from their arrival.
 */
const HISTORY_MS = 2 * 86_400_000;

/** Feeds whose records exist when they are reported, whatever time they claim. Bars and figures are
 *  published by a rule, often later than they arrive. */
const REPORTED_FEEDS: ReadonlySet<Feed> = new Set(["mentions", "prints"]);

/** Age in milliseconds at which a message that arrives says nothing about sentiment any more: two
 *  half-lives of a day. */
export const STALE_MENTION_MS = 2 * 86_400_000;

/**
 * Maximum delay of a record behind others that were already read, in milliseconds, up to which it
 * counts as merely late: as known from then on, until a session closes. Causes are slow answers,
 * clocks that differ, and processes that read what another one wrote. Late records do not cause a
 * year to be scored again before that.
 */
const LATE_MS = 3_600_000;

/** The records of one feed. */
interface FeedRecords {
  /** Every record by instant and id, in the order of arrival. */
  readonly received: Map<string, Known>;
  readonly providers: Set<string>;
  /** The list that readers hold. */
  shown: ShownList;
  /** Whether the list that readers hold lacks a record, or has one too many. */
  isOutdated: boolean;
  /** When the first record became known that stands at a later position in the list because it
   *  arrived late, Unix milliseconds; infinite if there is none. */
  lateFrom: number;
}

/** An empty feed, whose list readers do not hold yet. */
const newFeed = (): FeedRecords => ({
  received: new Map(),
  providers: new Set(),
  shown: orderByTime(new Map()),
  isOutdated: true,
  lateFrom: Number.POSITIVE_INFINITY,
});

/**
 * Every record that providers have reported for one instrument, and the lists that readers hold.
 */
export class RecordBook {
  readonly #calendars: readonly AssetClass[];
  readonly #feeds = new Map<Feed, FeedRecords>();
  #records: InstrumentRecords;
  /** Messages known before this instant (Unix milliseconds) are forgotten. */
  #forgottenUntil = Number.NEGATIVE_INFINITY;

  /**
   * @param calendars Classes whose sessions close in the market, one for each calendar. The ids of every
   *   class depend on the records of all.
   */
  constructor(instrument: Instrument, calendars: readonly AssetClass[]) {
    this.#calendars = calendars;
    this.#records = { instrument, bars: [] };
  }

  /**
   * Adds an observation, unless it is there already.
   *
   * @param shownUntil Readers have read everything known by then, Unix milliseconds.
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
   * Whether the lists that readers hold must be rebuilt. A late record moves to its own position
   * when a session of any class has closed, so that all processes score the close from the same
   * records.
   *
   * @param at Unix milliseconds.
   */
  isOutdated(at: number): boolean {
    return [...this.#feeds.values()].some(
      ({ isOutdated, lateFrom }) =>
        isOutdated || (lateFrom <= at && hasClosed(lateFrom, at, this.#calendars)),
    );
  }

  /** Rebuilds the lists from all records; from now on these grow. */
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

  /** All messages, in no order. */
  messages(): readonly Mention[] {
    return [...(this.#feeds.get("mentions")?.received.values() ?? [])] as Mention[];
  }

  messageCount(): number {
    return this.#feeds.get("mentions")?.received.size ?? 0;
  }

  /** Forgets messages known before an instant, Unix milliseconds, even when they arrive again. */
  forgetMessages(before: number): void {
    this.#forgottenUntil = Math.max(this.#forgottenUntil, before);
    this.#drop(({ availableAt }) => availableAt < this.#forgottenUntil);
  }

  /** Drops some of its messages. */
  dropMessages(some: ReadonlySet<Known>): void {
    this.#drop((message) => some.has(message));
  }

  #drop(isDropped: (record: Known) => boolean): void {
    const records = this.#feeds.get("mentions");
    if (records === undefined) return;
    for (const [key, record] of records.received) {
      if (!isDropped(record)) continue;
      records.received.delete(key);
      records.isOutdated = true;
    }
  }

  /** Ids of the providers of each feed. */
  providers(): ReadonlyMap<Feed, ReadonlySet<string>> {
    return new Map([...this.#feeds].map(([feed, { providers }]) => [feed, providers]));
  }
}

/** A joined key is one flat string; a template literal would keep its parts, twice the memory. */
const keyOf = ({ at, id }: ReceivedObservation): string => [at, id].join(" ");

/** A record that is added to a list, and what its readers have read. */
interface Addition {
  readonly feed: Feed;
  readonly key: string;
  readonly record: Known;
  readonly shownUntil: number;
  readonly calendars: readonly AssetClass[];
}

/** Whether a session closed in [from, until], Unix milliseconds. */
const hasClosed = (from: number, until: number, calendars: readonly AssetClass[]): boolean =>
  calendars.some((calendar) => barsDue(from - 1, until, calendar).length > 0);

/** Adds a record to the list that readers hold: in order or, when it is late, after the records
 *  that they have read. */
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
 * Whether a record changes scores that were computed without it: those of sessions that have closed
 * since, or more than an hour of them. A bar sets the price of its session.
 */
function changesScores({ feed, record, shownUntil, calendars }: Addition): boolean {
  const { availableAt } = record;
  if (availableAt > shownUntil) return false;
  if (feed === "bars" || shownUntil - availableAt >= LATE_MS) return true;
  return hasClosed(availableAt, shownUntil, calendars);
}

/** When an observation counts as known, Unix milliseconds. */
export function knownAt({
  feed,
  record: { availableAt },
  observedAt,
}: ReceivedObservation): number {
  if (observedAt - availableAt > HISTORY_MS) return availableAt;
  return REPORTED_FEEDS.has(feed) ? observedAt : Math.max(availableAt, observedAt);
}

/** The record with the instant from which it counts; `undefined` for a message that is too old. */
function recordOf(observed: ReceivedObservation): Known | undefined {
  const { feed, record, observedAt } = observed;
  const availableAt = knownAt(observed);
  if (feed === "mentions" && observedAt - record.availableAt > STALE_MENTION_MS) return undefined;
  return availableAt === record.availableAt ? record : { ...record, availableAt };
}

/** A list as readers hold it, oldest first. */
interface ShownList {
  readonly records: RecordList<Known>;
  /** Doubted bars; absent in lists of other records. */
  readonly doubts?: RecordList<BarDoubt>;
  /** Session of the newest bar, doubted or not; "" in lists of other records. */
  readonly newestSession: string;
  /** Adds a record after everything that was read. */
  add(record: Known, key: string): void;
}

const orderRecords = (feed: Feed, received: ReadonlyMap<string, Known>): ShownList =>
  feed === "bars"
    ? orderBars([...(received as ReadonlyMap<string, ReportedBar>).values()])
    : orderByTime(received);

/** Records in the order in which they became known, those of one instant by key, so that every process
 *  has the same order. */
function orderByTime(received: ReadonlyMap<string, Known>): ShownList {
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
 * The accepted bars in the order of their sessions, each with its return, and none known before the
 * bar of the session before. Returns are computed when they are read; stored, they would take twice the
 * memory.
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
    return withReturn({ ...bar, availableAt }, bars[index - 1]?.close);
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
