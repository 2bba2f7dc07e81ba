import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { restoreCommand } from "../../../../src/cli/commands/backup-restore.ts";
import { LogStore } from "../../../../src/log/log-store.ts";
import { writeBackup } from "../../../../src/maintenance/backup/backup.ts";
import { lastBackupAt, recordBackup } from "../../../../src/maintenance/backup/last-backup.ts";
import {
  put,
  remove,
  removeUnchanged,
  replace,
  requireUnchanged,
} from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../../../src/store/port/store.ts";
import { transact } from "../../../../src/store/transact.ts";
import { dataFolder, Sessions, signalLog } from "../../../support/signal-log.ts";
import { model, openStore } from "../../../support/stores.ts";
import { describePostgres, open } from "./server.ts";
import { sql } from "./sql.ts";

const pages = collection<number>("pages");

async function copyOf(store: Store): Promise<readonly (readonly DumpRow[])[]> {
  const batches: (readonly DumpRow[])[] = [];
  for await (const batch of store.dump()) batches.push(batch);
  return batches;
}

async function* each<T>(batches: readonly T[]) {
  yield* batches;
}

/** Waits until this many sessions of the database wait for a lock. */
async function untilWaiting(url: string, count: number): Promise<void> {
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  while ((await sql(url, waiting)).length < count);
}

const REPLACED = {
  code: "store_unavailable",
  message: expect.stringMatching(/replaced by a copy/),
};

describePostgres("a store that another process replaces with a copy", (server) => {
  it("rejects queued operations, and continues with the copy", async () => {
    const url = await server().createDatabase();
    const [store, other] = await Promise.all([open({ url, budgetMs: 20_000 }), open({ url })]);
    const { records, archive } = store;
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const copy = await copyOf(other);
    let outcomes: Promise<readonly PromiseSettledResult<unknown>[]> | undefined;
    await other.load(other.identity, whileLoading());
    async function* whileLoading() {
      yield* copy;
      outcomes = Promise.allSettled([
        records.commit([put(pages, { key: "b", value: 1 })]),
        archive.append([{ kind: "k", at: 0, id: "a", body: 1 }]),
      ]);
      await untilWaiting(url, 2);
    }
    for (const outcome of (await outcomes) ?? [])
      expect(outcome).toMatchObject({ reason: REPLACED });
    expect(await store.counts()).toEqual({ records: 1, archive: 0 });
    expect(await records.commit([put(pages, { key: "c", value: 1 })])).toBe(true);
    expect(await archive.append([{ kind: "k", at: 0, id: "b", body: 1 }])).toBe(1);
    expect(await other.records.commit([put(pages, { key: "d", value: 1 })])).toBe(true);
  });
});

describePostgres("a store that was replaced while a process was idle", (server) => {
  it("rejects the next commit of that process, because it is meant for the previous store", async () => {
    const url = await server().createDatabase();
    const [store, other] = await Promise.all([open({ url }), open({ url })]);
    await other.load(other.identity, each(await copyOf(other)));
    const commit = () => store.records.commit([put(pages, { key: "a", value: 1 })]);
    await expect(commit()).rejects.toMatchObject(REPLACED);
    expect(await commit()).toBe(true);
  });
});

describePostgres("a restore that is killed once the rows are loaded", (server) => {
  it("has marked the log of signals as restored, and knows of the backup", async () => {
    const { store: source, clock } = await openStore(model);
    const sessions = new Sessions();
    sessions.close(0, "stock", ["A"]);
    await signalLog(source, sessions).settle();
    await transact(source.records, (tx) => recordBackup(tx, 1));
    const file = join(dataFolder(), "backup.gz");
    await writeBackup({ store: source, file, now: () => clock.now }, () => {});

    const url = await server().createDatabase();
    const store = await open({ url });
    const load: Store["load"] = async (...dump) => {
      await store.load(...dump);
      await store.close();
    };
    const context = { store: { ...store, load }, now: () => clock.now, holder: "command" };
    const restore = restoreCommand.run({ file, yes: true }, context as never, () => {});
    await expect(restore).rejects.toThrow("closed");
    const restored = await open({ url });
    expect((await new LogStore(restored).state())?.value).toMatchObject({ isRestored: true });
    expect(await lastBackupAt(restored.records)).toBe(clock.now);
    expect(await restored.counts()).toMatchObject({
      records: (await source.counts()).records + 1,
    });
  });
});

describePostgres("the restore of an export of version 1.0.0", (server) => {
  it("marks the log of signals as restored, and says that it is not signed", async () => {
    const { store: source } = await openStore(model);
    const sessions = new Sessions();
    sessions.close(0, "stock", ["A"]);
    await signalLog(source, sessions).settle();
    const value = (await new LogStore(source).state())?.value;
    const file = join(dataFolder(), "export.json");
    const head = { format: "market-signal-export", version: 1, storeId: "a", mode: "sandbox" };
    const collections = { log: { log: { value } } };
    writeFileSync(
      file,
      JSON.stringify({ ...head, exportedAt: "2026-11-21T12:00:00Z", collections }),
    );

    const store = await open({ url: await server().createDatabase() });
    const context = { store, folder: dataFolder(), now: () => 0, holder: "command" };
    const { notes } = await restoreCommand.run({ file, yes: true }, context as never, () => {});
    expect((await new LogStore(store).state())?.value).toEqual({ ...value, isRestored: true });
    expect(notes[0]).toMatch(/^The log of signals will not be signed: the store was restored/);
  });
});

describePostgres("record revisions in PostgreSQL", (server) => {
  it("are not reused after a copy, even if they belonged to removed records", async () => {
    const source = await open({ url: await server().createDatabase() });
    await source.records.commit([put(pages, { key: "a", value: 1 })]);
    for (let at = 0; at < 20; at++) {
      await source.records.commit([put(pages, { key: "b", value: at })]);
    }
    const before = await source.records.get(pages, "b");
    await source.records.commit([remove(pages, "b")]);
    const target = await open({ url: await server().createDatabase() });
    await target.load(source.identity, each(await copyOf(source)));
    await target.records.commit([put(pages, { key: "b", value: 0 })]);
    const after = await target.records.get(pages, "b");
    expect(after?.revision).toBeGreaterThan(1_000_000);
    expect(after?.revision).toBeGreaterThan(before?.revision ?? Infinity);
  });

  it.each([Number.NaN, Infinity, 1.5])("are rejected when invalid: %d", async (revision) => {
    const { records } = await open({ url: await server().createDatabase() });
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const at = { key: "a", revision };
    const steps = [
      removeUnchanged(pages, at),
      replace(pages, at, { value: 2 }),
      requireUnchanged(pages, at),
    ];
    for (const step of steps) {
      await expect(records.commit([step])).rejects.toThrow(RangeError);
    }
    expect((await records.get(pages, "a"))?.value).toBe(1);
  });
});
