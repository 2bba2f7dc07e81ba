import { LRUCache } from "lru-cache";
import { fingerprint } from "../../lib/fingerprint.ts";

/** How long a response is served where it may not be fetched again, in milliseconds: as long as the
 *  longest window of a fetch limit. */
const STALE_MS = 3_600_000;

/** Bytes of all cached responses. */
const MAX_BYTES = 8 * 1024 * 1024;

interface CachedResponse {
  readonly body: ArrayBuffer;
  readonly type: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** The last good response of each address that clients name; of more than 8 MB, the most recently used. */
export class LastGoodResponses {
  readonly #responses = new LRUCache<string, CachedResponse>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }, url) => body.byteLength + url.length + 200,
  });

  /** Caches a response. @returns Another one with the same body. */
  async store(url: string, response: Response): Promise<Response> {
    const body = await response.arrayBuffer();
    const type = response.headers.get("content-type") ?? "";
    this.#responses.set(url, { body, type, until: Date.now() + STALE_MS });
    return new Response(body, response);
  }

  /** Drops the response of an address that no longer gives it. */
  forget(url: string): void {
    this.#responses.delete(url);
  }

  /** The cached response without caching headers, so that oidc-provider asks again soon. */
  of(url: string): Response | undefined {
    const cached = this.#responses.get(url);
    if (cached === undefined || cached.until <= Date.now()) return undefined;
    return new Response(cached.body, { headers: { "content-type": cached.type } });
  }
}

/** How long an address that failed is not fetched again, in milliseconds. */
const FAILURE_MS = 30_000;

/** Failed addresses that are remembered at the same time. */
const MAX_FAILURES = 1000;

/** Addresses that could not be fetched a short time ago; of more than 1,000, the newest. */
export class RecentFailures {
  /** When each entry expires, in milliseconds since the epoch; the oldest first. */
  readonly #ends = new Map<string, number>();

  note(url: string): void {
    const key = fingerprint(url);
    this.#ends.delete(key);
    this.#ends.set(key, Date.now() + FAILURE_MS);
    const [oldest = key] = this.#ends.keys();
    if (this.#ends.size > MAX_FAILURES) this.#ends.delete(oldest);
  }

  has(url: string): boolean {
    return (this.#ends.get(fingerprint(url)) ?? 0) > Date.now();
  }
}
