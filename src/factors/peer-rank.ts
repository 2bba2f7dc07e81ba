import { countBelow } from "../statistics/statistics.ts";

/** Place of a value among others. */
export interface PeerRank {
  /** Mean rank of equal values, from 1 (least) to `of`. */
  readonly rank: number;
  /** Number of ranked values, including this one. */
  readonly of: number;
}

/**
 * Ranks a value among the values of a close.
 *
 * @param sorted Values of the close, ascending.
 * @param own The value with which the same instrument is in `sorted`; it is left out, so that an
 * instrument is never compared with its own past. `NaN` if it is not in there.
 */
export function rankAmong(sorted: Float64Array, value: number, own: number): PeerRank {
  const from = countBelow(sorted, value);
  const to = countNotAbove(sorted, value, from);
  const less = from - (own < value ? 1 : 0);
  const equal = to - from - (own === value ? 1 : 0);
  const others = sorted.length - (Number.isNaN(own) ? 0 : 1);
  return { rank: less + equal / 2 + 1, of: others + 1 };
}

/** The fraction (rank - 0.5) / n of a place, in (0, 1). */
export const fractionOf = ({ rank, of }: PeerRank): number => (rank - 0.5) / of;

/**
 * Number of elements of `sorted`, which must be ascending, that are not greater than `value`.
 *
 * @param from A number at or below the answer, so that most searches end at once.
 */
export function countNotAbove(sorted: Float64Array, value: number, from: number): number {
  if (!((sorted[from] as number) <= value)) return from;
  if (!((sorted[from + 1] as number) <= value)) return from + 1;
  let low = from + 2;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
