/** An agent that nobody answers for, as far as it matters for the room that it takes. */
export interface Unclaimed {
  readonly id: string;
  /** The site that it was registered from, hidden. */
  readonly site: string;
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

/** Agents that nobody answers for, by the site that they were registered from. */
export interface Population {
  /** Room that all of them take. */
  readonly size: number;
  /** Adds one, or puts it in the place of what was known of it. */
  add(agent: Unclaimed): void;
  remove(id: string): void;
  find(id: string): Unclaimed | undefined;
  /** Room that the agents of one site take. */
  sizeOf(site: string): number;
  /** Forgets those that have ended. */
  removeEnded(now: number): void;
  /**
   * Those that give way, the first to go first: of the site that takes most the newest. None that is
   * in use while its site takes no more than `spared`.
   */
  givingWay(options: { readonly now: number; readonly spared: number }): readonly Candidate[];
}

/** Keeps them in memory: some 300 bytes for each. */
export function createPopulation(): Population {
  const agents = new Map<string, Unclaimed>();
  const sizes = new Map<string, number>();
  let total = 0;

  const count = (site: string, change: number): void => {
    const size = (sizes.get(site) ?? 0) + change;
    if (size > 0) sizes.set(site, size);
    else sizes.delete(site);
    total += change;
  };
  const remove = (id: string): void => {
    const known = agents.get(id);
    if (known === undefined) return;
    agents.delete(id);
    count(known.site, -known.size);
  };
  return {
    get size() {
      return total;
    },
    add(agent) {
      remove(agent.id);
      agents.set(agent.id, agent);
      count(agent.site, agent.size);
    },
    remove,
    find: (id) => agents.get(id),
    sizeOf: (site) => sizes.get(site) ?? 0,
    removeEnded(now) {
      for (const { id, endsAt } of agents.values()) {
        if (endsAt <= now) remove(id);
      }
    },
    givingWay({ now, spared }) {
      const bySite = Map.groupBy(agents.values(), ({ site }) => site);
      return [...bySite.values()]
        .flatMap(stacked)
        .filter(({ agent, top }) => agent.busyUntil <= now || top > spared)
        .toSorted((a, b) => b.top - a.top || b.agent.registeredAt - a.agent.registeredAt)
        .map(({ agent, top }) => ({ agent, isSpared: top <= spared }));
    },
  };
}

/** The agents of one site on top of each other, the oldest at the bottom, each with the height that
 *  they reach with it. To take the highest of all sites first is to take the newest of the site that
 *  takes most, again and again. */
function stacked(
  agents: readonly Unclaimed[],
): readonly { readonly agent: Unclaimed; readonly top: number }[] {
  let top = 0;
  return agents
    .toSorted((a, b) => a.registeredAt - b.registeredAt)
    .map((agent) => {
      top += agent.size;
      return { agent, top };
    });
}
