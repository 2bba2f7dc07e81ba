import { LRUCache } from "lru-cache";

/** How long an answer stands in for one that may not be fetched, in milliseconds: as long as the longest
 *  quota of fetches lasts. */
const STALE_MS = 3_600_000;

/** Bytes of all answers that are kept at the same time. */
const MAX_BYTES = 8 * 1024 * 1024;

interface Kept {
  readonly body: ArrayBuffer;
  readonly type: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** The last good answers of addresses that strangers name: of more than 8 MB those used last. */
export class LastGood {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }, url) => body.byteLength + url.length + 200,
  });

  /** Keeps an answer, and hands out another one with the same body. */
  async keep(url: string, response: Response): Promise<Response> {
    const body = await response.arrayBuffer();
    const type = response.headers.get("content-type") ?? "";
    this.#kept.set(url, { body, type, until: Date.now() + STALE_MS });
    return new Response(body, response);
  }

  /** Forgets an address that does not answer so any more. */
  forget(url: string): void {
    this.#kept.delete(url);
  }

  /** An answer without a life of its own, so that whoever gets it asks again soon. */
  of(url: string): Response | undefined {
    const kept = this.#kept.get(url);
    if (kept === undefined || kept.until <= Date.now()) return undefined;
    return new Response(kept.body, { headers: { "content-type": kept.type } });
  }
}
