import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { type Limits, type Quota, type QuotaName, quotas, type Remaining } from "./limits.ts";

/** What may differ between two services. */
export interface LimitsOptions {
  /** Quotas in place of the defaults; 0 points: never allowed. */
  readonly overrides?: Readonly<Partial<Record<QuotaName, Quota>>>;
}

/** Keys that are counted at the same time, for each quota. A key takes about 530 bytes (measured),
 *  a quota so at most 11 MB, whoever calls from however many addresses. */
const MAX_KEYS = 20_000;

/**
 * Limits that live in this process. A window begins with the first count of a key and does not
 * move. A key is forgotten when its window ends, or, when there are more than 20,000, when its
 * window is the oldest: whoever commands so many addresses has fresh quotas anyway.
 *
 * Time is the clock of the process, which is the only one that the library knows.
 */
export function createLimits({ overrides = {} }: LimitsOptions = {}): Limits {
  const names = Object.keys(quotas) as QuotaName[];
  const counters = new Map(
    names.map((name) => [name, createCounter(name, overrides[name] ?? quotas[name])]),
  );
  const counterOf = (quota: QuotaName) => counters.get(quota) as Counter;
  return {
    count: (quota, key) => counterOf(quota).count(key),
    look: (quota, key) => counterOf(quota).look(key),
  };
}

/** Counts for one quota. */
interface Counter {
  count(key: string): Promise<Remaining>;
  look(key: string): Promise<Remaining>;
}

function createCounter(quota: QuotaName, policy: Quota): Counter {
  const { points, windowSeconds } = policy;
  const limiter = new RateLimiterMemory({ points, duration: windowSeconds, keyPrefix: "" });
  /** In the order in which their windows began, and so end. */
  const keys = new Set<string>();

  const remember = async (key: string) => {
    keys.delete(key);
    keys.add(key);
    if (keys.size <= MAX_KEYS) return;
    const [oldest = key] = keys;
    keys.delete(oldest);
    await limiter.delete(oldest);
  };
  return {
    async count(key) {
      const counted = await limiter.consume(key).catch(refused);
      if (counted.isFirstInDuration) await remember(key);
      const { remainingPoints, msBeforeNext, consumedPoints } = counted;
      const isExceeded = consumedPoints > points;
      return { quota, policy, points: remainingPoints, resetMs: msBeforeNext, isExceeded };
    },
    async look(key) {
      const found = await limiter.get(key);
      // Just after its end the library may still know a window.
      const isOpen = found !== null && found.msBeforeNext > 0;
      const left = isOpen ? found.remainingPoints : points;
      const resetMs = isOpen ? found.msBeforeNext : windowSeconds * 1000;
      return { quota, policy, points: left, resetMs, isExceeded: left === 0 };
    },
  };
}

/** The library rejects with the count when it is too high. */
function refused(reason: unknown): RateLimiterRes {
  if (reason instanceof RateLimiterRes) return reason;
  throw reason;
}
