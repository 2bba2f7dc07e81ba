import type { Instrument } from "../market/instrument.ts";
import { createLazyList } from "../market/lazy-list.ts";
import type { RecordList } from "../market/records.ts";
import { createSignalRecords, type SignalRecord } from "./signal-records.ts";
import type { Snapshot } from "./snapshot.ts";

/** Sessions for which the whole snapshot is kept; older ones keep what a signal answer needs. */
const FULL_SESSIONS = 30;

type Closed = Snapshot | SignalRecord;

/** The final snapshots of one instrument, oldest first. */
export interface ClosedSnapshots {
  /** Those that are kept whole: the last ones. */
  readonly whole: readonly Snapshot[];
  /** @param ahead How many will follow before anyone reads. */
  push(snapshot: Snapshot, ahead: number): void;
  /** The last one at or before an instant. */
  lastAt(at: number): Closed | undefined;
  /** Those of [from, to]. */
  between(from: number, to: number): RecordList<Closed>;
  /** Those after an instant. */
  after(at: number): readonly Closed[];
  /** Drops those before an instant, but none that is kept whole. */
  forgetBefore(at: number): void;
}

/** Starts before the first session. */
export function createClosedSnapshots(instrument: Instrument): ClosedSnapshots {
  let old = createSignalRecords(instrument);
  const whole: Snapshot[] = [];
  const read = (place: number): Closed =>
    (place < old.length ? old.at(place) : whole[place - old.length]) as Closed;
  /** How many come before the first that is not early any more. */
  const countEarly = (isEarly: (closed: Closed) => boolean): number => {
    let low = 0;
    let high = old.length + whole.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isEarly(read(middle))) low = middle + 1;
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
      // Readers of what there was before have as many with their factors as they had.
      const most = ahead < FULL_SESSIONS ? FULL_SESSIONS : whole.length - 1;
      old.push(...whole.splice(0, whole.length - Math.min(FULL_SESSIONS, most)));
    },
    lastAt(instant) {
      const known = countEarly(({ at }) => at <= instant);
      return known === 0 ? undefined : read(known - 1);
    },
    between: (from, to) =>
      part(
        countEarly(({ at }) => at < from),
        countEarly(({ at }) => at <= to),
      ),
    after: (instant) =>
      part(
        countEarly(({ at }) => at <= instant),
        old.length + whole.length,
      ).slice(),
    forgetBefore(instant) {
      const left = old.slice(countEarly(({ at }) => at < instant));
      old = createSignalRecords(instrument);
      old.push(...left);
    },
  };
}
