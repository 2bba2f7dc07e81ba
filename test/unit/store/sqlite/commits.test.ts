import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import {
  insert,
  put,
  remove,
  removeUnchanged,
  requireUnchanged,
} from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import { ArchiveTable } from "../../../../src/store/sqlite/archive.ts";
import { StoreGate } from "../../../../src/store/sqlite/gate.ts";
import { GroupCommit } from "../../../../src/store/sqlite/group-commit.ts";
import { RecordTable } from "../../../../src/store/sqlite/record-table.ts";
import { SqliteRecords } from "../../../../src/store/sqlite/records.ts";
import { StoreFile } from "../../../../src/store/sqlite/store-file.ts";
import { truncateWal } from "../../../../src/store/sqlite/write-ahead-log.ts";
import { fill, NOW, newFolder, openIn, pages, rowsOf } from "./folders.ts";

/** Creates a store that rejects a record with this key, as a disk error would. */
async function folderThatRefuses(key: string): Promise<string> {
  const folder = newFolder();
  await (await openIn(folder)).close();
  const database = new DatabaseSync(join(folder, "store.sqlite"));
  database.exec(`CREATE TRIGGER refusal BEFORE INSERT ON record WHEN NEW."key" = '${key}'
    BEGIN SELECT RAISE (ABORT, 'refused'); END`);
  database.close();
  return folder;
}

const noWarning = () => undefined;
const noUndo = () => undefined;

/** Opens the parts of a closed store, so that the test can access them. */
function partsOf(folder: string, onWarning: (message: string) => void) {
  const file = StoreFile.open(join(folder, "store.sqlite"));
  const table = new RecordTable(file);
  const tables = () => ({ records: table, archive: new ArchiveTable(file, table) });
  const gate = new StoreGate(onWarning, () => truncateWal(file));
  const commits = new GroupCommit(table, gate);
  const records = new SqliteRecords({ tables, gate, commits, now: () => NOW, onWarning });
  return { file, gate, records };
}

const keysOf = async (records: Records) =>
  (await records.list(pages, { limit: 10_000 })).map(({ key }) => key);

describe("a commit that cannot be written", () => {
  it("is the only commit rejected in its batch, and leaves no data behind", async () => {
    const folder = await folderThatRefuses("bad");
    const store = await openIn(folder);
    const keys = Array.from({ length: 100 }, (_, at) => (at === 37 ? "bad" : `key ${at}`));
    const outcomes = await Promise.allSettled(
      keys.map((key) =>
        store.records.commit([
          put(pages, { key: `of ${key}`, value: 1 }),
          insert(pages, { key, value: 1 }),
        ]),
      ),
    );
    const refused = outcomes.flatMap((outcome, at) => (outcome.status === "rejected" ? [at] : []));
    expect(refused).toEqual([37]);
    expect(outcomes[37]).toMatchObject({ reason: { code: "store_unavailable", status: 503 } });
    const expected = keys.filter((key) => key !== "bad").flatMap((key) => [`of ${key}`, key]);
    expect(await keysOf(store.records)).toEqual(expected);
    await store.close();
    expect(await keysOf((await openIn(folder)).records)).toEqual(expected);
  });

  it("keeps the cause of its failure for the log, and does not disclose it to the caller", async () => {
    const { records } = await openIn(await folderThatRefuses("bad"));
    const error: unknown = await records
      .commit([put(pages, { key: "bad", value: 1 })])
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ cause: { message: "refused" } });
    expect(JSON.stringify(error)).not.toContain("refused");
  });
});

describe("a store on a full disk", () => {
  it("rejects commits that do not fit, leaves no part of them behind, and works again when there is space", async () => {
    const folder = newFolder();
    await (await openIn(folder)).close();
    const { file, records } = partsOf(folder, noWarning);
    const write = (key: string) => records.commit([put(pages, { key, value: "x".repeat(9_000) })]);

    const { database } = file;
    const pagesInUse = Number(database.prepare("PRAGMA page_count").get()?.page_count);
    database.exec(`PRAGMA max_page_count = ${pagesInUse + 12}`);
    const outcomes = await Promise.allSettled(["a", "b", "c", "d", "e", "f"].map(write));
    const refusals = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refusals.length).toBeGreaterThan(0);
    for (const { detail } of refusals) expect(detail).toBe("The disk of the store is full.");
    const held = await keysOf(records);
    expect(held).toHaveLength(outcomes.length - refusals.length);
    expect(held.length).toBeGreaterThan(0);

    database.exec("PRAGMA max_page_count = 1000000");
    expect(await write("later")).toBe(true);
    file.close();
    expect(await keysOf((await openIn(folder)).records)).toEqual([...held, "later"]);
  });
});

