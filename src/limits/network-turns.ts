/**
 * What waits for its turn. Networks take turns, so that one of which much waits does not delay the
 * others; within a network, what has waited longest comes first. All callers behind one address are
 * one network.
 */
export class NetworkTurns<T> {
  /**
   * What waits of each network, oldest first, in the order in which the networks have their turn.
   * While nothing waits, the list of the last network stays, because a Map that becomes empty gets
   * new tables each time.
   */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  /** Number of things that wait. */
  get size(): number {
    return this.#size;
  }

  add(network: string, one: T): void {
    const others = this.#waiting.get(network);
    if (others !== undefined) {
      others.push(one);
    } else {
      if (this.#size === 0) this.#waiting.clear();
      this.#waiting.set(network, [one]);
    }
    this.#size += 1;
  }

  /**
   * Removes the one whose turn it is.
   *
   * @param isReady Networks for which it is false keep their turn. Default: all are ready.
   */
  take(isReady: (network: string) => boolean = () => true): T | undefined {
    if (this.#size === 0) return undefined;
    for (const [network, own] of this.#waiting) {
      if (!isReady(network)) continue;
      const first = own.shift();
      this.#size -= 1;
      if (own.length > 0) this.#moveToEnd(network, own);
      else if (this.#size > 0) this.#waiting.delete(network);
      return first;
    }
    return undefined;
  }

  /** Lets the networks that wait have their turn first. */
  #moveToEnd(network: string, own: T[]): void {
    if (this.#waiting.size === 1) return;
    this.#waiting.delete(network);
    this.#waiting.set(network, own);
  }

  /** Removes the oldest ones of every network, as long as they satisfy a condition. */
  takeOldest(isDue: (one: T) => boolean): readonly T[] {
    const due: T[] = [];
    for (const [network, own] of this.#waiting) {
      const kept = own.findIndex((one) => !isDue(one));
      due.push(...own.splice(0, kept < 0 ? own.length : kept));
      if (own.length === 0) this.#waiting.delete(network);
    }
    this.#size -= due.length;
    return due;
  }

  /**
   * Removes the newest one of the network of which most waits, to make room for one more of another
   * network.
   *
   * @param network The network for which there should be room.
   * @returns `undefined` if then at least as much would wait of this network as of that one.
   */
  makeRoomFor(network: string): T | undefined {
    const most = (this.#waiting.get(network)?.length ?? 0) + 1;
    let longest: T[] = [];
    for (const own of this.#waiting.values()) if (own.length > longest.length) longest = own;
    if (longest.length <= most) return undefined;
    this.#size -= 1;
    return longest.pop();
  }
}
