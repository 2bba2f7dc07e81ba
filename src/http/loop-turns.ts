import { NetworkTurns } from "../limits/network-turns.ts";
import { type WorkTurns, workTurns } from "./work-turns.ts";

/** Number of waiters that start to compute in one turn of the event loop. */
const AT_WORK = 2;

/**
 * Lets at most two of those that wait compute in a turn of the event loop, so that other requests
 * wait no longer however many there are: exports for one part of a few milliseconds, MCP messages,
 * and other requests whose body arrived late. Networks take turns.
 */
export class LoopTurns {
  readonly #work: WorkTurns;
  readonly #waiting = new NetworkTurns<() => void>();
  #isScheduled = false;

  /** @param work Default: the turns of this process. */
  constructor(work: WorkTurns = workTurns) {
    this.#work = work;
  }

  /** Resolves when one of the network may compute. */
  next(network: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(network, resolve);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    this.#work.schedule(() => {
      this.#isScheduled = false;
      for (let at = 0; at < AT_WORK; at += 1) this.#waiting.take()?.();
      this.#schedule();
    });
  }
}
