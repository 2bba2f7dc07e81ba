import type { AssetClass, Instrument } from "../../market/instrument.ts";
import { createLazyList } from "../../market/lazy-list.ts";
import type {
  Bar,
  Feed,
  InstrumentRecords,
  Known,
  Mention,
  RecordList,
} from "../../market/records.ts";
import type { Observation } from "./provider.ts";
import { barsDue } from "./publication-times.ts";
/** A datum with who gave it, and when it was here. */
export type ReceivedObservation = Observation & {
  readonly provider: string;
  /** Unix milliseconds. */
  readonly observedAt: number;
};

/**
 * What is read this long after it was public, in milliseconds, is history, filled in later: it
 * counts from when it was public. Whatever is younger counts from when it was here.
 */
const HISTORY_MS = 2 * 86_400_000;

/** What was there when it was told, whatever time it claims. A bar counts when its session is over,
 *  and figures by a rule, both often later than they come. */
const TOLD_AFTERWARDS: ReadonlySet<Feed> = new Set(["mentions", "prints"]);

/** A message that is read this long after it was written tells nothing of the mood any more, in
 *  milliseconds: two half-lives of a day. */
const STALE_MENTION_MS = 2 * 86_400_000;

/**
 * What is here so much later than others were read is merely late, in milliseconds: it counts from
 * then on, like something that came a little later. It is slow answers, clocks that disagree and
 * processes that read what another one wrote; for none of them is a year of scores worked out anew,
 * unless a session has closed without it.
 */
const LATE_MS = 3_600_000;

/** Everything that was given of one instrument. */
export interface RecordBook {
  /**
   * Adds a datum, unless it is there.
   *
   * @param shownUntil What became known by then has been read already, Unix milliseconds.
   */
  add(observed: ReceivedObservation, shownUntil: number): void;
  /** Whether something is missing in the records that were handed out. */
  isOutdated(): boolean;
  /** Records with everything in it; from now on these grow. */
  revise(): InstrumentRecords;
  /** All messages, in no order. */
  messages(): readonly Mention[];
  /** How many there are. */
  messageCount(): number;
  /** Forgets messages that were known before an instant, Unix milliseconds, also when they come
   *  again. */
  forgetMessages(before: number): void;
  /** Forgets some of its messages. */
  dropMessages(some: ReadonlySet<Known>): void;
  /** Who gave something of each list. */
  providers(): ReadonlyMap<Feed, ReadonlySet<string>>;
}

/** One list. */
interface Column {
  /** By instant and id, in the order given. */
  readonly given: Map<string, Known>;
  /** Who gave them. */
  readonly providers: Set<string>;
  /** What readers have. */
  shown: ShownList;
  /** Whether something is not among it. */
  isOutdated: boolean;
  /** Whether something stands in it later than it would have, had it been there in time. */
  hasLate: boolean;
}

/** Readers do not know of a list that is new. */
const newColumn = (): Column => ({
  given: new Map(),
  providers: new Set(),
  shown: showByTime([]),
  isOutdated: true,
  hasLate: false,
});

/** Starts an empty one. */
export function createRecordBook(instrument: Instrument): RecordBook {
  const columns = new Map<Feed, Column>();
  const messages = () => [...(columns.get("mentions")?.given.values() ?? [])] as Mention[];
  let records: InstrumentRecords = { instrument, bars: [] };
  let forgottenUntil = Number.NEGATIVE_INFINITY;
  const columnOf = (feed: Feed): Column => {
    const column = columns.get(feed) ?? newColumn();
    columns.set(feed, column);
    return column;
  };
  return {
    add(observed, shownUntil) {
      const { feed, provider } = observed;
      const record = knownRecord(observed);
      if (record === undefined) return;
      if (feed === "mentions" && record.availableAt < forgottenUntil) return;
      const column = columnOf(feed);
      const name = nameOf(observed);
      if (column.given.has(name)) return;
      column.given.set(name, record);
      column.providers.add(provider);
      show(column, { feed, record, shownUntil, assetClass: instrument.assetClass });
    },
    isOutdated: () => [...columns.values()].some((column) => column.isOutdated),
    revise() {
      const changed = [...columns].filter(([, column]) => column.isOutdated || column.hasLate);
      for (const [feed, column] of changed) {
        column.shown = ordered(feed, [...column.given.values()]);
        column.isOutdated = false;
        column.hasLate = false;
      }
      const lists = changed.map(([feed, { shown }]) => [feed, shown.records] as const);
      if (lists.length > 0) records = { ...records, ...Object.fromEntries(lists) };
      return records;
    },
    messages,
    messageCount: () => columns.get("mentions")?.given.size ?? 0,
    forgetMessages(before) {
      forgottenUntil = Math.max(forgottenUntil, before);
      forget(columns.get("mentions"), ({ availableAt }) => availableAt < forgottenUntil);
    },
    dropMessages: (some) => forget(columns.get("mentions"), (message) => some.has(message)),
    providers: () => new Map([...columns].map(([feed, { providers }]) => [feed, providers])),
  };
}

