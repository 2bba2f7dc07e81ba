import { createLazyList } from "./lazy-list.ts";
import type { RecordList } from "./records.ts";

/**
 * How records of one kind are kept as bytes: an object with boxed numbers takes four to six times as
 * much.
 */
export interface Packing<Value, R> {
  /** Bytes of a record. */
  readonly bytes: number;
  /** Writes what a record is made from. */
  write(view: DataView, at: number, draft: Value): void;
  /** Makes the record again, always the same. */
  read(view: DataView, at: number): R;
}

/** A list of records that grows at its end. */
export interface PackedList<Draft, R> extends RecordList<R> {
  push(...drafts: readonly Draft[]): void;
}

/** Records that share a piece of memory: what is not yet used of the last piece is little. */
const PIECE = 128;

/** Creates a list without records. */
export function createPackedList<Draft, R>({
  bytes,
  write,
  read,
}: Packing<Draft, R>): PackedList<Draft, R> {
  const pieces: DataView[] = [];
  let length = 0;
  const list = createLazyList(
    () => length,
    (index) => read(pieces[Math.floor(index / PIECE)] as DataView, (index % PIECE) * bytes),
  );
  return Object.assign(list, {
    push(...drafts: readonly Draft[]) {
      for (const draft of drafts) {
        if (length % PIECE === 0) pieces.push(new DataView(new ArrayBuffer(PIECE * bytes)));
        write(pieces.at(-1) as DataView, (length % PIECE) * bytes, draft);
        length++;
      }
    },
  });
}
