import { PrefixHash } from "../lib/prefix-hash.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import { type ContentWriter, RECORD_CONTENT_WRITERS } from "../market/record-content.ts";
import {
  FEEDS,
  type Feed,
  type InstrumentRecords,
  type PointInTimeRecord,
  type RecordList,
} from "../market/records.ts";

/** Number of hexadecimal digits in the id of a series (`RecordSeries`). */
export const SERIES_HEX_DIGITS = 16;

/** The feeds that affect scores; weekly volumes are shown, but not scored. */
const SCORED_FEEDS: readonly Feed[] = FEEDS.filter((feed) => feed !== "weeklyVolumes");

/** Number of records hashed per step, about 10 ms; other work can run between steps. */
const RECORDS_PER_STEP = 20_000;

/**
 * Tags of hashed elements other than records; a record starts with its list number, which is not
 * negative.
 */
const [CLOSE, LIST] = [-1, -2];

/**
 * Computes the series that scores belong to, an id of the data behind them: the first digits of the
 * SHA-256 of all records known at an instant, over all instruments and scored feeds, and of the
 * sessions that had closed. A signal depends on all records from the first record on, and every
 * instrument is compared with all others, so no smaller part of the data determines a score. If a
 * record is corrected, added or removed, the series changes from the instant at which that record
 * is known; later records never change an earlier series.
 *
 * Records are hashed in the order in which they became known; records with the same instant are
 * ordered by symbol, then feed, then position in their list. So the series depends neither on when
 * a process started nor on how many records it reads at a time.
 */
export class RecordSeries {
  readonly #hash = new PrefixHash();
  /** Series id by Unix milliseconds: one for each close, and one for the newest instant. */
  readonly #names = new Map<number, string>();
  #list: readonly InstrumentRecords[] = [];
  /** One cursor per list of records, ordered by symbol and feed. */
  #cursors: readonly FeedCursor[] = [];
  /**
   * When the next record of each cursor became known, Unix milliseconds; infinite if it is not
   * known yet.
   */
  #nextAt = new Float64Array();
  /** Number of lists of which at least one record was hashed. */
  #begun = 0;
  #until = Number.NEGATIVE_INFINITY;
  /**
   * Whether `#until` is an instant other than a close; the series of such an instant is deleted by
   * the next `extend`.
   */
  #isInterim = false;

  /** @param reader Identifies the analyzer of message texts: the lexicon, or a trained model. */
  constructor(reader: string) {
    this.#hash.text(reader);
  }

  /**
   * Hashes, in steps, the records that became known by `at` (Unix milliseconds, never decreasing).
   *
   * @param calendars Closes of the sessions of each calendar, ascending; closes after `at` are not
   * read.
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

  /**
   * The series at a close or at the newest instant, Unix milliseconds; "" for any other instant.
   */
  at(instant: number): string {
    return this.#names.get(instant) ?? "";
  }

  #name(): string {
    return this.#hash.digest().slice(0, SERIES_HEX_DIGITS);
  }

  /**
   * Prepares each list for reading the records known at an instant, from the position up to which
   * the list was read.
   */
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

  /**
   * Hashes the records that became known by an instant.
   *
   * @returns The number of these records.
   */
  #take(at: number): number {
    const nextAt = this.#nextAt;
    const due: DueRecord[] = [];
    for (const [place, cursor] of this.#cursors.entries()) {
      while ((nextAt[place] as number) <= at) {
        due.push({ cursor, record: cursor.read() });
        nextAt[place] = cursor.advance();
      }
    }
    // The sort is stable: records with the same instant stay in the order of the cursors.
    due.sort((one, other) => one.record.availableAt - other.record.availableAt);
    for (const one of due) this.#add(one);
    return due.length;
  }

  /**
   * Hashes a record. The identity of its list is hashed with the first record; later records only
   * have the number of the list.
   */
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

/**
 * The closes in (after, until], ascending, each with the indices of the calendars that it belongs
 * to.
 */
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

/** A record that became known, and the cursor of its list. */
interface DueRecord {
  readonly cursor: FeedCursor;
  readonly record: PointInTimeRecord;
}

/** Number of records to read from a list at once, since a list may have to unpack them. */
const RECORDS_AHEAD = 32;

/** Reads one list of records, each record once. */
class FeedCursor {
  readonly identity: string;
  readonly write: (record: PointInTimeRecord, to: ContentWriter) => void;
  /** Number of the list in the hash; `undefined` before its first record. */
  number: number | undefined;
  readonly #list: RecordList<PointInTimeRecord>;
  /** Number of records that were taken, and number of records that are known. */
  #taken = 0;
  #known = 0;
  /**
   * When the first record that is not known yet becomes known, Unix milliseconds; computed when the
   * list had `#length` records.
   */
  #unknownAt = Number.NEGATIVE_INFINITY;
  #length = 0;
  /** Prefetched known records, from position `#aheadFrom` on. */
  #ahead: readonly PointInTimeRecord[] = [];
  #aheadFrom = 0;

  constructor(records: InstrumentRecords, feed: Feed) {
    const { symbol, assetClass, sector } = records.instrument;
    this.identity = JSON.stringify([symbol, assetClass, sector, feed]);
    this.write = RECORD_CONTENT_WRITERS[feed] as typeof this.write;
    this.#list = records[feed] ?? [];
  }

  /** Takes over the position of an earlier cursor of the same list, if there is one. */
  continue(before: FeedCursor | undefined): this {
    if (before !== undefined) {
      this.number = before.number;
      this.#taken = before.#taken;
    }
    return this;
  }

  /**
   * Opens the records known at `at`, Unix milliseconds.
   *
   * @returns When the next record became known; infinite if it is not known yet.
   */
  open(at: number): number {
    const { length } = this.#list;
    if (length !== this.#length || at >= this.#unknownAt) {
      this.#known = countKnownRecords(this.#list, at, this.#taken);
      this.#unknownAt = this.#list.at(this.#known)?.availableAt ?? Number.POSITIVE_INFINITY;
      this.#length = length;
    }
    return this.#nextAt();
  }

  /** The next record; it must be known. */
  read(): PointInTimeRecord {
    return this.#ahead[this.#taken - this.#aheadFrom] as PointInTimeRecord;
  }

  /**
   * Moves past one record.
   *
   * @returns When the next record became known; infinite if it is not known yet.
   */
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
