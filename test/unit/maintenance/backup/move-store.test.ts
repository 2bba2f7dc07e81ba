import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { digestDump } from "../../../../src/maintenance/backup/digest.ts";
import { moveToPostgres } from "../../../../src/maintenance/backup/move-store.ts";
import type { CommandProgress } from "../../../../src/maintenance/backup/progress.ts";
import { consume, put, remove, removeGroup } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import { NoStoreError } from "../../../../src/store/port/store.ts";
import { openPostgres } from "../../../../src/store/postgres/open.ts";
import { type EmbeddedStore, openEmbedded } from "../../../../src/store/sqlite/open.ts";
import { dumpStore } from "../../../support/stores.ts";
import { describePostgres, open } from "../../store/postgres/server.ts";

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

const ignore = () => undefined;

/** Returns a progress callback that fails once this share of the rows is copied or compared. */
function stopAt(step: string, share: number) {
  return ({ doing, fraction }: CommandProgress) => {
    if (doing === step && fraction >= share) throw new Error("stopped");
  };
}

describePostgres("the move of an embedded store to PostgreSQL", (server) => {
  it("copies all rows unchanged and retires the embedded store", async () => {
    const { store, folder } = await filled();
    const url = await server().createDatabase();
    const rows = await dumpStore(store);
    const told: CommandProgress[] = [];
    const report = await moveToPostgres({ source: store, url }, (step) => told.push(step));
    expect(report).toMatchObject(await store.counts());
    expect(told.filter(({ rows: done }) => done === rows.length)).toEqual(
      ["copying", "comparing", "comparing"].map((doing) => ({
        ...{ doing, rows: rows.length, fraction: 1 },
      })),
    );
    const moved = await open({ url });
    expect(moved.identity).toEqual(store.identity);
    expect(await dumpStore(moved)).toEqual(rows);
    expect(new Map(Object.entries(report.digests))).toEqual(await digestDump(store.dump()));
    const late = store.records.commit([put(pages, { key: "late", value: 1 })]);
    await expect(late).rejects.toMatchObject({ code: "store_unavailable" });
    await store.close();
    const again = openEmbedded({ folder, mode: "sandbox", now: () => NOW });
    await expect(again).rejects.toThrow(/moved to PostgreSQL/);
  });

  it.each([0.1, 0.9, 1])(
    "leaves the database empty and the source in use when it is stopped at %d of the rows",
    async (share) => {
      const { store } = await filled();
      const url = await server().createDatabase();
      const first = moveToPostgres({ source: store, url }, stopAt("copying", share));
      await expect(first).rejects.toThrow("stopped");
      await expect(openPostgres({ url })).rejects.toThrow(NoStoreError);
      expect(await store.records.commit([put(pages, { key: "new", value: 1 })])).toBe(true);
      await moveToPostgres({ source: store, url }, ignore);
      expect(await dumpStore(await open({ url }))).toEqual(await dumpStore(store));
    },
  );

  it("needs only to retire the source when it was stopped after all was copied", async () => {
    const { store, folder } = await filled();
    const url = await server().createDatabase();
    const first = moveToPostgres({ source: store, url }, stopAt("comparing", 1));
    await expect(first).rejects.toThrow("stopped");
    const steps = new Set<string>();
    await moveToPostgres({ source: store, url }, ({ doing }) => steps.add(doing));
    expect([...steps]).toEqual(["comparing"]);
    await store.close();
    await expect(openEmbedded({ folder, now: () => NOW })).rejects.toThrow(/moved/);
  });

  it("rejects a copy that has been used in the meantime, and keeps the source in use", async () => {
    const { store } = await filled();
    const url = await server().createDatabase();
    const markMoved = () => Promise.reject(new Error("no power"));
    const interrupted = { ...store, identity: store.identity, markMoved };
    await expect(moveToPostgres({ source: interrupted, url }, ignore)).rejects.toThrow("no power");
    const copy = await openPostgres({ url });
    await copy.records.commit([put(pages, { key: "used", value: 1 })]);
    await copy.close();
    await expect(moveToPostgres({ source: store, url }, ignore)).rejects.toThrow(
      /record\/pages.+empty database/,
    );
    expect(await store.records.commit([put(pages, { key: "on", value: 1 })])).toBe(true);
  });

  it("rejects a database with another store, and keeps the source in use", async () => {
    const { store } = await filled();
    const url = await server().createDatabase();
    const other = await open({ url });
    await expect(moveToPostgres({ source: store, url }, ignore)).rejects.toThrow(
      /holds another store/,
    );
    expect(await other.counts()).toEqual({ records: 0, archive: 0 });
    expect(await store.records.commit([put(pages, { key: "on", value: 1 })])).toBe(true);
  });

  it("is rejected while another move to the same database is running", async () => {
    const url = await server().createDatabase();
    const [one, two] = [await filled(), await filled()];
    let second: Promise<unknown> | undefined;
    await moveToPostgres({ source: one.store, url }, () => {
      second ??= moveToPostgres({ source: two.store, url }, ignore).catch(String);
    });
    expect(await second).toMatch(/is in use \(process .+stop that|holds another store/);
    expect(await dumpStore(await open({ url }))).toEqual(await dumpStore(one.store));
  });

  it("reports which database cannot be opened, without freezing the source", async () => {
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
    await expect(moveToPostgres({ source, url }, ignore)).rejects.toThrow(
      /"nowhere".+does not exist.+DATABASE_URL/,
    );
    expect(frozen).toEqual([]);
  });
});
