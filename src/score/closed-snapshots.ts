import type { Instrument } from "../market/instrument.ts";
import { createLazyList } from "../market/lazy-list.ts";
import type { RecordList } from "../market/records.ts";
import { createSignalRecords, readRecordInstant, type SignalRecord } from "./signal-records.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Number of newest sessions whose snapshots are kept in full; older snapshots keep only the fields
 * of a signal answer.
 */
const FULL_SESSIONS = 30;

type ClosedSnapshot = Snapshot | SignalRecord;

/** The final snapshots of one instrument, oldest first. */
export interface ClosedSnapshots {
  /** The newest snapshots, which are kept in full. */
  readonly whole: readonly Snapshot[];
  /**
   * Appends a snapshot.
   *
   * @param ahead Number of snapshots that will follow before the next read.
   */
  push(snapshot: Snapshot, ahead: number): void;
  /** The last snapshot at or before an instant. */
  lastAt(at: number): ClosedSnapshot | undefined;
  /** The snapshots in [from, to], Unix milliseconds. */
  between(from: number, to: number): RecordList<ClosedSnapshot>;
  /** The snapshots after an instant. */
  after(at: number): readonly ClosedSnapshot[];
  /** Drops the snapshots before an instant, except the snapshots kept in full. */
  forgetBefore(at: number): void;
}

/** Creates an empty list. */
export function createClosedSnapshots(instrument: Instrument): ClosedSnapshots {
  let old = createSignalRecords(instrument);
  const whole: Snapshot[] = [];
  const read = (place: number): ClosedSnapshot =>
    (place < old.length ? old.at(place) : whole[place - old.length]) as ClosedSnapshot;
  const instantOf = (place: number): number =>
    place < old.length
      ? old.readPart(place, readRecordInstant)
      : (whole[place - old.length] as Snapshot).at;
  /** Number of leading snapshots whose instant satisfies the predicate, found by binary search. */
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
  const part = (from: number, to: number): RecordList<ClosedSnapshot> =>
    createLazyList(
      () => to - from,
      (index) => read(from + index),
    );
  return {
    whole,
    push(snapshot, ahead) {
      whole.push(snapshot);
      // If many snapshots follow, the number kept in full must not drop below the number that
      // readers see now.
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
