import type { IncomingMessage, ServerResponse } from "node:http";
import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import { unavailableBody } from "../auth/oidc/responses.ts";
import { addressKey } from "../limits/address-key.ts";
import { countInOrder } from "../limits/count-in-order.ts";
import type { Limits, QuotaName, Remaining } from "../limits/limits.ts";
import { refusalOf, secondsLeft } from "../limits/refusal.ts";
import { Problem } from "../problem.ts";
import { addressOf } from "./client-address.ts";
import { isOpenedInBrowser } from "./errors.ts";

/**
 * Counts each request against one or more quotas, in their order up to the first that is exceeded.
 * Several of these on one route make one list of all quotas.
 *
 * @param keyOf Who or what is counted; an address as `addressKey` gives it.
 * @throws {Problem} `rate_limited` when a quota is exceeded.
 */
export function limitBy(
  limits: Limits,
  quota: QuotaName | readonly QuotaName[],
  keyOf: (req: Request) => string,
): RequestHandler {
  const names = [quota].flat();
  return async (req, res, next) => {
    const key = keyOf(req);
    admit(
      res,
      await countInOrder(
        limits,
        names.map((name) => [name, key]),
      ),
    );
    next();
  };
}

/** Counts a request for what is open to everyone, once, however often it is called for it.
 *  @throws {Problem} `rate_limited`, each time. */
export type Visit = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** Limits how much one address asks for of what is open to everyone.
 *  @param proxyHops Reverse proxies whose word on the caller's address counts. */
export function createVisits(limits: Limits, proxyHops: number): Visit {
  const counted = new WeakMap<IncomingMessage, Promise<void>>();
  const count: Visit = async (req, res) =>
    admit(res, [await limits.count("visits", addressKey(addressOf(req, proxyHops)))]);
  return (req, res) => {
    const visit = counted.get(req) ?? count(req, res);
    counted.set(req, visit);
    return visit;
  };
}

/** Tells a caller what is left. @throws {Problem} `rate_limited` when a quota is exceeded. */
export function admit(res: ServerResponse, counted: readonly Remaining[]): void {
  for (const remaining of counted) {
    res.appendHeader("RateLimit-Policy", policyItem(remaining));
    res.appendHeader("RateLimit", stateItem(remaining));
  }
  const refusal = refusalOf(counted);
  if (refusal !== undefined) throw refusal;
}

/** An item of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11). */
function policyItem({ quota, policy }: Remaining): string {
  return `"${quota}";q=${policy.points};w=${policy.windowSeconds}`;
}

/** An item of `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11). */
function stateItem(counted: Remaining): string {
  return `"${counted.quota}";r=${counted.points};t=${secondsLeft(counted)}`;
}

/**
 * Tells a client of OAuth in the words of its protocol that it came too often: 429, `Retry-After`
 * and the error `temporarily_unavailable`. No code of RFC 6749 section 5.2 fits; this one of
 * section 4.1.2.1 says what is true, that the same request will do later. `slow_down` (RFC 8628)
 * means the polling of the device flow alone. A person at a browser is left to the error pages.
 */
export const answerOAuthLimit: ErrorRequestHandler = (error, req, res, next) => {
  const isLimit = error instanceof Problem && error.code === "rate_limited";
  if (!isLimit || isOpenedInBrowser(req)) return next(error);
  res.status(error.status).set(error.headers).json(unavailableBody(error));
};
