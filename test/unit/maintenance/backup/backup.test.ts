import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { checkBackup, openBackup, writeBackup } from "../../../../src/maintenance/backup/backup.ts";
import { insert, put } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../../../src/store/port/store.ts";
import { dumpStore, inBatches, model, openStore } from "../../../support/stores.ts";

const folder = mkdtempSync(join(tmpdir(), "backup-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function newFile(): string {
  files += 1;
  return join(folder, `${files}.gz`);
}

const notes = collection<{ text: string }>("notes");
const quiet = () => {};

/** A store with records and archive rows that use every column. */
async function filledStore() {
  const opened = await openStore(model);
  const { records, archive, clock } = opened;
  await records.commit([
    put(notes, { key: "plain", value: { text: "line\nbreak \u2028 ünïcode \ud83d\ude00" } }),
    put(notes, {
      key: "timed",
      value: { text: "" },
      ttlMs: 60_000,
      dueInMs: 5,
      groups: ["g", "h"],
    }),
    insert(collection<unknown>("__proto__"), { key: "__proto__", value: { constructor: null } }),
    { kind: "consume", collection: "notes", key: "timed" },
  ]);
  await archive.append(
    Array.from({ length: 1_200 }, (_, at) => ({
      ...{ kind: "price", at, id: `row ${at}`, body: { at } },
      ...(at % 2 === 0 && { subject: "X.SIM" }),
    })),
  );
  return { ...opened, now: () => clock.now };
}

async function readAll(file: string): Promise<readonly DumpRow[]> {
  const rows: DumpRow[] = [];
  for await (const batch of (await openBackup(file)).batches) rows.push(...batch);
  return rows;
}

async function backedUp() {
  const { store, now } = await filledStore();
  const file = newFile();
  const facts = await writeBackup({ store, file, now }, quiet);
  return { store, now, file, facts };
}

/** Writes a copy of a backup with changed text. */
function changed(file: string, change: (text: string) => string): string {
  const copy = newFile();
  writeFileSync(copy, gzipSync(change(gunzipSync(readFileSync(file)).toString())));
  return copy;
}

async function loadRefused(store: Store, file: string): Promise<Error> {
  try {
    const { identity, batches } = await openBackup(file);
    await store.load(identity, batches);
  } catch (error) {
    return error as Error;
  }
  throw new Error("the damaged backup was taken");
}

describe("the backup of a store", () => {
  it("contains every row of the store unchanged", async () => {
    const { store, file, facts } = await backedUp();
    expect(await readAll(file)).toEqual(await dumpStore(store));
    expect(facts.rows).toEqual({ record: 3, archive: 1_200 });
    expect((await openBackup(file)).identity).toEqual(store.identity);
  });

  it("can be loaded into another store, which then has the same content and identity", async () => {
    const { store, file } = await backedUp();
    const { store: other } = await openStore(model);
    const { identity, batches } = await openBackup(file);
    await other.load(identity, batches);
    expect(await dumpStore(other)).toEqual(await dumpStore(store));
    expect(other.identity).toEqual(store.identity);
  });

  it("is read in batches of a few megabytes, however long its rows are", async () => {
    const { store, clock } = await openStore(model);
    const body = "x".repeat(1024 * 1024);
    const rows = Array.from({ length: 12 }, (_, at) => ({ kind: "text", at, id: "a", body }));
    await store.archive.append(rows);
    const file = newFile();
    await writeBackup({ store, file, now: () => clock.now }, quiet);
    const lengths: number[] = [];
    for await (const batch of (await openBackup(file)).batches) lengths.push(batch.length);
    expect(lengths).toEqual([4, 4, 4]);
  });

  it("is readable only by its owner, and leaves no other files behind", async () => {
    const { file } = await backedUp();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  it("never overwrites a file that appears while the backup is written", async () => {
    const { store, now } = await filledStore();
    const file = newFile();
    const onProgress = () => writeFileSync(file, "mine");
    await expect(writeBackup({ store, file, now }, onProgress)).rejects.toThrow("already exists");
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  it("never overwrites a dangling symbolic link", async () => {
    const { store, now } = await filledStore();
    const file = newFile();
    symlinkSync(join(folder, "nowhere"), file);
    await expect(writeBackup({ store, file, now }, quiet)).rejects.toThrow("already exists");
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
  });

  it("is not written when a row would be too long to be read back", async () => {
    const { store } = await openStore(model);
    const text = JSON.stringify("x".repeat(64 * 1024 * 1024));
    const row: DumpRow = { table: "archive", kind: "k", at: 1, id: "long", subject: null, text };
    const dump = () => inBatches([row], 1);
    const file = newFile();
    const writing = writeBackup(
      { store: { ...store, identity: store.identity, dump }, file, now: () => 0 },
      quiet,
    );
    await expect(writing).rejects.toThrow("The row k/long is longer than 64 MiB");
    expect(existsSync(file)).toBe(false);
  });

  it("never overwrites an existing file", async () => {
    const { store, now, file } = await backedUp();
    const before = readFileSync(file);
    await expect(writeBackup({ store, file, now }, quiet)).rejects.toThrow(
      `${file} already exists`,
    );
    expect(readFileSync(file)).toEqual(before);
  });

  it("fails with an error when the path is not writable", async () => {
    const { store, now } = await filledStore();
    const file = join(folder, "absent", "b.gz");
    await expect(writeBackup({ store, file, now }, quiet)).rejects.toThrow(
      `${file} cannot be written: ENOENT`,
    );
  });

  it("leaves no file behind when the store fails halfway", async () => {
    const { store, now } = await filledStore();
    const file = newFile();
    const failing: Store = {
      ...store,
      identity: store.identity,
      async *dump() {
        for await (const batch of store.dump()) yield batch;
        throw new Error("the disk is gone");
      },
    };
    await expect(writeBackup({ store: failing, file, now }, quiet)).rejects.toThrow("disk is gone");
    expect(readdirSync(folder).filter((name) => file.endsWith(name))).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  it("is also possible for an empty store", async () => {
    const { store, clock } = await openStore(model);
    const file = newFile();
    await writeBackup({ store, file, now: () => clock.now }, quiet);
    expect((await checkBackup(file, quiet)).rows).toEqual({ record: 0, archive: 0 });
    expect(await readAll(file)).toEqual([]);
  });

  it("reports progress up to 100 % while it is written and while it is checked", async () => {
    const { store, now } = await filledStore();
    const file = newFile();
    const told: number[] = [];
    await writeBackup({ store, file, now }, ({ fraction }) => told.push(fraction));
    expect(told.at(-1)).toBe(1);
    told.length = 0;
    await checkBackup(file, ({ fraction }) => told.push(fraction));
    expect(told.at(-1)).toBe(1);
    expect(told).toEqual(told.toSorted((a, b) => a - b));
  });
});

describe("a damaged backup", () => {
  it.each<[string, (text: string) => string, string]>([
    ["no content", () => "", "line 1: the file is empty"],
    [
      "another format",
      (text) => text.replace("signal-backup", "signal-export"),
      "line 1: no backup",
    ],
    ["a later version", (text) => text.replace('"version":3', '"version":4'), "line 1: no backup"],
    [
      "another mode",
      (text) => text.replace('"mode":"sandbox"', '"mode":"toy"'),
      "line 1: no backup",
    ],
    ["a line that is not JSON", (text) => text.replace('{"table"', '{table"'), "line 2"],
    ["a row of an unknown table", (text) => text.replace('"record"', '"rekord"'), "line 2: table"],
    ["a row without a key", (text) => text.replace('"key":"plain",', ""), "line 2: key"],
    ["a value that is not JSON", (text) => text.replace('"text":"{', '"text":"{{'), "line 2: text"],
    ["a missing row", (text) => text.replace(/\n.*row 7".*/, ""), "line 1204: it counts"],
    ["a changed value", (text) => text.replace("row 7", "row 8"), "line 1205: the hash"],
    [
      "a changed header",
      (text) => text.replace(/"storeId":"./, '"storeId":"_'),
      "line 1205: the hash",
    ],
    [
      "a truncation at a line end",
      (text) => `${text.split("\n").slice(0, 9).join("\n")}\n`,
      "line 10: the file ends",
    ],
    ["an additional line", (text) => `${text}{}\n`, "line 1206: a line after the last"],
    ["two backups in one", (text) => text + text, "line 1206: a line after the last"],
  ])(
    "with %s is rejected with its path and the line, and nothing is changed",
    async (_, change, said) => {
      const { file, store } = await backedUp();
      const before = await dumpStore(store);
      const copy = changed(file, change);
      await expect(checkBackup(copy, quiet)).rejects.toThrow(`${copy}, ${said}`);
      expect((await loadRefused(store, copy)).message).toContain(`${copy}, ${said}`);
      expect(await dumpStore(store)).toEqual(before);
    },
  );

  it("is rejected wherever it is truncated", async () => {
    const { file } = await backedUp();
    const whole = readFileSync(file);
    for (let length = 0; length < whole.length; length += 97) {
      const copy = newFile();
      writeFileSync(copy, whole.subarray(0, length));
      await expect(checkBackup(copy, quiet), `cut at ${length}`).rejects.toThrow(copy);
    }
  });

  it("is rejected wherever a bit of the compressed data is flipped", {
    tags: ["full"],
  }, async () => {
    const { file } = await backedUp();
    const whole = readFileSync(file);
    // The first ten bytes (RFC 1952 section 2.3) contain metadata such as a timestamp, which is not
    // read.
    for (let at = 10; at < whole.length; at += 61) {
      const copy = newFile();
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(copy, bytes);
      await expect(checkBackup(copy, quiet), `flipped at ${at}`).rejects.toThrow(copy);
    }
  });

  it("is rejected with its file name when its header is zeroed, like any other invalid file", async () => {
    const { file } = await backedUp();
    const zeroed = newFile();
    writeFileSync(zeroed, readFileSync(file).fill(0, 0, 100));
    await expect(checkBackup(zeroed, quiet)).rejects.toThrow(`${zeroed}, after line 0`);
    const text = newFile();
    writeFileSync(text, "not a backup");
    await expect(checkBackup(text, quiet)).rejects.toThrow(`${text}, after line 0`);
    await expect(checkBackup(join(folder, "absent.gz"), quiet)).rejects.toThrow(
      "absent.gz cannot be read",
    );
  });
});
