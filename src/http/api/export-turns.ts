import { NetworkTurns } from "../../limits/network-turns.ts";

/** Number of exports that compute a part in the same turn of the event loop. */
const AT_WORK = 2;

/**
 * Lets at most two exports compute in a turn of the event loop, each for one part of a few
 * milliseconds, so that other requests wait no longer however many exports are under way. Networks
 * take turns.
 */
export class ExportTurns {
  readonly #waiting = new NetworkTurns<() => void>();
  #isScheduled = false;

  /** Resolves when an export of the network may compute its next part. */
  next(network: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(network, resolve);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (let at = 0; at < AT_WORK; at += 1) this.#waiting.take()?.();
      this.#schedule();
    });
  }
}
