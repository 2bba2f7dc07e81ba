import { expect, it } from "vitest";
import {
  consume,
  insert,
  put,
  remove,
  removeGroup,
  removeUnchanged,
  replace,
  requireUnchanged,
} from "../../../src/store/port/operations.ts";
import { collection, type Records, type Stored } from "../../../src/store/port/records.ts";
import { describeStores, dumpStore, openStore } from "../../support/stores.ts";

const pages = collection<number>("pages");
const jobs = collection<number>("jobs");

const keysOf = (stored: readonly Stored<unknown>[]) => stored.map(({ key }) => key);

async function claimed(records: Records, limit = 100): Promise<readonly string[]> {
  return keysOf(await records.claimDue(jobs, { limit, leaseMs: 1000 }));
}

describeStores("a record with an expiry", (engine) => {
  /**
   * Opens a store with the record "a", which expires in 100 ms.
   * @returns The store and the revision.
   */
  async function expiring() {
    const opened = await openStore(engine);
    const steps = [
      insert(pages, { key: "a", value: 1, groups: ["g"], ttlMs: 100, dueInMs: 0 }),
      insert(pages, { key: "b", value: 1, groups: ["g"] }),
    ];
    await opened.records.commit(steps);
    const { revision = 0 } = (await opened.records.get(pages, "a")) ?? {};
    return { ...opened, read: { key: "a", revision } };
  }

  it("is readable up to its last millisecond", async () => {
    const { records, clock } = await expiring();
    clock.now += 99;
    expect((await records.get(pages, "a"))?.value).toBe(1);
    expect(keysOf(await records.list(pages, { group: "g", limit: 9 }))).toEqual(["a", "b"]);
    expect(await records.commit([insert(pages, { key: "a", value: 2 })])).toBe(false);
    clock.now += 1;
    expect(await records.get(pages, "a")).toBeUndefined();
  });

  it("is in no list after its expiry, and does not count against a limit", async () => {
    const { records, clock } = await expiring();
    clock.now += 100;
    expect(keysOf(await records.list(pages, { limit: 1 }))).toEqual(["b"]);
    expect(keysOf(await records.list(pages, { group: "g", limit: 1 }))).toEqual(["b"]);
  });

  it("is not claimed after its expiry, even if it is due", async () => {
    const { records, clock } = await expiring();
    clock.now += 100;
    expect(await records.claimDue(pages, { limit: 9, leaseMs: 1 })).toEqual([]);
  });

  it("can be inserted again after its expiry", async () => {
    const { records, clock, read } = await expiring();
    await records.commit([consume(pages, "a")]);
    clock.now += 100;
    expect(await records.commit([insert(pages, { key: "a", value: 2 })])).toBe(true);
    const again = await records.get(pages, "a");
    expect(again).toMatchObject({
      ...{ value: 2, groups: [], expiresAt: undefined, dueAt: undefined, consumedAt: undefined },
    });
    expect(again?.revision).toBeGreaterThan(read.revision);
    expect(keysOf(await records.list(pages, { group: "g", limit: 9 }))).toEqual(["b"]);
    clock.now += 100_000;
    expect((await records.get(pages, "a"))?.value).toBe(2);
  });

  it("can be overwritten by put after its expiry", async () => {
    const { records, clock } = await expiring();
    clock.now += 100;
    expect(await records.commit([put(pages, { key: "a", value: 2, ttlMs: 10 })])).toBe(true);
    expect(await records.get(pages, "a")).toMatchObject({ value: 2, expiresAt: clock.now + 10 });
  });

  it("cannot be checked, replaced, consumed or removed at its revision after its expiry", async () => {
    const { records, clock, read } = await expiring();
    expect(await records.commit([requireUnchanged(pages, read)])).toBe(true);
    clock.now += 100;
    expect(await records.commit([requireUnchanged(pages, read)])).toBe(false);
    expect(await records.commit([replace(pages, read, { value: 2, ttlMs: null })])).toBe(false);
    expect(await records.commit([consume(pages, "a")])).toBe(false);
    expect(await records.commit([removeUnchanged(pages, read)])).toBe(false);
  });

  it("can be removed after its expiry without effect", async () => {
    const { records, clock } = await expiring();
    clock.now += 100;
    expect(await records.commit([remove(pages, "a")])).toBe(true);
    expect(await records.commit([removeGroup("g")])).toBe(true);
    expect(await records.get(pages, "a")).toBeUndefined();
    expect(await records.list(pages, { limit: 9 })).toEqual([]);
  });

  it("never reappears after its expiry, even after a restart", async () => {
    const opened = await expiring();
    opened.clock.now += 100;
    const { records } = await opened.reopen();
    expect(await records.get(pages, "a")).toBeUndefined();
    expect(keysOf(await records.list(pages, { group: "g", limit: 9 }))).toEqual(["b"]);
    expect(await records.commit([insert(pages, { key: "a", value: 2 })])).toBe(true);
  });

  it("expires at its new time (earlier, later or never) if it was replaced before its first expiry", async () => {
    const { records, clock } = await openStore(engine);
    const keys = ["longer", "shorter", "ever", "kept"];
    await records.commit(keys.map((key) => put(pages, { key, value: 1, ttlMs: 100 })));
    const ttls = [{ ttlMs: 200 }, { ttlMs: 50 }, { ttlMs: null }, {}];
    const steps = (await records.list(pages, { limit: 9 })).map((stored, at) =>
      replace(pages, stored, { value: 2, ...ttls[at] }),
    );
    await records.commit(steps);
    const there = async () => keysOf(await records.list(pages, { limit: 9 }));
    clock.now += 50;
    expect(await there()).toEqual(["longer", "ever", "kept"]);
    clock.now += 50;
    expect(await there()).toEqual(["longer", "ever"]);
    clock.now += 100;
    expect(await there()).toEqual(["ever"]);
  });

  it("expires immediately when its lifetime is zero", async () => {
    const { records } = await openStore(engine);
    expect(await records.commit([put(pages, { key: "a", value: 1, ttlMs: 0 })])).toBe(true);
    expect(await records.get(pages, "a")).toBeUndefined();
  });

  it("preserves its expiry when it is consumed or claimed", async () => {
    const { records, clock } = await expiring();
    await records.commit([consume(pages, "a")]);
    await records.claimDue(pages, { limit: 9, leaseMs: 5000 });
    expect((await records.get(pages, "a"))?.expiresAt).toBe(clock.now + 100);
    clock.now += 100;
    expect(await records.get(pages, "a")).toBeUndefined();
  });

  it("may have a lifetime, due time or lease in fractions of a millisecond", async () => {
    const opened = await openStore(engine);
    const { clock } = opened;
    const placing = { ttlMs: 10.4, dueInMs: 2.5 };
    expect(await opened.records.commit([put(jobs, { key: "a", value: 1, ...placing })])).toBe(true);
    const { records } = await opened.reopen();
    const { expiresAt = 0, dueAt = 0 } = (await records.get(jobs, "a")) ?? {};
    expect(Math.abs(expiresAt - clock.now - 10.4)).toBeLessThan(1);
    expect(Math.abs(dueAt - clock.now - 2.5)).toBeLessThan(1);
    clock.now += 4;
    expect(await records.claimDue(jobs, { limit: 9, leaseMs: 1.5 })).toMatchObject([{ key: "a" }]);
    clock.now += 3;
    expect(await records.claimDue(jobs, { limit: 9, leaseMs: 1.5 })).toMatchObject([{ key: "a" }]);
    clock.now += 5;
    expect(await records.get(jobs, "a")).toBeUndefined();
  });

  it("may have a lifetime of 30 days or 100 years", async () => {
    const opened = await openStore(engine);
    const { clock } = opened;
    const [month, century] = [30 * 86_400_000, 36_525 * 86_400_000];
    await opened.records.commit([
      put(pages, { key: "month", value: 1, ttlMs: month }),
      put(pages, { key: "century", value: 1, ttlMs: century }),
    ]);
    const { records } = await opened.reopen();
    expect((await records.get(pages, "month"))?.expiresAt).toBe(clock.now + month);
    expect((await records.get(pages, "century"))?.expiresAt).toBe(clock.now + century);
    clock.now += month;
    expect(keysOf(await records.list(pages, { limit: 9 }))).toEqual(["century"]);
  });
});

