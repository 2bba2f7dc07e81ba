import { createLazyList } from "./lazy-list.ts";
import type { RecordList } from "./records.ts";

/**
 * Binary layout of one kind of record. Objects with boxed numbers would take four to six times the
 * memory.
 */
export interface RecordPacking<Value, R> {
  /** Size of a record in bytes. */
  readonly bytes: number;
  /** Writes a value at a byte offset. */
  write(view: DataView, at: number, value: Value): void;
  /** Reads the record at a byte offset; repeated reads return equal records. */
  read(view: DataView, at: number): R;
}

/** A packed list of records to which records can be appended. */
export interface PackedList<Value, R> extends RecordList<R> {
  push(...values: readonly Value[]): void;
  /** Reads a part of the record at an index from 0 to length - 1. */
  readPart<T>(index: number, read: (view: DataView, at: number) => T): T;
}

/** Records per buffer; small, so that the last buffer wastes little memory. */
const BUFFER_RECORDS = 128;

/** Creates an empty list. */
export function createPackedList<Value, R>({
  bytes,
  write,
  read,
}: RecordPacking<Value, R>): PackedList<Value, R> {
  const buffers: DataView[] = [];
  let length = 0;
  const readPart = <T>(index: number, of: (view: DataView, at: number) => T): T =>
    of(buffers[Math.floor(index / BUFFER_RECORDS)] as DataView, (index % BUFFER_RECORDS) * bytes);
  const list = createLazyList(
    () => length,
    (index) => readPart(index, read),
  );
  return Object.assign(list, {
    readPart,
    push(...values: readonly Value[]) {
      for (const value of values) {
        if (length % BUFFER_RECORDS === 0)
          buffers.push(new DataView(new ArrayBuffer(BUFFER_RECORDS * bytes)));
        write(buffers.at(-1) as DataView, (length % BUFFER_RECORDS) * bytes, value);
        length++;
      }
    },
  });
}
