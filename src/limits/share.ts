/** A whole that many parties use at the same time. */
export interface Whole {
  /** How much there is. */
  readonly total: number;
  /** How much a party gets that is alone. */
  readonly most: number;
}

/**
 * How much one party may have of a whole, at least one. The share shrinks with the square of what is
 * left, so that few parties cannot use it up, and one that has nothing still gets something (dynamic
 * thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).
 *
 * @param left How much nobody has.
 */
export function shareOf({ total, most }: Whole, left: number): number {
  return Math.max(1, Math.min(most, most * (left / (total - most)) ** 2));
}
