import { describe, expect, it } from "vitest";
import type { ArchiveRow } from "../../../src/store/port/archive.ts";
import {
  announce,
  appendToArchive,
  consume,
  insert,
  put,
  remove,
  removeGroup,
  removeUnchanged,
  replace,
  requireUnchanged,
} from "../../../src/store/port/operations.ts";
import { collection, type Operation, type Records } from "../../../src/store/port/records.ts";
import { describeStores, dumpStore, openStore } from "../../support/stores.ts";

const pages = collection<number>("pages");
const notes = collection<number>("notes");

async function revisionOf(records: Records, key: string): Promise<number> {
  const stored = await records.get(pages, key);
  if (stored === undefined) throw new Error(`There is no "${key}".`);
  return stored.revision;
}

async function pageOf(records: Records, key: string): Promise<number | undefined> {
  return (await records.get(pages, key))?.value;
}

describeStores("a commit", (engine) => {
  it("without steps succeeds", async () => {
    const { records } = await openStore(engine);
    expect(await records.commit([])).toBe(true);
  });

  describe.each<[string, (stale: number) => Operation]>([
    ["an insert of an existing record", () => insert(pages, { key: "there", value: 9 })],
    [
      "a replacement at an old revision",
      (at) => replace(pages, { key: "there", revision: at }, { value: 9 }),
    ],
    [
      "a replacement of a missing record",
      (at) => replace(pages, { key: "gone", revision: at }, { value: 9 }),
    ],
    ["a second consumption", () => consume(pages, "used")],
    ["a consumption of a missing record", () => consume(pages, "gone")],
    [
      "a removal at an old revision",
      (at) => removeUnchanged(pages, { key: "there", revision: at }),
    ],
    ["a check at an old revision", (at) => requireUnchanged(pages, { key: "there", revision: at })],
    ["a check of a missing record", (at) => requireUnchanged(pages, { key: "gone", revision: at })],
    [
      "a removal at a revision of a missing record",
      (at) => removeUnchanged(pages, { key: "gone", revision: at }),
    ],
  ])("with %s", (_, failing) => {
    it.each([
      ["at the start", 0],
      ["in the middle", 4],
      ["at the end", 8],
    ])("is rejected and changes nothing when its failing step is %s", async (_where, position) => {
      const opened = await openStore(engine);
      const { records, clock } = opened;
      await records.commit([put(pages, { key: "there", value: 1, groups: ["g"], dueInMs: 0 })]);
      const stale = await revisionOf(records, "there");
      await records.commit([
        put(pages, { key: "there", value: 2, groups: ["g"], dueInMs: 0 }),
        put(pages, { key: "used", value: 1 }),
        consume(pages, "used"),
        put(pages, { key: "unused", value: 1, ttlMs: 1000 }),
        put(pages, { key: "late", value: 1, ttlMs: 10 }),
        put(notes, { key: "n", value: 1, groups: ["h"] }),
      ]);
      clock.now += 10;
      const { revision } = (await records.get(pages, "there")) ?? { revision: 0 };
      const steps = [
        put(pages, { key: "new", value: 1, groups: ["g"] }),
        insert(pages, { key: "late", value: 2 }),
        consume(pages, "unused"),
        replace(pages, { key: "there", revision }, { value: 3, groups: [], dueInMs: null }),
        removeGroup("h"),
        put(notes, { key: "m", value: 1 }),
        remove(pages, "unused"),
        announce("topic"),
      ];
      const before = await dumpStore(opened.store);
      const order = await records.list(pages, { limit: 10 });
      expect(await records.commit(steps.toSpliced(position, 0, failing(stale)))).toBe(false);
      expect(await dumpStore(opened.store)).toEqual(before);
      expect(await records.list(pages, { limit: 10 })).toEqual(order);
      expect(await records.list(pages, { group: "g", limit: 10 })).toMatchObject([
        { key: "there" },
      ]);
      const due = await records.claimDue(pages, { limit: 10, leaseMs: 1 });
      expect(due.map(({ key }) => key)).toEqual(["there"]);
      expect(await pageOf((await opened.reopen()).records, "there")).toBe(2);
    });
  });

  it("that contains only checks succeeds if every check passes, and changes nothing", async () => {
    const opened = await openStore(engine);
    const { records } = opened;
    await records.commit([
      put(pages, { key: "a", value: 1, groups: ["g"] }),
      put(pages, { key: "b", value: 1 }),
    ]);
    const before = await dumpStore(opened.store);
    const [a, b] = [await revisionOf(records, "a"), await revisionOf(records, "b")];
    const checks = [
      requireUnchanged(pages, { key: "a", revision: a }),
      requireUnchanged(pages, { key: "b", revision: b }),
    ];
    expect(await records.commit(checks)).toBe(true);
    expect(await records.commit([...checks, ...checks])).toBe(true);
    expect(await dumpStore(opened.store)).toEqual(before);
    await records.commit([remove(pages, "b")]);
    expect(await records.commit(checks)).toBe(false);
    expect(await records.commit(checks.slice(0, 1))).toBe(true);
  });

  it("distinguishes records with the same key in different collections", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const read = { key: "a", revision: await revisionOf(records, "a") };
    expect(await records.commit([requireUnchanged(notes, read)])).toBe(false);
  });

  it("is applied as a whole when every step is valid", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 }), put(pages, { key: "b", value: 1 })]);
    const a = { key: "a", revision: await revisionOf(records, "a") };
    const steps = [
      requireUnchanged(pages, a),
      replace(pages, a, { value: 2 }),
      consume(pages, "b"),
      insert(pages, { key: "c", value: 1, groups: ["g"] }),
      put(notes, { key: "a", value: 7, groups: ["h"] }),
      announce("topic"),
    ];
    expect(await records.commit(steps)).toBe(true);
    expect(await pageOf(records, "a")).toBe(2);
    expect((await records.get(pages, "b"))?.consumedAt).toBeTypeOf("number");
    expect((await records.get(notes, "a"))?.value).toBe(7);
    expect(await records.list(pages, { group: "g", limit: 2 })).toMatchObject([{ key: "c" }]);
  });
});

