/** A capacity that several parties share. */
export interface SharedCapacity {
  /** The whole capacity, in units. */
  readonly total: number;
  /** Capacity that a single party can use while no other party uses any. */
  readonly most: number;
}

/**
 * The part of a shared capacity that one party can use, at least one unit. It shrinks with the
 * square of the unused part, so that a few parties cannot use up the capacity and new parties are
 * still admitted (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking
 * 6(2), 1998).
 *
 * @param left Unused capacity.
 */
export function partyShare({ total, most }: SharedCapacity, left: number): number {
  return Math.max(1, Math.min(most, most * (left / (total - most)) ** 2));
}
