/** An agent that nobody owns, as far as it matters for capacity. */
export interface Unclaimed {
  readonly id: string;
  /** Hashes of the networks that it was registered from: the site and, for IPv6, the provider. Where a
   *  person let it act for them, their account besides. */
  readonly networks: readonly string[];
  /** Units of capacity that it takes, at least 1. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
  /** Until then it is known to be in use; milliseconds since the epoch. */
  readonly busyUntil: number;
  /** When it expires, in milliseconds since the epoch. */
  readonly endsAt: number;
}

/** Which agents are evicted, and in which order. */
interface EvictionPolicy {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** An agent in use stays while each of its networks has at most this size. */
  readonly spared: number;
  /** Which agents go first of networks of equal size; absent: the newest. */
  readonly first?: "newest" | "oldest";
}

/** An agent that may be evicted. */
export interface Candidate {
  readonly agent: Unclaimed;
  /** Whether it stays while it is in use. */
  readonly isSpared: boolean;
}

/** Agents that nobody owns, by the networks that they were registered from; in memory, about 300 bytes
 *  each. */
export class UnclaimedIndex {
  readonly #agents = new Map<string, Unclaimed>();
  readonly #sizes = new Map<string, number>();
  #total = 0;

  /** Size of all agents together. */
  get size(): number {
    return this.#total;
  }

  /** Adds an agent, or replaces what was known of it. */
  add(agent: Unclaimed): void {
    this.remove(agent.id);
    this.#agents.set(agent.id, agent);
    this.#count(agent, 1);
  }

  remove(id: string): void {
    const known = this.#agents.get(id);
    if (known === undefined) return;
    this.#agents.delete(id);
    this.#count(known, -1);
  }

  find(id: string): Unclaimed | undefined {
    return this.#agents.get(id);
  }

  /** Size of the agents of one network. */
  sizeOf(network: string): number {
    return this.#sizes.get(network) ?? 0;
  }

  /** Removes the agents that have expired. @param now Milliseconds since the epoch. */
  removeEnded(now: number): void {
    for (const { id, endsAt } of this.#agents.values()) {
      if (endsAt <= now) this.remove(id);
    }
  }

  /** The agents in the order in which they are evicted: of the network that has most, the newest first. */
  evictionOrder({ now, spared, first = "newest" }: EvictionPolicy): readonly Candidate[] {
    const sign = first === "newest" ? 1 : -1;
    return withHeights([...this.#agents.values()])
      .filter(({ agent, height }) => agent.busyUntil <= now || height > spared)
      .toSorted(
        (a, b) => b.height - a.height || sign * (b.agent.registeredAt - a.agent.registeredAt),
      )
      .map(({ agent, height }) => ({ agent, isSpared: height <= spared }));
  }

  #count({ networks, size }: Unclaimed, sign: 1 | -1): void {
    for (const network of networks) {
      const taken = this.sizeOf(network) + sign * size;
      if (taken > 0) this.#sizes.set(network, taken);
      else this.#sizes.delete(network);
    }
    this.#total += sign * size;
  }
}

/** Stacks the agents of each network with the oldest at the bottom, and gives each agent the greatest
 *  height that it reaches in one of its networks. Evicting by descending height takes the newest agent
 *  of the largest network, again and again. */
function withHeights(
  agents: readonly Unclaimed[],
): readonly { readonly agent: Unclaimed; readonly height: number }[] {
  const heights = new Map<string, number>();
  return agents
    .toSorted((a, b) => a.registeredAt - b.registeredAt)
    .map((agent) => {
      const reached = agent.networks.map((network) => (heights.get(network) ?? 0) + agent.size);
      for (const [at, network] of agent.networks.entries()) heights.set(network, reached[at] ?? 0);
      return { agent, height: Math.max(...reached) };
    });
}