describeStores(
  "a step of a commit takes effect before later steps of the same commit",
  (engine) => {
    const first = put(pages, { key: "a", value: 1, groups: ["g"] });
    it.each<[string, boolean, readonly Operation[]]>([
      ["put, insert", false, [first, insert(pages, { key: "a", value: 2 })]],
      [
        "insert, insert",
        false,
        [insert(pages, { key: "a", value: 1 }), insert(pages, { key: "a", value: 2 })],
      ],
      [
        "put, remove, insert",
        true,
        [first, remove(pages, "a"), insert(pages, { key: "a", value: 2 })],
      ],
      [
        "put, removeGroup, insert",
        true,
        [first, removeGroup("g"), insert(pages, { key: "a", value: 2 })],
      ],
      ["put, consume", true, [first, consume(pages, "a")]],
      ["put, consume, consume", false, [first, consume(pages, "a"), consume(pages, "a")]],
      [
        "put, consume, put, consume",
        true,
        [first, consume(pages, "a"), first, consume(pages, "a")],
      ],
      ["put, remove, consume", false, [first, remove(pages, "a"), consume(pages, "a")]],
      ["put, removeGroup, consume", false, [first, removeGroup("g"), consume(pages, "a")]],
      [
        "put with a lifetime of zero, insert",
        true,
        [put(pages, { key: "a", value: 1, ttlMs: 0 }), insert(pages, { key: "a", value: 2 })],
      ],
      [
        "put with a lifetime of zero, consume",
        false,
        [put(pages, { key: "a", value: 1, ttlMs: 0 }), consume(pages, "a")],
      ],
    ])("the sequence (%s) is accepted: %j", async (_, holds, steps) => {
      const { records } = await openStore(engine);
      expect(await records.commit(steps)).toBe(holds);
      expect((await records.get(pages, "a")) !== undefined).toBe(holds);
    });

    it.each<[string, Operation]>([
      ["a put", put(pages, { key: "a", value: 2 })],
      ["a consumption", consume(pages, "a")],
      ["a removal", remove(pages, "a")],
      ["a removal of a group", removeGroup("g")],
    ])(
      "%s invalidates the revision of a later replacement and a later removal",
      async (_, step) => {
        const { records } = await openStore(engine);
        await records.commit([first]);
        const read = { key: "a", revision: await revisionOf(records, "a") };
        expect(await records.commit([step, replace(pages, read, { value: 3 })])).toBe(false);
        expect(await records.commit([step, removeUnchanged(pages, read)])).toBe(false);
        expect(await pageOf(records, "a")).toBe(1);
        expect(await records.commit([removeUnchanged(pages, read), step])).toBe(
          step.kind !== "consume",
        );
      },
    );

    it.each<[string, Operation]>([
      ["a put", put(pages, { key: "a", value: 2 })],
      ["a consumption", consume(pages, "a")],
      ["a removal", remove(pages, "a")],
      ["a removal of a group", removeGroup("g")],
    ])("%s is detected by a later check, not by an earlier one", async (_, step) => {
      const { records } = await openStore(engine);
      await records.commit([first]);
      const read = { key: "a", revision: await revisionOf(records, "a") };
      expect(await records.commit([step, requireUnchanged(pages, read)])).toBe(false);
      expect(await pageOf(records, "a")).toBe(1);
      expect(await records.commit([requireUnchanged(pages, read), step])).toBe(true);
      expect(await records.commit([requireUnchanged(pages, read)])).toBe(false);
    });

    it("a record cannot be replaced twice at the same revision", async () => {
      const { records } = await openStore(engine);
      await records.commit([first]);
      const read = { key: "a", revision: await revisionOf(records, "a") };
      const steps = [replace(pages, read, { value: 2 }), replace(pages, read, { value: 3 })];
      expect(await records.commit(steps)).toBe(false);
      expect(await pageOf(records, "a")).toBe(1);
    });

    it("the last of several writes to a record determines its value and its position in the list", async () => {
      const { records } = await openStore(engine);
      const steps = [1, 2, 3].map((value) => put(pages, { key: "a", value, groups: [`${value}`] }));
      await records.commit([
        ...steps.slice(0, 2),
        put(pages, { key: "b", value: 0 }),
        ...steps.slice(2),
      ]);
      const list = await records.list(pages, { limit: 9 });
      expect(list.map(({ key, value }) => [key, value])).toEqual([
        ["b", 0],
        ["a", 3],
      ]);
      expect(await records.list(pages, { group: "1", limit: 9 })).toEqual([]);
      expect(await records.list(pages, { group: "3", limit: 9 })).toHaveLength(1);
    });

    it("the removal of a group sees the group changes of earlier steps", async () => {
      const { records } = await openStore(engine);
      await records.commit([first, put(pages, { key: "b", value: 1 })]);
      const [a, b] = [await revisionOf(records, "a"), await revisionOf(records, "b")];
      const steps = [
        replace(pages, { key: "a", revision: a }, { value: 1, groups: [] }),
        replace(pages, { key: "b", revision: b }, { value: 1, groups: ["g"] }),
        removeGroup("g"),
      ];
      expect(await records.commit(steps)).toBe(true);
      expect(await pageOf(records, "a")).toBe(1);
      expect(await pageOf(records, "b")).toBeUndefined();
    });
  },
);

