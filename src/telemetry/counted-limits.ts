import type { Limits, QuotaName, Remaining } from "../limits/limits.ts";

/** Limits that count what they refuse. */
export interface CountedLimits {
  readonly limits: Limits;
  /** Refusals since the start, by the limit that was exceeded. */
  readonly denials: () => Readonly<Partial<Record<QuotaName, number>>>;
}

/** Counts the refusals of limits. */
export function countDenials(limits: Limits): CountedLimits {
  const denials: Partial<Record<QuotaName, number>> = {};
  const noted = (remaining: Remaining): Remaining => {
    const { quota, isExceeded } = remaining;
    if (isExceeded) denials[quota] = (denials[quota] ?? 0) + 1;
    return remaining;
  };
  return {
    limits: {
      ...limits,
      count: async (quota, key) => noted(await limits.count(quota, key)),
      look: async (quota, key) => noted(await limits.look(quota, key)),
    },
    denials: () => ({ ...denials }),
  };
}
