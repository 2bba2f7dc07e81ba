import { Problem } from "../lib/problem.ts";
import type { LimitState } from "./limits.ts";
import type { QuotaState } from "./quotas.ts";

/** The state of a limit as callers are told of it. */
export interface ToldState {
  /** Name in the `RateLimit` fields and in metrics. */
  readonly name: string;
  readonly most: number;
  readonly left: number;
  readonly seconds: number;
  readonly resetMs: number;
  readonly isExceeded: boolean;
  /** For whom `most` is, after "allows … in … seconds"; empty for the caller. */
  readonly to: string;
}

/** For whom each number of a class is, in the text of a refusal. */
const RECIPIENTS = { caller: "", network: " to your network", total: " to all callers" } as const;

/** Name of the number of a class that decided, such as `calls` or `calls-network`. */
export const policyName = ({ name, level }: Pick<LimitState, "name" | "level">): string =>
  level === "caller" ? name : `${name}-${level}`;

/** The state of a limit as callers are told of it. */
export function toldState(counted: LimitState | QuotaState): ToldState {
  const { resetMs, isExceeded } = counted;
  if ("quota" in counted) {
    const { points: most, windowSeconds: seconds } = counted.policy;
    return {
      name: counted.quota,
      most,
      left: counted.points,
      seconds,
      resetMs,
      isExceeded,
      to: "",
    };
  }
  const { level, most, left, seconds } = counted;
  return {
    name: policyName(counted),
    most,
    left,
    seconds,
    resetMs,
    isExceeded,
    to: RECIPIENTS[level],
  };
}

/**
 * The problem for a caller that exceeded limits; it specifies the exceeded limit whose window ends
 * last. Its texts contain no quotes, so that they can be an `error_description` (RFC 6749 section
 * 5.2).
 *
 * @returns `rate_limited` with `Retry-After` (RFC 9110 section 10.2.3); `undefined` if no limit is
 * exceeded.
 */
export function rateLimitProblem(
  counted: readonly (LimitState | QuotaState | undefined)[],
): Problem | undefined {
  const [strictest] = counted
    .flatMap((each) => (each?.isExceeded ? each : []))
    .sort((a, b) => b.resetMs - a.resetMs);
  if (strictest === undefined) return undefined;
  const { name, most, seconds: window, to } = toldState(strictest);
  const seconds = secondsUntilReset(strictest);
  return new Problem("rate_limited", {
    detail: `The limit ${name} allows ${most} in ${window} seconds${to}.`,
    next: `Retry in ${seconds} seconds.`,
    headers: { "Retry-After": String(seconds) },
  });
}

/** Seconds until the window ends, rounded up so that a retry is not too early. */
export function secondsUntilReset({ resetMs }: Pick<QuotaState, "resetMs">): number {
  return Math.ceil(resetMs / 1000);
}
