import { describe, expect, it } from "vitest";
import { put, remove } from "../../../../src/store/port/operations.ts";
import type { DumpRow } from "../../../../src/store/port/store.ts";
import { openEmbedded } from "../../../../src/store/sqlite/open.ts";
import { batchOf, fill, NOW, namesIn, newFolder, openIn, pages, rowsOf } from "./folders.ts";

const OTHER = { id: "another-store", mode: "sandbox" } as const;

const ROW = {
  ...{ table: "record", collection: "pages", key: "a", text: "1", revision: 1, groups: [] },
  ...{ expiresAt: null, dueAt: null, consumedAt: null },
} as const satisfies DumpRow;

async function filled() {
  const folder = newFolder();
  const store = await openIn(folder);
  await fill(store);
  return { folder, store, rows: await rowsOf(store) };
}

const write = (key = "new") => [put(pages, { key, value: 1 })];
const UNAVAILABLE = { code: "store_unavailable", status: 503 };

describe("the dump of an embedded store", () => {
  it("is a snapshot of its start, even while records and archive rows change", async () => {
    const { store, rows } = await filled();
    const { records, archive } = store;
    const seen: DumpRow[] = [];
    for await (const batch of store.dump()) {
      seen.push(...batch);
      await records.commit([remove(pages, "last"), ...write(`${seen.length}`)]);
      await archive.prune("audit", 200);
      await archive.append([{ kind: "audit", at: 1, id: `new ${seen.length}`, body: 1 }]);
    }
    expect(seen).toEqual(rows);
  });

  it("fails with store_unavailable when the store is closed", async () => {
    const { store } = await filled();
    const dump = store.dump()[Symbol.asyncIterator]();
    await dump.next();
    await store.close();
    await expect(dump.next()).rejects.toMatchObject(UNAVAILABLE);
  });

  it("fails with store_unavailable when the store is replaced, and does not damage the new content", async () => {
    const { folder, store } = await filled();
    const dump = store.dump()[Symbol.asyncIterator]();
    await dump.next();
    await store.load(OTHER, batchOf(ROW));
    await store.archive.append([{ kind: "k", at: 1, id: "i", body: 1 }]);
    await expect(dump.next()).rejects.toMatchObject(UNAVAILABLE);
    await store.close();
    expect((await rowsOf(await openIn(folder))).map(({ table }) => table)).toEqual([
      "record",
      "archive",
    ]);
  });
});

describe("loading another store's dump", () => {
  it("allows reads of the old data but no writes until it is complete", async () => {
    const { store, rows } = await filled();
    async function* slowly(): AsyncIterable<readonly DumpRow[]> {
      yield [ROW];
      expect(await rowsOf(store)).toEqual(rows);
      expect(await store.archive.read("audit", { order: "oldest", limit: 1 })).toHaveLength(1);
      await expect(store.records.commit(write())).rejects.toMatchObject(UNAVAILABLE);
      const row = { kind: "k", at: 1, id: "i", body: 1 };
      await expect(store.archive.append([row])).rejects.toMatchObject(UNAVAILABLE);
      await expect(store.load(OTHER, batchOf())).rejects.toMatchObject(UNAVAILABLE);
    }
    await store.load(OTHER, slowly());
    expect(await rowsOf(store)).toEqual([ROW]);
    expect(store.identity).toEqual(OTHER);
    expect(await store.records.commit(write())).toBe(true);
  });

  it("leaves the store and its directory unchanged when it fails", async () => {
    const { folder, store, rows } = await filled();
    async function* breaking(): AsyncIterable<readonly DumpRow[]> {
      yield [ROW];
      throw new Error("The file ends here.");
    }
    await expect(store.load(OTHER, breaking())).rejects.toThrow("The file ends here.");
    expect(await rowsOf(store)).toEqual(rows);
    expect(store.identity).not.toEqual(OTHER);
    expect(namesIn(folder).filter((name) => /new|unfinished/.test(name))).toEqual([]);
    expect(await store.records.commit(write())).toBe(true);
  });

  it.each<[string, DumpRow]>([
    ["a repeated record", ROW],
    ["a revision that is not an integer", { ...ROW, key: "b", revision: 1.5 }],
    ["an instant that is not a number", { ...ROW, key: "b", dueAt: Number.NaN }],
    ["a key with half a surrogate pair", { ...ROW, key: "\ud83d" }],
    ["a value with half a surrogate pair", { ...ROW, key: "b", text: '"\ud83d"' }],
  ])("rejects %s", async (_, row) => {
    const { store, rows } = await filled();
    await expect(store.load(OTHER, batchOf(ROW, row))).rejects.toThrow(Error);
    expect(await rowsOf(store)).toEqual(rows);
  });

  it("fails when the store is closed", async () => {
    const { folder, store, rows } = await filled();
    async function* closing(): AsyncIterable<readonly DumpRow[]> {
      yield [ROW];
      await store.close();
      expect(namesIn(folder)).toEqual(["store.sqlite"]);
      yield [{ ...ROW, key: "b" }];
    }
    await expect(store.load(OTHER, closing())).rejects.toMatchObject(UNAVAILABLE);
    expect(await rowsOf(await openIn(folder))).toEqual(rows);
  });

  it("does not reuse a revision that the store has already issued", async () => {
    const { store } = await filled();
    const before = (await store.records.get(pages, "last"))?.revision ?? Infinity;
    await store.load(OTHER, batchOf(ROW));
    await store.records.commit(write());
    expect((await store.records.get(pages, "new"))?.revision).toBeGreaterThan(before);
  });
});

