import { LRUCache } from "lru-cache";
import { fingerprint } from "../lib/fingerprint.ts";
import type { Authenticate, Caller } from "./caller.ts";

/** How long a lookup is cached, in milliseconds. Whatever is lost between processes, each of them refuses
 *  a revoked credential within a second. */
const LIFE_MS = 1_000;

/** Credentials that are cached at the same time; each takes about 1 kB. */
const MAX_CREDENTIALS = 10_000;

/** What the cache works with. */
interface CredentialCacheOptions {
  /** Looks a credential up. */
  readonly authenticate: Authenticate;
  /** Listens for changes after which credentials may be good no longer, or for less. */
  readonly onCredentialChange: (listener: () => void) => void;
  /** The clock by which credentials expire. */
  readonly now: () => Date;
  /** A monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
}

/** A lookup, finished or pending. */
interface Lookup {
  readonly caller: Promise<Caller | undefined>;
  /** When it began by both clocks, in milliseconds. */
  readonly began: { readonly monotonic: number; readonly now: number };
  /** When the credential expires, in milliseconds since the epoch. */
  endsAt: number;
}

/**
 * Caches callers for a second by the hash of their credential. A change of any credential clears the
 * cache, including lookups that are pending, since they may have read what was there before: only those
 * who already wait for one get its answer. Unknown credentials are not cached.
 */
export class CredentialCache {
  readonly #options: CredentialCacheOptions;
  readonly #lookups = new LRUCache<string, Lookup>({ max: MAX_CREDENTIALS });

  constructor(options: CredentialCacheOptions) {
    this.#options = options;
    options.onCredentialChange(() => this.#lookups.clear());
  }

  /** Finds the caller behind a credential, as `Authenticate` does. */
  authenticate(credential: string): Promise<Caller | undefined> {
    const key = fingerprint(credential);
    const known = this.#lookups.get(key);
    return (known && this.#isFresh(known) ? known : this.#lookUp(key, credential)).caller;
  }

  #isFresh({ began, endsAt }: Lookup): boolean {
    const now = this.#options.now().getTime();
    const age = now - began.now;
    const monotonicAge = this.#options.monotonic() - began.monotonic;
    return monotonicAge < LIFE_MS && age >= 0 && age < LIFE_MS && now < endsAt;
  }

  #lookUp(key: string, credential: string): Lookup {
    const { authenticate, monotonic, now } = this.#options;
    const began = { monotonic: monotonic(), now: now().getTime() };
    const lookup: Lookup = { caller: authenticate(credential), began, endsAt: Infinity };
    this.#lookups.set(key, lookup);
    const forget = () => {
      if (this.#lookups.peek(key) === lookup) this.#lookups.delete(key);
    };
    lookup.caller.then((caller) => {
      if (caller === undefined) forget();
      else lookup.endsAt = caller.endsAt ?? Infinity;
    }, forget);
    return lookup;
  }
}
