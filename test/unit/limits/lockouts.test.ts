import { describe, expect, it, vi } from "vitest";
import { withLockouts } from "../../../src/limits/lockouts.ts";
import { createLimits } from "../../../src/limits/memory-limits.ts";
import type { Limits, QuotaName } from "../../../src/limits/quotas.ts";
import { describeEngines, dumpStore, openStore, type TestStore } from "../../support/stores.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

const three = { points: 3, windowSeconds: 900 };

/** Limits of a process that has just started and stores its lockouts in the given store. */
function started({ records, clock }: TestStore): Limits {
  const overrides = { "secret-address": three, "wrong-code": three, apply: three };
  return withLockouts(createLimits({ overrides, now: () => clock.now }), {
    records,
    hashAddress: (address) => `hash-of-${address.length}-${address.at(-1)}`,
    now: () => new Date(clock.now),
  });
}

async function guess(limits: Limits, quota: QuotaName, times: number, key = "192.0.2.1") {
  for (let at = 0; at < times; at += 1) await limits.count(quota, key);
}

/** Returns the minutes for which an address is still locked out. */
async function lockedFor(limits: Limits, quota: QuotaName, key = "192.0.2.1"): Promise<number> {
  const { isExceeded, resetMs } = await limits.peek(quota, key);
  return isExceeded ? resetMs / MINUTE_MS : 0;
}

describeEngines("lockouts", (engine) => {
  it.each(["secret-address", "wrong-code"] as const)(
    "start when the quota %s is used up",
    async (quota) => {
      const limits = started(await openStore(engine));
      await guess(limits, quota, 2);
      expect(await lockedFor(limits, quota)).toBe(0);
      await guess(limits, quota, 1);
      expect(await lockedFor(limits, quota)).toBe(15);
    },
  );

  it("double in length each time, up to a day", async () => {
    const store = await openStore(engine);
    const limits = started(store);
    const minutes = [];
    for (let at = 0; at < 9; at += 1) {
      await guess(limits, "secret-address", 3);
      const locked = await lockedFor(limits, "secret-address");
      minutes.push(locked);
      store.clock.now += locked * MINUTE_MS;
      expect(await lockedFor(limits, "secret-address")).toBe(0);
    }
    expect(minutes).toEqual([15, 30, 60, 120, 240, 480, 960, 1440, 1440]);
  });

  it("survive a restart, together with the number of previous lockouts", async () => {
    const store = await openStore(engine);
    await guess(started(store), "wrong-code", 3);
    const again = await store.reopen();
    const limits = started(again);
    expect(await lockedFor(limits, "wrong-code")).toBe(15);
    store.clock.now += 15 * MINUTE_MS;
    await guess(limits, "wrong-code", 3);
    expect(await lockedFor(limits, "wrong-code")).toBe(30);
  });

  it("are deleted when no wrong guess follows for a day after they end", async () => {
    const store = await openStore(engine);
    const limits = started(store);
    await guess(limits, "wrong-code", 3);
    store.clock.now += 15 * MINUTE_MS + DAY_MS;
    await guess(limits, "wrong-code", 3);
    expect(await lockedFor(limits, "wrong-code")).toBe(15);
  });

  it("affect only the same address and the same operation", async () => {
    const limits = started(await openStore(engine));
    await guess(limits, "secret-address", 50);
    expect(await lockedFor(limits, "secret-address", "192.0.2.2")).toBe(0);
    expect(await lockedFor(limits, "wrong-code")).toBe(0);
  });

  it("start once for concurrent wrong guesses", async () => {
    const limits = started(await openStore(engine));
    await Promise.all(Array.from({ length: 40 }, () => guess(limits, "secret-address", 1)));
    expect(await lockedFor(limits, "secret-address")).toBe(15);
  });

  it("start for no other quota, and are stored without the address", async () => {
    const { store, ...rest } = await openStore(engine);
    const limits = started({ store, ...rest });
    await guess(limits, "apply", 9);
    expect(await dumpStore(store)).toEqual([]);
    await guess(limits, "wrong-code", 3);
    const [row, ...others] = await dumpStore(store);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ collection: "lockouts", key: "wrong-code:hash-of-9-1" });
    expect(JSON.stringify(row)).not.toContain("192.0.2");
  });
});

describe("limits without lockouts", () => {
  it("do not access the store", async () => {
    const limits = createLimits();
    const records = { get: vi.fn(), commit: vi.fn() };
    const locking = withLockouts(limits, {
      records: records as never,
      hashAddress: String,
      now: () => new Date(0),
    });
    await locking.count("contact", "a");
    await locking.peek("apply", "a");
    expect([records.get, records.commit].flatMap(({ mock }) => mock.calls)).toEqual([]);
  });
});
