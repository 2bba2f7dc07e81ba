import { createLazyList } from "./lazy-list.ts";
import type { RecordList } from "./records.ts";

/**
 * Binary layout of one kind of records: objects with boxed numbers take four to six times the memory.
 */
export interface Packing<Value, R> {
  /** Bytes of a record. */
  readonly bytes: number;
  /** Writes a value. */
  write(view: DataView, at: number, value: Value): void;
  /** Reads a record; repeated reads give equal records. */
  read(view: DataView, at: number): R;
}

/** A list of records that grows at its end. */
export interface PackedList<Value, R> extends RecordList<R> {
  push(...values: readonly Value[]): void;
  /** Reads a part of the record at an index of 0..length - 1. */
  readPart<T>(index: number, read: (view: DataView, at: number) => T): T;
}

/** Records per buffer; small, so that little of the last buffer is unused. */
const BUFFER_RECORDS = 128;

/** Creates a list without records. */
export function createPackedList<Value, R>({
  bytes,
  write,
  read,
}: Packing<Value, R>): PackedList<Value, R> {
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
