import { countQuotasInNetworks, type NetworkQuotaName } from "../../limits/count-in-networks.ts";
import { countAgainstQuotasInOrder, type QuotaCounter } from "../../limits/count-in-order.ts";
import type { Limits, QuotaName } from "../../limits/quotas.ts";
import { rateLimitProblem } from "../../limits/rate-limit-problem.ts";

/**
 * Keys under which an action is counted, by quota, in the order in which the quotas are checked.
 */
type Counts = Readonly<Partial<Record<QuotaName, string>>>;

/**
 * Counts an action against quotas in order, and stops at the first that is exceeded.
 *
 * @throws {Problem} `rate_limited` with `Retry-After`.
 */
export type Throttle = (counts: Counts) => Promise<void>;

/** Creates the throttle of the pages. */
export function createThrottle(limits: Limits): Throttle {
  return async (counts) => {
    const counters = Object.entries(counts) as [...QuotaCounter][];
    const refusal = rateLimitProblem(await countAgainstQuotasInOrder(limits, counters));
    if (refusal !== undefined) throw refusal;
  };
}

/**
 * Counts an action against quotas for each network of an address. @throws {Problem} `rate_limited`
 */
export type ThrottleNetworks = (
  quotas: readonly NetworkQuotaName[],
  ip: string | undefined,
) => Promise<void>;

/** Creates the throttle for actions that require no sign-in. */
export function createThrottleNetworks(limits: Limits): ThrottleNetworks {
  return async (quotas, ip) => {
    const refusal = rateLimitProblem(await countQuotasInNetworks(limits, quotas, ip));
    if (refusal !== undefined) throw refusal;
  };
}
