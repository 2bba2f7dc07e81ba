/** An unclaimed agent, with the data that the capacity limit needs. */
export interface UnclaimedAgent {
  readonly id: string;
  /**
   * Hash of the network from which the agent was registered (/24 of IPv4, /48 of IPv6). For an
   * agent that a person has authorized, also the person's account.
   */
  readonly networks: readonly string[];
  /** Size in agents of ordinary size, at least 1. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
  /** Time until which the agent is known to be in use, in milliseconds since the epoch. */
  readonly inUseUntil: number;
  /** Expiry in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Rules that select the agents to evict and their order. */
interface EvictionPolicy {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Maximum size of a network whose agents in use are protected, in agents of ordinary size. */
  readonly protectedSize: number;
  /** Which agents are evicted first among networks of equal size. Default: the newest. */
  readonly first?: "newest" | "oldest";
}

/** An agent that may be evicted. */
export interface EvictionCandidate {
  readonly agent: UnclaimedAgent;
  /** Whether the agent must not be evicted while it is in use. */
  readonly isProtected: boolean;
}

/**
 * Index of unclaimed agents by the networks from which they were registered; in memory, about 300
 * bytes per agent.
 */
export class UnclaimedIndex {
  readonly #agents = new Map<string, UnclaimedAgent>();
  readonly #sizes = new Map<string, number>();
  #total = 0;

  /** Total size of all agents, in agents of ordinary size. */
  get size(): number {
    return this.#total;
  }

  /** Adds or replaces an agent. */
  add(agent: UnclaimedAgent): void {
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

  find(id: string): UnclaimedAgent | undefined {
    return this.#agents.get(id);
  }

  /** Total size of the agents of one network, in agents of ordinary size. */
  sizeOf(network: string): number {
    return this.#sizes.get(network) ?? 0;
  }

  /** Removes expired agents. @param now Milliseconds since the epoch. */
  removeExpired(now: number): void {
    for (const { id, expiresAt } of this.#agents.values()) {
      if (expiresAt <= now) this.remove(id);
    }
  }

  /** The agents that may be evicted, in order: the newest agent of the largest network first. */
  evictionOrder({
    now,
    protectedSize,
    first = "newest",
  }: EvictionPolicy): readonly EvictionCandidate[] {
    const sign = first === "newest" ? 1 : -1;
    return withHeights([...this.#agents.values()])
      .filter(({ agent, height }) => agent.inUseUntil <= now || height > protectedSize)
      .toSorted(
        (a, b) => b.height - a.height || sign * (b.agent.registeredAt - a.agent.registeredAt),
      )
      .map(({ agent, height }) => ({ agent, isProtected: height <= protectedSize }));
  }

  #count({ networks, size }: UnclaimedAgent, sign: 1 | -1): void {
    for (const network of networks) {
      const taken = this.sizeOf(network) + sign * size;
      if (taken > 0) this.#sizes.set(network, taken);
      else this.#sizes.delete(network);
    }
    this.#total += sign * size;
  }
}

/**
 * Stacks the agents of each network, the oldest at the bottom, and gives each agent its greatest
 * height in any of its networks, in agents of ordinary size. Eviction by descending height thus
 * repeatedly takes the newest agent of the largest network.
 */
function withHeights(
  agents: readonly UnclaimedAgent[],
): readonly { readonly agent: UnclaimedAgent; readonly height: number }[] {
  const heights = new Map<string, number>();
  return agents
    .toSorted((a, b) => a.registeredAt - b.registeredAt)
    .map((agent) => {
      const reached = agent.networks.map((network) => (heights.get(network) ?? 0) + agent.size);
      for (const [at, network] of agent.networks.entries()) heights.set(network, reached[at] ?? 0);
      return { agent, height: Math.max(...reached) };
    });
}
