import { networksOf } from "./address-key.ts";
import { type Counter, countInOrder } from "./count-in-order.ts";
import type { Limits, QuotaName, Remaining } from "./limits.ts";

/** What is counted in each network that an address is in. */
export type NestedQuota = "register" | "authorize" | "token-unclaimed";

/** Quotas that everybody shares, where there are any. */
const shared: Partial<Record<NestedQuota, QuotaName>> = { authorize: "authorize-all" };

/** A site that has had one gets at most this part of what is left for everybody. The more is used, the
 *  less each site may have, so that a flood from few or many sites never uses up all of it, and who
 *  is new still comes in (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on
 *  Networking 6(2), 1998). */
const SITE_PART = 1 / 10;

/** The name of the key that stands for everybody. */
const EVERYBODY = "all";

/**
 * Counts one in the networks of an address, from the narrowest to the widest, and no further than to
 * the first where it is too much; then, where there is a quota for everybody, in that.
 *
 * @param ip Network address of the caller, as Express tells it.
 * @returns What was counted; only the last can be exceeded.
 */
export async function countInNetworks(
  limits: Limits,
  quota: NestedQuota,
  ip: string | undefined,
): Promise<readonly Remaining[]> {
  const { address, site, provider } = networksOf(ip);
  const counters: readonly Counter[] = [
    [quota, address],
    [`${quota}-site`, site],
    ...(provider === undefined ? [] : [[`${quota}-provider`, provider] as const]),
  ];
  const counted = await countInOrder(limits, counters);
  const ofAll = shared[quota];
  if (ofAll === undefined || counted.some(({ isExceeded }) => isExceeded)) return counted;
  const left = await limits.look(ofAll, EVERYBODY);
  const hasShare = usedOf(counted[1]) <= Math.max(1, left.points * SITE_PART);
  const last = hasShare ? await limits.count(ofAll, EVERYBODY) : { ...left, isExceeded: true };
  return [...counted, last];
}

/** How much of a quota was counted. */
function usedOf(remaining: Remaining | undefined): number {
  return remaining === undefined ? 0 : remaining.policy.points - remaining.points;
}
