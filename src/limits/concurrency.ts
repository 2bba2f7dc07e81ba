import { type LimitLevel, refusingLevel } from "./admission.ts";
import type { LimitNumbers } from "./classes.ts";
import type { Party } from "./limits.ts";

/** Counts what is under way in this process against the numbers of a class. */
export class Concurrency {
  readonly #most: LimitNumbers;
  readonly #callers = new Map<string, number>();
  readonly #networks = new Map<string, number>();
  #total = 0;

  constructor(most: LimitNumbers) {
    this.#most = most;
  }

  /** The number that refuses one more; `undefined` if there is room. */
  refusing({ caller, network }: Party): LimitLevel | undefined {
    return refusingLevel(this.#most, {
      caller: this.#callers.get(caller) ?? 0,
      network: this.#networks.get(network) ?? 0,
      total: this.#total,
    });
  }

  /** Counts one more, until the returned function is called, once. */
  enter({ caller, network }: Party): () => void {
    this.#change(caller, network, 1);
    return () => this.#change(caller, network, -1);
  }

  #change(caller: string, network: string, by: 1 | -1): void {
    add(this.#callers, caller, by);
    add(this.#networks, network, by);
    this.#total += by;
  }
}

function add(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
