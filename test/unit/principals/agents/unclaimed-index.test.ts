import { describe, expect, it } from "vitest";
import { UnclaimedIndex } from "../../../../src/principals/agents/unclaimed-index.ts";

const NOW = 1_000_000;

interface Described {
  readonly site: string;
  readonly provider?: string;
  readonly size?: number;
  readonly inUseUntil?: number;
}

/** An index of agents whose ids consist of their site and their position in the arguments. */
function indexWith(...agents: readonly Described[]) {
  const index = new UnclaimedIndex();
  for (const [at, { site, provider, size = 1, inUseUntil = 0 }] of agents.entries()) {
    const id = `${site}${at}`;
    const networks = provider === undefined ? [site] : [site, provider];
    index.add({ id, networks, size, registeredAt: at, inUseUntil, expiresAt: NOW + 1 });
  }
  return index;
}

const idsOf = (index: UnclaimedIndex, protectedSize = 0) =>
  index.evictionOrder({ now: NOW, protectedSize }).map(({ agent }) => agent.id);

describe("the index of unclaimed agents", () => {
  it("first evicts agents of the network site with the most agents, starting with the newest agent", () => {
    const index = indexWith(
      ...[{ site: "a" }, { site: "b" }, { site: "b" }, { site: "b" }, { site: "a" }],
    );
    expect(idsOf(index)).toEqual(["b3", "a4", "b2", "b1", "a0"]);
  });

  it("weights agents by the size of their registration", () => {
    const index = indexWith({ site: "a", size: 5 }, { site: "b" }, { site: "b" });
    expect(idsOf(index)).toEqual(["a0", "b2", "b1"]);
    expect([index.size, index.sizeOf("a"), index.sizeOf("b")]).toEqual([7, 5, 2]);
  });

  it("does not evict agents that are in use while their network site has few agents", () => {
    const inUseUntil = NOW + 1;
    const index = indexWith(
      ...[
        { site: "a", inUseUntil },
        { site: "b", inUseUntil },
        { site: "b", inUseUntil },
      ],
      ...[
        { site: "b", inUseUntil: NOW },
        { site: "b", inUseUntil },
      ],
    );
    expect(idsOf(index, 2)).toEqual(["b4", "b3"]);
    expect(idsOf(index, 4)).toEqual(["b3"]);
  });

  it("evicts agents of the network provider with the most agents, even if each site of the provider has few", () => {
    const inUseUntil = NOW + 1;
    const provider = "p";
    const index = indexWith(
      ...[
        { site: "a", provider, inUseUntil },
        { site: "b", provider, inUseUntil },
      ],
      ...[
        { site: "x", inUseUntil },
        { site: "x", inUseUntil },
        { site: "c", provider, inUseUntil },
      ],
    );
    expect(idsOf(index, 2)).toEqual(["c4"]);
    expect(index.sizeOf(provider)).toBe(3);
  });

  it("counts an agent once, and stops counting it when it is deleted or expires", () => {
    const index = indexWith({ site: "a" }, { site: "b" });
    const known = index.find("a0");
    if (known !== undefined) index.add({ ...known, size: 3, expiresAt: NOW });
    expect(index.size).toBe(4);
    index.removeExpired(NOW);
    index.remove("nobody");
    expect([index.size, index.sizeOf("a"), index.find("a0")]).toEqual([...[1, 0, undefined]]);
  });
});
