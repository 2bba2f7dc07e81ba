import { describe, expect, it } from "vitest";
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
import { describeStores, openStore } from "../../support/stores.ts";

const pages = collection<unknown>("pages");
const notes = collection<unknown>("notes");

async function found(records: Records, key: string): Promise<Stored<unknown>> {
  const stored = await records.get(pages, key);
  if (stored === undefined) throw new Error(`There is no "${key}".`);
  return stored;
}

const keysOf = (stored: readonly Pick<Stored<unknown>, "key">[]) => stored.map(({ key }) => key);

async function listed(records: Records, group?: string): Promise<readonly string[]> {
  const selection = { limit: 10_000, ...(group === undefined ? {} : { group }) };
  return keysOf(await records.list(pages, selection));
}

/** Changes a value in place, as deeply as JavaScript allows. */
function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    scribble(inner);
    Reflect.set(value, name, "scribbled");
  }
  Reflect.set(value, "more", "scribbled");
}

describeStores("a single record", (engine) => {
  it("is absent before it is stored", async () => {
    const { store, records } = await openStore(engine);
    expect(await records.get(pages, "a")).toBeUndefined();
    expect(await records.list(pages, { limit: 10 })).toEqual([]);
    expect(await records.claimDue(pages, { limit: 10, leaseMs: 1 })).toEqual([]);
    expect(await records.purgeExpired(10)).toBe(0);
    expect(await store.counts()).toEqual({ records: 0, archive: 0 });
  });

  it("is returned with the value and options that were put", async () => {
    const { records, clock } = await openStore(engine);
    const value = { name: "first", tags: ["x"] };
    const placing = { groups: ["z", "a"], ttlMs: 5000, dueInMs: 0 };
    expect(await records.commit([put(pages, { key: "a", value, ...placing })])).toBe(true);
    expect(await records.get(pages, "a")).toEqual({
      key: "a",
      value,
      revision: expect.any(Number),
      groups: ["z", "a"],
      expiresAt: clock.now + 5000,
      dueAt: clock.now,
      consumedAt: undefined,
    });
  });

  it("has no groups, expiry or due time by default", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const { groups, expiresAt, dueAt, consumedAt } = await found(records, "a");
    expect({ groups, expiresAt, dueAt, consumedAt }).toEqual({
      groups: [],
      expiresAt: undefined,
      dueAt: undefined,
      consumedAt: undefined,
    });
  });

  it("is overwritten by put", async () => {
    const { records } = await openStore(engine);
    const placing = { groups: ["g"], ttlMs: 1000, dueInMs: 1000 };
    await records.commit([insert(pages, { key: "a", value: 1, ...placing }), consume(pages, "a")]);
    expect(await records.commit([put(pages, { key: "a", value: 2 })])).toBe(true);
    expect(await found(records, "a")).toMatchObject({
      ...{ value: 2, groups: [], expiresAt: undefined, dueAt: undefined, consumedAt: undefined },
    });
    expect(await listed(records, "g")).toEqual([]);
  });

  it("is inserted only if the key has no record", async () => {
    const { records } = await openStore(engine);
    expect(await records.commit([insert(pages, { key: "a", value: 1 })])).toBe(true);
    expect(await records.commit([insert(pages, { key: "a", value: 2 })])).toBe(false);
    await records.commit([consume(pages, "a")]);
    expect(await records.commit([insert(pages, { key: "a", value: 2 })])).toBe(false);
    expect((await found(records, "a")).value).toBe(1);
  });

  it("is replaced only at the revision that was read", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const first = await found(records, "a");
    expect(await records.commit([replace(pages, first, { value: 2 })])).toBe(true);
    expect(await records.commit([replace(pages, first, { value: 3 })])).toBe(false);
    expect((await found(records, "a")).value).toBe(2);
  });

  it("cannot be replaced when it is absent", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 }), put(pages, { key: "b", value: 1 })]);
    const [a, b] = [await found(records, "a"), await found(records, "b")];
    await records.commit([remove(pages, "a")]);
    expect(await records.commit([replace(pages, a, { value: 2 })])).toBe(false);
    const other = { key: "c", revision: b.revision };
    expect(await records.commit([replace(pages, other, { value: 2 })])).toBe(false);
    expect(await listed(records)).toEqual(["b"]);
  });

  it("preserves groups, expiry, due time and consumption on replace", async () => {
    const { records, clock } = await openStore(engine);
    const placing = { groups: ["g"], ttlMs: 5000, dueInMs: 2000 };
    await records.commit([put(pages, { key: "a", value: 1, ...placing }), consume(pages, "a")]);
    const before = await found(records, "a");
    clock.now += 100;
    await records.commit([replace(pages, before, { value: 2 })]);
    const after = await found(records, "a");
    expect(after).toEqual({ ...before, value: 2, revision: after.revision });
    expect(after.consumedAt).toBe(clock.now - 100);
    expect(await listed(records, "g")).toEqual(["a"]);
  });

  it("changes groups, expiry and due time when a replacement sets them", async () => {
    const { records, clock } = await openStore(engine);
    const placing = { groups: ["g", "h"], ttlMs: 5000, dueInMs: 2000 };
    await records.commit([put(pages, { key: "a", value: 1, ...placing })]);
    clock.now += 100;
    const change = { value: 1, groups: ["h", "i"], ttlMs: 7000, dueInMs: 3000 };
    await records.commit([replace(pages, await found(records, "a"), change)]);
    const { groups, expiresAt, dueAt } = await found(records, "a");
    expect({ groups, expiresAt, dueAt }).toEqual({
      groups: ["h", "i"],
      expiresAt: clock.now + 7000,
      dueAt: clock.now + 3000,
    });
    expect(await listed(records, "g")).toEqual([]);
    expect(await listed(records, "h")).toEqual(["a"]);
    expect(await listed(records, "i")).toEqual(["a"]);
  });

  it("clears groups, expiry and due time when a replacement sets them to null", async () => {
    const { records, clock } = await openStore(engine);
    const placing = { groups: ["g"], ttlMs: 5000, dueInMs: 0 };
    await records.commit([put(pages, { key: "a", value: 1, ...placing })]);
    const change = { value: 2, groups: [], ttlMs: null, dueInMs: null };
    await records.commit([replace(pages, await found(records, "a"), change)]);
    clock.now += 10_000;
    const { groups, expiresAt, dueAt } = await found(records, "a");
    expect({ groups, expiresAt, dueAt }).toEqual({
      groups: [],
      expiresAt: undefined,
      dueAt: undefined,
    });
    expect(await records.claimDue(pages, { limit: 10, leaseMs: 1 })).toEqual([]);
  });

  it("can be consumed once, and preserves its other members", async () => {
    const { records, clock } = await openStore(engine);
    const placing = { groups: ["g"], ttlMs: 5000, dueInMs: 2000 };
    await records.commit([put(pages, { key: "a", value: { n: 1 }, ...placing })]);
    const before = await found(records, "a");
    clock.now += 100;
    expect(await records.commit([consume(pages, "a")])).toBe(true);
    const after = await found(records, "a");
    expect(after).toEqual({ ...before, revision: after.revision, consumedAt: clock.now });
    expect(after.revision).toBeGreaterThan(before.revision);
    clock.now += 100;
    expect(await records.commit([consume(pages, "a")])).toBe(false);
    expect(await found(records, "a")).toEqual(after);
  });

  it("cannot be consumed when it is absent", async () => {
    const { records } = await openStore(engine);
    expect(await records.commit([consume(pages, "a")])).toBe(false);
    await records.commit([put(notes, { key: "a", value: 1 })]);
    expect(await records.commit([consume(pages, "a")])).toBe(false);
  });

  it("has a new revision after it is consumed", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const before = await found(records, "a");
    await records.commit([consume(pages, "a")]);
    expect(await records.commit([replace(pages, before, { value: 2 })])).toBe(false);
    expect(await records.commit([removeUnchanged(pages, before)])).toBe(false);
  });

  it("can be consumed again after a new put", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 }), consume(pages, "a")]);
    await records.commit([put(pages, { key: "a", value: 1 })]);
    expect(await records.commit([consume(pages, "a")])).toBe(true);
    await records.commit([remove(pages, "a"), insert(pages, { key: "a", value: 1 })]);
    expect(await records.commit([consume(pages, "a")])).toBe(true);
  });

  it("can be removed even if it is absent", async () => {
    const { store, records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1, groups: ["g"] })]);
    expect(await records.commit([remove(pages, "a")])).toBe(true);
    expect(await records.get(pages, "a")).toBeUndefined();
    expect(await listed(records)).toEqual([]);
    expect(await listed(records, "g")).toEqual([]);
    expect(await store.counts()).toEqual({ records: 0, archive: 0 });
    expect(await records.commit([remove(pages, "a")])).toBe(true);
  });

  it("is removed at a revision only if that revision is current", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const first = await found(records, "a");
    await records.commit([put(pages, { key: "a", value: 1 })]);
    expect(await records.commit([removeUnchanged(pages, first)])).toBe(false);
    const second = await found(records, "a");
    expect(await records.commit([removeUnchanged(pages, second)])).toBe(true);
    expect(await records.commit([removeUnchanged(pages, second)])).toBe(false);
    expect(await records.get(pages, "a")).toBeUndefined();
  });

  it("is removed with its group in all collections, but not with other groups", async () => {
    const { store, records } = await openStore(engine);
    await records.commit([
      put(pages, { key: "a", value: 1, groups: ["g"] }),
      put(pages, { key: "b", value: 1, groups: ["h", "g"] }),
      put(pages, { key: "c", value: 1, groups: ["h", "G", "gg"] }),
      put(notes, { key: "a", value: 1, groups: ["g"] }),
      put(notes, { key: "g", value: 1 }),
    ]);
    expect(await records.commit([removeGroup("g")])).toBe(true);
    expect(await listed(records)).toEqual(["c"]);
    expect(keysOf(await records.list(notes, { limit: 10 }))).toEqual(["g"]);
    expect(await store.counts()).toEqual({ records: 2, archive: 0 });
    expect(await records.commit([removeGroup("g")])).toBe(true);
  });

  it("is separate from records in other collections", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 }), put(notes, { key: "a", value: 2 })]);
    await records.commit([remove(notes, "a")]);
    expect((await found(records, "a")).value).toBe(1);
    expect(await records.get(notes, "a")).toBeUndefined();
  });
});

