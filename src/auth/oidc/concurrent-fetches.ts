import { Problem } from "../../lib/problem.ts";
import { partyShare } from "../../limits/share.ts";

/**
 * Maximum number of concurrent fetches: `total` for all networks together, and `most` for one
 * network (/32 of IPv6, /24 of IPv4) while no other network has a fetch. A request waits for its
 * fetch, and the service handles 200 requests at a time: without these limits, hosts that never
 * respond would block all other requests.
 */
const MAX_CONCURRENT = { total: 40, most: 8 } as const;

/** `Retry-After` of a rejected request, in seconds; every fetch ends within this time. */
const RETRY_SECONDS = 3;

/** Counts the running fetches of client documents and key sets, by the network that caused them. */
export class ConcurrentFetches {
  readonly #counts = new Map<string, number>();
  #total = 0;

  /**
   * The problem that rejects another fetch for this network; `undefined` while the network is
   * within its share.
   */
  limitProblem(network: string): Problem | undefined {
    const left = MAX_CONCURRENT.total - this.#total;
    const count = this.#counts.get(network) ?? 0;
    return left > 0 && count < partyShare(MAX_CONCURRENT, left) ? undefined : tooManyFetches();
  }

  /** Runs a fetch, and counts it until it ends. */
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

const tooManyFetches = (): Problem =>
  new Problem("rate_limited", {
    detail: "Too many client documents are being fetched for your network.",
    next: `Retry in ${RETRY_SECONDS} seconds.`,
    headers: { "Retry-After": String(RETRY_SECONDS) },
  });
