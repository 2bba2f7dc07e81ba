import { type Quota, type QuotaName, quotas, type Remaining } from "./limits.ts";

/** Quotas that replace defaults; 0 points: never allowed. */
export type Overrides = Readonly<Partial<Record<QuotaName, Quota>>>;

/** A configured quota. */
export interface Rule {
  readonly quota: QuotaName;
  readonly policy: Quota;
}

/** Monotonic milliseconds, so that setting the system time does not change windows. */
export const steadyNow = (): number => Math.floor(performance.now());

/**
 * Creates a value for each quota.
 *
 * @returns Finds it by name.
 */
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

/** Usage of a key's window. */
interface Used {
  /** Points used, including the present count. */
  readonly used: number;
  /** Milliseconds until the window ends. */
  readonly leftMs: number;
}

/** The state after a count. */
export function afterCount({ quota, policy }: Rule, { used, leftMs }: Used): Remaining {
  const points = Math.max(policy.points - used, 0);
  return { quota, policy, points, resetMs: leftMs, isExceeded: used > policy.points };
}

/** The state without a count. */
export function withoutCount(rule: Rule, used: Used): Remaining {
  return { ...afterCount(rule, used), isExceeded: used.used >= rule.policy.points };
}
