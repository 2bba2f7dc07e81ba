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

/** Name of the analyzer of message texts, with which every series begins. */
const ANALYZER = "lexicon";

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
  #cursors = new FeedCursors([]);
  /** Number of lists of which at least one record was hashed. */
  #begun = 0;
  #until = Number.NEGATIVE_INFINITY;
  /**
   * Whether `#until` is an instant other than a close; the series of such an instant is deleted by
   * the next `extend`.
   */
  #isInterim = false;

  constructor() {
    this.#hash.text(ANALYZER);
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
      this.#cursors = new FeedCursors(list, this.#cursors);
      this.#list = list;
    }
    this.#cursors.open(at);
  }

  /**
   * Hashes the records that became known by an instant.
   *
   * @returns The number of these records.
   */
  #take(until: number): number {
    const cursors = this.#cursors;
    const due: DueRecord[] = [];
    for (let place = 0; place < cursors.nextAt.length; place++) {
      while ((cursors.nextAt[place] as number) <= until) {
        const at = cursors.nextAt[place] as number;
        due.push({ place, at, record: cursors.take(place) });
      }
    }
    // The sort is stable: records with the same instant stay in the order of the lists.
    due.sort((one, other) => one.at - other.at);
    for (const one of due) this.#add(one);
    return due.length;
  }

  /**
   * Hashes a record. The identity of its list is hashed with the first record; later records only
   * have the number of the list.
   */
  #add({ place, record }: DueRecord): void {
    const { numbers } = this.#cursors;
    const hash = this.#hash;
    if (numbers[place] === UNNUMBERED) {
      numbers[place] = this.#begun++;
      hash.number(LIST);
      hash.text(this.#cursors.identity(place));
    }
    hash.number(numbers[place] as number);
    this.#cursors.write(place, record, hash);
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

/** A record that became known, and the place of its list among the cursors. */
interface DueRecord {
  readonly place: number;
  /**
   * When the record became known, Unix milliseconds. It is copied, since records of the feeds are of
   * many shapes, and sorting by a member of the record takes three times as long.
   */
  readonly at: number;
  readonly record: PointInTimeRecord;
}

/** Number of records to read from a list at once, since a list may have to unpack them. */
const RECORDS_AHEAD = 32;

/** Number of a list of which no record was hashed. */
const UNNUMBERED = -1;

/** Records of a list that has no record to read; shared by all lists to save memory. */
const NO_RECORDS: readonly PointInTimeRecord[] = [];

/**
 * Reads many lists of records, each record once. A list is addressed by its place, its index in the
 * order of symbol and feed. The positions are columns, by place, because a few large arrays cost
 * less memory than one object per list.
 */
class FeedCursors {
  /** When the next record became known, Unix milliseconds; infinite if it is not known yet. */
  readonly nextAt: Float64Array;
  /** Number of the list in the hash, or `UNNUMBERED`. */
  readonly numbers: Int32Array;
  readonly #instruments: readonly InstrumentRecords[];
  readonly #feeds: readonly Feed[];
  /** Number of records that were taken, and number of records that are known. */
  readonly #taken: Uint32Array;
  readonly #known: Uint32Array;
  /**
   * When the first record that is not known yet becomes known, Unix milliseconds; computed when the
   * list had `#lengths` records.
   */
  readonly #unknownAt: Float64Array;
  readonly #lengths: Uint32Array;
  /** Prefetched known records, from position `#aheadFrom` on. */
  readonly #ahead: (readonly PointInTimeRecord[])[];
  readonly #aheadFrom: Uint32Array;

  /** @param before Earlier cursors; a list that they read is continued from its position. */
  constructor(list: readonly InstrumentRecords[], before?: FeedCursors) {
    const lists = list.toSorted(bySymbol).flatMap((records) =>
      SCORED_FEEDS.filter((feed) => records[feed] !== undefined).map((feed) => ({
        records,
        feed,
      })),
    );
    const { length } = lists;
    this.nextAt = new Float64Array(length);
    this.numbers = new Int32Array(length).fill(UNNUMBERED);
    this.#instruments = lists.map(({ records }) => records);
    this.#feeds = lists.map(({ feed }) => feed);
    this.#taken = new Uint32Array(length);
    this.#known = new Uint32Array(length);
    this.#unknownAt = new Float64Array(length).fill(Number.NEGATIVE_INFINITY);
    this.#lengths = new Uint32Array(length);
    this.#ahead = lists.map(() => NO_RECORDS);
    this.#aheadFrom = new Uint32Array(length);
    if (before !== undefined) this.#continue(before);
  }

  #continue(before: FeedCursors): void {
    const places = new Map(before.#feeds.map((_, place) => [before.identity(place), place]));
    if (places.size === 0) return;
    for (let place = 0; place < this.#feeds.length; place++) {
      const earlier = places.get(this.identity(place));
      if (earlier === undefined) continue;
      this.numbers[place] = before.numbers[earlier] as number;
      this.#taken[place] = before.#taken[earlier] as number;
    }
  }

  /** Identity of a list: the symbol, class and sector of its instrument, and its feed. */
  identity(place: number): string {
    const { instrument } = this.#instruments[place] as InstrumentRecords;
    const { symbol, assetClass, sector } = instrument;
    return JSON.stringify([symbol, assetClass, sector, this.#feeds[place]]);
  }

  /** Opens the records known at `at`, Unix milliseconds. */
  open(at: number): void {
    for (let place = 0; place < this.nextAt.length; place++) {
      const list = this.#listAt(place);
      if (list.length !== this.#lengths[place] || at >= (this.#unknownAt[place] as number)) {
        const known = countKnownRecords(list, at, this.#taken[place]);
        this.#known[place] = known;
        this.#unknownAt[place] = list.at(known)?.availableAt ?? Number.POSITIVE_INFINITY;
        this.#lengths[place] = list.length;
      }
      this.#findNext(place);
    }
  }

  /** Takes the next record of a list; the record must be known. */
  take(place: number): PointInTimeRecord {
    const record = this.#next(place);
    (this.#taken[place] as number)++;
    this.#findNext(place);
    return record;
  }

  /** Writes the content of a record of a list. */
  write(place: number, record: PointInTimeRecord, to: ContentWriter): void {
    const write = RECORD_CONTENT_WRITERS[this.#feeds[place] as Feed];
    (write as (record: PointInTimeRecord, to: ContentWriter) => void)(record, to);
  }

  #listAt(place: number): RecordList<PointInTimeRecord> {
    const records = this.#instruments[place] as InstrumentRecords;
    return records[this.#feeds[place] as Feed] as RecordList<PointInTimeRecord>;
  }

  #next(place: number): PointInTimeRecord {
    const ahead = this.#ahead[place] as readonly PointInTimeRecord[];
    const index = (this.#taken[place] as number) - (this.#aheadFrom[place] as number);
    return ahead[index] as PointInTimeRecord;
  }

  /** Computes when the next record of a list became known; prefetches records if none is left. */
  #findNext(place: number): void {
    const taken = this.#taken[place] as number;
    const known = this.#known[place] as number;
    if (taken >= known) {
      this.#ahead[place] = NO_RECORDS;
      this.nextAt[place] = Number.POSITIVE_INFINITY;
      return;
    }
    const ahead = this.#ahead[place] as readonly PointInTimeRecord[];
    if (taken >= (this.#aheadFrom[place] as number) + ahead.length) {
      this.#aheadFrom[place] = taken;
      this.#ahead[place] = this.#listAt(place).slice(taken, Math.min(taken + RECORDS_AHEAD, known));
    }
    this.nextAt[place] = this.#next(place).availableAt;
  }
}
