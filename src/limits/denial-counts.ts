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
    if (!state.isExceeded) return state;
    const name = policyName(state);
    denials[name] = (denials[name] ?? 0) + 1;
    return state;
  };
  return {
    limits: {
      admit: (name, party) => limits.admit(name, party).then(counted),
      check: (name, party) => limits.check(name, party).then(counted),
    },
    denials: () => ({ ...denials }),
  };
}
