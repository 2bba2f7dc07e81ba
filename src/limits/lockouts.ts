import { LRUCache } from "lru-cache";
import { collection, type Records, type Stored } from "../store/port/records.ts";
import { transact } from "../store/transact.ts";
import { networkOfKey } from "./address-key.ts";
import type { Limits, QuotaName, QuotaState } from "./quotas.ts";

const DAY_MS = 86_400_000;

/**
 * Quotas of wrong guesses; exceeding one causes a lockout. Their keys begin with addresses, so that
 * guessing does not lock out callers from other addresses.
 */
const LOCKOUT_QUOTAS: ReadonlySet<QuotaName> = new Set(["secret-address", "wrong-code"]);

/** The lockout of an address after too many wrong guesses. */
interface Lockout {
  /** Number of consecutive lockouts, each within a day of the end of the previous one. */
  readonly times: number;
  /** End of the lockout, in milliseconds since the epoch. */
  readonly until: number;
}

/** Maximum number of cached address hashes; hashing is the most expensive step here. */
const MAX_HASHES = 10_000;

const lockouts = collection<Lockout>("lockouts");

/** Dependencies of `withLockouts`. */
export interface LockoutOptions {
  readonly records: Records;
  /** Hashes an address, because the store contains no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
}

/**
 * Adds lockouts to limits: each time the quota of wrong guesses is used up again, the lockout
 * doubles, from the window of the quota up to a day. The duration is reset a day after the last
 * lockout ended. Lockouts are stored, so they survive a restart; at most 1,000 new lockouts a day
 * are stored per network (/32 of IPv6, /24 of IPv4).
 */
export function withLockouts(
  limits: Limits,
  { records, hashAddress, now }: LockoutOptions,
): Limits {
  const hashes = new LRUCache<string, string>({ max: MAX_HASHES, memoMethod: hashAddress });
  const keyOf = (quota: QuotaName, key: string) => `${quota}:${hashes.memo(key)}`;
  const leftMs = (lock: Stored<Lockout> | undefined): number =>
    lock === undefined ? 0 : lock.value.until - now().getTime();

  /**
   * Locks an address out.
   * @returns Duration of the lockout in milliseconds.
   */
  const lock = async (quota: QuotaName, address: string, windowMs: number): Promise<number> => {
    const key = keyOf(quota, address);
    // Bounds the number of lockouts that a holder of many addresses can cause to be stored; further
    // addresses are only rejected until the window ends.
    const isFirst = (await records.get(lockouts, key)) === undefined;
    if (isFirst && (await limits.count("lockouts", networkOfKey(address))).isExceeded) return 0;
    const at = now().getTime();
    return transact(records, async (tx) => {
      const last = await tx.get(lockouts, key);
      const left = leftMs(last);
      if (left > 0) return left;
      const times = (last?.value.times ?? 0) + 1;
      const durationMs = Math.min(windowMs * 2 ** (times - 1), DAY_MS);
      const value = { times, until: at + durationMs };
      tx.put(lockouts, { key, value, ttlMs: durationMs + DAY_MS });
      return durationMs;
    });
  };
  const count = async (quota: QuotaName, key: string): Promise<QuotaState> => {
    const counted = await limits.count(quota, key);
    if (counted.points > 0) return counted;
    const lastsMs = await lock(quota, key, counted.policy.windowSeconds * 1000);
    return { ...counted, resetMs: Math.max(counted.resetMs, lastsMs) };
  };
  const look = async (quota: QuotaName, key: string): Promise<QuotaState> => {
    const [counted, locked] = await Promise.all([
      limits.peek(quota, key),
      records.get(lockouts, keyOf(quota, key)),
    ]);
    const resetMs = leftMs(locked);
    return resetMs <= 0 ? counted : { ...counted, points: 0, resetMs, isExceeded: true };
  };
  return {
    admit: limits.admit,
    check: limits.check,
    count: (quota, key) => (LOCKOUT_QUOTAS.has(quota) ? count : limits.count)(quota, key),
    peek: (quota, key) => (LOCKOUT_QUOTAS.has(quota) ? look : limits.peek)(quota, key),
  };
}