describe("a store on a failing disk", () => {
  it("keeps what was committed, and discards what was rejected", async () => {
    const folder = newFolder();
    const store = await openIn(folder);
    await fill(store);
    await store.close();
    const warnings: string[] = [];
    const { file, gate, records } = partsOf(folder, (message) => warnings.push(message));
    await records.commit([put(pages, { key: "done", value: 1 })]);
    const log = join(folder, "store.sqlite-wal");
    const done = readFileSync(log);
    appendFileSync(log, done.subarray(32));
    gate.refusal(ioError);
    expect(readFileSync(log).equals(done)).toBe(true);
    expect(warnings).toHaveLength(1);
    file.close();
    expect(await keysOf((await openIn(folder)).records)).toContain("done");
  });

  it("reports when the disk also prevents the rollback", () => {
    const warnings: string[] = [];
    const gate = new StoreGate(
      (message) => warnings.push(message),
      () => {
        throw ioError;
      },
    );
    gate.refusal(ioError);
    expect(warnings.at(-1)).toContain("may be there after the restart");
  });

  const ioError = Object.assign(new Error("disk I/O error"), { errcode: 10 | (4 << 8) });

  it("rejects all writes, and reports the failure to the operator once", () => {
    const warnings: unknown[] = [];
    const gate = new StoreGate((message, cause) => warnings.push({ message, cause }), noUndo);
    for (let times = 0; times < 2; times++) {
      expect(gate.refusal(ioError)).toMatchObject({ code: "store_unavailable", cause: ioError });
    }
    expect(() => gate.checkWritable()).toThrow("it waits for a restart");
    gate.checkReadable();
    expect(warnings).toEqual([
      { message: expect.stringContaining("until the service is restarted"), cause: ioError },
    ]);
  });
});

describe("record revisions in the embedded store", () => {
  it("continue after a restart, even if the newest records have been removed", async () => {
    const folder = newFolder();
    const store = await openIn(folder);
    await store.records.commit(["a", "b", "c"].map((key) => put(pages, { key, value: 1 })));
    await store.records.commit([remove(pages, "b"), remove(pages, "c")]);
    await store.close();
    const { records } = await openIn(folder);
    await records.commit([put(pages, { key: "d", value: 1 })]);
    expect((await records.get(pages, "d"))?.revision).toBe(4);
  });
});

describe("the kind, id and subject of an archive row", () => {
  it.each([
    ["characters", "x".repeat(513)],
    ["bytes", "鍵".repeat(334)],
  ])("are limited to the number of %s that an index accepts", async (_, long) => {
    const { archive } = await openIn(newFolder());
    const row = { kind: "k", at: 1, id: "i", subject: "s", body: 1 };
    await archive.append([row]);
    for (const bad of [{ kind: long }, { id: long }, { subject: long }]) {
      await expect(archive.append([{ ...row, ...bad }])).rejects.toThrow(RangeError);
    }
  });
});

describe("stored record values", () => {
  it("are returned as a separate copy to each reader", async () => {
    const { records } = await openIn(newFolder());
    await records.commit([put(pages, { key: "a", value: { deep: [{ n: 1 }] }, groups: ["g"] })]);
    const [stored] = await records.list(pages, { limit: 1 });
    if (stored === undefined) throw new Error("It was put there.");
    (stored.value as { deep: { n: number }[] }).deep.push({ n: 2 });
    (stored.groups as string[]).push("h");
    expect(await records.get(pages, "a")).toMatchObject({
      ...{ value: { deep: [{ n: 1 }] }, groups: ["g"] },
    });
  });

  it.each([
    ["undefined", undefined],
    ["a function", () => 1],
  ])("must be JSON, so the value %s is rejected", async (_, value) => {
    const { records } = await openIn(newFolder());
    await expect(records.commit([put(pages, { key: "a", value })])).rejects.toThrow(TypeError);
  });

  it.each([
    ["a key with half a surrogate pair", { key: "\ud83d" }],
    ["a group with half a surrogate pair", { key: "a", groups: ["\ude00"] }],
    ["a key of more than 1,000 bytes", { key: "鍵".repeat(334) }],
    ["a group of more than 1,000 bytes", { key: "a", groups: ["鍵".repeat(334)] }],
    ["a lifetime that is not a number", { key: "a", ttlMs: Number.NaN }],
    ["an instant that is not a number", { key: "a", dueInMs: Number.NaN }],
  ])("must be written with options that can be stored, so %s is rejected", async (_, bad) => {
    const { records } = await openIn(newFolder());
    await expect(records.commit([put(pages, { value: 1, ...bad })])).rejects.toThrow(RangeError);
  });

  it.each([Number.NaN, Infinity, 1.5, 2 ** 53])(
    "can be required to be unchanged only since a whole-number revision, so %s is rejected",
    async (revision) => {
      const { records } = await openIn(newFolder());
      await records.commit([put(pages, { key: "a", value: 1 })]);
      const at = { key: "a", revision };
      for (const step of [removeUnchanged(pages, at), requireUnchanged(pages, at)]) {
        await expect(records.commit([step])).rejects.toThrow(RangeError);
      }
      expect(await keysOf(records)).toEqual(["a"]);
    },
  );

  it("may have an extreme lifetime without preventing the store from opening again", async () => {
    const folder = newFolder();
    const store = await openIn(folder);
    const lives = [Infinity, Number.MAX_VALUE, Number.MAX_SAFE_INTEGER, 0.5, 1e-7];
    for (const ttlMs of lives) {
      await store.records.commit([
        put(pages, { key: String(ttlMs), value: 1, ttlMs, dueInMs: -ttlMs }),
      ]);
    }
    const rows = await rowsOf(store);
    await store.close();
    expect(await rowsOf(await openIn(folder))).toEqual(rows);
  });
});

it("consecutive reads give other tasks a turn of the event loop", async () => {
  const store = await openIn(newFolder());
  await fill(store);
  let hasTurned = false;
  setImmediate(() => {
    hasTurned = true;
  });
  while (!hasTurned) await store.records.list(pages, { limit: 1 });
  expect(hasTurned).toBe(true);
});
