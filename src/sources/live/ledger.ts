import type { Instrument } from "../../market/instrument.ts";
import type { Bar, Feed, InstrumentRecords, Known } from "../../market/records.ts";
import type { Datum } from "./provider.ts";

/** A datum with who gave it, and when it was here. */
export type Observed = Datum & {
  readonly provider: string;
  /** Unix milliseconds. */
  readonly observedAt: number;
};

/**
 * What is read this long after it was public, in milliseconds, is history, filled in later: it
 * counts from when it was public. Whatever is younger counts from when it was here.
 */
const HISTORY_MS = 2 * 86_400_000;

/** A message that is read this long after it was written tells nothing of the mood any more, in
 *  milliseconds: two half-lives of a day. */
const STALE_MENTION_MS = 2 * 86_400_000;

/**
 * What is here so much later than others were read is merely late, in milliseconds: it counts from
 * then on, like something that came a little later. It is slow answers, clocks that disagree and
 * processes that read what another one wrote; for none of them is a year of scores worked out anew.
 */
const LATE_MS = 3_600_000;

/** Everything that was given of one instrument. */
export interface Ledger {
  /**
   * Adds a datum, unless it is there.
   *
   * @param shownUntil What became known by then has been read already, Unix milliseconds.
   */
  add(observed: Observed, shownUntil: number): void;
  /** Whether something is missing in the records that were handed out. */
  isOutdated(): boolean;
  /** Records with everything in it; from now on these grow. */
  revise(): InstrumentRecords;
  /** When each message counts as known, Unix milliseconds, in no order. */
  messageTimes(): readonly number[];
  /** How many messages there are. */
  messageCount(): number;
  /** Forgets messages that were known before an instant, Unix milliseconds, also when they come
   *  again. */
  forgetMessages(before: number): void;
  /** Who gave something of each list. */
  providers(): ReadonlyMap<Feed, ReadonlySet<string>>;
}

/** One list. */
interface Column {
  /** By instant and id, in the order given. */
  readonly given: Map<string, Known>;
  /** Who gave them. */
  readonly providers: Set<string>;
  /** What readers have, oldest first; it grows at its end. */
  shown: Known[];
  /** Whether something is not among it. */
  isOutdated: boolean;
  /** Whether something stands in it later than it would have, had it been there in time. */
  hasLate: boolean;
}

/** Starts an empty one. */
export function createLedger(instrument: Instrument): Ledger {
  const columns = new Map<Feed, Column>();
  let records: InstrumentRecords = { instrument, bars: [] };
  let forgottenUntil = Number.NEGATIVE_INFINITY;
  const columnOf = (feed: Feed): Column => {
    const before = columns.get(feed);
    if (before !== undefined) return before;
    // Readers do not know of a list that is new.
    const column: Column = {
      ...{ given: new Map(), providers: new Set(), shown: [], isOutdated: true, hasLate: false },
    };
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
      const name = `${observed.at} ${observed.id}`;
      if (column.given.has(name)) return;
      column.given.set(name, record);
      column.providers.add(provider);
      show(column, { feed, record, shownUntil });
    },
    isOutdated: () => [...columns.values()].some((column) => column.isOutdated),
    revise() {
      const changed = [...columns].filter(([, column]) => column.isOutdated || column.hasLate);
      for (const [feed, column] of changed) {
        column.shown = ordered(feed, [...column.given.values()]);
        column.isOutdated = false;
        column.hasLate = false;
      }
      const lists = changed.map(([feed, { shown }]) => [feed, shown] as const);
      if (lists.length > 0) records = { ...records, ...Object.fromEntries(lists) };
      return records;
    },
    messageTimes: () =>
      [...(columns.get("mentions")?.given.values() ?? [])].map(({ availableAt }) => availableAt),
    messageCount: () => columns.get("mentions")?.given.size ?? 0,
    forgetMessages(before) {
      forgottenUntil = Math.max(forgottenUntil, before);
      forget(columns.get("mentions"), forgottenUntil);
    },
    providers: () => new Map([...columns].map(([feed, { providers }]) => [feed, providers])),
  };
}

function forget(column: Column | undefined, before: number): void {
  if (column === undefined) return;
  for (const [name, { availableAt }] of column.given) {
    if (availableAt >= before) continue;
    column.given.delete(name);
    column.isOutdated = true;
  }
}

/** Shows a record to readers, at its place or, when it is merely late, after what they have read. */
function show(
  column: Column,
  added: { readonly feed: Feed; readonly record: Known; readonly shownUntil: number },
): void {
  const { feed, record, shownUntil } = added;
  const before = column.shown.at(-1);
  const earliest = Math.max(shownUntil + 1, before?.availableAt ?? Number.NEGATIVE_INFINITY);
  const availableAt = Math.max(record.availableAt, earliest);
  const isLate = availableAt - record.availableAt > LATE_MS;
  if (column.isOutdated || isLate || (before && !follows(feed, before, record))) {
    column.isOutdated = true;
    return;
  }
  column.hasLate ||= availableAt > record.availableAt;
  const shown = availableAt === record.availableAt ? record : { ...record, availableAt };
  column.shown.push(feed === "bars" ? chain(before as Bar, shown as Bar) : shown);
}

/** Whether sessions are in order; everything else is in the order of its coming. */
const follows = (feed: Feed, before: Known, record: Known): boolean =>
  feed !== "bars" || (before as Bar).session < (record as Bar).session;

/** When something counts as known, Unix milliseconds. */
export function knownAt({ record: { availableAt }, observedAt }: Observed): number {
  return observedAt - availableAt > HISTORY_MS ? availableAt : Math.max(availableAt, observedAt);
}

/** A record with when it counts as known; `undefined` for one that tells nothing any more. */
function knownRecord(observed: Observed): Known | undefined {
  const { feed, record, observedAt } = observed;
  const availableAt = knownAt(observed);
  if (feed === "mentions" && observedAt - record.availableAt > STALE_MENTION_MS) return undefined;
  return availableAt === record.availableAt ? record : { ...record, availableAt };
}

/** A list in order. */
function ordered(feed: Feed, given: readonly Known[]): Known[] {
  if (feed === "bars") return chained(given as readonly Bar[]);
  return given.toSorted((one, other) => one.availableAt - other.availableAt);
}

/** Bars by session, each with its return. */
function chained(bars: readonly Bar[]): Bar[] {
  const list: Bar[] = [];
  for (const bar of bars.toSorted((one, other) => (one.session < other.session ? -1 : 1))) {
    list.push(chain(list.at(-1), bar));
  }
  return list;
}

/** A bar after another: with its return, and not known before it. */
function chain(before: Bar | undefined, bar: Bar): Bar {
  if (before === undefined) return { ...bar, logReturn: null };
  const { close, dividend, split } = bar;
  return {
    ...bar,
    availableAt: Math.max(before.availableAt, bar.availableAt),
    logReturn: Math.log(((close + dividend) * split) / before.close),
  };
}
