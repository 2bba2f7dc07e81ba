import { type LimitLevel, refusingLevel } from "./admission.ts";
import type { LimitNumbers } from "./classes.ts";
import type { Party } from "./limits.ts";
import { Tally } from "./tally.ts";

/** Counts what is under way in this process against the numbers of a class. */
export class Concurrency {
  readonly #most: LimitNumbers;
  readonly #callers = new Tally();
  readonly #networks = new Tally();
  #total = 0;

  constructor(most: LimitNumbers) {
    this.#most = most;
  }

  /** The number that refuses one more; `undefined` if there is room. */
  refusing({ caller, network }: Party): LimitLevel | undefined {
    return refusingLevel(this.#most, {
      caller: this.#callers.of(caller),
      network: this.#networks.of(network),
      total: this.#total,
    });
  }

  /** Counts one more, until the returned function is called, once. */
  enter({ caller, network }: Party): () => void {
    this.#change(caller, network, 1);
    return () => this.#change(caller, network, -1);
  }

  #change(caller: string, network: string, by: 1 | -1): void {
    this.#callers.change(caller, by);
    this.#networks.change(network, by);
    this.#total += by;
  }
}
