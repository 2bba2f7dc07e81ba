import { NetworkSlots } from "../limits/network-slots.ts";
import type { SharedCapacity } from "../limits/party-share.ts";

/**
 * Maximum number of pipelined requests of a network per `WINDOW_MS`: those that arrive while an
 * earlier one of their connection is not answered. Browsers and the usual HTTP clients send none.
 * One read of 64 kB can hold 2,500, which are all parsed and handled before any other socket is
 * read; the rejection of one takes 60 µs of CPU time (measured).
 */
const MAX_PIPELINED = 500;

/** Time for which pipelined requests of a network are counted, in milliseconds. */
export const WINDOW_MS = 3_000;

/**
 * Maximum number of pipelined requests that are not answered at a time. A client that does not read
 * its first answer holds those of all others for minutes, 6 kB each and its body (measured; 450 with
 * bodies of 60 kB took 38 MB), so 60 MB in all without bodies.
 */
const UNANSWERED: SharedCapacity = { total: 10_000, most: MAX_PIPELINED };

/**
 * Number of barred addresses from which the whole network is barred. What was read from an address
 * before it was barred takes up to 50 ms of CPU time (measured).
 */
const MAX_BARRED = 4;

/** An address (`ipAddressKey`) and its network (`networkOf`). */
export interface Origin {
  readonly address: string;
  readonly network: string;
}

/** The pipelined requests of a network in its present window. */
interface Window {
  count: number;
  /** Addresses that sent more than the network may. */
  readonly barred: Set<string>;
}

/** Counts the pipelined requests of networks, and bars addresses that send too many. */
export class NetworkBursts {
  readonly #windows = new Map<string, Window>();
  readonly #unanswered = new NetworkSlots(UNANSWERED);

  /**
   * Counts one more of a network, until `leave`.
   *
   * @returns Whether the network may send it.
   */
  enter(network: string): boolean {
    const window = this.#windowOf(network);
    window.count += 1;
    const hasRoom = this.#unanswered.hasRoomFor(network);
    this.#unanswered.enter(network);
    return hasRoom && window.count <= MAX_PIPELINED;
  }

  /** One of a network is answered, or its connection closed. */
  leave(network: string): void {
    this.#unanswered.leave(network);
  }

  /** Bars an address for the rest of the window of its network. */
  bar({ address, network }: Origin): void {
    this.#windowOf(network).barred.add(address);
  }

  /** Whether an address is barred, or so many of its network that all of them are. */
  isBarred({ address, network }: Origin): boolean {
    const barred = this.#windows.get(network)?.barred;
    return barred !== undefined && (barred.has(address) || barred.size >= MAX_BARRED);
  }

  #windowOf(network: string): Window {
    const open = this.#windows.get(network);
    if (open !== undefined) return open;
    const opened = { count: 0, barred: new Set<string>() };
    this.#windows.set(network, opened);
    setTimeout(() => this.#windows.delete(network), WINDOW_MS).unref();
    return opened;
  }
}
