import { describe, expect, it } from "vitest";
import { createPopulation } from "../../../../src/auth/agents/unclaimed-index.ts";

const NOW = 1_000_000;

interface Described {
  readonly site: string;
  readonly provider?: string;
  readonly size?: number;
  readonly busyUntil?: number;
}

/** A population of agents, each named after its site and the order in which it came. */
function populated(...agents: readonly Described[]) {
  const population = createPopulation();
  for (const [at, { site, provider, size = 1, busyUntil = 0 }] of agents.entries()) {
    const id = `${site}${at}`;
    const networks = provider === undefined ? [site] : [site, provider];
    population.add({ id, networks, size, registeredAt: at, busyUntil, endsAt: NOW + 1 });
  }
  return population;
}

const idsOf = (population: ReturnType<typeof createPopulation>, spared = 0) =>
  population.givingWay({ now: NOW, spared }).map(({ agent }) => agent.id);

describe("agents that nobody answers for", () => {
  it("give way in the site that takes most, the newest first", () => {
    const population = populated(
      ...[{ site: "a" }, { site: "b" }, { site: "b" }, { site: "b" }, { site: "a" }],
    );
    expect(idsOf(population)).toEqual(["b3", "a4", "b2", "b1", "a0"]);
  });

  it("count as much as they take", () => {
    const population = populated({ site: "a", size: 5 }, { site: "b" }, { site: "b" });
    expect(idsOf(population)).toEqual(["a0", "b2", "b1"]);
    expect([population.size, population.sizeOf("a"), population.sizeOf("b")]).toEqual([7, 5, 2]);
  });

  it("stay while they are in use and their site takes little", () => {
    const busyUntil = NOW + 1;
    const population = populated(
      ...[
        { site: "a", busyUntil },
        { site: "b", busyUntil },
        { site: "b", busyUntil },
      ],
      ...[
        { site: "b", busyUntil: NOW },
        { site: "b", busyUntil },
      ],
    );
    expect(idsOf(population, 2)).toEqual(["b4", "b3"]);
    expect(idsOf(population, 4)).toEqual(["b3"]);
  });

  it("give way in the provider that takes most, though each of its sites takes little", () => {
    const busyUntil = NOW + 1;
    const provider = "p";
    const population = populated(
      ...[
        { site: "a", provider, busyUntil },
        { site: "b", provider, busyUntil },
      ],
      ...[
        { site: "x", busyUntil },
        { site: "x", busyUntil },
        { site: "c", provider, busyUntil },
      ],
    );
    expect(idsOf(population, 2)).toEqual(["c4"]);
    expect(population.sizeOf(provider)).toBe(3);
  });

  it("are counted once, and no more when they go or end", () => {
    const population = populated({ site: "a" }, { site: "b" });
    const known = population.find("a0");
    if (known !== undefined) population.add({ ...known, size: 3, endsAt: NOW });
    expect(population.size).toBe(4);
    population.removeEnded(NOW);
    population.remove("nobody");
    expect([population.size, population.sizeOf("a"), population.find("a0")]).toEqual([
      ...[1, 0, undefined],
    ]);
  });
});
