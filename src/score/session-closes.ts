import type { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import { createRecordReader } from "../market/point-in-time.ts";
import type { InstrumentRecords, PointInTimeRecord, RecordList } from "../market/records.ts";

/** The closes of the sessions in one calendar. */
export interface SessionCloses {
  /** Unix milliseconds, ascending; some may lie in the future. */
  readonly closes: readonly number[];
  /**
   * Adds the sessions that close by `at` (Unix milliseconds, never decreasing).
   *
   * @param group Instruments of the calendar; those without new bars may be omitted.
   */
  advance(group: readonly InstrumentRecords[], at: number): void;
}

/** Number of days of the calendar to read in advance. */
const DAYS_AHEAD = 10;

/**
 * Creates the session closes of a class. If the market has a calendar, the closes follow the
 * calendar from the first bar on, so that a late bar does not create a session and a session
 * without bars counts as missed. Without a calendar, the closes are the instants at which bars
 * became known.
 */
export function createSessionCloses(market: Market, assetClass: AssetClass): SessionCloses {
  if (market.barsDue === undefined) return closesOfBars();
  const closes: number[] = [];
  let known: number | undefined;
  return {
    closes,
    advance(group, at) {
      known ??= beforeFirstBar(group, at);
      if (known === undefined || at <= known) return;
      const until = at + DAYS_AHEAD * market.dayMs;
      for (const close of market.barsDue?.(known, until, assetClass) ?? []) closes.push(close);
      known = until;
    },
  };
}

/** The instant just before the first bar became known; `undefined` if no bar is known at `at`. */
function beforeFirstBar(group: readonly InstrumentRecords[], at: number): number | undefined {
  const first = group.reduce(
    (min, { bars }) => Math.min(min, bars.at(0)?.availableAt ?? min),
    Number.POSITIVE_INFINITY,
  );
  return first <= at ? first - 1 : undefined;
}

function closesOfBars(): SessionCloses {
  const closes: number[] = [];
  const newBars = createGroupReader(({ bars }) => bars);
  return {
    closes,
    advance(group, at) {
      const fresh = new Set(newBars(group, at).map(({ availableAt }) => availableAt));
      const newest = closes.at(-1) ?? Number.NEGATIVE_INFINITY;
      // A bar may belong to a session that is already known from another instrument.
      const later = [...fresh].filter((close) => close > newest);
      for (const close of later.sort((a, b) => a - b)) closes.push(close);
    },
  };
}

/**
 * Creates a reader for a group of instruments. It reads one list of each instrument, and returns
 * each record once.
 *
 * @param listOf Returns the list of an instrument; `undefined` if it has none.
 * @returns A function of the group and an instant, which must not decrease from call to call. It
 * returns the records known at the instant that it has not returned before.
 */
export function createGroupReader<R extends PointInTimeRecord>(
  listOf: (records: InstrumentRecords) => RecordList<R> | undefined,
): (group: readonly InstrumentRecords[], at: number) => readonly R[] {
  const readers = new Map<InstrumentRecords, ReturnType<typeof createRecordReader<R>>>();
  const readOne = (records: InstrumentRecords, at: number): readonly R[] => {
    const list = listOf(records);
    if (list === undefined) return [];
    const read = readers.get(records) ?? createRecordReader<R>();
    readers.set(records, read);
    return read(list, at);
  };
  return (group, at) => group.flatMap((records) => readOne(records, at));
}
