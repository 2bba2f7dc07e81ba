import { expect, it } from "vitest";
import { consume, insert, put, remove, removeGroup } from "../../../src/store/port/operations.ts";
import { collection } from "../../../src/store/port/records.ts";
import { describeStores, dumpStore, inBatches, openStore } from "../../support/stores.ts";

const pages = collection<unknown>("pages");

describeStores("a store", (engine) => {
  it("has its own permanent identity", async () => {
    const [one, two] = [await openStore(engine), await openStore(engine)];
    expect(one.store.identity).toEqual({ id: expect.stringMatching(/^\S{8,}$/), mode: "sandbox" });
    expect(one.store.identity.id).not.toBe(two.store.identity.id);
    const { identity } = one.store;
    expect((await one.reopen()).store.identity).toEqual(identity);
  });

  it("has all its data after a restart", async () => {
    const opened = await openStore(engine);
    const { clock } = opened;
    await opened.records.commit([
      put(pages, {
        key: "a",
        value: { z: 1, a: "😀" },
        groups: ["g", "f"],
        ttlMs: 500,
        dueInMs: 20,
      }),
      put(pages, { key: "b", value: 1, groups: ["g"] }),
      put(pages, { key: "c", value: 1, groups: ["x"] }),
      put(pages, { key: "d", value: 1 }),
      consume(pages, "b"),
    ]);
    await opened.records.commit([remove(pages, "d"), removeGroup("x")]);
    await opened.archive.append([{ kind: "k", at: 1, id: "i", subject: "s", body: [1] }]);
    const list = await opened.records.list(pages, { limit: 9 });
    const rows = await dumpStore(opened.store);
    const { store, records, archive } = await (await opened.reopen()).reopen();
    expect(await dumpStore(store)).toEqual(rows);
    expect(await store.counts()).toEqual({ records: 2, archive: 1 });
    expect(await records.list(pages, { limit: 9 })).toEqual(list);
    expect(await records.list(pages, { group: "g", limit: 9 })).toEqual(list);
    expect(await records.list(pages, { group: "x", limit: 9 })).toEqual([]);
    expect(await records.commit([consume(pages, "b")])).toBe(false);
    expect(await archive.read("k", { subject: "s", order: "oldest", limit: 9 })).toHaveLength(1);
    clock.now += 20;
    expect(await records.claimDue(pages, { limit: 9, leaseMs: 1 })).toMatchObject([{ key: "a" }]);
    clock.now += 480;
    expect(await records.get(pages, "a")).toBeUndefined();
  });

  it("can be closed twice, even concurrently", async () => {
    const { store } = await openStore(engine);
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });

  it("completes pending operations before it closes", async () => {
    const opened = await openStore(engine);
    const keys = Array.from({ length: 50 }, (_, at) => `k${at}`);
    const commits = keys.map((key) => opened.records.commit([insert(pages, { key, value: 1 })]));
    const append = opened.archive.append([{ kind: "k", at: 1, id: "i", body: 1 }]);
    const close = opened.store.close();
    expect(await Promise.all(commits)).toEqual(keys.map(() => true));
    expect(await append).toBe(1);
    await close;
    const { store } = await opened.reopen();
    expect(await store.counts()).toEqual({ records: 50, archive: 1 });
  });

  it("rejects calls once it is closed", async () => {
    const { store, records, archive } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 })]);
    await store.close();
    const calls = [
      () => records.get(pages, "a"),
      () => records.list(pages, { limit: 1 }),
      () => records.listRevisions(pages, { limit: 1 }),
      () => records.commit([put(pages, { key: "b", value: 1 })]),
      () => records.claimDue(pages, { limit: 1, leaseMs: 1 }),
      () => records.purgeExpired(1),
      () => archive.append([{ kind: "k", at: 1, id: "i", body: 1 }]),
      () => archive.read("k", { order: "oldest", limit: 1 }),
      () => archive.prune("k", 1),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: "store_unavailable", status: 503 });
    }
  });

  it("rejects counts, dumps and loads once it is closed", async () => {
    const opened = await openStore(engine);
    const { store, records } = opened;
    await records.commit([put(pages, { key: "a", value: 1 })]);
    await store.close();
    const { identity } = store;
    await expect((async () => store.counts())()).rejects.toThrow();
    await expect((async () => dumpStore(store))()).rejects.toThrow();
    await expect((async () => store.load(identity, inBatches([], 1)))()).rejects.toThrow();
    expect(await (await opened.reopen()).store.counts()).toEqual({ records: 1, archive: 0 });
  });
});
