import { describe, expect, it } from "vitest";
import type { Archive, ArchiveRow, ArchiveSelection } from "../../../src/store/port/archive.ts";
import { describeStores, openStore } from "../../support/stores.ts";

const row = (at: number, id: string, more: Partial<ArchiveRow> = {}): ArchiveRow => ({
  ...{ kind: "audit", at, id, body: { said: `${at}/${id}` } },
  ...more,
});

const names = (rows: readonly ArchiveRow[]) => rows.map(({ at, id }) => `${at}${id}`);

async function read(archive: Archive, selection: Partial<ArchiveSelection> = {}) {
  return names(await archive.read("audit", { order: "oldest", limit: 10_000, ...selection }));
}

describeStores("appending to the archive", (engine) => {
  it("stores the appended rows", async () => {
    const { store, archive } = await openStore(engine);
    const rows = [
      row(1, "a"),
      row(2, "b", { subject: "AAPL", body: { price: 0.1, tags: ["x"], note: "ключ 😀" } }),
      row(2, "c", { subject: "", body: null }),
    ];
    expect(await archive.append(rows)).toBe(3);
    expect(await archive.read("audit", { order: "oldest", limit: 9 })).toEqual(rows);
    expect(await store.counts()).toEqual({ records: 0, archive: 3 });
  });

  it("accepts an empty list", async () => {
    const { archive } = await openStore(engine);
    expect(await archive.append([])).toBe(0);
    expect(await read(archive)).toEqual([]);
  });

  it("does not overwrite an existing row", async () => {
    const { store, archive } = await openStore(engine);
    await archive.append([row(1, "a", { subject: "first", body: 1 })]);
    const again = [row(1, "a", { subject: "second", body: 2 }), row(1, "b")];
    expect(await archive.append(again)).toBe(1);
    expect(await archive.append(again)).toBe(0);
    const [a] = await archive.read("audit", { order: "oldest", limit: 1 });
    expect(a).toEqual(row(1, "a", { subject: "first", body: 1 }));
    expect(await store.counts()).toEqual({ records: 0, archive: 2 });
  });

  it("stores the first of two rows with the same key", async () => {
    const { archive } = await openStore(engine);
    expect(await archive.append([row(1, "a", { body: 1 }), row(1, "a", { body: 2 })])).toBe(1);
    expect(await archive.read("audit", { order: "oldest", limit: 9 })).toMatchObject([{ body: 1 }]);
  });

  it("distinguishes rows by kind, instant and id", async () => {
    const { archive } = await openStore(engine);
    const rows = [row(1, "a"), row(2, "a"), row(1, "b"), row(1, "a", { kind: "delivery" })];
    expect(await archive.append(rows)).toBe(4);
    expect(await read(archive)).toEqual(["1a", "1b", "2a"]);
    expect(names(await archive.read("delivery", { order: "oldest", limit: 9 }))).toEqual(["1a"]);
    expect(await archive.read("toString", { order: "oldest", limit: 9 })).toEqual([]);
  });

  it("stores either all rows or none", async () => {
    const opened = await openStore(engine);
    const { archive } = opened;
    await archive.append([row(1, "a")]);
    for (const bad of [1n, { deep: 1n }]) {
      const rows = [row(2, "b"), row(3, "c", { body: bad }), row(4, "d")];
      await expect((async () => archive.append(rows))()).rejects.toThrow();
    }
    expect(await read(archive)).toEqual(["1a"]);
    expect(await archive.append([row(2, "b")])).toBe(1);
    expect(await read((await opened.reopen()).archive)).toEqual(["1a", "2b"]);
  });

  it("stores a copy of the rows", async () => {
    const { archive } = await openStore(engine);
    const body = { list: [1] };
    const rows = [row(1, "a", { body })];
    const append = archive.append(rows);
    body.list.push(2);
    rows.push(row(2, "b"));
    expect(await append).toBe(1);
    expect(await archive.read("audit", { order: "oldest", limit: 9 })).toMatchObject([
      { body: { list: [1] } },
    ]);
  });

  it.each([
    ["a kind with a NUL character", { kind: "audit\0" }],
    ["an id of a NUL character", { id: "\0" }],
    ["a subject with a NUL character", { subject: "s\0" }],
    ["an id of half a surrogate pair", { id: "\ude00" }],
  ])("rejects names that are not valid text: %s", async (_, more) => {
    const { archive } = await openStore(engine);
    const rows = [row(1, "a"), row(2, "b", more)];
    await expect((async () => archive.append(rows))()).rejects.toThrow(RangeError);
    expect(await read(archive)).toEqual([]);
    const { kind, subject } = row(2, "b", more);
    const selection = {
      order: "oldest",
      limit: 9,
      ...(subject !== undefined && { subject }),
    } as const;
    expect(await archive.read(kind, selection)).toEqual([]);
    expect(await archive.prune(kind, 9)).toBe(0);
  });

  it("stores each row once under 50 concurrent appends", async () => {
    const { archive } = await openStore(engine);
    const rows = Array.from({ length: 20 }, (_, at) => row(at, "x"));
    const added = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        archive.append(at % 2 === 0 ? rows : rows.toReversed()),
      ),
    );
    expect(added.reduce((sum, count) => sum + count)).toBe(20);
    expect(await read(archive)).toHaveLength(20);
  });

  it("accepts thousands of rows, and large ones", async () => {
    const { archive } = await openStore(engine);
    const rows = Array.from({ length: 3000 }, (_, at) => row(at, "x"));
    const large = row(3000, "large", { body: { text: "ä😀".repeat(40_000) } });
    expect(await archive.append([...rows, large])).toBe(3001);
    expect(await read(archive)).toEqual(names([...rows, large]));
    const [newest] = await archive.read("audit", { order: "newest", limit: 1 });
    expect(newest).toEqual(large);
  });

  it("survives a restart", async () => {
    const opened = await openStore(engine);
    const rows = [row(2, "b", { subject: "s" }), row(1, "a", { body: [1, { x: "😀" }] })];
    await opened.archive.append(rows);
    const { archive } = await opened.reopen();
    expect(await archive.read("audit", { order: "newest", limit: 9 })).toEqual(rows);
    expect(await archive.append(rows)).toBe(0);
  });
});

