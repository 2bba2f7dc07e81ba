import { partyShare, type SharedCapacity } from "./party-share.ts";
import { Tally } from "./tally.ts";

/**
 * Counts what networks have of a capacity that they share: the less of it is left, the less one of
 * them can have (`partyShare`), so that a few of them cannot use it up.
 */
export class NetworkSlots {
  readonly #capacity: SharedCapacity;
  readonly #networks = new Tally();
  #used = 0;

  constructor(capacity: SharedCapacity) {
    this.#capacity = capacity;
  }

  /** Whether a network can have one more. */
  hasRoomFor(network: string): boolean {
    const left = this.#capacity.total - this.#used;
    return left > 0 && this.#networks.of(network) + 1 <= partyShare(this.#capacity, left);
  }

  /** Counts one more of a network, even if there is no room. */
  enter(network: string): void {
    this.#networks.change(network, 1);
    this.#used += 1;
  }

  leave(network: string): void {
    this.#networks.change(network, -1);
    this.#used -= 1;
  }
}
