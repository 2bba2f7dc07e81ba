import { shareOf } from "../../limits/share.ts";
import { Problem } from "../../problem.ts";

/**
 * Most fetches at once, of all networks and of one (/32 of IPv6, /24 of IPv4) while no other has any. A
 * request waits for its fetch, and the service works on 200 requests at once: without this bound, hosts
 * that never answer would keep all other requests waiting.
 */
const MAX_CONCURRENT = { total: 40, most: 8 } as const;

/** `Retry-After` in seconds: no fetch takes longer. */
const RETRY_SECONDS = 3;

/** The fetches of client documents and key sets that are under way, by the network that caused them. */
export class ConcurrentFetches {
  readonly #counts = new Map<string, number>();
  #total = 0;

  /** The refusal of one more fetch; `undefined` while the network has less than its share. */
  refusalFor(network: string): Problem | undefined {
    const left = MAX_CONCURRENT.total - this.#total;
    const count = this.#counts.get(network) ?? 0;
    return left > 0 && count < shareOf(MAX_CONCURRENT, left) ? undefined : tooMany();
  }

  /** Runs a fetch and counts it until it ends. */
  async run(network: string, act: () => Promise<Response>): Promise<Response> {
    this.#change(network, 1);
    try {
      return await act();
    } finally {
      this.#change(network, -1);
    }
  }

  #change(network: string, by: 1 | -1): void {
    const count = (this.#counts.get(network) ?? 0) + by;
    this.#total += by;
    if (count === 0) this.#counts.delete(network);
    else this.#counts.set(network, count);
  }
}

const tooMany = (): Problem =>
  new Problem("rate_limited", {
    detail: "Too many documents of clients are being fetched for requests from your network.",
    next: `Come again in ${RETRY_SECONDS} seconds.`,
    headers: { "Retry-After": String(RETRY_SECONDS) },
  });
