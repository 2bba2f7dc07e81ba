import { describe, expect, it } from "vitest";
import {
  announce,
  consume,
  insert,
  put,
  remove,
  removeUnchanged,
  replace,
} from "../../../src/store/port/operations.ts";
import { collection } from "../../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../../src/store/port/store.ts";
import {
  describeStores,
  dumpStore,
  engines,
  inBatches,
  model,
  openStore,
  PATIENT,
  type TestStore,
} from "../../support/stores.ts";

const pages = collection<unknown>("pages");
const notes = collection<unknown>("notes");

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
const namesOf = (rows: readonly DumpRow[]) => rows.map((row) => ("key" in row ? row.key : row.id));

const RECORD = {
  ...{ table: "record", collection: "pages", key: "a", text: "1", revision: 1, groups: [] },
  ...{ expiresAt: null, dueAt: null, consumedAt: null },
} as const satisfies DumpRow;
const HISTORY = {
  ...{ table: "archive", kind: "audit", at: 1, id: "x", subject: null, text: "1" },
} as const satisfies DumpRow;

const OTHER = { id: "another-store", mode: "sandbox" } as const;

/** Stores records and archive rows of every kind. */
async function fill({ records, archive }: TestStore): Promise<void> {
  await records.commit([
    put(pages, { key: "b", value: { z: 1, a: [1.5, "ключ 😀 \u0000 \ud83d"], "": null } }),
    put(pages, { key: "a", value: "x", groups: ["h", "g"], ttlMs: 1000, dueInMs: 0 }),
    put(notes, { key: "a", value: null, groups: ["g"] }),
    put(notes, { key: "__proto__", value: JSON.parse('{"__proto__":1}') }),
    put(pages, { key: "gone", value: 1 }),
  ]);
  await records.commit([consume(pages, "b"), remove(pages, "gone")]);
  await archive.append([
    { kind: "z", at: 9, id: "second", subject: "s", body: { b: 1, a: 2 } },
    { kind: "a", at: 5, id: "first", body: [1] },
  ]);
  await archive.append([{ kind: "z", at: 1, id: "third", body: "x" }]);
}

