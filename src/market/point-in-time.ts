import type { Known, RecordList } from "./records.ts";

/**
 * How many records were known at an instant.
 *
 * @param records Ascending by `availableAt`.
 * @param at Unix milliseconds; records available exactly then count.
 * @param near A guess of the result; it and the next number are tried first.
 */
export function countKnown(
  records: Pick<RecordList<Known>, "length" | "at">,
  at: number,
  near?: number,
): number {
  let low = 0;
  let high = records.length;
  for (const guess of near === undefined ? [] : [near, near + 1]) {
    if (guess <= low || guess > high) continue;
    if ((records.at(guess - 1) as Known).availableAt <= at) low = guess;
    else high = guess - 1;
  }
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records.at(middle) as Known).availableAt <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The newest record known at an instant (Unix milliseconds); `undefined` if none was. */
export function newestKnown<R extends Known>(
  records: Pick<RecordList<R>, "length" | "at">,
  at: number,
): R | undefined {
  const count = countKnown(records, at);
  return count === 0 ? undefined : records.at(count - 1);
}

/**
 * Creates a reader of a growing list that returns each record once, in time order. A record may be
 * added before others that are not known yet, but not before those that were read.
 *
 * @returns A function of the list and a never decreasing instant: the newly known records.
 */
export function createReader<R extends Known>(): (list: RecordList<R>, at: number) => readonly R[] {
  let read = 0;
  /** When the next record of a list of `length` becomes known; `undefined` if it has none. */
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

/** The later of two instants, either of which may be missing. */
export const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);

/**
 * Orders messages or prints by the time at which they became known, and those of one time by id, so
 * that the order in their source has no effect.
 */
export const byTimeAndId = <R extends Known & { readonly id: string }>(one: R, other: R): number =>
  one.availableAt - other.availableAt || (one.id < other.id ? -1 : 1);
