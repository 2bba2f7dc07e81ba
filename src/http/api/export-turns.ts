/** Number of exports that compute a part in the same turn of the event loop. */
const AT_WORK = 2;

/**
 * Lets at most two exports compute in a turn of the event loop, each for one part of a few
 * milliseconds, so that other requests wait no longer however many exports are under way. Networks
 * take turns, so that one with many exports does not delay those of others.
 */
export class ExportTurns {
  /** Exports that wait, by network, in the order in which networks have their turn. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;

  /** Resolves when an export of the network may compute its next part. */
  next(network: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const others = this.#waiting.get(network);
    if (others === undefined) this.#waiting.set(network, [resolve]);
    else others.push(resolve);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (let at = 0; at < AT_WORK; at += 1) this.#startOne();
      this.#schedule();
    });
  }

  #startOne(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [network, [start, ...others]] = first;
    this.#waiting.delete(network);
    if (others.length > 0) this.#waiting.set(network, others);
    start?.();
  }
}
