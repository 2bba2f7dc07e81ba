import type { ServerResponse } from "node:http";
import type { Request, RequestHandler } from "express";
import { partyAt } from "../limits/address-key.ts";
import type { RateName } from "../limits/classes.ts";
import type { LimitState, Limits, Party } from "../limits/limits.ts";
import { policyName, rateLimitProblem, secondsUntilReset } from "../limits/rate-limit-problem.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * Creates a handler that counts each request. If a route has several of these handlers, the
 * response reports all of them.
 *
 * @param partyOf Returns the party that a request is counted for.
 * @throws {Problem} `rate_limited` if the request is refused.
 */
export function limitRequestsBy(
  limits: Limits,
  name: RateName,
  partyOf: (req: Request) => Party,
): RequestHandler {
  return async (req, res, next) => {
    await admitRequest(limits, { res }, name, partyOf(req));
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
  await admitRequest(limits, { res }, "visits", partyAt(ip));
}

/**
 * Counts an action of a request.
 *
 * @throws {Problem} `rate_limited` if it is refused.
 */
export async function admitRequest(
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
  counted: readonly (LimitState | undefined)[],
): void {
  for (const state of counted) {
    if (state === undefined) continue;
    const { most, seconds, left } = state;
    const name = policyName(state);
    // Items of draft-ietf-httpapi-ratelimit-headers-11.
    addToList(res, "RateLimit-Policy", `"${name}";q=${most};w=${seconds}`);
    addToList(res, "RateLimit", `"${name}";r=${left};t=${secondsUntilReset(state)}`);
  }
  const refusal = rateLimitProblem(counted);
  if (refusal !== undefined) throw refusal;
}

/** Adds a member to a header that is a list (RFC 9651 section 3.1). */
function addToList(res: ServerResponse, name: string, member: string): void {
  const others = res.getHeader(name);
  res.setHeader(name, others === undefined ? member : `${others}, ${member}`);
}
