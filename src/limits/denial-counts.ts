import type { LimitState } from "./limits.ts";
import type { Limits, QuotaState } from "./quotas.ts";
import { policyName } from "./rate-limit-problem.ts";

/** Limits with a count of the requests that they refused. */
interface CountedLimits {
  readonly limits: Limits;
  /** Number of refusals since the start, by the limit exceeded. */
  readonly denials: () => Readonly<Record<string, number>>;
}

/** Wraps limits so that refusals are counted. */
export function withDenialCounts(limits: Limits): CountedLimits {
  const denials: Record<string, number> = {};
  const judged = (state: LimitState): LimitState => {
    const name = policyName(state);
    if (state.isExceeded) denials[name] = (denials[name] ?? 0) + 1;
    return state;
  };
  const counted = (remaining: QuotaState): QuotaState => {
    const { quota, isExceeded } = remaining;
    if (isExceeded) denials[quota] = (denials[quota] ?? 0) + 1;
    return remaining;
  };
  return {
    limits: {
      admit: async (name, party) => judged(await limits.admit(name, party)),
      check: async (name, party) => judged(await limits.check(name, party)),
      count: async (quota, key) => counted(await limits.count(quota, key)),
      peek: async (quota, key) => counted(await limits.peek(quota, key)),
    },
    denials: () => ({ ...denials }),
  };
}
