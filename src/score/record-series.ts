import { sha256 } from "../lib/sha256.ts";
import type { MarketMode } from "../market/market.ts";
import { FEEDS, type Feed, type InstrumentRecords, type Known } from "../market/records.ts";

/** Hexadecimal digits of a series. */
export const SERIES_DIGITS = 16;

/** The feeds of a live market that define its series: prices only, since the start of the others
 *  depends on the limits of providers. */
const LIVE_FEEDS: readonly Feed[] = ["bars"];

/** The first record of a feed of one instrument. */
interface Beginning {
  /** When its first record became known, Unix milliseconds. */
  readonly at: number;
  /** Text that distinguishes it from other beginnings. */
  readonly text: string;
}

/**
 * Names the series that scores belong to. Signals depend on all records from the first one on, and
 * every instrument is compared with all others, so a market has one series at a time. Another
 * series begins when the record of any instrument begins earlier, when a feed has another first
 * record, or when another sentiment reader is used. The series at an instant depends only on what
 * was known then: later records and instruments that are listed later do not change it.
 */
export class RecordSeries {
  readonly #feeds: readonly Feed[];
  /** Ascending: the name from an instant on. */
  readonly #names: { readonly at: number; readonly name: string }[];
  readonly #begun = new Set<string>();
  #list: readonly InstrumentRecords[] = [];
  #waiting: readonly (readonly [InstrumentRecords, Feed])[] = [];

  /** @param reader Identifies the reader of message texts: the lexicon, or a model. */
  constructor(mode: MarketMode, reader: string) {
    this.#feeds = mode === "live" ? LIVE_FEEDS : FEEDS;
    const name = sha256(JSON.stringify([this.#feeds, reader]));
    this.#names = [{ at: Number.NEGATIVE_INFINITY, name }];
  }

  /** Takes in what became known by an instant (Unix milliseconds, never falling). */
  extend(list: readonly InstrumentRecords[], at: number): void {
    if (this.#list !== list) this.#waiting = list.flatMap((one) => this.#feedsOf(one));
    this.#list = list;
    const fresh: Beginning[] = [];
    this.#waiting = this.#waiting.filter(([records, feed]) => {
      const first = records[feed]?.at(0);
      if (first === undefined || first.availableAt > at) return true;
      this.#begun.add(keyOf(records, feed));
      fresh.push({ at: first.availableAt, text: textOf(records, feed, first) });
      return false;
    });
    fresh.sort((a, b) => a.at - b.at || (a.text < b.text ? -1 : 1));
    for (const { at, text } of fresh) {
      this.#names.push({ at, name: sha256(this.#names.at(-1)?.name + text) });
    }
  }

  #feedsOf(records: InstrumentRecords) {
    return this.#feeds
      .filter((feed) => records[feed] !== undefined && !this.#begun.has(keyOf(records, feed)))
      .map((feed) => [records, feed] as const);
  }

  /** The series of an instant, Unix milliseconds. */
  at(instant: number): string {
    const last = this.#names.findLast(({ at }) => at <= instant);
    return last?.name.slice(0, SERIES_DIGITS) ?? "";
  }
}

const keyOf = ({ instrument: { symbol } }: InstrumentRecords, feed: Feed): string =>
  `${symbol} ${feed}`;

/** The text of the whole first record, since all of it matters: a split on the first bar, for
 *  example, changes every later share count. */
function textOf({ instrument }: InstrumentRecords, feed: Feed, first: Known): string {
  const { symbol, assetClass, sector } = instrument;
  // In one order, whatever the order in which a source writes the members.
  const members = Object.entries(first).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([symbol, assetClass, sector, feed, members]);
}
