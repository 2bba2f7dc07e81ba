import { LRUCache } from "lru-cache";
import { fingerprint } from "../lib/fingerprint.ts";
import type { Authenticate, Caller } from "./caller.ts";

/** How long it is remembered who is behind a credential, in milliseconds: whatever gets lost between
 *  processes, each of them refuses what was revoked within a second. */
const LIFE_MS = 1_000;

/** Credentials that are remembered at the same time; each takes about 1 kB. */
const MAX_CREDENTIALS = 10_000;

/** What the memory is made from. */
export interface CredentialCacheOptions {
  /** Looks a credential up. */
  readonly authenticate: Authenticate;
  /** Listens for changes after which credentials may be good no longer, or for less. */
  readonly onCredentialChange: (listener: () => void) => void;
  /** The clock by which credentials end. */
  readonly now: () => Date;
  /** A clock that nobody sets, in milliseconds. */
  readonly monotonic: () => number;
}

/** A look at a credential, over or under way. */
interface Look {
  readonly caller: Promise<Caller | undefined>;
  /** When it began by both clocks, in milliseconds. */
  readonly began: { readonly monotonic: number; readonly now: number };
  /** When the credential ends, in milliseconds since the epoch. */
  endsAt: number;
}

/**
 * Remembers for a second who is behind a credential, by its hash. Everything is forgotten when some
 * credential may have ended. A look that is under way then is forgotten too, since nobody knows what
 * it saw: only who waits for it already gets its answer. That a credential is good for nothing is
 * not remembered.
 */
export function createCredentialCache(options: CredentialCacheOptions): Authenticate {
  const { authenticate, onCredentialChange, now, monotonic } = options;
  const looks = new LRUCache<string, Look>({ max: MAX_CREDENTIALS });
  onCredentialChange(() => looks.clear());
  const isFresh = ({ began, endsAt }: Look): boolean => {
    const at = now().getTime();
    const age = at - began.now;
    return monotonic() - began.monotonic < LIFE_MS && age >= 0 && age < LIFE_MS && at < endsAt;
  };
  const look = (key: string, credential: string): Look => {
    const began = { monotonic: monotonic(), now: now().getTime() };
    const begun: Look = { caller: authenticate(credential), began, endsAt: Infinity };
    looks.set(key, begun);
    const forget = () => {
      if (looks.peek(key) === begun) looks.delete(key);
    };
    begun.caller.then((caller) => {
      if (caller === undefined) forget();
      else begun.endsAt = caller.endsAt ?? Infinity;
    }, forget);
    return begun;
  };
  return (credential) => {
    const key = fingerprint(credential);
    const known = looks.get(key);
    return (known && isFresh(known) ? known : look(key, credential)).caller;
  };
}