describeStores("a dump", (engine) => {
  it("of an empty store has no rows", async () => {
    expect(await dumpStore((await openStore(engine)).store)).toEqual([]);
  });

  it("contains every field of every row", async () => {
    const opened = await openStore(engine);
    const { clock } = opened;
    await fill(opened);
    const none = { groups: [], expiresAt: null, dueAt: null, consumedAt: null };
    const record = { table: "record", revision: expect.any(Number), ...none };
    const [a, proto, b] = [
      { ...record, collection: "notes", key: "a", text: "null", groups: ["g"] },
      { ...record, collection: "notes", key: "__proto__", text: '{"__proto__":1}' },
      { ...record, collection: "pages", key: "b", consumedAt: clock.now },
    ];
    const text = JSON.stringify({ z: 1, a: [1.5, "ключ 😀 \u0000 \ud83d"], "": null });
    const due = { groups: ["h", "g"], expiresAt: clock.now + 1000, dueAt: clock.now };
    const archived = { table: "archive", subject: null };
    expect(await dumpStore(opened.store)).toEqual([
      { ...record, collection: "pages", key: "a", text: '"x"', ...due },
      a,
      proto,
      { ...b, text },
      { ...archived, kind: "z", at: 9, id: "second", subject: "s", text: '{"b":1,"a":2}' },
      { ...archived, kind: "a", at: 5, id: "first", text: "[1]" },
      { ...archived, kind: "z", at: 1, id: "third", text: '"x"' },
    ]);
  });

  it("contains the records by revision, then the archive in insertion order", async () => {
    const { store, records, archive } = await openStore(engine);
    const keys = numbers(3000).map((at) => `k${(at * 7) % 3000}`);
    for (const part of [keys.slice(0, 2000), keys.slice(2000)]) {
      await records.commit(part.map((key) => put(pages, { key, value: key })));
    }
    const ids = numbers(3000).map((at) => `r${(at * 11) % 3000}`);
    await archive.append(ids.map((id) => ({ kind: "a", at: Number(id.slice(1)), id, body: id })));
    await records.commit([put(pages, { key: "k7", value: "again" })]);
    const rows = await dumpStore(store);
    expect(namesOf(rows)).toEqual([...keys.filter((key) => key !== "k7"), "k7", ...ids]);
    const revisions = rows.flatMap((row) => ("revision" in row ? [row.revision] : []));
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  });

  it("is a snapshot of one instant, even if rows are written while it is read", async () => {
    const { store, records, archive } = await openStore(engine);
    const rows = numbers(3000).map((at) => ({ kind: "a", at, id: "x", body: at }));
    await records.commit(
      rows.map(({ at }) => put(pages, { key: `k${at}`, value: at, groups: ["g"] })),
    );
    await archive.append(rows);
    const before = await dumpStore(store);
    const seen: DumpRow[] = [];
    let round = 0;
    for await (const batch of store.dump()) {
      seen.push(...batch);
      round++;
      const key = `k${2999 - round}`;
      await records.commit([put(pages, { key, value: "new" }), remove(pages, `k${2000 + round}`)]);
      await records.commit([insert(notes, { key: `n${round}`, value: 1 })]);
      await archive.append([{ kind: "b", at: round, id: "new", body: 1 }]);
      await archive.prune("a", 1500 + round);
    }
    expect(round).toBeGreaterThan(0);
    expect(seen).toEqual(before);
    expect(await dumpStore(store)).not.toEqual(before);
  });

  it("includes rows that are pruned while it is read, even whole months", async () => {
    const { store, records, archive } = await openStore(engine);
    await records.commit(numbers(1200).map((at) => put(pages, { key: `k${at}`, value: at })));
    const months = numbers(6).map((month) => Date.UTC(2026, month, 10));
    const rows = months.flatMap((at) =>
      numbers(300).map((id) => ({ kind: "a", at, id: `${id}`, body: id })),
    );
    await archive.append(rows);
    const before = await dumpStore(store);
    const seen: DumpRow[] = [];
    for await (const batch of store.dump()) {
      if (seen.length === 0) {
        expect(await archive.prune("a", Date.UTC(2026, 4, 1))).toBe(1200);
        await archive.append([{ kind: "a", at: Date.UTC(2027, 0, 1), id: "new", body: 1 }]);
      }
      seen.push(...batch);
    }
    expect(seen).toEqual(before);
    expect(await store.counts()).toEqual({ records: 1200, archive: 601 });
  });

  it("never contains part of a commit, nor a later commit without the earlier ones", async () => {
    const { store, records, archive } = await openStore(engine);
    let writing = true;
    const write = async () => {
      for (let n = 1; writing; n++) {
        await records.commit([
          put(pages, { key: "one", value: n }),
          put(notes, { key: "two", value: n }),
        ]);
        await archive.append([{ kind: "a", at: n, id: "x", body: n }]);
      }
    };
    const written = write();
    for (const _ of numbers(20)) {
      const rows = await dumpStore(store);
      const kept = rows.filter((row) => row.table === "record").map(({ text }) => Number(text));
      const last = rows.length - kept.length;
      expect(kept).toEqual(kept.length === 0 ? [] : [kept[0], kept[0]]);
      expect([last, last + 1]).toContain(kept[0] ?? 0);
    }
    writing = false;
    await written;
  });

  it("can be abandoned halfway without blocking the store", async () => {
    const { store, records } = await openStore(engine);
    await records.commit(numbers(2000).map((at) => put(pages, { key: `k${at}`, value: at })));
    for (const _ of numbers(30)) {
      for await (const batch of store.dump()) {
        expect(batch.length).toBeGreaterThan(0);
        break;
      }
    }
    expect(await records.commit([put(pages, { key: "a", value: 1 })])).toBe(true);
    expect(await dumpStore(store)).toHaveLength(2001);
  });

  it("can be read by two readers at the same time", async () => {
    const opened = await openStore(engine);
    await fill(opened);
    const [one, two] = await Promise.all([dumpStore(opened.store), dumpStore(opened.store)]);
    expect(one).toEqual(two);
    expect(one).toHaveLength(7);
  });
});