describeStores("purging", (engine) => {
  it("deletes only expired records, up to the requested number", async () => {
    const { store, records, clock } = await openStore(engine);
    const at = (key: string, ttlMs: number) => put(pages, { key, value: 1, ttlMs });
    await records.commit([
      at("a", 10),
      at("b", 10),
      at("c", 20),
      put(jobs, { key: "d", value: 1 }),
    ]);
    await records.commit([put(jobs, { key: "e", value: 1, ttlMs: 10, groups: ["g"] })]);
    expect(await records.purgeExpired(100)).toBe(0);
    clock.now += 10;
    expect(await records.purgeExpired(2)).toBe(2);
    expect(await records.purgeExpired(2)).toBe(1);
    expect(await records.purgeExpired(2)).toBe(0);
    expect(await store.counts()).toEqual({ records: 2, archive: 0 });
    expect((await dumpStore(store)).map((row) => "key" in row && row.key)).toEqual(["c", "d"]);
    clock.now += 10;
    expect(await records.purgeExpired(100)).toBe(1);
    expect(await store.counts()).toEqual({ records: 1, archive: 0 });
  });

  it("does not delete the replacement of an expired record", async () => {
    const { store, records, clock } = await openStore(engine);
    const placing = { groups: ["g"], ttlMs: 10 };
    await records.commit([put(pages, { key: "a", value: 1, ...placing })]);
    clock.now += 10;
    await records.commit([insert(pages, { key: "a", value: 2, ...placing })]);
    expect(await records.purgeExpired(100)).toBe(0);
    expect((await records.get(pages, "a"))?.value).toBe(2);
    clock.now += 10;
    expect(await records.purgeExpired(100)).toBe(1);
    expect(await store.counts()).toEqual({ records: 0, archive: 0 });
  });

  it("does not delete a record whose lifetime was extended", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1, ttlMs: 10 })]);
    const stored = await records.get(pages, "a");
    if (stored) await records.commit([replace(pages, stored, { value: 1, ttlMs: null })]);
    clock.now += 10;
    expect(await records.purgeExpired(100)).toBe(0);
    expect((await records.get(pages, "a"))?.value).toBe(1);
  });

  it("still works after a restart", async () => {
    const opened = await openStore(engine);
    await opened.records.commit([put(pages, { key: "a", value: 1, ttlMs: 10 })]);
    const { records, clock } = await opened.reopen();
    clock.now += 10;
    expect(await records.purgeExpired(100)).toBe(1);
    expect(await records.purgeExpired(100)).toBe(0);
  });
});

