import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createLease, type Lease, leases } from "../../../src/store/lease.ts";
import { put } from "../../../src/store/port/operations.ts";
import type { Records } from "../../../src/store/port/records.ts";
import { storeUnavailableProblem } from "../../../src/store/port/unavailable.ts";
import { describeEngines, model, openStore, type TestStore } from "../../support/stores.ts";
import { type ManualTimers, manualTimers } from "../../support/timers.ts";

/**
 * State of the connection to the store. Calls on a silent link fail after 20 s, long after the
 * lease has expired.
 */
type Link = "open" | "refused" | "silent";

/** A process that competes for the lease. */
interface Member {
  readonly lease: Lease;
  readonly link: { is: Link };
  /** The value of `isHeld` at each notified change. */
  readonly told: boolean[];
  readonly errors: unknown[];
  /** Waits until the store has responded to all calls. */
  idle(): Promise<void>;
}

/** Wraps records in a connection that the test can interrupt. */
function linked(records: Records, link: { readonly is: Link }, timers: ManualTimers) {
  const underWay = new Set<Promise<unknown>>();
  const through = async <T>(call: () => Promise<T>): Promise<T> => {
    if (link.is === "silent") await new Promise<void>((go) => timers.schedule(go, 20_000));
    if (link.is !== "open") throw storeUnavailableProblem("The link is down.");
    const called = call();
    underWay.add(called);
    return called.finally(() => underWay.delete(called));
  };
  const idle = async () => {
    do {
      await Promise.allSettled(underWay);
      await turn();
    } while (underWay.size > 0);
  };
  const limited: Records = {
    ...records,
    get: (from, key) => through(() => records.get(from, key)),
    commit: (operations) => through(() => records.commit(operations)),
    onAnnounce: records.onAnnounce,
  };
  return { records: limited, idle };
}

function join(
  { records }: Pick<TestStore, "records">,
  timers: ManualTimers,
  holder: string,
): Member {
  const link: Member["link"] = { is: "open" };
  const { idle, ...behind } = linked(records, link, timers);
  const [told, errors]: [boolean[], unknown[]] = [[], []];
  const lease = createLease({
    ...{ ...behind, name: "leader", holder, schedule: timers.schedule, monotonic: timers.now },
    onError: (error) => void errors.push(error),
  });
  lease.onChange(() => void told.push(lease.isHeld()));
  return { lease, link, told, errors, idle };
}

/** Advances the time of the store and of every member in steps of 500 ms. */
async function pass(
  { clock }: TestStore,
  timers: ManualTimers,
  { members, ms }: { readonly members: readonly Member[]; readonly ms: number },
): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    clock.now += 500;
    await timers.advance(500);
    for (const member of members) await member.idle();
    expect(held(members).length).toBeLessThan(2);
  }
}

const held = (members: readonly Member[]) => members.filter(({ lease }) => lease.isHeld());