describeStores("loading a dump", (engine) => {
  async function fullStore() {
    const opened = await openStore(engine);
    await fill(opened);
    return opened;
  }

  it("restores the dumped store with its identity", async () => {
    const from = await fullStore();
    const rows = await dumpStore(from.store);
    const to = await openStore(engine);
    await to.records.commit([
      put(pages, { key: "old", value: 1, groups: ["g"], ttlMs: 10, dueInMs: 0 }),
      put(pages, { key: "a", value: "old", groups: ["g", "old"] }),
    ]);
    await to.archive.append([{ kind: "z", at: 9, id: "second", body: "old" }]);
    await to.store.load(from.store.identity, inBatches(rows, 2));
    expect(await dumpStore(to.store)).toEqual(rows);
    expect(to.store.identity).toEqual(from.store.identity);
    expect(await to.store.counts()).toEqual({ records: 4, archive: 3 });
    const { store } = await to.reopen();
    expect(await dumpStore(store)).toEqual(rows);
    expect(store.identity).toEqual(from.store.identity);
  });

  it("restores every index of a record", async () => {
    const rows = await dumpStore((await fullStore()).store);
    const { store, records, clock, archive } = await openStore(engine);
    await records.commit([put(pages, { key: "old", value: 1, groups: ["g"], dueInMs: 0 })]);
    await store.load(OTHER, inBatches(rows, 100));
    expect(await records.get(pages, "old")).toBeUndefined();
    expect(await records.get(pages, "b")).toMatchObject({ consumedAt: clock.now });
    expect(await records.list(pages, { limit: 9 })).toMatchObject([{ key: "a" }, { key: "b" }]);
    expect(await records.list(pages, { group: "g", limit: 9 })).toMatchObject([{ key: "a" }]);
    const [a, ...none] = await records.claimDue(pages, { limit: 9, leaseMs: 5 });
    expect([a, none]).toMatchObject([{ key: "a", value: "x" }, []]);
    expect(await records.commit([consume(pages, "b")])).toBe(false);
    expect(await records.commit([insert(notes, { key: "a", value: 1 })])).toBe(false);
    expect(await archive.append([{ kind: "z", at: 1, id: "third", body: "y" }])).toBe(0);
    clock.now += 1000;
    expect(await records.get(pages, "a")).toBeUndefined();
    expect(await records.purgeExpired(9)).toBe(1);
  });

  it("preserves revisions, and later revisions are higher", async () => {
    const opened = await openStore(engine);
    await opened.records.commit([put(pages, { key: "old", value: 1 })]);
    const revisions = [3, 70, 5_000_000_000];
    const rows = revisions.map((revision) => ({ ...RECORD, key: `k${revision}`, revision }));
    await opened.store.load(OTHER, inBatches(rows, 100));
    const list = await opened.records.list(pages, { limit: 9 });
    expect(list.map(({ revision }) => revision)).toEqual(revisions);
    const [first, , last] = list;
    if (!(first && last)) throw new Error("They were loaded.");
    expect(await opened.records.commit([removeUnchanged(pages, last)])).toBe(true);
    expect(await opened.records.commit([replace(pages, first, { value: 2 })])).toBe(true);
    const { revision = 0 } = (await opened.records.get(pages, first.key)) ?? {};
    expect(revision).toBeGreaterThan(5_000_000_000);
    const { records } = await opened.reopen();
    await records.commit([put(pages, { key: "new", value: 1 })]);
    expect((await records.get(pages, "new"))?.revision).toBeGreaterThan(revision);
  });

  it("preserves the highest revision when its record is removed and the store restarts", async () => {
    const opened = await openStore(engine);
    await opened.store.load(OTHER, inBatches([{ ...RECORD, revision: 900 }], 1));
    await opened.records.commit([remove(pages, "a")]);
    const { records } = await opened.reopen();
    await records.commit([put(pages, { key: "b", value: 1 })]);
    expect((await records.get(pages, "b"))?.revision).toBeGreaterThan(900);
  });

  it("with low revisions does not reuse revisions from before the load", async () => {
    const opened = await openStore(engine);
    const again = numbers(20).map((at) => put(pages, { key: "a", value: at }));
    await opened.records.commit(again);
    const { revision: old = 0 } = (await opened.records.get(pages, "a")) ?? {};
    await opened.store.load(OTHER, inBatches([RECORD], 1));
    const { records } = await opened.reopen();
    await records.commit([put(pages, { key: "a", value: 1 })]);
    expect((await records.get(pages, "a"))?.revision).toBeGreaterThan(old);
  });

  it("preserves either all or nothing of a concurrent commit", async () => {
    const opened = await openStore(engine);
    const { store, records, archive } = opened;
    await fill(opened);
    const old = await dumpStore(store);
    const { promise: isWritten, resolve: goOn } = Promise.withResolvers<void>();
    async function* slow(): AsyncIterable<readonly DumpRow[]> {
      yield [RECORD];
      goOn();
      expect(await records.get(notes, "a")).toMatchObject({ value: null });
      yield [HISTORY];
    }
    const load = store.load(OTHER, slow());
    await isWritten;
    const steps = [put(notes, { key: "one", value: 1 }), put(notes, { key: "two", value: 1 })];
    const [commit, append] = await Promise.allSettled([
      records.commit(steps),
      archive.append([{ kind: "b", at: 1, id: "meanwhile", body: 1 }]),
      load,
    ]);
    const rest = namesOf(await dumpStore(store)).filter((name) => name !== "a" && name !== "x");
    expect([[], ["one", "two"], ["meanwhile"], ["one", "two", "meanwhile"]]).toContainEqual(rest);
    for (const outcome of [commit, append]) {
      if (outcome.status === "fulfilled") continue;
      expect(outcome.reason).toMatchObject({ code: "store_unavailable" });
      expect(rest).not.toContain(outcome === commit ? "one" : "meanwhile");
    }
    expect(old).toHaveLength(7);
    expect(await records.commit([put(notes, { key: "later", value: 1 })])).toBe(true);
  });

  it("does not disconnect listeners", async () => {
    const { store, records } = await openStore(engine);
    const heard = new Promise((resolve) => records.onAnnounce("topic", resolve));
    await store.load(OTHER, inBatches([RECORD], 1));
    await records.commit([announce("topic", "still there")]);
    expect(await heard).toBe("still there");
  });

  it("without rows empties the store", async () => {
    const { store, records } = await fullStore();
    await store.load(OTHER, inBatches([], 1));
    expect(await store.counts()).toEqual({ records: 0, archive: 0 });
    expect(await dumpStore(store)).toEqual([]);
    expect(await records.list(pages, { limit: 9 })).toEqual([]);
    expect(await records.list(pages, { group: "g", limit: 9 })).toEqual([]);
    expect(await records.commit([insert(pages, { key: "a", value: 1 })])).toBe(true);
  });

  it("accepts thousands of rows", async () => {
    const { store, records } = await openStore(engine);
    const rows = [
      ...numbers(3000).map((at) => ({ ...RECORD, key: `k${at}`, revision: at + 1 })),
      ...numbers(3000).map((at) => ({ ...HISTORY, at: 3000 - at })),
    ];
    await store.load(OTHER, inBatches(rows, 500));
    expect(await dumpStore(store)).toEqual(rows);
    expect(await records.list(pages, { limit: 10_000 })).toHaveLength(3000);
  });

  it("does not revive expired records", async () => {
    const { store, records, clock } = await openStore(engine);
    const expired = { ...RECORD, expiresAt: clock.now, dueAt: clock.now, groups: ["g"] };
    await store.load(OTHER, inBatches([expired], 1));
    expect(await records.get(pages, "a")).toBeUndefined();
    expect(await records.list(pages, { group: "g", limit: 9 })).toEqual([]);
    expect(await records.claimDue(pages, { limit: 9, leaseMs: 1 })).toEqual([]);
    expect(await records.commit([insert(pages, { key: "a", value: 1 })])).toBe(true);
  });

  describe("that fails", () => {
    async function* breaking(): AsyncIterable<readonly DumpRow[]> {
      yield [RECORD, HISTORY];
      throw new Error("The file ends here.");
    }
    const bad = (text: string) =>
      inBatches([RECORD, { ...RECORD, key: "z", revision: 2, text }], 1);
    it.each<[string, () => AsyncIterable<readonly DumpRow[]>]>([
      ["the rows end with an error", breaking],
      ["a record is not JSON", () => bad('{"a":')],
      ["a record is empty", () => bad("")],
      ["a record appears twice", () => inBatches([RECORD, { ...RECORD, revision: 2 }], 1)],
      ["an archive row is not JSON", () => inBatches([RECORD, { ...HISTORY, text: "{" }], 1)],
    ])("keeps the previous content when %s", async (_, batches) => {
      const opened = await fullStore();
      const before = await dumpStore(opened.store);
      const { identity } = opened.store;
      await expect(opened.store.load(OTHER, batches())).rejects.toThrow();
      const stays = async (store: Store) => {
        expect(await dumpStore(store)).toEqual(before);
        expect(store.identity).toEqual(identity);
        expect(await store.counts()).toEqual({ records: 4, archive: 3 });
      };
      await stays(opened.store);
      const reopened = await opened.reopen();
      await stays(reopened.store);
      const { records, store } = reopened;
      expect(await records.list(pages, { group: "g", limit: 9 })).toMatchObject([{ key: "a" }]);
      expect(await records.commit([insert(pages, { key: "new", value: 1 })])).toBe(true);
      await store.load(OTHER, inBatches([RECORD], 1));
      expect(await dumpStore(store)).toEqual([RECORD]);
    });
  });
});

