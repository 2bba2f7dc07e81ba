import type { Instrument } from "../market/instrument.ts";
import { createLazyList } from "../market/lazy-list.ts";
import type { RecordList } from "../market/records.ts";
import { createSignalRecords, readAt, type SignalRecord } from "./signal-records.ts";
import type { Snapshot } from "./snapshot.ts";

/** Sessions whose full snapshot is kept; of older ones only the fields of a signal answer are. */
const FULL_SESSIONS = 30;

type Closed = Snapshot | SignalRecord;

/** The final snapshots of one instrument, oldest first. */
export interface ClosedSnapshots {
  /** The newest snapshots, kept in full. */
  readonly whole: readonly Snapshot[];
  /** @param ahead Number of snapshots that will follow before the next read. */
  push(snapshot: Snapshot, ahead: number): void;
  /** The last snapshot at or before an instant. */
  lastAt(at: number): Closed | undefined;
  /** The snapshots of [from, to]. */
  between(from: number, to: number): RecordList<Closed>;
  /** The snapshots after an instant. */
  after(at: number): readonly Closed[];
  /** Drops the snapshots before an instant, except those kept in full. */
  forgetBefore(at: number): void;
}

/** Creates an empty list. */
export function createClosedSnapshots(instrument: Instrument): ClosedSnapshots {
  let old = createSignalRecords(instrument);
  const whole: Snapshot[] = [];
  const read = (place: number): Closed =>
    (place < old.length ? old.at(place) : whole[place - old.length]) as Closed;
  const instantOf = (place: number): number =>
    place < old.length ? old.readPart(place, readAt) : (whole[place - old.length] as Snapshot).at;
  /** Number of leading snapshots whose instant satisfies the predicate (binary search). */
  const countEarly = (isEarly: (at: number) => boolean): number => {
    let low = 0;
    let high = old.length + whole.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isEarly(instantOf(middle))) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const part = (from: number, to: number): RecordList<Closed> =>
    createLazyList(
      () => to - from,
      (index) => read(from + index),
    );
  return {
    whole,
    push(snapshot, ahead) {
      whole.push(snapshot);
      // Current readers keep as many full snapshots as they had.
      const most = ahead < FULL_SESSIONS ? FULL_SESSIONS : whole.length - 1;
      old.push(...whole.splice(0, whole.length - Math.min(FULL_SESSIONS, most)));
    },
    lastAt(instant) {
      const known = countEarly((at) => at <= instant);
      return known === 0 ? undefined : read(known - 1);
    },
    between: (from, to) =>
      part(
        countEarly((at) => at < from),
        countEarly((at) => at <= to),
      ),
    after: (instant) =>
      part(
        countEarly((at) => at <= instant),
        old.length + whole.length,
      ).slice(),
    forgetBefore(instant) {
      const left = old.slice(countEarly((at) => at < instant));
      old = createSignalRecords(instrument);
      old.push(...left);
    },
  };
}
