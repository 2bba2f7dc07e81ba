import type { Limits, QuotaName, QuotaState } from "./quotas.ts";

/** A quota and the key under which to count. */
export type QuotaCounter = readonly [quota: QuotaName, key: string];

/**
 * Counts one action in several quotas in order, up to the first that is exceeded, so that a
 * rejected call uses up no points of later quotas.
 *
 * @param counters First the quotas whose key an API caller cannot choose, such as its address.
 * @returns The states of the counted quotas; only the last quota can be exceeded.
 */
export async function countAgainstQuotasInOrder(
  limits: Limits,
  counters: readonly QuotaCounter[],
): Promise<readonly QuotaState[]> {
  const counted: QuotaState[] = [];
  for (const [quota, key] of counters) {
    const remaining = await limits.count(quota, key);
    counted.push(remaining);
    if (remaining.isExceeded) break;
  }
  return counted;
}