describeStores("a due record", (engine) => {
  it("can be claimed from its due time on", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([put(jobs, { key: "a", value: 7, groups: ["g"], dueInMs: 50 })]);
    const before = await records.get(jobs, "a");
    clock.now += 49;
    expect(await claimed(records)).toEqual([]);
    clock.now += 1;
    const [handed, ...more] = await records.claimDue(jobs, { limit: 9, leaseMs: 1000 });
    expect(more).toEqual([]);
    expect(handed).toEqual({ ...before, revision: handed?.revision, dueAt: clock.now + 1000 });
    expect(handed?.revision).toBeGreaterThan(before?.revision ?? Infinity);
    expect(await records.get(jobs, "a")).toEqual(handed);
  });

  it("is claimed only in its own collection", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([
      put(jobs, { key: "never", value: 1 }),
      put(pages, { key: "other", value: 1, dueInMs: 0 }),
      put(jobs, { key: "now", value: 1, dueInMs: 0 }),
    ]);
    clock.now += 1_000_000;
    expect(await claimed(records)).toEqual(["now"]);
  });

  it("is claimed in order of due time, then of last change, up to the limit", async () => {
    const { records, clock } = await openStore(engine);
    const due = (key: string, dueInMs: number) => put(jobs, { key, value: 1, dueInMs });
    await records.commit([due("d", 30), due("b", 20), due("c", 20), due("a", 10), due("e", 40)]);
    await records.commit([due("c", 20)]);
    clock.now += 100;
    expect(await claimed(records, 2)).toEqual(["a", "b"]);
    expect(await claimed(records, 2)).toEqual(["c", "d"]);
    expect(await claimed(records, 2)).toEqual(["e"]);
    expect(await claimed(records, 2)).toEqual([]);
  });

  it("gets a higher revision than every record claimed before it", async () => {
    const { records, clock } = await openStore(engine);
    const keys = Array.from({ length: 50 }, (_, at) => `k${at}`);
    await records.commit(keys.map((key, at) => put(jobs, { key, value: 1, dueInMs: 100 - at })));
    clock.now += 1000;
    const handed = await records.claimDue(jobs, { limit: 100, leaseMs: 1000 });
    expect(keysOf(handed)).toEqual(keys.toReversed());
    expect(keysOf(await records.list(jobs, { limit: 100 }))).toEqual(keysOf(handed));
  });

  it("can be claimed again after the lease, but not before", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([put(jobs, { key: "a", value: 1, dueInMs: 0 })]);
    expect(await claimed(records)).toEqual(["a"]);
    clock.now += 999;
    expect(await claimed(records)).toEqual([]);
    clock.now += 1;
    expect(await claimed(records)).toEqual(["a"]);
  });

  it("is leased from the time of the claim, not from its due time", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([put(jobs, { key: "a", value: 1, dueInMs: -500 })]);
    clock.now += 2500;
    expect(await claimed(records)).toEqual(["a"]);
    expect((await records.get(jobs, "a"))?.dueAt).toBe(clock.now + 1000);
    clock.now += 999;
    expect(await claimed(records)).toEqual([]);
  });

  it("can be claimed again after a restart, once the lease has expired", async () => {
    const opened = await openStore(engine);
    await opened.records.commit([put(jobs, { key: "a", value: 1, dueInMs: 0 })]);
    expect(await claimed(opened.records)).toEqual(["a"]);
    const { records, clock } = await opened.reopen();
    expect(await claimed(records)).toEqual([]);
    clock.now += 1000;
    expect(await claimed(records)).toEqual(["a"]);
  });

  it("is not claimed again once it is finished", async () => {
    const { records, clock } = await openStore(engine);
    const due = (key: string) => put(jobs, { key, value: 1, dueInMs: 0 });
    await records.commit([due("a"), due("b"), due("c")]);
    const [a, b, c] = await records.claimDue(jobs, { limit: 9, leaseMs: 1000 });
    if (!(a && b && c)) throw new Error("Three were due.");
    expect(await records.commit([replace(jobs, a, { value: 2, dueInMs: null })])).toBe(true);
    expect(await records.commit([removeUnchanged(jobs, b)])).toBe(true);
    expect(await records.commit([replace(jobs, c, { value: 2, dueInMs: 5000 })])).toBe(true);
    clock.now += 4999;
    expect(await claimed(records)).toEqual([]);
    clock.now += 1;
    expect(await claimed(records)).toEqual(["c"]);
  });

  it("cannot be finished by a worker whose lease expired after another worker claimed the record", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([put(jobs, { key: "a", value: 1, dueInMs: 0 })]);
    const [late] = await records.claimDue(jobs, { limit: 1, leaseMs: 1000 });
    clock.now += 1000;
    const [second] = await records.claimDue(jobs, { limit: 1, leaseMs: 1000 });
    if (!(late && second)) throw new Error("It was due twice.");
    expect(await records.commit([replace(jobs, late, { value: 2, dueInMs: null })])).toBe(false);
    expect(await records.commit([removeUnchanged(jobs, late)])).toBe(false);
    expect(await records.commit([replace(jobs, second, { value: 3, dueInMs: null })])).toBe(true);
    expect((await records.get(jobs, "a"))?.value).toBe(3);
  });

  it("can be finished after the lease if no other worker has claimed it", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([put(jobs, { key: "a", value: 1, dueInMs: 0 })]);
    const [late] = await records.claimDue(jobs, { limit: 1, leaseMs: 1000 });
    clock.now += 5000;
    if (!late) throw new Error("It was due.");
    expect(await records.commit([removeUnchanged(jobs, late)])).toBe(true);
    expect(await claimed(records)).toEqual([]);
  });

  it("stays due when it is consumed", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([put(jobs, { key: "a", value: 1, dueInMs: 10 }), consume(jobs, "a")]);
    clock.now += 10;
    const [handed] = await records.claimDue(jobs, { limit: 1, leaseMs: 1000 });
    expect(handed).toMatchObject({ key: "a", consumedAt: clock.now - 10 });
  });

  it("is no longer due once it is removed or overwritten", async () => {
    const { records } = await openStore(engine);
    const due = (key: string) => put(jobs, { key, value: 1, groups: [key], dueInMs: 0 });
    await records.commit([due("a"), due("b"), due("c"), due("d")]);
    await records.commit([remove(jobs, "a"), removeGroup("b"), put(jobs, { key: "c", value: 2 })]);
    expect(await claimed(records)).toEqual(["d"]);
  });
});

