import { describe, expect, it } from "vitest";
import { countForClientAndAccount } from "../../../src/limits/count-for-client.ts";
import { createLimits } from "../../../src/limits/memory-limits.ts";

const DAY = 86_400;

/**
 * Returns a function that counts 1,000 calls of a client and returns how many of them were allowed.
 */
function counting(total: number, most: number) {
  const limits = createLimits({
    overrides: {
      "alert-repeats": { points: total, windowSeconds: DAY },
      "alert-repeats-client": { points: most, windowSeconds: DAY },
    },
  });
  return async (client: string, account = "a") => {
    let admitted = 0;
    for (let times = 0; times < 1_000; times++) {
      const [ofClient, ofAccount = ofClient] = await countForClientAndAccount(limits, {
        client: ["alert-repeats-client", client],
        account: ["alert-repeats", account],
      });
      if (!ofAccount.isExceeded) admitted += 1;
    }
    return admitted;
  };
}

describe("a quota of an account", () => {
  it("gives its first client at most the client's own quota, and no later client more than the client before", async () => {
    const count = counting(200, 100);
    const got: number[] = [];
    for (let client = 0; client < 20; client++) got.push(await count(`client-${client}`));
    expect(got[0]).toBe(100);
    expect(got).toEqual(got.toSorted((a, b) => b - a));
    expect(Math.min(...got)).toBeGreaterThanOrEqual(1);
    expect(await count("another", "b")).toBe(100);
  });

  it("is never exceeded by all of its clients together", async () => {
    const count = counting(20, 10);
    let admitted = 0;
    for (let client = 0; client < 60; client++) admitted += await count(`client-${client}`);
    expect(admitted).toBe(20);
  });

  it("can be used up by a single client whose own quota is larger", async () => {
    expect(await counting(3, 100)("client")).toBe(3);
  });
});
