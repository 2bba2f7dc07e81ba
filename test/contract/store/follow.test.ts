import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Archive, ArchiveRow } from "../../../src/store/port/archive.ts";
import { appendToArchive, consume, put } from "../../../src/store/port/operations.ts";
import { collection } from "../../../src/store/port/records.ts";
import { describeStores, dumpStore, inBatches, openStore } from "../../support/stores.ts";

const pages = collection<number>("pages");

const row = (at: number, id: string, kind = "bar"): ArchiveRow => ({
  ...{ kind, at, id, subject: "s", body: { said: `${at}/${id}` } },
});

const BARS: ReadonlySet<string> = new Set(["bar"]);

/** A follower that begins at the newest row. Each call reads to the end, page by page. */
async function followerOf(archive: Archive, { kinds = BARS, limit = 100 } = {}) {
  let place = await archive.lastPlace();
  return async (): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (;;) {
      const next = await archive.follow(kinds, place, limit);
      if (next.place === place) return ids;
      ids.push(...next.rows.map(({ id }) => id));
      place = next.place;
    }
  };
}

describeStores("following the archive", (engine) => {
  it("begins after the newest row, and reads each later row once, however old it is", async () => {
    const { archive } = await openStore(engine);
    expect(await archive.lastPlace()).toBe(0);
    await archive.append([row(5, "before")]);
    const follow = await followerOf(archive);
    expect(await follow()).toEqual([]);
    await archive.append([row(9, "a"), row(-7, "b"), row(3, "c")]);
    await archive.append([row(1, "d")]);
    expect(await follow()).toEqual(["a", "b", "c", "d"]);
    expect(await follow()).toEqual([]);
    await archive.append([row(0, "e")]);
    expect(await follow()).toEqual(["e"]);
  });

  it("returns whole rows, of the wanted kinds only", async () => {
    const { archive } = await openStore(engine);
    const wanted = [row(2, "a"), { kind: "print", at: 1, id: "ключ 😀", body: null }];
    await archive.append([row(3, "x", "audit"), ...wanted, row(4, "y", "audit")]);
    const kinds = new Set(["print", "bar", "none"]);
    const { rows, place } = await archive.follow(kinds, 0, 9);
    expect(rows).toEqual(wanted);
    expect(place).toBe(await archive.lastPlace());
    expect(await archive.follow(kinds, place, 9)).toEqual({ rows: [], place });
  });

  it("looks at no more rows than the limit, and passes over rows of other kinds", async () => {
    const { archive } = await openStore(engine);
    const follow = await followerOf(archive, { limit: 2 });
    const rows = Array.from({ length: 9 }, (_, at) =>
      row(at, `${at}`, at % 4 === 0 ? "bar" : "audit"),
    );
    await archive.append(rows);
    const first = await archive.follow(BARS, 0, 2);
    expect(first.rows).toHaveLength(1);
    expect((await archive.follow(BARS, first.place, 2)).rows).toEqual([]);
    expect(await follow()).toEqual(["0", "4", "8"]);
  });

  it("reads no row again that is appended again", async () => {
    const { archive } = await openStore(engine);
    const follow = await followerOf(archive);
    await archive.append([row(1, "a")]);
    expect(await follow()).toEqual(["a"]);
    await archive.append([row(1, "a"), row(2, "b"), row(2, "b")]);
    await archive.append([row(1, "a")]);
    expect(await follow()).toEqual(["b"]);
  });

  it("is not stopped by the gap that a rejected commit leaves", async () => {
    const { archive, records } = await openStore(engine);
    const follow = await followerOf(archive);
    const lost = [appendToArchive(row(1, "lost")), put(pages, { key: "a", value: 1 })];
    expect(await records.commit([...lost, consume(pages, "none")])).toBe(false);
    await expect((async () => archive.append([row(2, "lost"), row(3, "\0")]))()).rejects.toThrow(
      RangeError,
    );
    await records.commit([appendToArchive(row(4, "a")), put(pages, { key: "b", value: 1 })]);
    expect(await records.commit([...lost, consume(pages, "none")])).toBe(false);
    await archive.append([row(5, "b")]);
    expect(await follow()).toEqual(["a", "b"]);
  });

  it("misses nothing that is left when rows are pruned behind or before the follower", async () => {
    const { archive } = await openStore(engine);
    await archive.append([row(1, "old"), row(50, "new")]);
    const follow = await followerOf(archive, { limit: 1 });
    await archive.append([row(2, "pruned unread"), row(60, "a"), row(3, "pruned unread too")]);
    expect(await archive.prune("bar", 10)).toBe(3);
    // The newest row is gone, and its place is not given to another one.
    await archive.append([row(4, "b")]);
    expect(await follow()).toEqual(["a", "b"]);
    expect(await archive.prune("bar", 100)).toBe(3);
    await archive.append([row(5, "c")]);
    expect(await follow()).toEqual(["c"]);
  });

  it("goes on at the same place after a restart, even if all rows were pruned", async () => {
    const opened = await openStore(engine);
    await opened.archive.append([row(1, "a"), row(2, "b")]);
    const place = await opened.archive.lastPlace();
    await opened.archive.prune("bar", 9);
    const { archive } = await opened.reopen();
    await archive.append([row(3, "c")]);
    expect((await archive.follow(BARS, place, 9)).rows).toEqual([row(3, "c")]);
  });

  it("reads all rows of a store that was loaded meanwhile, and those after it", async () => {
    const { store, archive } = await openStore(engine);
    await archive.append([row(1, "a"), row(2, "b"), row(3, "c")]);
    const follow = await followerOf(archive);
    const rows = await dumpStore(store);
    await store.load(store.identity, inBatches(rows.slice(1), 1));
    expect(await follow()).toEqual(["b", "c"]);
    await archive.append([row(0, "d")]);
    expect(await follow()).toEqual(["d"]);
    await store.load(store.identity, inBatches([], 1));
    await archive.append([row(0, "e")]);
    expect(await follow()).toEqual(["e"]);
  });

  it("reads the rows of concurrent writers once and in one order, in every process", async () => {
    const opened = await openStore(engine);
    const handles = engine.isShared ? [opened, await opened.openBeside()] : [opened];
    const followers = await Promise.all(
      handles.map(({ archive }) => followerOf(archive, { limit: 3 })),
    );
    const write = async (writer: number, at: number) => {
      const { archive, records } = handles[writer % handles.length] ?? opened;
      const rows = [0, 1].map((part) => row(at % 5, `${writer}.${at}.${part}`));
      if (at % 3 !== 0) return archive.append(rows);
      // Every other of these commits is rejected, after it has drawn places.
      const fails = at % 2 === 0 ? [consume(pages, "none")] : [];
      return records.commit([...rows.map(appendToArchive), ...fails]);
    };
    const seen = followers.map((): string[] => []);
    let isWriting = true;
    const following = followers.map(async (follow, index) => {
      while (isWriting) {
        seen[index]?.push(...(await follow()));
        await setImmediate();
      }
      seen[index]?.push(...(await follow()));
    });
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let at = 0; at < 24; at += 1) await write(writer, at);
    });
    await Promise.all(writers);
    isWriting = false;
    await Promise.all(following);
    const inOrder = (await dumpStore(opened.store)).flatMap((one) => ("id" in one ? one.id : []));
    expect(inOrder).toHaveLength(6 * 20 * 2);
    expect(seen).toEqual(handles.map(() => inOrder));
  });
});
