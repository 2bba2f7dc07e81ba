import { networksOf } from "./address-key.ts";
import { type Counter, countInOrder } from "./count-in-order.ts";
import type { Limits, QuotaName, Remaining } from "./limits.ts";

/** What is counted in each network that an address is in. */
export type NestedQuota = "register" | "authorize" | "token-unclaimed";

/** Quotas that everybody shares, where there are any. */
const shared: Partial<Record<NestedQuota, QuotaName>> = { authorize: "authorize-all" };

/** A network that has had one gets at most this part of an unused quota for everybody. The share shrinks
 *  with the square of what is left: of 10,000 points, a network gets 1,000 at first, 10 when 1,000 are
 *  left, and some 600 networks are needed to use up all. So who is new still comes in (dynamic
 *  thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). */
const NETWORK_PART = 1 / 10;

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
  return [...counted, await countForAll(limits, counted.slice(1), [ofAll, EVERYBODY])];
}

/**
 * Counts one in a quota that many networks or accounts share, unless one of them has had its part.
 *
 * @param ofEach What was counted for the networks, or the account, that want one of it.
 */
export async function countForAll(
  limits: Limits,
  ofEach: readonly Remaining[],
  [quota, key]: Counter,
): Promise<Remaining> {
  const left = await limits.look(quota, key);
  const share = Math.max(1, (NETWORK_PART * left.points ** 2) / left.policy.points);
  const hasShare = ofEach.every((remaining) => usedOf(remaining) <= share);
  return hasShare ? limits.count(quota, key) : { ...left, isExceeded: true };
}

/** How much of a quota was counted. */
function usedOf({ policy, points }: Remaining): number {
  return policy.points - points;
}
