import { PrefixHash } from "../lib/prefix-hash.ts";
import { countKnown } from "../market/point-in-time.ts";
import { type ContentWriter, RECORD_CONTENT } from "../market/record-content.ts";
import {
  FEEDS,
  type Feed,
  type InstrumentRecords,
  type Known,
  type RecordList,
} from "../market/records.ts";

/** Hexadecimal digits of a series. */
export const SERIES_DIGITS = 16;

/** Weekly volumes are shown, but not scored. */
const SCORED_FEEDS: readonly Feed[] = FEEDS.filter((feed) => feed !== "weeklyVolumes");

/** Records per step, which takes about 10 ms: other work can run between two steps. */
const RECORDS_PER_STEP = 20_000;

/** First numbers of elements other than records: those of records are not negative. */
const [CLOSE, LIST] = [-1, -2];

/**
 * The series that scores belong to: SHA-256 of every record that was known at an instant, over all
 * instruments and scored feeds, and of the sessions that had closed. Signals depend on all records
 * from the first one on, and every instrument is compared with all others, so a score depends on no
 * smaller part of the data. A record that is corrected, added or removed changes the series from the
 * instant at which it is known, and not before; later records change no earlier series.
 *
 * Records are hashed in the order in which they became known; those of one instant by symbol, then
 * feed, then position in their list. So the series depends neither on when a process started nor on
 * how many records it reads at a time.
 */
export class RecordSeries {
  readonly #hash = new PrefixHash();
  /** By instant, Unix milliseconds: every close, and the newest instant. */
  readonly #names = new Map<number, string>();
  #list: readonly InstrumentRecords[] = [];
  /** By symbol and feed. */
  #cursors: readonly FeedCursor[] = [];
  /** When the next record of each cursor became known, Unix milliseconds; infinite if none is known. */
  #nextAt = new Float64Array();
  /** Number of lists that have begun. */
  #begun = 0;
  #until = Number.NEGATIVE_INFINITY;
  /** Whether `#until` is not a close, so that nothing refers to its name later. */
  #isInterim = false;

  /** @param reader Identifies the reader of message texts: the lexicon, or a model. */
  constructor(reader: string) {
    this.#hash.text(reader);
  }

  /**
   * Hashes the records that became known by an instant (Unix milliseconds, never decreasing), in
   * steps.
   *
   * @param calendars Closes of the sessions of each calendar, ascending; later ones are not read.
   */
  *extend(
    list: readonly InstrumentRecords[],
    calendars: readonly (readonly number[])[],
    at: number,
  ): Generator<void, void> {
    this.#open(list, at);
    if (this.#isInterim) this.#names.delete(this.#until);
    let taken = 0;
    for (const [close, which] of closesIn(calendars, this.#until, at)) {
      taken += this.#take(close);
      for (const calendar of which) this.#addClose(calendar, close);
      this.#names.set(close, this.#name());
      if (taken < RECORDS_PER_STEP) continue;
      taken = 0;
      yield;
    }
    this.#take(at);
    this.#isInterim = !this.#names.has(at);
    if (this.#isInterim) this.#names.set(at, this.#name());
    this.#until = at;
  }

  /** The series at a close or at the newest instant, Unix milliseconds; "" at any other. */
  at(instant: number): string {
    return this.#names.get(instant) ?? "";
  }

  #name(): string {
    return this.#hash.digest().slice(0, SERIES_DIGITS);
  }

  /** Opens each list at the position up to which it was read, for records known by an instant. */
  #open(list: readonly InstrumentRecords[], at: number): void {
    if (this.#list !== list) {
      const before = new Map(this.#cursors.map((cursor) => [cursor.identity, cursor]));
      this.#cursors = list.toSorted(bySymbol).flatMap((records) =>
        SCORED_FEEDS.filter((feed) => records[feed] !== undefined).map((feed) => {
          const cursor = new FeedCursor(records, feed);
          return cursor.continue(before.get(cursor.identity));
        }),
      );
      this.#list = list;
    }
    this.#nextAt = Float64Array.from(this.#cursors, (cursor) => cursor.open(at));
  }

  /** Hashes what became known by an instant. @returns The number of records. */
  #take(at: number): number {
    const nextAt = this.#nextAt;
    const due: DueRecord[] = [];
    for (const [place, cursor] of this.#cursors.entries()) {
      while ((nextAt[place] as number) <= at) {
        due.push({ cursor, record: cursor.read() });
        nextAt[place] = cursor.advance();
      }
    }
    // A stable sort: records of one instant stay in the order of the cursors.
    due.sort((one, other) => one.record.availableAt - other.record.availableAt);
    for (const one of due) this.#add(one);
    return due.length;
  }