describe("an embedded store after a dump has been loaded", () => {
  it("does not reuse a revision that the copied store may have issued", async () => {
    const store = await openIn(newFolder());
    await store.load(OTHER, batchOf({ ...ROW, revision: 5_000_000 }));
    await store.records.commit(write());
    expect((await store.records.get(pages, "new"))?.revision).toBeGreaterThan(6_000_000);
  });

  it("rejects a write based on a read from before the load", async () => {
    const { store } = await filled();
    const refused: unknown[] = [];
    let isLoaded = false;
    /** Repeatedly reads, waits one turn of the event loop, and writes. */
    const writer = async () => {
      while (!isLoaded) {
        const { mode, id } = store.identity;
        await new Promise(setImmediate);
        const row = { kind: "sealed", at: 1, id: `of ${id} ${mode}`, body: id };
        await store.archive.append([row]).catch((error) => refused.push(error));
      }
    };
    const writers = Array.from({ length: 5 }, writer);
    await store.load(OTHER, batchOf(ROW));
    isLoaded = true;
    await Promise.all(writers);
    const rows = await store.archive.read("sealed", { order: "oldest", limit: 100 });
    expect(refused.length).toBeGreaterThan(0);
    expect(rows.filter(({ body }) => body !== OTHER.id)).toEqual([]);
  });
});

describe("a frozen store", () => {
  it("rejects every write with its reason, including queued writes, but allows reads", async () => {
    const { store, rows } = await filled();
    const waiting = store.records.commit(write("waiting"));
    const thaw = store.freeze("The store is being moved.");
    const refusal = { ...UNAVAILABLE, detail: "The store is being moved." };
    await expect(waiting).rejects.toMatchObject(refusal);
    const { records, archive } = store;
    const writes = [
      () => records.commit(write()),
      () => records.claimDue(pages, { limit: 1, leaseMs: 1 }),
      () => records.purgeExpired(1),
      () => archive.append([{ kind: "k", at: 1, id: "i", body: 1 }]),
      () => archive.prune("audit", NOW),
    ];
    for (const each of writes) await expect(each()).rejects.toMatchObject(refusal);
    expect(await rowsOf(store)).toEqual(rows);
    thaw();
    expect(await records.commit(write())).toBe(true);
  });

  it("stays frozen until every reason to freeze it has been lifted", async () => {
    const { store } = await filled();
    const [one, two] = [store.freeze("one"), store.freeze("two")];
    one();
    one();
    await expect(store.records.commit(write())).rejects.toMatchObject({ detail: "two" });
    two();
    expect(await store.records.commit(write())).toBe(true);
  });
});

describe("an embedded store that has been moved to PostgreSQL", () => {
  it("rejects writes permanently and cannot be opened again", async () => {
    const { folder, store, rows } = await filled();
    const thaw = store.freeze("The store is being moved.");
    await store.markMoved();
    thaw();
    await expect(store.records.commit(write())).rejects.toMatchObject(UNAVAILABLE);
    expect(await rowsOf(store)).toEqual(rows);
    await store.close();
    const message = "was moved to PostgreSQL on 2026-11-21; set DATABASE_URL";
    await expect(openIn(folder)).rejects.toThrow(message);
    await expect(openEmbedded({ folder, now: () => NOW })).rejects.toThrow(message);
  });
});
