import { fingerprint } from "../secrets.ts";

/** How long an address that failed is not asked again, in milliseconds. */
const FAILURE_MS = 30_000;

/** Addresses that are remembered at the same time. */
const MAX_FAILURES = 1000;

/** Addresses that could not be fetched a short time ago. */
export interface RecentFailures {
  note(url: string): void;
  has(url: string): boolean;
}

/** Remembers failures in this process: of more than 1,000 the newest. */
export function createRecentFailures(): RecentFailures {
  /** When they are to be forgotten, oldest first. */
  const ends = new Map<string, number>();
  return {
    note(url) {
      const key = fingerprint(url);
      ends.delete(key);
      ends.set(key, Date.now() + FAILURE_MS);
      const [oldest = key] = ends.keys();
      if (ends.size > MAX_FAILURES) ends.delete(oldest);
    },
    has: (url) => (ends.get(fingerprint(url)) ?? 0) > Date.now(),
  };
}