describeStores("lists of records", (engine) => {
  it("are ordered by last change", async () => {
    const { records } = await openStore(engine);
    for (const key of ["b", "c", "a"]) await records.commit([put(pages, { key, value: 1 })]);
    await records.commit([put(notes, { key: "n", value: 1 })]);
    await records.commit([replace(pages, await found(records, "b"), { value: 2 })]);
    const list = await records.list(pages, { limit: 10 });
    expect(keysOf(list)).toEqual(["c", "a", "b"]);
    expect(list).toEqual(await Promise.all(list.map(({ key }) => found(records, key))));
  });

  it("have the keys and revisions that are listed without values", async () => {
    const { records, clock } = await openStore(engine);
    await records.commit([
      put(pages, { key: "gone", value: 1, ttlMs: 10 }),
      ...["a", "b", "c"].map((key) => put(pages, { key, value: 1, groups: ["g"] })),
      put(notes, { key: "n", value: 1 }),
    ]);
    await records.commit([put(pages, { key: "a", value: 2 })]);
    clock.now += 10;
    const all = (await records.list(pages, { limit: 10 })).map(({ key, revision }) => ({
      key,
      revision,
    }));
    expect(keysOf(all)).toEqual(["b", "c", "a"]);
    expect(await records.listRevisions(pages, { limit: 10 })).toEqual(all);
    expect(await records.listRevisions(pages, { limit: 2 })).toEqual(all.slice(0, 2));
    const after = all[1]?.revision ?? 0;
    expect(await records.listRevisions(pages, { after, limit: 10 })).toEqual(all.slice(2));
    expect(await records.listRevisions(collection("\0"), { limit: 10 })).toEqual([]);
  });

  it("of a group contain each of its records once", async () => {
    const { records } = await openStore(engine);
    await records.commit([
      put(pages, { key: "a", value: 1, groups: ["g", "h"] }),
      put(pages, { key: "b", value: 1, groups: ["h", "h"] }),
      put(pages, { key: "c", value: 1 }),
      put(notes, { key: "d", value: 1, groups: ["g"] }),
    ]);
    expect(await listed(records, "g")).toEqual(["a"]);
    expect(await listed(records, "h")).toEqual(["a", "b"]);
    expect(await listed(records, "none")).toEqual([]);
    expect(keysOf(await records.list(notes, { group: "g", limit: 10 }))).toEqual(["d"]);
  });

  it("can start after a given revision, and respect the limit", async () => {
    const { records } = await openStore(engine);
    const keys = ["a", "b", "c", "d"];
    await records.commit(keys.map((key) => put(pages, { key, value: 1, groups: ["g"] })));
    const { revision } = await found(records, "b");
    expect(keysOf(await records.list(pages, { limit: 2 }))).toEqual(["a", "b"]);
    expect(keysOf(await records.list(pages, { after: revision, limit: 1 }))).toEqual(["c"]);
    expect(keysOf(await records.list(pages, { group: "g", after: revision, limit: 9 }))).toEqual([
      "c",
      "d",
    ]);
    const last = (await found(records, "d")).revision;
    expect(await records.list(pages, { after: last, limit: 9 })).toEqual([]);
  });

  it("repeat a record at the end when it changes between pages", async () => {
    const { records } = await openStore(engine);
    await records.commit(["a", "b", "c", "d"].map((key) => put(pages, { key, value: 1 })));
    const first = await records.list(pages, { limit: 2 });
    await records.commit([put(pages, { key: "a", value: 2 }), put(pages, { key: "c", value: 2 })]);
    const after = first.at(-1)?.revision ?? 0;
    const rest = await records.list(pages, { after, limit: 10 });
    expect(keysOf(first)).toEqual(["a", "b"]);
    expect(rest.map(({ key, value }) => [key, value])).toEqual([
      ["d", 1],
      ["a", 2],
      ["c", 2],
    ]);
  });

  it("can contain thousands of records, even from one commit", async () => {
    const { store, records } = await openStore(engine);
    const keys = Array.from({ length: 3000 }, (_, at) => `k${at}`);
    await records.commit(keys.map((key) => put(pages, { key, value: { key }, groups: ["g"] })));
    expect(await listed(records)).toEqual(keys);
    expect(await listed(records, "g")).toEqual(keys);
    expect(await store.counts()).toEqual({ records: 3000, archive: 0 });
    await records.commit([removeGroup("g")]);
    expect(await store.counts()).toEqual({ records: 0, archive: 0 });
  });
});