describeStores("revisions", (engine) => {
  it("increase with every write in every collection", async () => {
    const { records } = await openStore(engine);
    const seen: number[] = [];
    const note = async (key: string) => seen.push(await revisionOf(records, key));
    await records.commit([put(pages, { key: "a", value: 1, dueInMs: 0 })]);
    await note("a");
    await records.commit([insert(pages, { key: "b", value: 1 })]);
    await note("b");
    await records.commit([put(notes, { key: "a", value: 1 })]);
    seen.push((await records.get(notes, "a"))?.revision ?? 0);
    await records.commit([consume(pages, "b")]);
    await note("b");
    const a = { key: "a", revision: await revisionOf(records, "a") };
    await records.commit([replace(pages, a, { value: 1 })]);
    await note("a");
    await records.claimDue(pages, { limit: 1, leaseMs: 1 });
    await note("a");
    expect(seen).toEqual([...new Set(seen)].sort((x, y) => x - y));
    expect(seen.every(Number.isSafeInteger)).toBe(true);
  });

  it("increase from step to step of a commit", async () => {
    const { records } = await openStore(engine);
    const keys = ["c", "a", "d", "b"];
    await records.commit(keys.map((key) => put(pages, { key, value: 1 })));
    await records.commit([put(pages, { key: "d", value: 1 }), consume(pages, "c")]);
    const list = await records.list(pages, { limit: 9 });
    expect(list.map(({ key }) => key)).toEqual(["a", "b", "d", "c"]);
  });

  it("do not change when nothing is written", async () => {
    const { records } = await openStore(engine);
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const before = await revisionOf(records, "a");
    await records.commit([
      put(pages, { key: "a", value: 2 }),
      insert(pages, { key: "a", value: 3 }),
    ]);
    await records.list(pages, { limit: 9 });
    await records.claimDue(pages, { limit: 9, leaseMs: 1 });
    expect(await revisionOf(records, "a")).toBe(before);
  });

  it("are never reused, even after a removal, an expiry, a purge or a restart", async () => {
    const opened = await openStore(engine);
    const { clock } = opened;
    const again = insert(pages, { key: "a", value: 1, ttlMs: 10 });
    const seen: number[] = [];
    let { records } = opened;
    const insertAgain = async () => {
      expect(await records.commit([again])).toBe(true);
      const revision = await revisionOf(records, "a");
      const old = seen.map((each) => replace(pages, { key: "a", revision: each }, { value: 9 }));
      for (const step of old) expect(await records.commit([step])).toBe(false);
      seen.push(revision);
    };
    await insertAgain();
    await records.commit([remove(pages, "a")]);
    await insertAgain();
    clock.now += 10;
    await insertAgain();
    clock.now += 10;
    await records.purgeExpired(10);
    await insertAgain();
    await records.commit([remove(pages, "a")]);
    const reopened = await opened.reopen();
    records = reopened.records;
    await insertAgain();
    clock.now += 10;
    await records.purgeExpired(10);
    records = (await reopened.reopen()).records;
    await insertAgain();
    expect(seen).toEqual([...new Set(seen)].sort((x, y) => x - y));
  });
});

