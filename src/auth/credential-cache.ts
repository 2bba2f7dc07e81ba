import { LRUCache } from "lru-cache";
import type { Authenticate, Caller } from "../access/caller.ts";
import { fingerprint } from "../lib/fingerprint.ts";

/** Lifetime of a cached lookup, in milliseconds. Even if an announcement is lost, every process
 *  rejects a revoked credential within this time. */
const TTL_MS = 1_000;

/** Maximum number of cached credentials; each takes about 1 kB. */
const MAX_CREDENTIALS = 10_000;

/** Dependencies of `CredentialCache`. */
interface CredentialCacheOptions {
  /** Finds the caller of a credential that is not in the cache. */
  readonly authenticate: Authenticate;
  /** Registers a listener for changes that may revoke or narrow a credential. */
  readonly onCredentialChange: (listener: () => void) => void;
  /** Wall clock, by which credentials expire. */
  readonly now: () => Date;
  /** A monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
}

/** A finished or pending lookup of a credential. */
interface Lookup {
  readonly caller: Promise<Caller | undefined>;
  /** Time at which the lookup started, by each clock, in milliseconds. */
  readonly startedAt: { readonly monotonic: number; readonly now: number };
  /** Expiry of the credential, in milliseconds since the epoch. */
  expiresAt: number;
}

/**
 * Caches callers for a second by the hash of their credential. A change of any credential clears
 * the cache, including pending lookups, since they may have read the old state; only requests
 * already waiting for a pending lookup get its result. Unknown credentials are not cached.
 */
export class CredentialCache {
  readonly #options: CredentialCacheOptions;
  readonly #lookups = new LRUCache<string, Lookup>({ max: MAX_CREDENTIALS });

  constructor(options: CredentialCacheOptions) {
    this.#options = options;
    options.onCredentialChange(() => this.#lookups.clear());
  }

  /** Finds the caller of a credential, in the cache or by `Authenticate`. */
  authenticate(credential: string): Promise<Caller | undefined> {
    const key = fingerprint(credential);
    const known = this.#lookups.get(key);
    return (known && this.#isFresh(known) ? known : this.#lookUp(key, credential)).caller;
  }

  #isFresh({ startedAt, expiresAt }: Lookup): boolean {
    const now = this.#options.now().getTime();
    const age = now - startedAt.now;
    const monotonicAge = this.#options.monotonic() - startedAt.monotonic;
    return monotonicAge < TTL_MS && age >= 0 && age < TTL_MS && now < expiresAt;
  }

  #lookUp(key: string, credential: string): Lookup {
    const { authenticate, monotonic, now } = this.#options;
    const startedAt = { monotonic: monotonic(), now: now().getTime() };
    const lookup: Lookup = { caller: authenticate(credential), startedAt, expiresAt: Infinity };
    this.#lookups.set(key, lookup);
    const forget = () => {
      if (this.#lookups.peek(key) === lookup) this.#lookups.delete(key);
    };
    lookup.caller.then((caller) => {
      if (caller === undefined) forget();
      else lookup.expiresAt = caller.expiresAt ?? Infinity;
    }, forget);
    return lookup;
  }
}