describeStores("reading the archive", (engine) => {
  async function filled() {
    const { archive } = await openStore(engine);
    await archive.append([
      ...[row(30, "a", { subject: "x" }), row(10, "b", { subject: "x" }), row(20, "c")],
      ...[row(20, "a", { subject: "y" }), row(20, "b", { subject: "x" }), row(40, "a")],
      ...[row(25, "a", { kind: "other" })],
    ]);
    return archive;
  }

  it("is ordered by instant, then id, in either direction", async () => {
    const archive = await filled();
    const order = ["10b", "20a", "20b", "20c", "30a", "40a"];
    expect(await read(archive)).toEqual(order);
    expect(await read(archive, { order: "newest" })).toEqual(order.toReversed());
  });

  it("respects the limit", async () => {
    const archive = await filled();
    expect(await read(archive, { limit: 2 })).toEqual(["10b", "20a"]);
    expect(await read(archive, { order: "newest", limit: 1 })).toEqual(["40a"]);
  });

  it("includes both ends of a range", async () => {
    const archive = await filled();
    expect(await read(archive, { from: 20, to: 30 })).toEqual(["20a", "20b", "20c", "30a"]);
    expect(await read(archive, { from: 30 })).toEqual(["30a", "40a"]);
    expect(await read(archive, { to: 10, order: "newest" })).toEqual(["10b"]);
    expect(await read(archive, { from: 11, to: 19 })).toEqual([]);
    expect(await read(archive, { from: 30, to: 20 })).toEqual([]);
  });

  it("filters by subject, and then omits rows without a subject", async () => {
    const archive = await filled();
    expect(await read(archive, { subject: "x" })).toEqual(["10b", "20b", "30a"]);
    expect(await read(archive, { subject: "x", order: "newest", limit: 2 })).toEqual([
      "30a",
      "20b",
    ]);
    expect(await read(archive, { subject: "x", from: 15, to: 25 })).toEqual(["20b"]);
    expect(await read(archive, { subject: "" })).toEqual([]);
    expect(await read(archive, { subject: "X" })).toEqual([]);
  });

  it.each(["oldest", "newest"] as const)(
    "continues after a given row, with the %s first",
    async (order) => {
      const archive = await filled();
      const all = await archive.read("audit", { order, limit: 9 });
      for (const [at, after] of all.entries()) {
        expect(await read(archive, { order, after })).toEqual(names(all.slice(at + 1)));
        expect(await read(archive, { order, after, limit: 1 })).toEqual(
          names(all.slice(at + 1, at + 2)),
        );
      }
    },
  );

  it("continues at a row's position, even if the row is deleted or never existed", async () => {
    const archive = await filled();
    expect(await read(archive, { after: { at: 20, id: "aa" } })).toEqual([
      "20b",
      "20c",
      "30a",
      "40a",
    ]);
    expect(await read(archive, { after: { at: 15, id: "z" }, limit: 1 })).toEqual(["20a"]);
    await archive.prune("audit", 20);
    expect(await read(archive, { after: { at: 10, id: "b" }, limit: 1 })).toEqual(["20a"]);
    expect(await read(archive, { order: "newest", after: { at: 20, id: "" } })).toEqual([]);
  });

  it("continues within a subject and a range", async () => {
    const archive = await filled();
    const selection = { subject: "x", from: 10, to: 30, limit: 1 };
    const pages = [];
    let after: Pick<ArchiveRow, "at" | "id"> | undefined;
    for (;;) {
      const page = await archive.read("audit", {
        ...selection,
        order: "newest",
        ...(after && { after }),
      });
      after = page.at(-1);
      if (after === undefined) break;
      pages.push(...names(page));
    }
    expect(pages).toEqual(["30a", "20b", "10b"]);
  });

  describe("orders ids by their UTF-8 bytes", () => {
    const ordered = [
      "",
      " ",
      "A",
      "B",
      "Z",
      "_",
      "a",
      "a ",
      "aa",
      "b",
      "~",
      "é",
      "ω",
      "語",
      "\uffee",
      "😀",
    ];

    it("when it reads in either direction", async () => {
      const { archive } = await openStore(engine);
      await archive.append(ordered.toSorted().map((id) => row(1, id)));
      expect(await read(archive)).toEqual(ordered.map((id) => `1${id}`));
      expect(await read(archive, { order: "newest" })).toEqual(
        ordered.toReversed().map((id) => `1${id}`),
      );
    });

    it("when it continues after a row", async () => {
      const { archive } = await openStore(engine);
      await archive.append(ordered.map((id) => row(1, id)));
      for (const [at, id] of ordered.entries()) {
        const after = { at: 1, id };
        expect(await read(archive, { after, limit: 1 })).toEqual(
          ordered.slice(at + 1, at + 2).map((next) => `1${next}`),
        );
        expect(await read(archive, { order: "newest", after })).toHaveLength(at);
      }
    });
  });

  it("supports instants before 1970 and after 2100", async () => {
    const { archive } = await openStore(engine);
    const [past, future] = [Date.UTC(1929, 9, 24), Date.UTC(2200, 0, 1)];
    await archive.append([row(future, "f"), row(0, "z"), row(past, "p")]);
    expect(await read(archive)).toEqual([`${past}p`, "0z", `${future}f`]);
    expect(await read(archive, { from: past, to: 0 })).toEqual([`${past}p`, "0z"]);
  });
});