const ways = [model, ...engines].flatMap((from) =>
  [model, ...engines].map((to) => [from, to] as const),
);
for (const [from, to] of ways) {
  const options = { ...PATIENT, tags: [...new Set([...from.tags, ...to.tags])] };
  describe(`a copy from ${from.name} to ${to.name}`, options, () => {
    it.skipIf(from.isMissing || to.isMissing)("has the same content and behavior", async () => {
      const one = await openStore(from);
      await fill(one);
      const two = await openStore(to);
      await two.store.load(one.store.identity, one.store.dump());
      expect(await dumpStore(two.store)).toEqual(await dumpStore(one.store));
      for (const { records } of [one, two]) {
        await records.claimDue(pages, { limit: 9, leaseMs: 10 });
        await records.commit([put(notes, { key: "last", value: 1 }), consume(notes, "a")]);
      }
      expect(namesOf(await dumpStore(two.store))).toEqual(namesOf(await dumpStore(one.store)));
    });

    it.skipIf(from.isMissing || to.isMissing)(
      "accepts instants with fractions of a millisecond",
      async () => {
        const [one, two] = [await openStore(from), await openStore(to)];
        await one.records.commit([put(notes, { key: "a", value: 1, ttlMs: 10.5, dueInMs: 0.3 })]);
        await two.store.load(one.store.identity, one.store.dump());
        expect(await dumpStore(two.store)).toEqual(await dumpStore(one.store));
      },
    );
  });
}
