import { networkKeysOf } from "./address-key.ts";
import { countAgainstQuotasInOrder, type QuotaCounter } from "./count-in-order.ts";
import type { Limits, QuotaName, QuotaState } from "./quotas.ts";

/** Quotas that are counted in each network of an address. */
export type NetworkQuotaName =
  | "register"
  | "authorize"
  | "token-unclaimed"
  | "code-address"
  | "client-assertion"
  | "apply"
  | "apply-day"
  | "contact";

/**
 * By name of a nested quota: the shared quota, if any, in which the actions of all callers are
 * counted together.
 */
const sharedQuotas: Partial<Record<NetworkQuotaName, QuotaName>> = {
  authorize: "authorize-all",
  "code-address": "code-address-all",
};

/**
 * Maximum share of an unused shared quota that one network or account can use. The share shrinks
 * with the square of the remaining quota: of 10,000 points, a network gets 1,000 at first and 10
 * when 1,000 remain, so about 600 networks are needed to use up the quota, and new networks are
 * still admitted (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking
 * 6(2), 1998).
 */
const MAX_SHARE = 1 / 10;

/** Key under which all callers are counted in a shared quota. */
const SHARED_KEY = "all";

/**
 * Counts one action in each network of an address, from the narrowest to the widest, up to the
 * first exceeded quota; then in the shared quota, if there is one.
 *
 * @param ip Network address of the caller, as Express reports it.
 * @returns The counted quotas; only the last can be exceeded.
 */
export async function countInNetworks(
  limits: Limits,
  quota: NetworkQuotaName,
  ip: string | undefined,
): Promise<readonly QuotaState[]> {
  const { address, site, provider } = networkKeysOf(ip);
  const counters: readonly QuotaCounter[] = [
    [quota, address],
    [`${quota}-site`, site],
    ...(provider === undefined ? [] : [[`${quota}-provider`, provider] as const]),
  ];
  const counted = await countAgainstQuotasInOrder(limits, counters);
  const ofAll = sharedQuotas[quota];
  if (ofAll === undefined || counted.some(({ isExceeded }) => isExceeded)) return counted;
  return [...counted, await countInSharedQuota(limits, counted.slice(1), [ofAll, SHARED_KEY])];
}

/** Counts one action in each of several nested quotas, up to the first that is exceeded. */
export async function countQuotasInNetworks(
  limits: Limits,
  quotas: readonly NetworkQuotaName[],
  ip: string | undefined,
): Promise<readonly QuotaState[]> {
  const counted: QuotaState[] = [];
  for (const quota of quotas) {
    counted.push(...(await countInNetworks(limits, quota, ip)));
    if (counted.at(-1)?.isExceeded) break;
  }
  return counted;
}

/**
 * Counts one action in a shared quota, unless one of the networks or accounts has used up its
 * share.
 *
 * @param ofEach States of the quotas of the caller's networks or account.
 */
export async function countInSharedQuota(
  limits: Limits,
  ofEach: readonly QuotaState[],
  [quota, key]: QuotaCounter,
): Promise<QuotaState> {
  const left = await limits.peek(quota, key);
  const share = Math.max(1, (MAX_SHARE * left.points ** 2) / left.policy.points);
  const hasShare = ofEach.every((remaining) => usedPoints(remaining) <= share);
  return hasShare ? limits.count(quota, key) : { ...left, isExceeded: true };
}

/** Number of points of a quota used so far. */
export function usedPoints({ policy, points }: QuotaState): number {
  return policy.points - points;
}
