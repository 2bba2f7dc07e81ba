import { createHash } from "node:crypto";
import type { Market } from "../market/market.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import { type ContentWriter, RECORD_CONTENT_WRITERS } from "../market/record-content.ts";
import { FEEDS, type InstrumentRecords, type PointInTimeRecord } from "../market/records.ts";

/**
 * SHA-256 of everything that a market knew at a series of instants: identities, records and the
 * sessions of the calendar. Records that become known later do not change it, so a folder that has
 * grown keeps its earlier hashes.
 */
export class DataHash {
  readonly #market: Market;
  readonly #hash = createHash("sha256");
  #until = Number.NEGATIVE_INFINITY;

  constructor(market: Market) {
    this.#market = market;
  }

  /**
   * Adds everything that became known up to an instant.
   *
   * @param at Unix milliseconds; must never decrease.
   * @returns The hash in hexadecimal; it depends on all instants so far.
   */
  advance(at: number): string {
    const span = { after: this.#until, until: at };
    for (const records of this.#market.recordsUntil(at)) this.#add(records, span);
    if (Number.isFinite(span.after)) {
      const closes = this.#market.barsDue?.(span.after, at, "stock") ?? [];
      this.#hash.update(Float64Array.from(closes));
    }
    this.#until = at;
    return this.#hash.copy().digest("hex");
  }

  #add(
    records: InstrumentRecords,
    { after, until }: { readonly after: number; readonly until: number },
  ): void {
    const { symbol, assetClass, sector } = records.instrument;
    for (const feed of FEEDS) {
      const list = records[feed];
      if (list === undefined) continue;
      const from = Number.isFinite(after) ? countKnownRecords(list, after) : 0;
      const fresh = list.slice(
        from,
        countKnownRecords(list, until),
      ) as readonly PointInTimeRecord[];
      if (fresh.length === 0) continue;
      this.#hash.update(JSON.stringify([symbol, assetClass, sector, feed, fresh.length]));
      const numbers: number[] = [];
      const texts: string[] = [];
      const to = {
        number: (value: number) => void numbers.push(value),
        text: (value: string) => void texts.push(value),
      };
      const write = RECORD_CONTENT_WRITERS[feed] as (
        record: PointInTimeRecord,
        to: ContentWriter,
      ) => void;
      for (const record of fresh) write(record, to);
      this.#hash.update(Float64Array.from(numbers)).update(JSON.stringify(texts));
    }
  }
}
