import type { ServerResponse } from "node:http";
import type { Request, RequestHandler } from "express";
import { partyAt } from "../limits/address-key.ts";
import type { RateName } from "../limits/classes.ts";
import { countAgainstQuotasInOrder } from "../limits/count-in-order.ts";
import type { LimitState, Party } from "../limits/limits.ts";
import type { Limits, QuotaName, QuotaState } from "../limits/quotas.ts";
import { rateLimitProblem, secondsUntilReset, toldState } from "../limits/rate-limit-problem.ts";
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
  await requireAdmission(limits, { res }, "visits", partyAt(ip));
}

/**
 * Counts an action of a request.
 *
 * @throws {Problem} `rate_limited` if the limit is exceeded.
 */
async function requireAdmission(
  limits: Limits,
  { res }: { readonly res: ServerResponse },
  name: RateName,
  party: Party,
): Promise<void> {
  requireWithinLimits(res, [await limits.admit(name, party)]);
}

/**
 * Sets the rate limit headers of a response.
 *
 * @throws {Problem} `rate_limited` if a limit is exceeded.
 */
export function requireWithinLimits(
  res: ServerResponse,
  counted: readonly (LimitState | QuotaState | undefined)[],
): void {
  for (const state of counted) {
    if (state === undefined) continue;
    const { name, most, seconds, left } = toldState(state);
    // Items of draft-ietf-httpapi-ratelimit-headers-11.
    res.appendHeader("RateLimit-Policy", `"${name}";q=${most};w=${seconds}`);
    res.appendHeader("RateLimit", `"${name}";r=${left};t=${secondsUntilReset(state)}`);
  }
  const refusal = rateLimitProblem(counted);
  if (refusal !== undefined) throw refusal;
}
