import { Problem } from "../lib/problem.ts";
import type { QuotaState } from "./quotas.ts";

/**
 * The problem for a caller that exceeded quotas; it specifies the exceeded quota whose window ends
 * last. Its texts contain no quotes, so that they can be an `error_description` (RFC 6749 section
 * 5.2).
 *
 * @returns `rate_limited` with `Retry-After` (RFC 9110 section 10.2.3); `undefined` if no quota is
 * exceeded.
 */
export function rateLimitProblem(
  counted: readonly (QuotaState | undefined)[],
): Problem | undefined {
  const [strictest] = counted
    .flatMap((each) => (each?.isExceeded ? each : []))
    .sort((a, b) => b.resetMs - a.resetMs);
  if (strictest === undefined) return undefined;
  const { quota, policy } = strictest;
  const seconds = secondsUntilReset(strictest);
  return new Problem("rate_limited", {
    detail: `The limit ${quota} allows ${policy.points} in ${policy.windowSeconds} seconds.`,
    next: `Retry in ${seconds} seconds.`,
    headers: { "Retry-After": String(seconds) },
  });
}

/** Seconds until the window ends, rounded up so that a retry is not too early. */
export function secondsUntilReset({ resetMs }: Pick<QuotaState, "resetMs">): number {
  return Math.ceil(resetMs / 1000);
}
