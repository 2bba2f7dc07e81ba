import { type Quota, type QuotaName, type QuotaState, quotas } from "./quotas.ts";

/** Quotas that replace defaults; a quota of 0 points allows nothing. */
export type QuotaOverrides = Readonly<Partial<Record<QuotaName, Quota>>>;

/** A configured quota. */
export interface QuotaRule {
  readonly quota: QuotaName;
  readonly policy: Quota;
}

/** Monotonic clock in milliseconds, so that setting the system time does not change windows. */
export const monotonicNow = (): number => Math.floor(performance.now());

/**
 * Creates a value for each quota.
 *
 * @returns A function that finds the value by name.
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

/** Usage of a key's window. */
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

/** The state of a quota if nothing was counted. */
export function remainingWithoutCount(rule: QuotaRule, used: WindowUsage): QuotaState {
  return { ...remainingAfterCount(rule, used), isExceeded: used.used >= rule.policy.points };
}
