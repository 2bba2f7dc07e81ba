import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NetworkTurns } from "../../../src/limits/network-turns.ts";

/** Creates turns in which `counts[n]` things of network n wait, each called by network and place. */
function waitingOf(
  counts: readonly number[],
): NetworkTurns<readonly [network: number, at: number]> {
  const turns = new NetworkTurns<readonly [number, number]>();
  for (const [network, count] of counts.entries()) {
    for (let at = 0; at < count; at++) turns.add(String(network), [network, at]);
  }
  return turns;
}

const countsOf = fc.array(fc.nat(6), { minLength: 1, maxLength: 6 });

describe("what waits of several networks", () => {
  it("has its turn after at most one of each other network, oldest first within its own", () => {
    fc.assert(
      fc.property(countsOf, (counts) => {
        const turns = waitingOf(counts);
        const taken = Array.from({ length: turns.size }, () => turns.take());
        const rounds = Array.from({ length: 6 }, (_, at) =>
          counts.flatMap((count, network) => (at < count ? [[network, at]] : [])),
        );
        expect(taken).toEqual(rounds.flat());
        expect([turns.size, turns.take()]).toEqual([0, undefined]);
      }),
      { seed: 1 },
    );
  });

  it("makes room by the newest of the network of which most waits, never by the only one of a network", () => {
    fc.assert(
      fc.property(countsOf, fc.nat(6), (counts, network) => {
        const turns = waitingOf(counts);
        const most = Math.max(...counts);
        const own = counts[network] ?? 0;
        const gone = turns.makeRoomFor(String(network));
        if (most > own + 1) expect(gone).toEqual([counts.indexOf(most), most - 1]);
        else expect(gone).toBeUndefined();
        const all = counts.reduce((sum, count) => sum + count, 0);
        expect(turns.size).toBe(gone === undefined ? all : all - 1);
      }),
      { seed: 1 },
    );
  });

  it("is removed where it is due, and what is younger stays in its order", () => {
    const turns = waitingOf([3, 1, 4]);
    expect(turns.takeOldest(([network, at]) => at < 2 && network < 2)).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
    ]);
    expect(turns.size).toBe(5);
    expect([turns.take(), turns.take(), turns.take()]).toEqual([
      [0, 2],
      [2, 0],
      [2, 1],
    ]);
  });
});