  /** Hashes a record. A list is named at its first record, and identified by its number from then on. */
  #add({ cursor, record }: DueRecord): void {
    const hash = this.#hash;
    if (cursor.number === undefined) {
      cursor.number = this.#begun++;
      hash.number(LIST);
      hash.text(cursor.identity);
    }
    hash.number(cursor.number);
    cursor.write(record, hash);
  }

  #addClose(calendar: number, at: number): void {
    for (const value of [CLOSE, calendar, at]) this.#hash.number(value);
  }
}

const bySymbol = (one: InstrumentRecords, other: InstrumentRecords): number =>
  one.instrument.symbol < other.instrument.symbol ? -1 : 1;

/** The closes in (after, until], ascending, each with the indexes of its calendars. */
function closesIn(
  calendars: readonly (readonly number[])[],
  after: number,
  until: number,
): ReadonlyMap<number, readonly number[]> {
  const found = calendars.flatMap((closes, calendar) =>
    closes.filter((at) => at > after && at <= until).map((at) => ({ at, calendar })),
  );
  found.sort((one, other) => one.at - other.at);
  const byClose = new Map<number, number[]>();
  for (const { at, calendar } of found) byClose.set(at, [...(byClose.get(at) ?? []), calendar]);
  return byClose;
}

/** A record that became known, and the reader of its list. */
interface DueRecord {
  readonly cursor: FeedCursor;
  readonly record: Known;
}

/** Records that are read from a list at once: a list may unpack them. */
const RECORDS_AHEAD = 32;

/** A reader of one list of records, each of which is read once. */
class FeedCursor {
  readonly identity: string;
  readonly write: (record: Known, to: ContentWriter) => void;
  /** Number of the list; `undefined` before its first record. */
  number: number | undefined;
  readonly #list: RecordList<Known>;
  /** Number of records that were taken, and of those that are known. */
  #taken = 0;
  #known = 0;
  /** When the first record that is not known of a list of `#length` becomes so, Unix milliseconds. */
  #unknownAt = Number.NEGATIVE_INFINITY;
  #length = 0;
  /** Known records from a position on. */
  #ahead: readonly Known[] = [];
  #aheadFrom = 0;

  constructor(records: InstrumentRecords, feed: Feed) {
    const { symbol, assetClass, sector } = records.instrument;
    this.identity = JSON.stringify([symbol, assetClass, sector, feed]);
    this.write = RECORD_CONTENT[feed] as typeof this.write;
    this.#list = records[feed] ?? [];
  }

  /** Continues at the position of an earlier cursor of the same list, if there is one. */
  continue(before: FeedCursor | undefined): this {
    if (before !== undefined) {
      this.number = before.number;
      this.#taken = before.#taken;
    }
    return this;
  }

  /** Opens the records that are known by an instant, Unix milliseconds. @returns When the next of them
   *  became known; infinite if there is none. */
  open(at: number): number {
    const { length } = this.#list;
    if (length !== this.#length || at >= this.#unknownAt) {
      this.#known = countKnown(this.#list, at, this.#taken);
      this.#unknownAt = this.#list.at(this.#known)?.availableAt ?? Number.POSITIVE_INFINITY;
      this.#length = length;
    }
    return this.#nextAt();
  }

  /** The next record, which must be known. */
  read(): Known {
    return this.#ahead[this.#taken - this.#aheadFrom] as Known;
  }

  /** Moves on by one record. @returns As `open` does. */
  advance(): number {
    this.#taken++;
    return this.#nextAt();
  }

  #nextAt(): number {
    if (this.#taken >= this.#known) {
      this.#ahead = [];
      return Number.POSITIVE_INFINITY;
    }
    if (this.#taken >= this.#aheadFrom + this.#ahead.length) {
      const to = Math.min(this.#taken + RECORDS_AHEAD, this.#known);
      this.#aheadFrom = this.#taken;
      this.#ahead = this.#list.slice(this.#taken, to);
    }
    return this.read().availableAt;
  }
}
