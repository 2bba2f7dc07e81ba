import { createReader } from "../market/point-in-time.ts";
import type { InstrumentRecords, Known, RecordList } from "../market/records.ts";

/**
 * A reader of one list of each of many instruments that hands out every record once.
 *
 * @param listOf The list, `undefined` where the instrument has none.
 * @returns A function of instruments and an instant that never falls: the records newly known.
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
