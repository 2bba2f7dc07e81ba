import { type Quota, type QuotaName, quotas, type Remaining } from "./limits.ts";

/** Quotas in place of the defaults; 0 points: never allowed. */
export type Overrides = Readonly<Partial<Record<QuotaName, Quota>>>;

/** A quota as it is set here. */
export interface Rule {
  readonly quota: QuotaName;
  readonly policy: Quota;
}

/** Milliseconds of a clock that is never set, so that windows do not change when the time is set. */
export const steadyNow = (): number => Math.floor(performance.now());

/** Makes something for each quota. @returns Finds it by name. */
export function forEachQuota<T>(
  overrides: Overrides,
  make: (rule: Rule) => T,
): (quota: QuotaName) => T {
  const names = Object.keys(quotas) as QuotaName[];
  const made = new Map(
    names.map((quota) => [quota, make({ quota, policy: overrides[quota] ?? quotas[quota] })]),
  );
  return (quota) => made.get(quota) as T;
}

/** How far a key has come in its window. */
interface Used {
  /** What was counted, with what is just being counted. */
  readonly used: number;
  /** Milliseconds until the window ends. */
  readonly leftMs: number;
}

/** What is left after something was counted. */
export function afterCount({ quota, policy }: Rule, { used, leftMs }: Used): Remaining {
  const points = Math.max(policy.points - used, 0);
  return { quota, policy, points, resetMs: leftMs, isExceeded: used > policy.points };
}

/** What is left where nothing was counted. */
export function asItIs(rule: Rule, used: Used): Remaining {
  return { ...afterCount(rule, used), isExceeded: used.used >= rule.policy.points };
}
