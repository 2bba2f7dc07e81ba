import { LRUCache } from "lru-cache";
import { DAY_MS } from "../lib/day.ts";
import { collection, type Records, type Stored } from "../store/port/records.ts";
import { transact } from "../store/transact.ts";
import type { LimitState, Limits, Party } from "./limits.ts";

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
interface LockoutOptions {
  readonly records: Records;
  /** Hashes an address, because the store contains no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
}

/**
 * Adds lockouts to `guesses`: each time a caller uses up its number again, the lockout doubles,
 * from the window up to a day. The duration is reset a day after the last lockout ended. Lockouts
 * are stored, so they survive a restart; the number of new ones is limited by `audit-rows`.
 */
export function withLockouts<L extends Limits>(
  limits: L,
  { records, hashAddress, now }: LockoutOptions,
): L {
  const hashes = new LRUCache<string, string>({ max: MAX_HASHES, memoMethod: hashAddress });
  const keyOf = ({ caller }: Party) => `guesses:${hashes.memo(caller)}`;
  const leftMs = (lock: Stored<Lockout> | undefined): number =>
    lock === undefined ? 0 : lock.value.until - now().getTime();

  /**
   * Locks a caller out.
   * @returns Duration of the lockout in milliseconds.
   */
  const lock = async (party: Party, windowMs: number): Promise<number> => {
    const key = keyOf(party);
    // Bounds the number of lockouts that a holder of many addresses can cause to be stored; further
    // addresses are only rejected until the window ends.
    const isFirst = (await records.get(lockouts, key)) === undefined;
    const { network } = party;
    if (isFirst && (await limits.admit("audit-rows", { caller: network, network })).isExceeded)
      return 0;
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
  const admitGuess = async (party: Party): Promise<LimitState> => {
    const counted = await limits.admit("guesses", party);
    if (counted.level !== "caller" || counted.left > 0) return counted;
    const lastsMs = await lock(party, counted.seconds * 1000);
    return { ...counted, resetMs: Math.max(counted.resetMs, lastsMs) };
  };
  const checkGuess = async (party: Party): Promise<LimitState> => {
    const [counted, locked] = await Promise.all([
      limits.check("guesses", party),
      records.get(lockouts, keyOf(party)),
    ]);
    const resetMs = leftMs(locked);
    if (resetMs <= 0) return counted;
    return { ...counted, level: "caller", left: 0, resetMs, isExceeded: true };
  };
  return {
    ...limits,
    admit: (name, party) => (name === "guesses" ? admitGuess(party) : limits.admit(name, party)),
    check: (name, party) => (name === "guesses" ? checkGuess(party) : limits.check(name, party)),
  };
}
