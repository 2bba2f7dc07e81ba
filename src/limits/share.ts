/** A capacity that several parties share. */
export interface SharedCapacity {
  /** The capacity. */
  readonly total: number;
  /** What a single party can use while it is alone. */
  readonly most: number;
}

/**
 * How much of a shared capacity one party can use, at least one unit. The share shrinks with the square
 * of what is unused, so that a few parties cannot use it up and new ones still get in (dynamic
 * thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).
 *
 * @param left Unused capacity.
 */
export function shareOf({ total, most }: SharedCapacity, left: number): number {
  return Math.max(1, Math.min(most, most * (left / (total - most)) ** 2));
}

/** How much of a whole must be left for a party that has some of it to get more: the inverse of
 *  `shareOf`. @param has How much it has, from 0. */
export function leftToGetMore({ total, most }: SharedCapacity, has: number): number {
  return (total - most) * Math.sqrt(has / most);
}
