import type { LimitOverrides } from "./classes.ts";
import { createLimits as createClassLimits } from "./limits.ts";
import {
  createPerQuota,
  monotonicNow,
  type QuotaOverrides,
  type QuotaRule,
  remainingAfterCount,
  remainingWithoutCount,
} from "./quota-state.ts";
import type { Limits, QuotaState } from "./quotas.ts";
import { boundedKey, createQuotaWindows, type QuotaWindow } from "./windows.ts";

/** Options of `createLimits`. */
export interface LimitsOptions {
  readonly overrides?: QuotaOverrides;
  /** Numbers of classes that replace the defaults. */
  readonly numbers?: LimitOverrides;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/**
 * Creates limits that count within this process. A fixed window begins with the first count of a
 * key.
 */
export function createLimits({
  overrides = {},
  numbers = {},
  now = monotonicNow,
}: LimitsOptions = {}): Limits {
  const counterOf = createPerQuota(overrides, (rule) => createCounter(rule, now));
  const { admit, check } = createClassLimits({ overrides: numbers, now });
  return {
    admit,
    check,
    count: async (quota, key) => counterOf(quota).count(boundedKey(key)),
    peek: async (quota, key) => counterOf(quota).peek(boundedKey(key)),
  };
}

/** Counts the actions of each key against one quota. */
interface Counter {
  count(key: string): QuotaState;
  peek(key: string): QuotaState;
}

interface UsedWindow extends QuotaWindow {
  used: number;
}

function createCounter(rule: QuotaRule, now: () => number): Counter {
  const { points, windowSeconds } = rule.policy;
  const windowMs = windowSeconds * 1000;
  const windows = createQuotaWindows<UsedWindow>((_key, at) => ({
    endsAt: at + windowMs,
    used: 0,
  }));
  return {
    count(key) {
      const at = now();
      const window = windows.getOrOpen(key, at);
      window.used += 1;
      if (window.used >= points) windows.markExhausted(key);
      return remainingAfterCount(rule, { used: window.used, leftMs: window.endsAt - at });
    },
    peek(key) {
      const at = now();
      const { used, endsAt } = windows.find(key, at) ?? { used: 0, endsAt: at + windowMs };
      return remainingWithoutCount(rule, { used, leftMs: endsAt - at });
    },
  };
}
