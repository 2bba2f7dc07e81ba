import type { Limits, QuotaName, Remaining } from "./limits.ts";

/** What is counted, and for whom. */
export type Counter = readonly [quota: QuotaName, key: string];

/**
 * Counts one against several quotas, one after the other, and no further than to the first that is
 * exceeded: a refused call uses up nothing of the quotas after it. So quotas by what a caller cannot
 * choose, such as its address, come first.
 *
 * @returns What was counted; only the last can be exceeded.
 */
export async function countInOrder(
  limits: Pick<Limits, "count">,
  counters: readonly Counter[],
): Promise<readonly Remaining[]> {
  const counted: Remaining[] = [];
  for (const [quota, key] of counters) {
    const remaining = await limits.count(quota, key);
    counted.push(remaining);
    if (remaining.isExceeded) break;
  }
  return counted;
}
