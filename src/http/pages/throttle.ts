import { countEachInNetworks, type NestedQuota } from "../../limits/count-in-networks.ts";
import { type Counter, countInOrder } from "../../limits/count-in-order.ts";
import type { Limits, QuotaName } from "../../limits/quotas.ts";
import { rateLimitProblem } from "../../limits/rate-limit-problem.ts";

/** Quotas with their keys, in order. */
type Counts = Readonly<Partial<Record<QuotaName, string>>>;

/**
 * Counts an action against quotas in order, up to the first that is exceeded.
 *
 * @throws {Problem} `rate_limited` with `Retry-After`.
 */
export type Throttle = (counts: Counts) => Promise<void>;

/** Creates the throttle of the pages. */
export function createThrottle(limits: Limits): Throttle {
  return async (counts) => {
    const counters = Object.entries(counts) as [...Counter][];
    const refusal = rateLimitProblem(await countInOrder(limits, counters));
    if (refusal !== undefined) throw refusal;
  };
}

/** Counts an action in each network of an address. @throws {Problem} `rate_limited` */
export type ThrottleNetworks = (
  quotas: readonly NestedQuota[],
  ip: string | undefined,
) => Promise<void>;

/** Creates the throttle of actions that need no sign-in. */
export function createThrottleNetworks(limits: Limits): ThrottleNetworks {
  return async (quotas, ip) => {
    const refusal = rateLimitProblem(await countEachInNetworks(limits, quotas, ip));
    if (refusal !== undefined) throw refusal;
  };
}