describeStores("a commit with archive rows", (engine) => {
  it("adds them together with the records, or not at all", async () => {
    const { records, archive } = await openStore(engine);
    const rows = async () => archive.read("audit", { order: "oldest", limit: 9 });
    const row: ArchiveRow = { kind: "audit", at: 5, id: "x", body: { n: 1 } };
    const steps = [insert(pages, { key: "a", value: 1 }), appendToArchive(row)];
    expect(await records.commit(steps)).toBe(true);
    expect(await rows()).toEqual([row]);
    const second = { ...row, id: "y", subject: "s" };
    expect(await records.commit([appendToArchive(second), ...steps])).toBe(false);
    expect(await rows()).toEqual([row]);
    expect(
      await records.commit([appendToArchive(second), appendToArchive({ ...row, body: 2 })]),
    ).toBe(true);
    expect(await rows()).toEqual([row, second]);
  });

  it.each([
    ["a kind with a NUL", { kind: "\0" }],
    ["an id that is too long", { id: "x".repeat(513) }],
    ["an instant that is not a number", { at: Number.NaN }],
  ])("reject an archive row with %s, and commit nothing", async (_, bad) => {
    const { records } = await openStore(engine);
    const row: ArchiveRow = { kind: "audit", at: 5, id: "x", body: 1, ...bad };
    const commit = async () =>
      records.commit([put(pages, { key: "a", value: 1 }), appendToArchive(row)]);
    await expect(commit()).rejects.toThrow(RangeError);
    expect(await records.get(pages, "a")).toBeUndefined();
  });
});
