import { createMadeList } from "../../market/made-list.ts";
import type { Bar, Known, RecordList } from "../../market/records.ts";

/** A list as its readers have it, oldest first. */
export interface ShownList {
  readonly records: RecordList<Known>;
  /** Puts a record where nobody has read yet. */
  add(record: Known): void;
}

/** Puts what was given in the order in which it became known. */
export function showByTime(given: readonly Known[]): ShownList {
  const records = given.toSorted((one, other) => one.availableAt - other.availableAt);
  return {
    records,
    add(record) {
      const before = records.findLastIndex(({ availableAt }) => availableAt <= record.availableAt);
      records.splice(before + 1, 0, record);
    },
  };
}

/**
 * Puts bars in the order of their sessions, each with its return and not known before the one before
 * it. They are made when they are read: to keep them beside what was given would take twice as much.
 */
export function showBars(given: readonly Bar[]): ShownList {
  const bars: Bar[] = [];
  const times: number[] = [];
  const add = (bar: Bar) => {
    bars.push(bar);
    times.push(Math.max(times.at(-1) ?? bar.availableAt, bar.availableAt));
  };
  for (const bar of given.toSorted((one, other) => (one.session < other.session ? -1 : 1)))
    add(bar);
  const read = (index: number): Bar => {
    const bar = bars[index] as Bar;
    const availableAt = times[index] as number;
    return { ...bar, availableAt, logReturn: returnAfter(bars[index - 1], bar) };
  };
  return { records: createMadeList(() => bars.length, read), add: (bar) => add(bar as Bar) };
}

/** The log return of a holder over splits and dividends; `null` on the first bar. */
const returnAfter = (before: Bar | undefined, { close, dividend, split }: Bar): number | null =>
  before === undefined ? null : Math.log(((close + dividend) * split) / before.close);
