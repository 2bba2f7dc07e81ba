import { type Quota, type QuotaName, type QuotaState, quotas } from "./quotas.ts";

/** Quotas that replace the defaults; a quota of 0 points allows no action. */
export type QuotaOverrides = Readonly<Partial<Record<QuotaName, Quota>>>;

/** The name of a quota and its configured values. */
export interface QuotaRule {
  readonly quota: QuotaName;
  readonly policy: Quota;
}

/** Monotonic clock in milliseconds, so that setting the system time does not change windows. */
export const monotonicNow = (): number => Math.floor(performance.now());

/**
 * Creates a value for each quota.
 *
 * @returns A function that returns the value for a quota name.
 */
export function createPerQuota<T>(
  overrides: QuotaOverrides,
  make: (rule: QuotaRule) => T,
): (quota: QuotaName) => T {
  const names = Object.keys(quotas) as QuotaName[];
  const made = new Map(
    names.map((quota) => [quota, make({ quota, policy: overrides[quota] ?? quotas[quota] })]),
  );
  return (quota) => made.get(quota) as T;
}

/** Points used in a key's window, and the remaining time of the window. */
interface WindowUsage {
  /** Points used, including the current count. */
  readonly used: number;
  /** Milliseconds until the window ends. */
  readonly leftMs: number;
}

/** The state of a quota after a count. */
export function remainingAfterCount(
  { quota, policy }: QuotaRule,
  { used, leftMs }: WindowUsage,
): QuotaState {
  const points = Math.max(policy.points - used, 0);
  return { quota, policy, points, resetMs: leftMs, isExceeded: used > policy.points };
}

/** The state of a quota without counting an action. */
export function remainingWithoutCount(rule: QuotaRule, used: WindowUsage): QuotaState {
  return { ...remainingAfterCount(rule, used), isExceeded: used.used >= rule.policy.points };
}
