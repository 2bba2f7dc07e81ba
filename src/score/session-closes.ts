import type { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import { createReader } from "../market/point-in-time.ts";
import type { InstrumentRecords, Known, RecordList } from "../market/records.ts";

/** When the sessions of one calendar close. */
export interface SessionCloses {
  /** Instants in Unix milliseconds, ascending; some may lie in the future. */
  readonly closes: readonly number[];
  /**
   * Adds the sessions that close by `at` (Unix milliseconds, never decreasing). The group need only
   * contain the instruments with new bars.
   */
  advance(group: readonly InstrumentRecords[], at: number): void;
}

/** Days of the calendar that are read in advance. */
const DAYS_AHEAD = 10;

/**
 * Sessions by the market's calendar from the first bar on, so that a late bar does not create a session
 * and a session without bars counts as missed; without a calendar, the instants at which bars became
 * known.
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

/** Just before the first bar known by an instant, `undefined` if there is none. */
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
      // A bar of another instrument may belong to a session that is already known.
      const later = [...fresh].filter((close) => close > newest);
      for (const close of later.sort((a, b) => a - b)) closes.push(close);
    },
  };
}

/**
 * A reader of one list per instrument that returns every record once.
 *
 * @param listOf The list, `undefined` where the instrument has none.
 * @returns A function of the instruments and a never decreasing instant: the newly known records.
 */
export function createGroupReader<R extends Known>(
  listOf: (records: InstrumentRecords) => RecordList<R> | undefined,
): (group: readonly InstrumentRecords[], at: number) => readonly R[] {
  const readers = new Map<InstrumentRecords, ReturnType<typeof createReader<R>>>();
  const readOne = (records: InstrumentRecords, at: number): readonly R[] => {
    const list = listOf(records);
    if (list === undefined) return [];
    const read = readers.get(records) ?? createReader<R>();
    readers.set(records, read);
    return read(list, at);
  };
  return (group, at) => group.flatMap((records) => readOne(records, at));
}