/** Joined, a name is one string; a template would keep its parts, twice as much. */
const nameOf = ({ at, id }: ReceivedObservation): string => [at, id].join(" ");

function forget(column: Column | undefined, isGone: (record: Known) => boolean): void {
  if (column === undefined) return;
  for (const [name, record] of column.given) {
    if (!isGone(record)) continue;
    column.given.delete(name);
    column.isOutdated = true;
  }
}

/** A record that comes to a list, and what its readers have seen. */
interface Added {
  readonly feed: Feed;
  readonly record: Known;
  readonly shownUntil: number;
  readonly assetClass: AssetClass;
}

/** Shows a record to readers, at its place or, when it is merely late, after what they have read. */
function show(column: Column, added: Added): void {
  const { feed, record, shownUntil } = added;
  const last = column.shown.records.at(-1);
  const isInOrder = feed !== "bars" || !last || (last as Bar).session < (record as Bar).session;
  if (column.isOutdated || isMissed(added) || !isInOrder) {
    column.isOutdated = true;
    return;
  }
  const isLate = record.availableAt <= shownUntil;
  column.hasLate ||= isLate;
  const shown = isLate ? { ...record, availableAt: shownUntil + 1 } : record;
  column.shown.add(shown);
}

/** Whether scores were made that would be others with it: those of sessions that have closed since,
 *  or too many. A bar makes the price of its session. */
function isMissed({ feed, record: { availableAt }, shownUntil, assetClass }: Added): boolean {
  if (availableAt > shownUntil) return false;
  if (feed === "bars" || shownUntil - availableAt >= LATE_MS) return true;
  return barsDue(availableAt - 1, shownUntil, assetClass).length > 0;
}

/** When something counts as known, Unix milliseconds. */
export function knownAt({
  feed,
  record: { availableAt },
  observedAt,
}: ReceivedObservation): number {
  if (observedAt - availableAt > HISTORY_MS) return availableAt;
  return TOLD_AFTERWARDS.has(feed) ? observedAt : Math.max(availableAt, observedAt);
}

/** A record with when it counts as known; `undefined` for one that tells nothing any more. */
function knownRecord(observed: ReceivedObservation): Known | undefined {
  const { feed, record, observedAt } = observed;
  const availableAt = knownAt(observed);
  if (feed === "mentions" && observedAt - record.availableAt > STALE_MENTION_MS) return undefined;
  return availableAt === record.availableAt ? record : { ...record, availableAt };
}

/** A list in order. */
const ordered = (feed: Feed, given: readonly Known[]): ShownList =>
  feed === "bars" ? showBars(given as readonly Bar[]) : showByTime(given);

/** A list as its readers have it, oldest first. */
export interface ShownList {
  readonly records: RecordList<Known>;
  /** Puts a record where nobody has read yet. */
  add(record: Known): void;
}

/** Puts what was given in the order in which it became known. */
export function showByTime(given: readonly Known[]): ShownList {
  const records = given.toSorted((one, other) => one.availableAt - other.availableAt);
  return {
    records,
    add(record) {
      const before = records.findLastIndex(({ availableAt }) => availableAt <= record.availableAt);
      records.splice(before + 1, 0, record);
    },
  };
}

/**
 * Puts bars in the order of their sessions, each with its return and not known before the one before
 * it. They are made when they are read: to keep them beside what was given would take twice as much.
 */
export function showBars(given: readonly Bar[]): ShownList {
  const bars: Bar[] = [];
  const times: number[] = [];
  const add = (bar: Bar) => {
    bars.push(bar);
    times.push(Math.max(times.at(-1) ?? bar.availableAt, bar.availableAt));
  };
  for (const bar of given.toSorted((one, other) => (one.session < other.session ? -1 : 1)))
    add(bar);
  const read = (index: number): Bar => {
    const bar = bars[index] as Bar;
    const availableAt = times[index] as number;
    return { ...bar, availableAt, logReturn: returnAfter(bars[index - 1], bar) };
  };
  return { records: createLazyList(() => bars.length, read), add: (bar) => add(bar as Bar) };
}

/** The log return of a holder over splits and dividends; `null` on the first bar. */
const returnAfter = (before: Bar | undefined, { close, dividend, split }: Bar): number | null =>
  before === undefined ? null : Math.log(((close + dividend) * split) / before.close);
