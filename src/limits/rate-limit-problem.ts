import { Problem } from "../lib/problem.ts";
import type { RateName } from "./classes.ts";
import type { LimitState, Limits, Party } from "./limits.ts";

/** For whom each number of a class is, in the text of a refusal. */
const RECIPIENTS = { caller: "", network: " to your network", total: " to all callers" } as const;

/** Name of the number of a class that decided, such as `calls` or `calls-network`. */
export const policyName = ({ name, level }: Pick<LimitState, "name" | "level">): string =>
  level === "caller" ? name : `${name}-${level}`;

/**
 * The problem for a caller that exceeded limits; it specifies the exceeded limit whose window ends
 * last. Its texts contain no quotes, so that they can be an `error_description` (RFC 6749 section
 * 5.2).
 *
 * @returns `rate_limited` with `Retry-After` (RFC 9110 section 10.2.3); `undefined` if no limit is
 * exceeded.
 */
export function rateLimitProblem(
  counted: readonly (LimitState | undefined)[],
): Problem | undefined {
  let strictest: LimitState | undefined;
  for (const one of counted) {
    if (one?.isExceeded && one.resetMs > (strictest?.resetMs ?? -1)) strictest = one;
  }
  if (strictest === undefined) return undefined;
  const { level, most, seconds: window } = strictest;
  const seconds = secondsUntilReset(strictest);
  return new Problem("rate_limited", {
    detail: `The limit ${policyName(strictest)} allows ${most} in ${window} seconds${RECIPIENTS[level]}.`,
    next: retryText(seconds),
    headers: { "Retry-After": String(seconds) },
  });
}

/** The remedy that only says when. */
export const retryText = (seconds: number): string => `Retry in ${seconds} seconds.`;

/**
 * Counts an action.
 *
 * @throws {Problem} `rate_limited` if it is refused.
 */
export async function requireAdmission(
  limits: Pick<Limits, "admit">,
  name: RateName,
  party: Party,
): Promise<void> {
  const refusal = rateLimitProblem([await limits.admit(name, party)]);
  if (refusal !== undefined) throw refusal;
}

/**
 * Counts an action in several classes: in all of them or, if one refuses it, in none. Actions that
 * are counted at the same instant can be counted in some of them.
 *
 * @throws {Problem} `rate_limited` if it is refused.
 */
export async function requireAdmissions(
  limits: Limits,
  classes: readonly (readonly [RateName, Party])[],
): Promise<void> {
  const states = await Promise.all(classes.map(([name, party]) => limits.check(name, party)));
  const refusal = rateLimitProblem(states);
  if (refusal !== undefined) throw refusal;
  for (const [name, party] of classes) await requireAdmission(limits, name, party);
}

/** Seconds until the window ends, rounded up so that a retry is not too early. */
export function secondsUntilReset({ resetMs }: Pick<LimitState, "resetMs">): number {
  return Math.ceil(resetMs / 1000);
}
