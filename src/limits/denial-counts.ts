import type { LimitState, Limits } from "./limits.ts";
import { policyName } from "./rate-limit-problem.ts";

/** Limits with a count of the requests that they refused. */
interface CountedLimits {
  readonly limits: Limits;
  /** Number of refusals since the start, by the number of a class that refused (`policyName`). */
  readonly denials: () => Readonly<Record<string, number>>;
}

/** Wraps limits so that refusals are counted. */
export function withDenialCounts(limits: Limits): CountedLimits {
  const denials: Record<string, number> = {};
  const counted = (state: LimitState): LimitState => {
    const name = policyName(state);
    if (state.isExceeded) denials[name] = (denials[name] ?? 0) + 1;
    return state;
  };
  return {
    limits: {
      admit: async (name, party) => counted(await limits.admit(name, party)),
      check: async (name, party) => counted(await limits.check(name, party)),
    },
    denials: () => ({ ...denials }),
  };
}