describeStores("a due record claimed with excluded groups", (engine) => {
  const due = (key: string, groups: readonly string[], dueInMs = 0) =>
    put(jobs, { key, value: 1, groups, dueInMs });

  async function claimedWithout(records: Records, except: readonly string[], limit = 100) {
    return keysOf(await records.claimDue(jobs, { limit, leaseMs: 1000, except }));
  }

  it("is claimed in the same order, without counting excluded records against the limit", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([
      ...[due("1", ["g"], 1), due("2", ["a"], 2), due("3", ["b", "g"], 3), due("4", [], 4)],
      ...[due("5", ["a"], 4), due("6", ["h", "b"], 5), due("7", ["b"], 6), due("8", ["a"], 7)],
    ]);
    clock.now += 10;
    expect(await claimedWithout(records, ["g", "h"], 2)).toEqual(["2", "4"]);
    expect(await claimedWithout(records, ["g", "h"], 2)).toEqual(["5", "7"]);
    expect(await claimedWithout(records, ["g", "h"], 2)).toEqual(["8"]);
    expect(await claimedWithout(records, ["g", "h"], 2)).toEqual([]);
    expect(await claimedWithout(records, ["h"])).toEqual(["1", "3"]);
    expect(await claimedWithout(records, [])).toEqual(["6"]);
  });

  it("is the record that has been due the longest, whichever groups were claimed last", async () => {
    const { records } = await openStore(engine);
    await records.commit([due("1", ["a"], -10), due("2", ["b"], -20)]);
    expect(await claimedWithout(records, ["a", "b"])).toEqual([]);
    await records.commit([due("3", ["c"], -40), due("4", ["d"], -30), due("5", ["a"], -50)]);
    for (const key of ["5", "3", "4", "2", "1"])
      expect(await claimedWithout(records, ["g"], 1)).toEqual([key]);
  });

  it("is claimed without changing excluded records", async () => {
    const { records } = await openStore(engine);
    await records.commit([due("a", ["g"]), due("b", ["h"])]);
    const before = await records.get(jobs, "a");
    expect(await claimedWithout(records, ["g"])).toEqual(["b"]);
    expect(await records.get(jobs, "a")).toEqual(before);
  });

  it("is any due record when the excluded groups are empty, unknown or malformed", async () => {
    const { records } = await openStore(engine);
    await records.commit([due("a", ["g"]), due("b", [])]);
    const except = ["", "other", "g\0", "\ud800", "g".repeat(513), "__proto__"];
    expect(await claimedWithout(records, except)).toEqual(["a", "b"]);
  });

  it("depends on the current groups and due times of the records", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([due("a", ["g"]), due("b", ["h"]), due("c", ["h"]), due("d", ["h"])]);
    expect(await claimedWithout(records, ["h"])).toEqual(["a"]);
    const [b, c] = await Promise.all(["b", "c"].map((key) => records.get(jobs, key)));
    if (!(b && c)) throw new Error("They were put there.");
    await records.commit([
      ...[replace(jobs, b, { value: 2, groups: ["g"] }), removeGroup("no such")],
      ...[replace(jobs, c, { value: 2, dueInMs: 500 }), remove(jobs, "d")],
    ]);
    expect(await claimedWithout(records, ["h"])).toEqual(["b"]);
    expect(await claimedWithout(records, ["g"])).toEqual([]);
    clock.now += 500;
    expect(await claimedWithout(records, ["g"])).toEqual(["c"]);
    clock.now += 500;
    expect(await claimedWithout(records, ["h"])).toEqual(["a", "b"]);
    await records.commit([put(jobs, { key: "a", value: 3, groups: ["g"] })]);
    clock.now += 1000;
    expect(await claimedWithout(records, ["h"])).toEqual(["b"]);
  });

  it("is never an expired record, and expired records do not count against the limit", async () => {
    const { records, clock } = await openStore(engine);
    const placing = { groups: ["a"], dueInMs: 0, ttlMs: 10 };
    await records.commit([
      ...["1", "2"].map((key) => put(jobs, { key, value: 1, ...placing })),
      ...[due("3", ["b"], 5), due("4", ["c"], 5), due("5", ["b"], 5)],
    ]);
    clock.now += 10;
    expect(await claimedWithout(records, ["g"], 1)).toEqual(["3"]);
    expect(await claimedWithout(records, ["g"], 2)).toEqual(["4", "5"]);
  });

  it("is the same after a restart, and never comes from another collection", async () => {
    const opened = await openStore(engine);
    await opened.records.commit([
      ...[due("a", ["g"]), due("b", ["h"])],
      put(pages, { key: "c", value: 1, groups: ["h"], dueInMs: 0 }),
    ]);
    const { records } = await opened.reopen();
    expect(await claimedWithout(records, ["g"])).toEqual(["b"]);
  });

  it("is found behind thousands of excluded records in hundreds of groups", async () => {
    const { records } = await openStore(engine);
    const numbers = Array.from({ length: 2_000 }, (_, at) => at);
    await records.commit(numbers.map((at) => due(`over ${at}`, [`g${at % 400}`], -100)));
    await records.commit(numbers.slice(0, 5).map((at) => due(`job ${at}`, [`h${at}`])));
    const except = numbers.slice(0, 400).map((at) => `g${at}`);
    const wanted = numbers.slice(0, 5).map((at) => `job ${at}`);
    expect(await claimedWithout(records, except, 10_000)).toEqual(wanted);
  });
});