describeStores("pruning the archive", (engine) => {
  it("deletes the rows of one kind before an instant", async () => {
    const { store, archive } = await openStore(engine);
    const others = [row(1, "a", { kind: "other" })];
    await archive.append([row(1, "a"), row(2, "b"), row(3, "c"), ...others]);
    expect(await archive.prune("audit", 1)).toBe(0);
    expect(await archive.prune("audit", 3)).toBe(2);
    expect(await archive.prune("audit", 3)).toBe(0);
    expect(await read(archive)).toEqual(["3c"]);
    expect(await archive.read("other", { order: "oldest", limit: 9 })).toEqual(others);
    expect(await store.counts()).toEqual({ records: 0, archive: 2 });
  });

  it("cuts exactly at the given millisecond, even at the turn of a month, and leaves other kinds unchanged", async () => {
    const { archive } = await openStore(engine);
    const turns = [0, 1, 2, 12, 13].map((month) => Date.UTC(2025, month, 1));
    const instants = turns.flatMap((at) => [at - 1, at, at + 1]);
    const rows = instants.map((at) => row(at, "x"));
    const other = { kind: "other" };
    await archive.append([
      ...rows.toReversed(),
      row(turns[1] ?? 0, "x", other),
      row(0, "x", other),
    ]);
    expect(await read(archive)).toEqual(names(rows));
    for (const [at, turn] of turns.entries()) {
      expect(await archive.prune("audit", turn)).toBe(at === 0 ? 1 : 3);
      expect(await read(archive)).toEqual(names(rows.slice(3 * at + 1)));
      expect(await archive.append([row(turn - 1, "x"), row(turn, "x")])).toBe(1);
      expect(await archive.prune("audit", turn)).toBe(1);
    }
    expect(await archive.read("other", { order: "oldest", limit: 9 })).toHaveLength(2);
    expect(await archive.prune("other", Date.UTC(2026, 0, 1))).toBe(2);
  });

  it("deletes thousands of rows that span years", async () => {
    const { store, archive } = await openStore(engine);
    const day = 86_400_000;
    // One year at a time, since an engine with partitioned tables creates a partition for each
    // month.
    for (let year = 0; year < 16; year++) {
      const rows = Array.from({ length: 375 }, (_, at) => row((year * 375 + at) * day, "x"));
      expect(await archive.append(rows.reverse())).toBe(375);
    }
    const others = Array.from({ length: 50 }, (_, at) => row(at * 7 * day, "x"));
    await archive.append(others.map((each) => ({ ...each, kind: "other" })));
    expect(await archive.prune("audit", 5990 * day)).toBe(5990);
    expect(await read(archive)).toEqual(
      Array.from({ length: 10 }, (_, at) => `${(5990 + at) * day}x`),
    );
    expect(await store.counts()).toEqual({ records: 0, archive: 60 });
  });

  it("persists across a restart, and allows deleted rows to be appended again", async () => {
    const opened = await openStore(engine);
    await opened.archive.append([row(1, "a", { body: 1 }), row(2, "b")]);
    await opened.archive.prune("audit", 2);
    const { archive } = await opened.reopen();
    expect(await read(archive)).toEqual(["2b"]);
    expect(await archive.append([row(1, "a", { body: 2 })])).toBe(1);
    expect(await archive.read("audit", { order: "oldest", limit: 1 })).toMatchObject([{ body: 2 }]);
  });
});
