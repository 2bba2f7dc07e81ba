import { expect, it } from "vitest";
import { CollectionCache } from "../../../src/store/port/collection-cache.ts";
import { put, remove, removeGroup } from "../../../src/store/port/operations.ts";
import { readAll } from "../../../src/store/port/read-all.ts";
import { collection, type Records } from "../../../src/store/port/records.ts";
import type { DumpRow } from "../../../src/store/port/store.ts";
import { randomBelow } from "../../support/log-forger.ts";
import { describeStores, dumpStore, inBatches, openStore } from "../../support/stores.ts";

const pages = collection<number>("pages");
const notes = collection<number>("notes");

/** Wraps records so that the keys of all values that are listed are noted. */
function observe(records: Records) {
  const keys: string[] = [];
  const observed: Records = {
    ...records,
    async list(from, selection) {
      const page = await records.list(from, selection);
      keys.push(...page.map(({ key }) => key));
      return page;
    },
  };
  return { observed, takeKeys: () => keys.splice(0) };
}

describeStores("a cached collection", (engine) => {
  it("equals the stored one after any writes, removals and expiries", async () => {
    const { records, clock } = await openStore(engine);
    const cache = new CollectionCache(records, pages);
    const random = randomBelow(20_261_127);
    for (let round = 0; round < 60; round++) {
      const operations = Array.from({ length: random(4) }, () => {
        const key = `k${random(12)}`;
        const groups = [`g${random(4)}`];
        switch (random(8)) {
          case 0:
            return remove(pages, key);
          case 1:
            return removeGroup(`g${random(4)}`);
          case 2:
            return put(pages, { key, value: round, groups, ttlMs: 1 + random(40) });
          case 3:
            return put(notes, { key, value: round, groups });
          default:
            return put(pages, { key, value: round, groups });
        }
      });
      await records.commit(operations);
      clock.now += random(20);
      expect(await cache.read()).toEqual(await readAll(records, pages));
    }
  });

  it("reads the values of changed records only", async () => {
    const { records } = await openStore(engine);
    const { observed, takeKeys } = observe(records);
    const cache = new CollectionCache(observed, pages);
    await records.commit(["a", "b", "c"].map((key) => put(pages, { key, value: 1 })));
    await cache.read();
    expect(takeKeys()).toEqual(["a", "b", "c"]);
    await records.commit([remove(pages, "a"), put(pages, { key: "b", value: 2 })]);
    const read = await cache.read();
    expect(takeKeys()).toEqual(["b"]);
    expect(read.map(({ key, value }) => [key, value])).toEqual([
      ["c", 1],
      ["b", 2],
    ]);
    await cache.read();
    expect(takeKeys()).toEqual([]);
  });

  it("contains no record that is changed, and then removed during the reading", async () => {
    const { records } = await openStore(engine);
    let isRemoved = true;
    const racing: Records = {
      ...records,
      async listRevisions(from, selection) {
        const found = await records.listRevisions(from, selection);
        if (!isRemoved) await records.commit([remove(pages, "a")]);
        isRemoved = true;
        return found;
      },
    };
    const cache = new CollectionCache(racing, pages);
    await records.commit(["a", "b"].map((key) => put(pages, { key, value: 1 })));
    await cache.read();
    await records.commit([put(pages, { key: "a", value: 2 })]);
    isRemoved = false;
    const read = await cache.read();
    expect(read.map(({ key }) => key)).toEqual(["b"]);
  });

  it("equals the stored one after a restore of a backup with lower revisions", async () => {
    const { store, records } = await openStore(engine);
    const cache = new CollectionCache(records, pages);
    await records.commit(["a", "b"].map((key) => put(pages, { key, value: 1 })));
    const backup = await dumpStore(store);
    await records.commit(["a", "c"].map((key) => put(pages, { key, value: 2 })));
    await cache.read();
    await store.load(store.identity, inBatches(backup, 100));
    expect((await cache.read()).map(({ key, value }) => [key, value])).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
  });

  it("can contain more records than one page of revisions", async () => {
    const { store, records } = await openStore(engine);
    const keys = Array.from({ length: 10_001 }, (_, at) => `k${at}`);
    const rows = keys.map(
      (key, at): DumpRow => ({
        ...{ table: "record", collection: pages.name, key, text: "1", revision: at + 1 },
        ...{ groups: [], expiresAt: null, dueAt: null, consumedAt: null },
      }),
    );
    await store.load(store.identity, inBatches(rows, 1_000));
    const cache = new CollectionCache(records, pages);
    expect((await cache.read()).map(({ key }) => key)).toEqual(keys);
    expect(await cache.read()).toHaveLength(keys.length);
  });

  it("is completed by the next reading when one fails", async () => {
    const { records } = await openStore(engine);
    let calls = 0;
    const failing: Records = {
      ...records,
      async list(from, selection) {
        if (calls++ === 1) throw new Error("no answer");
        return records.list(from, selection);
      },
    };
    const cache = new CollectionCache(failing, pages);
    await records.commit(["a", "b"].map((key) => put(pages, { key, value: 1 })));
    await cache.read();
    await records.commit([remove(pages, "a"), put(pages, { key: "c", value: 1 })]);
    await expect(cache.read()).rejects.toThrow("no answer");
    expect(await cache.read()).toEqual(await readAll(records, pages));
  });
});
