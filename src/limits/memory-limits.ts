import { hash } from "node:crypto";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { type Limits, type Quota, type QuotaName, quotas, type Remaining } from "./limits.ts";

/** What may differ between two services. */
export interface LimitsOptions {
  /** Quotas in place of the defaults; 0 points: never allowed. */
  readonly overrides?: Readonly<Partial<Record<QuotaName, Quota>>>;
}

/** Keys that are counted at the same time, for each quota. A key takes 420 to 570 bytes (measured),
 *  a quota so at most 12 MB, whoever calls from however many addresses. */
const MAX_KEYS = 20_000;

/** Longest key that is kept as it is, in characters; of a longer one, its hash. */
const MAX_KEY_CHARACTERS = 64;

/**
 * Limits that live in this process. A window begins with the first count of a key and does not
 * move. A key is forgotten when its window ends, or, when there are more than 20,000, when it is the
 * oldest with points left: new keys set nobody free who has none, unless 20,000 have none.
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
    count: (quota, key) => counterOf(quota).count(shortened(key)),
    look: (quota, key) => counterOf(quota).look(shortened(key)),
  };
}

/** Counts for one quota. */
interface Counter {
  count(key: string): Promise<Remaining>;
  look(key: string): Promise<Remaining>;
}

function shortened(key: string): string {
  return key.length > MAX_KEY_CHARACTERS ? hash("sha256", key, "base64url") : key;
}

/** Which keys are counted. */
interface Kept {
  /** Takes a key for the youngest. @param endsAt When its window ends, in milliseconds. */
  add(key: string, endsAt: number): void;
  /** Says that a key has no points left. */
  spend(key: string): void;
  /** Takes out what is too much. */
  surplus(): readonly string[];
}

function createKept(): Kept {
  /** When windows end, in the order in which they began, and so end. */
  const ends = new Map<string, number>();
  /** The keys with points left, in the same order. */
  const open = new Set<string>();

  const drop = (key: string) => {
    ends.delete(key);
    open.delete(key);
  };
  const dropEnded = () => {
    for (const [key, endsAt] of ends) {
      if (endsAt > Date.now()) return;
      drop(key);
    }
  };
  return {
    add(key, endsAt) {
      drop(key);
      ends.set(key, endsAt);
      open.add(key);
    },
    spend: (key) => void open.delete(key),
    surplus() {
      if (ends.size <= MAX_KEYS) return [];
      dropEnded();
      if (ends.size <= MAX_KEYS) return [];
      // The youngest is the one that is just being counted.
      const [oldest] = open.size > 1 ? open : ends.keys();
      if (oldest === undefined) return [];
      drop(oldest);
      return [oldest];
    },
  };
}

function createCounter(quota: QuotaName, policy: Quota): Counter {
  const { points, windowSeconds } = policy;
  const limiter = new RateLimiterMemory({ points, duration: windowSeconds, keyPrefix: "" });
  const kept = createKept();
  return {
    async count(key) {
      const counted = await limiter.consume(key).catch(refused);
      const { remainingPoints, msBeforeNext, consumedPoints } = counted;
      if (counted.isFirstInDuration) kept.add(key, Date.now() + msBeforeNext);
      if (remainingPoints === 0) kept.spend(key);
      await Promise.all(kept.surplus().map((each) => limiter.delete(each)));
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
