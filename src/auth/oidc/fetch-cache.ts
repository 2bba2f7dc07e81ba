import { LRUCache } from "lru-cache";
import { fingerprint } from "../../lib/fingerprint.ts";

/**
 * Maximum age of a cached response that is served after a failed fetch, in milliseconds; equal to
 * the longest window of a fetch limit.
 */
const STALE_MS = 3_600_000;

/** Maximum total size of the cache, in bytes. */
const MAX_BYTES = 8 * 1024 * 1024;

interface CachedResponse {
  readonly body: ArrayBuffer;
  readonly type: string;
  /** Expiry in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * The last successful response of each URL that clients supply. At most 8 MB of the most recently
 * used responses are kept.
 */
export class LastGoodResponses {
  readonly #responses = new LRUCache<string, CachedResponse>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }, url) => body.byteLength + url.length + 200,
  });

  /** Caches a response. @returns A response with the same body, which can still be read. */
  async store(url: string, response: Response): Promise<Response> {
    const body = await response.arrayBuffer();
    const type = response.headers.get("content-type") ?? "";
    this.#responses.set(url, { body, type, expiresAt: Date.now() + STALE_MS });
    return new Response(body, response);
  }

  /**
   * Removes the cached response of a URL after a fetch that returned neither 200 nor a temporary
   * failure.
   */
  delete(url: string): void {
    this.#responses.delete(url);
  }

  /**
   * The cached response without caching headers, so that oidc-provider fetches the URL again soon.
   */
  get(url: string): Response | undefined {
    const cached = this.#responses.get(url);
    if (cached === undefined || cached.expiresAt <= Date.now()) return undefined;
    return new Response(cached.body, { headers: { "content-type": cached.type } });
  }
}

/** Time after a failure during which a URL is not fetched again, in milliseconds. */
const FAILURE_MS = 30_000;

/** Maximum number of failed URLs in memory. */
const MAX_FAILURES = 1000;

/** URLs that recently could not be fetched; the newest 1,000 at most. */
export class RecentFailures {
  /** Expiry of each entry by the hash of its URL, in milliseconds since the epoch; the oldest
   *  first. */
  readonly #expiries = new Map<string, number>();

  add(url: string): void {
    const key = fingerprint(url);
    this.#expiries.delete(key);
    this.#expiries.set(key, Date.now() + FAILURE_MS);
    const [oldest = key] = this.#expiries.keys();
    if (this.#expiries.size > MAX_FAILURES) this.#expiries.delete(oldest);
  }

  has(url: string): boolean {
    return (this.#expiries.get(fingerprint(url)) ?? 0) > Date.now();
  }
}
