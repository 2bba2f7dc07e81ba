import type { ServerResponse } from "node:http";
import type { Request, RequestHandler } from "express";
import { ipAddressKey } from "../limits/address-key.ts";
import { countAgainstQuotasInOrder } from "../limits/count-in-order.ts";
import type { Limits, QuotaName, QuotaState } from "../limits/quotas.ts";
import { rateLimitProblem, secondsUntilReset } from "../limits/rate-limit-problem.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * Creates a handler that counts each request against one or more quotas in order, and stops at the
 * first that is exceeded. If a route has several of these handlers, the response reports the quotas
 * of all of them.
 *
 * @param keyOf Returns the key by which requests are counted; an address must come from
 * `ipAddressKey`.
 * @throws {Problem} `rate_limited` if a quota is exceeded.
 */
export function limitRequestsBy(
  limits: Limits,
  quota: QuotaName | readonly QuotaName[],
  keyOf: (req: Request) => string,
): RequestHandler {
  const names = [quota].flat();
  return async (req, res, next) => {
    const key = keyOf(req);
    requireWithinLimits(
      res,
      await countAgainstQuotasInOrder(
        limits,
        names.map((name) => [name, key]),
      ),
    );
    next();
  };
}

/**
 * Counts a request to a public resource.
 *
 * @throws {Problem} `rate_limited`
 */
export async function countPublicRequest(
  limits: Limits,
  { res, ip }: RequestContext,
): Promise<void> {
  requireWithinLimits(res, [await limits.count("visits", ipAddressKey(ip))]);
}

/**
 * Sets the rate limit headers of a response.
 *
 * @throws {Problem} `rate_limited` if a quota is exceeded.
 */
export function requireWithinLimits(
  res: ServerResponse,
  counted: readonly (QuotaState | undefined)[],
): void {
  for (const remaining of counted) {
    if (remaining === undefined) continue;
    res.appendHeader("RateLimit-Policy", policyItem(remaining));
    res.appendHeader("RateLimit", stateItem(remaining));
  }
  const refusal = rateLimitProblem(counted);
  if (refusal !== undefined) throw refusal;
}

/** An item of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11). */
function policyItem({ quota, policy }: QuotaState): string {
  return `"${quota}";q=${policy.points};w=${policy.windowSeconds}`;
}

/** An item of `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11). */
function stateItem(counted: QuotaState): string {
  return `"${counted.quota}";r=${counted.points};t=${secondsUntilReset(counted)}`;
}
