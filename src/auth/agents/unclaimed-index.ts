/** An agent that nobody answers for, as far as it matters for the room that it takes. */
export interface Unclaimed {
  readonly id: string;
  /** The networks that it was registered from, hidden: the site and, of IPv6, the provider. */
  readonly networks: readonly string[];
  /** Room that it takes, at least 1. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
  /** Until then it is in use, as far as is known; milliseconds since the epoch. */
  readonly busyUntil: number;
  /** When it ends by itself, in milliseconds since the epoch. */
  readonly endsAt: number;
}

/** An agent that may have to go. */
export interface Candidate {
  readonly agent: Unclaimed;
  /** It stays while it is in use. */
  readonly isSpared: boolean;
}

/** Agents that nobody answers for, by the networks that they were registered from. */
export interface Population {
  /** Room that all of them take. */
  readonly size: number;
  /** Adds one, or puts it in the place of what was known of it. */
  add(agent: Unclaimed): void;
  remove(id: string): void;
  find(id: string): Unclaimed | undefined;
  /** Room that the agents of one network take. */
  sizeOf(network: string): number;
  /** Forgets those that have ended. */
  removeEnded(now: number): void;
  /**
   * Those that give way, the first to go first: of the network that takes most the newest. None that is
   * in use while none of its networks takes more than `spared`.
   */
  givingWay(options: { readonly now: number; readonly spared: number }): readonly Candidate[];
}

/** Keeps them in memory: some 300 bytes for each. */
export function createPopulation(): Population {
  const agents = new Map<string, Unclaimed>();
  const sizes = new Map<string, number>();
  let total = 0;

  const count = ({ networks, size }: Unclaimed, sign: 1 | -1): void => {
    for (const network of networks) {
      const taken = (sizes.get(network) ?? 0) + sign * size;
      if (taken > 0) sizes.set(network, taken);
      else sizes.delete(network);
    }
    total += sign * size;
  };
  const remove = (id: string): void => {
    const known = agents.get(id);
    if (known === undefined) return;
    agents.delete(id);
    count(known, -1);
  };
  return {
    get size() {
      return total;
    },
    add(agent) {
      remove(agent.id);
      agents.set(agent.id, agent);
      count(agent, 1);
    },
    remove,
    find: (id) => agents.get(id),
    sizeOf: (network) => sizes.get(network) ?? 0,
    removeEnded(now) {
      for (const { id, endsAt } of agents.values()) {
        if (endsAt <= now) remove(id);
      }
    },
    givingWay({ now, spared }) {
      return stacked([...agents.values()])
        .filter(({ agent, top }) => agent.busyUntil <= now || top > spared)
        .toSorted((a, b) => b.top - a.top || b.agent.registeredAt - a.agent.registeredAt)
        .map(({ agent, top }) => ({ agent, isSpared: top <= spared }));
    },
  };
}

/** The agents of each network on top of each other, the oldest at the bottom, each with the greatest
 *  height that it reaches in one of its networks. To take the highest of all first is to take the
 *  newest of the network that takes most, again and again. */
function stacked(
  agents: readonly Unclaimed[],
): readonly { readonly agent: Unclaimed; readonly top: number }[] {
  const heights = new Map<string, number>();
  return agents
    .toSorted((a, b) => a.registeredAt - b.registeredAt)
    .map((agent) => {
      const tops = agent.networks.map((network) => (heights.get(network) ?? 0) + agent.size);
      for (const [at, network] of agent.networks.entries()) heights.set(network, tops[at] ?? 0);
      return { agent, top: Math.max(...tops) };
    });
}
