import type { RecordList } from "./records.ts";

/**
 * A list that computes each record when it is read.
 *
 * @param count Returns the number of records, which may rise.
 * @param read Computes the record at an index from 0 to count - 1.
 */
export function createLazyList<R>(count: () => number, read: (index: number) => R): RecordList<R> {
  const indexOf = (position: number) => (position < 0 ? count() + position : position);
  const slice = (from = 0, to = count()): R[] => {
    const end = Math.min(indexOf(to), count());
    const records: R[] = [];
    for (let index = Math.max(0, indexOf(from)); index < end; index++) records.push(read(index));
    return records;
  };
  return {
    get length() {
      return count();
    },
    at(position) {
      const index = indexOf(position);
      return index >= 0 && index < count() ? read(index) : undefined;
    },
    slice,
    [Symbol.iterator]: () => slice().values(),
  };
}