describeEngines("the lease of the leader", (engine) => {
  async function open(...holders: string[]) {
    const store = await openStore(engine);
    const timers = manualTimers();
    const members = holders.map((holder) => join(store, timers, holder));
    for (const member of members) await member.idle();
    const wait = (ms: number) => pass(store, timers, { members, ms });
    return { store, timers, members: members as [Member, Member, ...Member[]], wait };
  }

  it("is held by exactly one of several concurrent candidates", async () => {
    const names = Array.from({ length: 20 }, (_, number) => `process ${number}`);
    const { members } = await open(...names);
    expect(held(members)).toHaveLength(1);
  });

  it("is held for as long as it is renewed", async () => {
    const { members, wait } = await open("a", "b");
    const [a] = held(members);
    await wait(60_000);
    expect(held(members)).toEqual([a]);
    expect(a?.told).toEqual([true]);
  });

  it("passes to another process when it expires, not as soon as its holder ends", async () => {
    const { store } = await open("ended");
    const timers = manualTimers();
    const other = join(store, timers, "other");
    await other.idle();
    await pass(store, timers, { members: [other], ms: 6_500 });
    expect(other.lease.isHeld()).toBe(false);
    await pass(store, timers, { members: [other], ms: 2_000 });
    expect(other.lease.isHeld()).toBe(true);
  });

  it("passes immediately to a process with the same holder name", async () => {
    const { store } = await open("ended");
    const again = join(store, manualTimers(), "ended");
    await again.idle();
    expect(again.lease.isHeld()).toBe(true);
  });

  it("passes to another process immediately when it is released", async () => {
    const { members, wait } = await open("a", "b");
    const [a] = held(members) as [Member];
    await a.lease.release();
    expect(a.told).toEqual([true, false]);
    // A PostgreSQL announcement takes a moment, but waiting for the lease to expire would take more
    // than these 4 s.
    for (let waits = 0; held(members).length === 0 && waits < 8; waits++) await wait(500);
    const [next] = held(members);
    expect(next).not.toBe(a);
    expect(next?.told).toEqual([true]);
    await wait(30_000);
    expect(held(members)).toEqual([next]);
  });

  it("stays with its holder when another process calls release", async () => {
    const { members, wait } = await open("a", "b");
    const [a] = held(members);
    await members.find((member) => member !== a)?.lease.release();
    await wait(30_000);
    expect(held(members)).toEqual([a]);
  });

  it("cannot be released while the store fails, and passes to another process when it expires", async () => {
    const { members, wait } = await open("a", "b");
    const [a] = held(members) as [Member];
    a.link.is = "refused";
    await expect(a.lease.release()).rejects.toThrow("store_unavailable");
    expect(a.lease.isHeld()).toBe(false);
    await wait(8_500);
    expect(held(members)).toHaveLength(1);
  });

  it("is given up by its holder before it expires when the store fails or does not respond", async () => {
    for (const link of ["refused", "silent"] as const) {
      const { members, wait } = await open("a", "b");
      const [a] = held(members) as [Member];
      a.link.is = link;
      await wait(5_500);
      expect(a.lease.isHeld()).toBe(true);
      await wait(500);
      expect(a.told).toEqual([true, false]);
      expect(held(members)).toEqual([]);
      expect(a.errors.length > 0).toBe(link === "refused");
      await wait(2_500);
      expect(held(members)).toHaveLength(1);
      a.link.is = "open";
      await wait(40_000);
      expect(held(members)).toHaveLength(1);
      expect(a.lease.isHeld()).toBe(false);
    }
  });

  it("is lost when the store says that another process holds it", async () => {
    const { store, members, wait } = await open("a");
    const value = { holder: "other" };
    await store.records.commit([put(leases, { key: "leader", value, ttlMs: 10_000 })]);
    await wait(3_000);
    expect(members[0].told).toEqual([true, false]);
    await wait(10_000);
    expect(members[0].told).toEqual([true, false, true]);
  });

  it("is not considered held when the response arrived too late", async () => {
    const { records, clock } = await openStore(engine);
    const timers = manualTimers();
    const late = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const lease = createLease({
      ...{ name: "leader", holder: "slow", schedule: timers.schedule, monotonic: timers.now },
      records: {
        ...records,
        async commit(operations) {
          const holds = await records.commit(operations);
          await late.promise;
          answered.resolve();
          return holds;
        },
      },
      onError: (error) => expect.unreachable(String(error)),
    });
    clock.now += 6_000;
    await timers.advance(6_000);
    late.resolve();
    await answered.promise;
    await timers.advance(0);
    expect(lease.isHeld()).toBe(false);
  });

  const title =
    "is never held by two processes, and is held by one process again when the store is reachable";
  it(title, { timeout: 60_000 }, async () => {
    const event = fc.record({
      who: fc.nat({ max: 2 }),
      link: fc.constantFrom<Link>("open", "refused", "silent"),
      ms: fc.nat({ max: 12 }).map((halves) => halves * 500),
    });
    const property = fc.asyncProperty(fc.array(event, { maxLength: 20 }), async (events) => {
      const { members, wait } = await open("a", "b", "c");
      for (const { who, link, ms } of events) {
        (members[who] as Member).link.is = link;
        await wait(ms);
      }
      for (const member of members) member.link.is = "open";
      await wait(40_000);
      expect(held(members)).toHaveLength(1);
    });
    await fc.assert(property, { numRuns: engine === model ? 200 : 3, seed: 3 });
  });
});
