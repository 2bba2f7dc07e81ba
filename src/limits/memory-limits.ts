import type { Limits, Remaining } from "./limits.ts";
import {
  afterCount,
  forEachQuota,
  type Overrides,
  type Rule,
  steadyNow,
  withoutCount,
} from "./remaining.ts";
import { createWindows, shortened, type Window } from "./windows.ts";

/** Settings of limits. */
export interface LimitsOptions {
  readonly overrides?: Overrides;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/** Limits within this process. A fixed window begins with the first count of a key. */
export function createLimits({ overrides = {}, now = steadyNow }: LimitsOptions = {}): Limits {
  const counterOf = forEachQuota(overrides, (rule) => createCounter(rule, now));
  return {
    count: async (quota, key) => counterOf(quota).count(shortened(key)),
    look: async (quota, key) => counterOf(quota).look(shortened(key)),
  };
}

/** Counts for one quota. */
interface Counter {
  count(key: string): Remaining;
  look(key: string): Remaining;
}

interface Counted extends Window {
  used: number;
}

function createCounter(rule: Rule, now: () => number): Counter {
  const { points, windowSeconds } = rule.policy;
  const windowMs = windowSeconds * 1000;
  const windows = createWindows<Counted>((_key, at) => ({ endsAt: at + windowMs, used: 0 }));
  return {
    count(key) {
      const at = now();
      const window = windows.of(key, at);
      window.used += 1;
      if (window.used >= points) windows.spend(key);
      return afterCount(rule, { used: window.used, leftMs: window.endsAt - at });
    },
    look(key) {
      const at = now();
      const { used, endsAt } = windows.find(key, at) ?? { used: 0, endsAt: at + windowMs };
      return withoutCount(rule, { used, leftMs: endsAt - at });
    },
  };
}
