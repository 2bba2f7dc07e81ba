import { describe, expect, it } from "vitest";
import type { Caller } from "../../../src/access/caller.ts";
import { CredentialCache } from "../../../src/auth/credential-cache.ts";

const START = Date.UTC(2026, 10, 21, 12);

const caller = (id: string, expiresAt?: number): Caller => ({
  ...{ kind: "agent", id, clientId: id, accountId: undefined, scopes: new Set() },
  ...{ resource: "https://signal.example", signedInAt: undefined, expiresAt },
});

/** A cache whose lookups the test can suspend, with clocks that the test advances. */
function cacheOf(good: Map<string, Caller>) {
  const clock = { monotonic: 0, now: START };
  const waiting: (() => void)[] = [];
  const listeners: (() => void)[] = [];
  let looked = 0;
  let isSlow = false;
  const cache = new CredentialCache({
    async authenticate(credential) {
      looked++;
      const found = good.get(credential);
      if (isSlow) await new Promise<void>((resolve) => waiting.push(resolve));
      return found;
    },
    onCredentialChange: (listener) => void listeners.push(listener),
    now: () => new Date(clock.now),
    monotonic: () => clock.monotonic,
  });
  const authenticate = (credential: string) => cache.authenticate(credential);
  return {
    clock,
    idOf: async (credential: string) => (await authenticate(credential))?.id,
    change() {
      for (const listener of listeners) listener();
    },
    looks: () => looked,
    wait(ms: number) {
      clock.monotonic += ms;
      clock.now += ms;
    },
    /** Suspends lookups from now on. @returns A function that resumes them. */
    slow() {
      isSlow = true;
      return () => {
        isSlow = false;
        for (const go of waiting.splice(0)) go();
      };
    },
  };
}

describe("the credential cache", () => {
  it("looks a credential up at most once per second", async () => {
    const cache = cacheOf(new Map([["token", caller("agent")]]));
    for (let ms = 0; ms < 1_000; ms += 100) {
      expect(await cache.idOf("token")).toBe("agent");
      cache.wait(100);
    }
    expect(cache.looks()).toBe(1);
    await cache.idOf("token");
    expect(cache.looks()).toBe(2);
  });

  it("rejects a revoked credential within one second, even without an announcement", async () => {
    const good = new Map([["token", caller("agent")]]);
    const cache = cacheOf(good);
    await cache.idOf("token");
    good.clear();
    cache.wait(999);
    expect(await cache.idOf("token")).toBe("agent");
    cache.wait(1);
    expect(await cache.idOf("token")).toBeUndefined();
  });

  it("measures the second from the start of a lookup, however long the lookup takes", async () => {
    const good = new Map([["token", caller("agent")]]);
    const cache = cacheOf(good);
    const go = cache.slow();
    const first = cache.idOf("token");
    cache.wait(999);
    const second = cache.idOf("token");
    expect(cache.looks()).toBe(1);
    good.clear();
    cache.wait(1);
    const third = cache.idOf("token");
    go();
    expect(await Promise.all([first, second, third])).toEqual(["agent", "agent", undefined]);
  });

  it("rejects a revoked credential as soon as the revocation is announced", async () => {
    const good = new Map([["token", caller("agent")]]);
    const cache = cacheOf(good);
    await cache.idOf("token");
    good.clear();
    cache.change();
    expect(await cache.idOf("token")).toBeUndefined();
  });

  it("does not cache a lookup that started before a revocation and ended after it", async () => {
    const good = new Map([["token", caller("agent")]]);
    const cache = cacheOf(good);
    const go = cache.slow();
    const before = cache.idOf("token");
    good.clear();
    cache.change();
    go();
    expect(await before).toBe("agent");
    expect(await cache.idOf("token")).toBeUndefined();
  });

  it("never replaces the result of a lookup made after a revocation with the result of a lookup made before the revocation", async () => {
    const good = new Map([["token", caller("before")]]);
    const cache = cacheOf(good);
    const go = cache.slow();
    const before = cache.idOf("token");
    good.set("token", caller("after"));
    cache.change();
    const after = cache.idOf("token");
    go();
    expect(await Promise.all([before, after])).toEqual(["before", "after"]);
    expect(await cache.idOf("token")).toBe("after");
    expect(cache.looks()).toBe(2);
  });

  it("never caches a credential beyond its expiry", async () => {
    const cache = cacheOf(new Map([["token", caller("agent", START + 300)]]));
    await cache.idOf("token");
    cache.wait(299);
    await cache.idOf("token");
    expect(cache.looks()).toBe(1);
    cache.wait(1);
    await cache.idOf("token");
    expect(cache.looks()).toBe(2);
  });

  it.each([-1, 1_000, 3_600_000, -3_600_000])(
    "repeats a lookup when the clock is changed by %d ms",
    async (ms) => {
      const cache = cacheOf(new Map([["token", caller("agent")]]));
      await cache.idOf("token");
      cache.clock.now += ms;
      await cache.idOf("token");
      expect(cache.looks()).toBe(2);
    },
  );

  it("does not cache an invalid credential", async () => {
    const good = new Map<string, Caller>();
    const cache = cacheOf(good);
    expect(await cache.idOf("token")).toBeUndefined();
    good.set("token", caller("agent"));
    expect(await cache.idOf("token")).toBe("agent");
  });

  it("does not cache a failure of the store", async () => {
    let isAway = true;
    const cache = new CredentialCache({
      async authenticate() {
        if (isAway) throw new Error("away");
        return caller("agent");
      },
      onCredentialChange: () => {},
      now: () => new Date(START),
      monotonic: () => 0,
    });
    const authenticate = (credential: string) => cache.authenticate(credential);
    await expect(authenticate("token")).rejects.toThrow("away");
    isAway = false;
    expect((await authenticate("token"))?.id).toBe("agent");
  });

  it("does not mix up different credentials", async () => {
    const cache = cacheOf(new Map(["a", "b"].map((id) => [id, caller(id)])));
    expect([await cache.idOf("a"), await cache.idOf("b"), await cache.idOf("a")]).toEqual([
      "a",
      "b",
      "a",
    ]);
    expect(cache.looks()).toBe(2);
  });
});
