import { describe, expect, it, vi } from "vitest";
import { createLimits, type Limits } from "../../../src/limits/limits.ts";
import { withLockouts } from "../../../src/limits/lockouts.ts";
import { describeEngines, dumpStore, openStore, type TestStore } from "../../support/stores.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

const three = { caller: 3, network: 1_000, total: 10_000 };

/** Limits of a process that has just started and stores its lockouts in the given store. */
function started({ records, clock }: TestStore): Limits {
  const overrides = { guesses: three, submissions: three };
  return withLockouts(createLimits({ overrides, now: () => clock.now }), {
    records,
    hashAddress: (address) => `hash-of-${address.length}-${address.at(-1)}`,
    now: () => new Date(clock.now),
  });
}

const partyOf = (caller: string) => ({ caller, network: "192.0.2.0/24" });

async function guess(limits: Limits, times: number, caller = "192.0.2.1") {
  for (let at = 0; at < times; at += 1) await limits.admit("guesses", partyOf(caller));
}

/** Returns the minutes for which an address is still locked out. */
async function lockedFor(limits: Limits, caller = "192.0.2.1"): Promise<number> {
  const { isExceeded, resetMs } = await limits.check("guesses", partyOf(caller));
  return isExceeded ? resetMs / MINUTE_MS : 0;
}

describeEngines("lockouts", (engine) => {
  it("start when a caller has used up its number", async () => {
    const limits = started(await openStore(engine));
    await guess(limits, 2);
    expect(await lockedFor(limits)).toBe(0);
    await guess(limits, 1);
    expect(await lockedFor(limits)).toBe(15);
  });

  it("start for a caller whatever others of its network, and all together, have guessed", async () => {
    const store = await openStore(engine);
    const few = { caller: 3, network: 4, total: 10 };
    const limits = withLockouts(
      createLimits({ overrides: { guesses: few }, now: () => store.clock.now }),
      { records: store.records, hashAddress: String, now: () => new Date(store.clock.now) },
    );
    for (let other = 2; other < 20; other += 1) await guess(limits, 3, `192.0.2.${other}`);
    await guess(limits, 3);
    expect(await lockedFor(limits)).toBe(15);
    const { level } = await limits.check("guesses", partyOf("192.0.2.99"));
    expect(level).toBe("network");
  });

  it("double in length each time, up to a day", async () => {
    const store = await openStore(engine);
    const limits = started(store);
    const minutes = [];
    for (let at = 0; at < 9; at += 1) {
      await guess(limits, 3);
      const locked = await lockedFor(limits);
      minutes.push(locked);
      store.clock.now += locked * MINUTE_MS;
      expect(await lockedFor(limits)).toBe(0);
    }
    expect(minutes).toEqual([15, 30, 60, 120, 240, 480, 960, 1440, 1440]);
  });

  it("survive a restart, together with the number of previous lockouts", async () => {
    const store = await openStore(engine);
    await guess(started(store), 3);
    const again = await store.reopen();
    const limits = started(again);
    expect(await lockedFor(limits)).toBe(15);
    store.clock.now += 15 * MINUTE_MS;
    await guess(limits, 3);
    expect(await lockedFor(limits)).toBe(30);
  });

  it("are deleted when no wrong guess follows for a day after they end", async () => {
    const store = await openStore(engine);
    const limits = started(store);
    await guess(limits, 3);
    store.clock.now += 15 * MINUTE_MS + DAY_MS;
    await guess(limits, 3);
    expect(await lockedFor(limits)).toBe(15);
  });

  it("affect only the same address", async () => {
    const limits = started(await openStore(engine));
    await guess(limits, 50);
    expect(await lockedFor(limits, "192.0.2.2")).toBe(0);
  });

  it("start once for concurrent wrong guesses", async () => {
    const limits = started(await openStore(engine));
    await Promise.all(Array.from({ length: 40 }, () => guess(limits, 1)));
    expect(await lockedFor(limits)).toBe(15);
  });

  it("start for no other limit, and are stored without the address", async () => {
    const { store, ...rest } = await openStore(engine);
    const limits = started({ store, ...rest });
    for (let at = 0; at < 9; at += 1) await limits.admit("submissions", partyOf("192.0.2.1"));
    expect(await dumpStore(store)).toEqual([]);
    await guess(limits, 3);
    const [row, ...others] = await dumpStore(store);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ collection: "lockouts", key: "guesses:hash-of-9-1" });
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
    await locking.admit("submissions", partyOf("a"));
    await locking.check("submissions", partyOf("a"));
    expect([records.get, records.commit].flatMap(({ mock }) => mock.calls)).toEqual([]);
  });
});
