import type { PointInTimeRecord, RecordList } from "./records.ts";

/**
 * Number of records known at an instant.
 *
 * @param records Ascending by `availableAt`.
 * @param at Unix milliseconds; a record that becomes available at exactly this instant is included.
 * @param near Guess of the result; the guess and the next number are tried first.
 */
export function countKnownRecords(
  records: Pick<RecordList<PointInTimeRecord>, "length" | "at">,
  at: number,
  near?: number,
): number {
  let low = 0;
  let high = records.length;
  for (const guess of near === undefined ? [] : [near, near + 1]) {
    if (guess <= low || guess > high) continue;
    if ((records.at(guess - 1) as PointInTimeRecord).availableAt <= at) low = guess;
    else high = guess - 1;
  }
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records.at(middle) as PointInTimeRecord).availableAt <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The newest record known at an instant (Unix milliseconds); `undefined` if there is none. */
export function newestKnownRecord<R extends PointInTimeRecord>(
  records: Pick<RecordList<R>, "length" | "at">,
  at: number,
): R | undefined {
  const count = countKnownRecords(records, at);
  return count === 0 ? undefined : records.at(count - 1);
}

/**
 * Creates a reader of a growing list that returns each record once, in time order. A record may be
 * inserted before records that are not known yet, but not before records that were read.
 *
 * @returns A function of the list and an instant, which must not decrease from call to call. It
 * returns the records known at the instant that it has not returned before.
 */
export function createRecordReader<R extends PointInTimeRecord>(): (
  list: RecordList<R>,
  at: number,
) => readonly R[] {
  let read = 0;
  /**
   * When the first unread record of a list of `length` records becomes known; `undefined` if there
   * is no such record.
   */
  let nextAt: number | undefined;
  let length = 0;
  return (list, at) => {
    if (list.length !== length) {
      length = list.length;
      nextAt = list.at(read)?.availableAt;
    }
    if (nextAt === undefined || nextAt > at) return [];
    const fresh: R[] = [];
    let next = list.at(read);
    for (; next && next.availableAt <= at; next = list.at(++read)) fresh.push(next);
    nextAt = next?.availableAt;
    return fresh;
  };
}

/** The later of two instants; if one of them is `null`, the other instant. */
export const laterInstant = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);

/**
 * Orders messages or prints by the instant at which they became known, then by id, so that their
 * order in the source has no effect.
 */
export const compareByTimeAndId = <R extends PointInTimeRecord & { readonly id: string }>(
  one: R,
  other: R,
): number => one.availableAt - other.availableAt || (one.id < other.id ? -1 : 1);
