import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { digestDump } from "../../../../src/store/digest.ts";
import { consume, put, remove, removeGroup } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../../../src/store/port/store.ts";
import { migrateToPostgres } from "../../../../src/store/postgres/move-to-postgres.ts";
import { openPostgres } from "../../../../src/store/postgres/open.ts";
import { type EmbeddedStore, openEmbedded } from "../../../../src/store/sqlite/open.ts";
import { describePostgres, open } from "./server.ts";

const pages = collection<unknown>("pages");
const notes = collection<unknown>("__proto__");

const NOW = Date.UTC(2026, 10, 21);
const DAY_MS = 86_400_000;

interface Source {
  readonly store: EmbeddedStore;
  readonly folder: string;
}

/** An embedded store with about 2,000 records and 1,500 archive rows. */
async function filled(): Promise<Source> {
  const folder = await mkdtemp(join(tmpdir(), "migration-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const store = await openEmbedded({ folder, mode: "sandbox", now: () => NOW });
  onTestFinished(() => store.close());
  const numbers = Array.from({ length: 1_000 }, (_, at) => at);
  await store.records.commit(
    numbers.flatMap((at) => [
      put(pages, { key: `${at}`, value: { at, text: "ü😀\u0000" }, groups: [`g${at % 7}`] }),
      put(notes, { key: `${at}`, value: at / 3, ttlMs: at, dueInMs: at % 50 }),
    ]),
  );
  await store.records.commit([consume(pages, "10"), removeGroup("g6"), remove(notes, "5")]);
  await store.archive.append(
    Array.from({ length: 1_500 }, (_, at) => ({
      ...{ kind: at % 3 === 0 ? "audit" : "delivery", at: NOW - (at % 100) * DAY_MS, id: `${at}` },
      ...(at % 2 === 0 && { subject: "AAPL" }),
      body: { at },
    })),
  );
  return { store, folder };
}

async function rowsOf(store: Store): Promise<readonly DumpRow[]> {
  const rows: DumpRow[] = [];
  for await (const batch of store.dump()) rows.push(...batch);
  return rows;
}

/** The store with a simulated power failure just before it would be retired. */
function cutBeforeTheEnd(store: EmbeddedStore): EmbeddedStore {
  const markMoved = () => Promise.reject(new Error("no power"));
  return { ...store, identity: store.identity, markMoved };
}

const ignore = () => undefined;

/** Returns a progress callback that fails once this share of the rows has been copied. */
function stopAt(share: number) {
  return (done: number, total: number) => {
    if (done >= share * total) throw new Error("stopped");
  };
}

describePostgres("the move of an embedded store to PostgreSQL", (server) => {
  it("copies all rows unchanged and retires the embedded store", async () => {
    const { store, folder } = await filled();
    const url = await server().createDatabase();
    const rows = await rowsOf(store);
    const progress: (readonly [number, number])[] = [];
    const report = await migrateToPostgres({
      source: store,
      url,
      onProgress: (done, total) => progress.push([done, total]),
    });
    expect(report).toMatchObject(await store.counts());
    expect(progress.at(-1)).toEqual([rows.length, rows.length]);
    const moved = await openPostgres({ url });
    onTestFinished(() => moved.close());
    expect(moved.identity).toEqual(store.identity);
    expect(await rowsOf(moved)).toEqual(rows);
    expect(new Map(Object.entries(report.digests))).toEqual(await digestDump(store.dump()));
    await moved.records.commit([put(pages, { key: "new", value: 1 })]);
    const newest = Math.max(...rows.map((row) => (row.table === "record" ? row.revision : 0)));
    expect((await moved.records.get(pages, "new"))?.revision).toBeGreaterThan(newest);
    const late = store.records.commit([put(pages, { key: "late", value: 1 })]);
    await expect(late).rejects.toMatchObject({ code: "store_unavailable" });
    await store.close();
    const again = openEmbedded({ folder, mode: "sandbox", now: () => NOW });
    await expect(again).rejects.toThrow(/moved to PostgreSQL/);
  });

  it.each([0.1, 0.5, 0.9, 1])(
    "resumes if it was interrupted when a fraction of %d of the rows had been copied",
    async (share) => {
      const { store } = await filled();
      const url = await server().createDatabase();
      const first = migrateToPostgres({ source: store, url, onProgress: stopAt(share) });
      await expect(first).rejects.toThrow("stopped");
      await expect(openPostgres({ url, mode: "sandbox" })).rejects.toThrow(/migrate --to/);
      const rows = await rowsOf(store);
      await migrateToPostgres({ source: store, url, onProgress: ignore });
      expect(await rowsOf(await open({ url }))).toEqual(rows);
    },
  );

  it.each([0.2, 0.7, 1])(
    "copies later changes if it was interrupted when a fraction of %d of the rows had been copied",
    async (share) => {
      const { store } = await filled();
      const url = await server().createDatabase();
      const first = migrateToPostgres({ source: store, url, onProgress: stopAt(share) });
      await expect(first).rejects.toThrow("stopped");
      const changed = await store.records.commit([
        ...[removeGroup("g1"), remove(notes, "999"), remove(pages, "0")],
        ...[put(pages, { key: "2", value: "changed" }), consume(notes, "40")],
        ...[put(pages, { key: "new", value: 1 })],
      ]);
      expect(changed).toBe(true);
      await store.archive.prune("audit", NOW - 20 * DAY_MS);
      await store.archive.append([{ kind: "audit", at: NOW, id: "new", body: null }]);
      const rows = await rowsOf(store);
      await migrateToPostgres({ source: store, url, onProgress: ignore });
      expect(await rowsOf(await open({ url }))).toEqual(rows);
    },
  );

  it("needs only to retire the source if every other step was done before an interruption", async () => {
    const { store, folder } = await filled();
    const url = await server().createDatabase();
    const interrupted = cutBeforeTheEnd(store);
    await expect(
      migrateToPostgres({ source: interrupted, url, onProgress: ignore }),
    ).rejects.toThrow("no power");
    const copied: number[] = [];
    await migrateToPostgres({ source: store, url, onProgress: (done) => copied.push(done) });
    expect(copied).toEqual([]);
    await store.close();
    await expect(openEmbedded({ folder, now: () => NOW })).rejects.toThrow(/moved/);
  });

  it("rejects a copy that has been used in the meantime, and keeps the source in use", async () => {
    const { store } = await filled();
    const url = await server().createDatabase();
    const interrupted = cutBeforeTheEnd(store);
    await expect(
      migrateToPostgres({ source: interrupted, url, onProgress: ignore }),
    ).rejects.toThrow("no power");
    const copy = await open({ url });
    await copy.records.commit([put(pages, { key: "used", value: 1 })]);
    await expect(migrateToPostgres({ source: store, url, onProgress: ignore })).rejects.toThrow(
      /record\/pages.+empty database/,
    );
    expect(await store.records.commit([put(pages, { key: "on", value: 1 })])).toBe(true);
  });

  it("rejects a database with another store, and keeps the source in use", async () => {
    const { store } = await filled();
    const url = await server().createDatabase();
    const other = await open({ url });
    await expect(migrateToPostgres({ source: store, url, onProgress: ignore })).rejects.toThrow(
      /holds another store/,
    );
    expect(await other.counts()).toEqual({ records: 0, archive: 0 });
    expect(await store.records.commit([put(pages, { key: "on", value: 1 })])).toBe(true);
  });

  it("is rejected while another move to the same database is running", async () => {
    const url = await server().createDatabase();
    const [one, two] = [await filled(), await filled()];
    let second: Promise<unknown> | undefined;
    await migrateToPostgres({
      source: one.store,
      url,
      onProgress() {
        second ??= migrateToPostgres({ source: two.store, url, onProgress: ignore }).catch(String);
      },
    });
    expect(await second).toMatch(/just being moved|holds another store/);
  });

  it("continues with revisions that the source has never issued", async () => {
    const { store } = await filled();
    const highest = (await rowsOf(store)).length * 2;
    const url = await server().createDatabase();
    await migrateToPostgres({ source: store, url, onProgress: ignore });
    const { records } = await open({ url });
    await records.commit([put(pages, { key: "new", value: 1 })]);
    const revision = (await records.get(pages, "new"))?.revision;
    expect(revision).toBeGreaterThan(1_000_000);
    expect(revision).toBeLessThan(1_000_001 + highest);
  });

  it("freezes the source only after the database has been opened", async () => {
    const { store } = await filled();
    const frozen: string[] = [];
    const source = {
      ...store,
      identity: store.identity,
      freeze(reason: string) {
        frozen.push(reason);
        return store.freeze(reason);
      },
    };
    const url = (await server().createDatabase()).replace(/test_\d+/, "nowhere");
    await expect(migrateToPostgres({ source, url, onProgress: ignore })).rejects.toThrow(
      /does not exist/,
    );
    expect(frozen).toEqual([]);
  });

  it("reports which database cannot be opened", async () => {
    const { store } = await filled();
    const url = (await server().createDatabase()).replace(/test_\d+/, "nowhere");
    await expect(migrateToPostgres({ source: store, url, onProgress: ignore })).rejects.toThrow(
      /"nowhere".+does not exist.+DATABASE_URL/,
    );
    expect(await store.records.commit([put(pages, { key: "on", value: 1 })])).toBe(true);
  });
});