describeStores("record values", (engine) => {
  const nested = JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`) as unknown;
  it.each<[string, unknown]>([
    ["null", null],
    ["false", false],
    ["an empty text", ""],
    ["an empty object", {}],
    ["an empty list", []],
    ["numbers", [0, -1, 0.1, 1e21, 5e-324, 1.7976931348623157e308, 2 ** 53 - 1, -(2 ** 53 - 1)]],
    [
      "text with characters of all Unicode planes",
      'Ελλάδα 日本語 😀 \u202e \u0000 \u001f " \\ / \u2028 \ufffe',
    ],
    ["half a surrogate pair", ["\ud83d", "\ude00 turned round \ud83d"]],
    ["names in other scripts", { "": 1, "\u0000": 2, ключ: 3, "😀": 4, 'a"b\\c': 5 }],
    ["nested lists", nested],
    ["member names of Object.prototype", JSON.parse('{"__proto__": {"x": 1}, "constructor": 1}')],
    ["text that looks like SQL", "'; DROP TABLE records; --"],
  ])("are read as they were written: %s", async (_, value) => {
    const opened = await openStore(engine);
    const text = JSON.stringify(value);
    await opened.records.commit([put(pages, { key: "a", value })]);
    expect(JSON.stringify((await found(opened.records, "a")).value)).toBe(text);
    const { records } = await opened.reopen();
    expect(JSON.stringify((await found(records, "a")).value)).toBe(text);
  });

  it("preserve the order of their members", async () => {
    const { records } = await openStore(engine);
    const value = { zebra: 1, apple: { y: 1, x: 2 }, "10": 1, mango: 3, "9": 2 };
    await records.commit([put(pages, { key: "a", value })]);
    expect(JSON.stringify((await found(records, "a")).value)).toBe(JSON.stringify(value));
  });

  it("can be large", async () => {
    const { records } = await openStore(engine);
    const value = { text: "äöü 😀 ".repeat(12_000), list: Array.from({ length: 5000 }, String) };
    expect(Buffer.byteLength(JSON.stringify(value))).toBeGreaterThan(100_000);
    await records.commit([put(pages, { key: "a", value })]);
    expect((await found(records, "a")).value).toEqual(value);
  });

  it("omit members that JSON omits", async () => {
    const { records } = await openStore(engine);
    const value = { a: undefined, b: [undefined, Number.NaN], at: new Date(0) };
    await records.commit([put(pages, { key: "a", value })]);
    expect((await found(records, "a")).value).toEqual({
      b: [null, null],
      at: "1970-01-01T00:00:00.000Z",
    });
  });

  it("that JSON cannot represent raise an error and change nothing", async () => {
    const { records } = await openStore(engine);
    const circle: unknown[] = [];
    circle.push(circle);
    for (const value of [1n, circle, undefined, () => 1]) {
      const steps = [put(pages, { key: "a", value: 1 }), put(pages, { key: "b", value })];
      await expect((async () => records.commit(steps))()).rejects.toThrow(TypeError);
    }
    expect(await listed(records)).toEqual([]);
  });

  it("are not changed when a reader changes its copy", async () => {
    const { records } = await openStore(engine);
    const value = { list: [{ deep: 1 }], text: "x" };
    await records.commit([put(pages, { key: "a", value, groups: ["g"], dueInMs: 0 })]);
    const before = structuredClone(await found(records, "a"));
    scribble(await found(records, "a"));
    scribble(await records.list(pages, { limit: 1 }));
    expect(await found(records, "a")).toEqual(before);
    scribble(await records.claimDue(pages, { limit: 1, leaseMs: 0 }));
    expect((await found(records, "a")).value).toEqual(value);
    expect((await found(records, "a")).groups).toEqual(["g"]);
    expect(await listed(records, "g")).toEqual(["a"]);
  });

  it("are not changed when a writer changes its object later", async () => {
    const { records } = await openStore(engine);
    const value = { list: [{ deep: 1 }] };
    const groups = ["g"];
    const steps = [put(pages, { key: "a", value, groups })];
    const commit = records.commit(steps);
    scribble(value);
    groups.push("h");
    steps.push(put(pages, { key: "b", value: 1 }));
    await commit;
    scribble(value.list);
    expect(await found(records, "a")).toMatchObject({
      value: { list: [{ deep: 1 }] },
      groups: ["g"],
    });
    expect(await listed(records)).toEqual(["a"]);
    expect(await listed(records, "h")).toEqual([]);
  });
});

describeStores("keys, groups and collections", (engine) => {
  const names = [
    ...["", " ", "a", "A", "a ", " a", "á", "a\u0301", "😀", "\uffff", "%", "_", "a%", "\\", "'"],
    ...["__proto__", "constructor", "toString", "hasOwnProperty", "null", "undefined", "0", "00"],
    ...['"', "a:b", "a/b", "{}", "{a,b}", "\n", "\u0001", "\u007f"],
  ];

  it("with names like __proto__ are distinct as keys", async () => {
    const opened = await openStore(engine);
    expect(await opened.records.get(pages, "__proto__")).toBeUndefined();
    expect(await opened.records.get(pages, "constructor")).toBeUndefined();
    const steps = names.map((key) => insert(pages, { key, value: `the value of ${key}` }));
    expect(await opened.records.commit(steps)).toBe(true);
    const { records } = await opened.reopen();
    expect(await listed(records)).toEqual(names);
    for (const key of names) {
      expect((await found(records, key)).value).toBe(`the value of ${key}`);
    }
  });

  it("with names like __proto__ are distinct as groups", async () => {
    const opened = await openStore(engine);
    expect(await listed(opened.records, "__proto__")).toEqual([]);
    const steps = names.map((group) => put(pages, { key: `${group}!`, value: 1, groups: [group] }));
    await opened.records.commit([...steps, put(pages, { key: "all", value: 1, groups: names })]);
    const { records } = await opened.reopen();
    expect((await found(records, "all")).groups).toEqual(names);
    for (const group of names) expect(await listed(records, group)).toEqual([`${group}!`, "all"]);
    await records.commit([removeGroup("constructor")]);
    expect((await listed(records)).length).toBe(names.length - 1);
  });

  it("with names like __proto__ are distinct as collections", async () => {
    const opened = await openStore(engine);
    const collections = names.filter((name) => name !== "").map((name) => collection(name));
    expect(await opened.records.get(collection("__proto__"), "a")).toBeUndefined();
    expect(await opened.records.list(collection("constructor"), { limit: 1 })).toEqual([]);
    const steps = collections.map((each) => insert(each, { key: "a", value: each.name }));
    expect(await opened.records.commit(steps)).toBe(true);
    const { records } = await opened.reopen();
    for (const each of collections) {
      const list = await records.list(each, { limit: 10 });
      expect(list.map(({ value }) => value)).toEqual([each.name]);
    }
  });

  it("may have up to 512 characters and up to 1,000 bytes", async () => {
    const { records } = await openStore(engine);
    // No two neighboring characters are equal, so that the text does not compress.
    const chinese = Array.from({ length: 333 }, (_, at) =>
      String.fromCodePoint(0x4e00 + ((at * 7919) % 20_000)),
    ).join("");
    for (const longest of ["k".repeat(512), chinese, "😀".repeat(250)]) {
      const steps = [insert(pages, { key: longest, value: 1, groups: [longest] })];
      expect(await records.commit(steps)).toBe(true);
      expect((await found(records, longest)).groups).toEqual([longest]);
      expect(await listed(records, longest)).toEqual([longest]);
      expect(await records.commit([consume(pages, longest)])).toBe(true);
      expect(await records.commit([removeGroup(longest)])).toBe(true);
    }
    expect(await listed(records)).toEqual([]);
  });

  describe.each([
    ["with a NUL", "a\0"],
    ["of 513 characters", "a".repeat(513)],
    ["of 1,002 bytes", "日".repeat(334)],
    ["with half a surrogate pair", "a\ud83d"],
  ])("%s", (_, bad) => {
    it("match no record", async () => {
      const { records } = await openStore(engine);
      await records.commit([put(pages, { key: "a", value: 1, groups: ["a"] })]);
      expect(await records.get(pages, bad)).toBeUndefined();
      expect(await listed(records, bad)).toEqual([]);
    });

    it("raise an error in any step, and nothing is committed", async () => {
      const { records } = await openStore(engine);
      await records.commit([put(pages, { key: "a", value: 1 })]);
      const read = { key: "a", revision: 1 };
      const steps = [
        put(pages, { key: bad, value: 1 }),
        put(pages, { key: "b", value: 1, groups: ["g", bad] }),
        insert(pages, { key: bad, value: 1 }),
        insert(pages, { key: "b", value: 1, groups: [bad] }),
        replace(pages, { key: bad, revision: 1 }, { value: 1 }),
        replace(pages, read, { value: 1, groups: [bad] }),
        consume(pages, bad),
        remove(pages, bad),
        removeUnchanged(pages, { key: bad, revision: 1 }),
        requireUnchanged(pages, { key: bad, revision: 1 }),
        removeGroup(bad),
      ];
      const [first, last] = [
        put(pages, { key: "c", value: 1 }),
        put(pages, { key: "d", value: 1 }),
      ];
      for (const step of steps) {
        const commit = async () => records.commit([first, step, last]);
        await expect(commit(), JSON.stringify(step)).rejects.toThrow(RangeError);
      }
      expect(await listed(records)).toEqual(["a"]);
    });
  });
});
