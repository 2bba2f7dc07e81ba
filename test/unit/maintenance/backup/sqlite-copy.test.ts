import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { checkBackup, openBackup, writeBackup } from "../../../../src/maintenance/backup/backup.ts";
import { consume, put, remove } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../../../src/store/port/store.ts";
import type { EmbeddedStore } from "../../../../src/store/sqlite/open.ts";
import { dumpStore, model, openStore } from "../../../support/stores.ts";
import { newFolder, openIn } from "../../store/sqlite/folders.ts";

const pages = collection<unknown>("pages");
const notes = collection<unknown>("__proto__");

const quiet = () => {};
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

async function opened(folder = newFolder()): Promise<EmbeddedStore> {
  const store = await openIn(folder);
  onTestFinished(() => store.close());
  return store;
}

/** A store with records and archive rows that use every column. */
async function filled(folder?: string): Promise<EmbeddedStore> {
  const store = await opened(folder);
  await store.records.commit([
    ...numbers(300).map((at) => put(pages, { key: `${at}`, value: { at, text: "ü😀\u0000" } })),
    put(notes, { key: "__proto__", value: [], groups: ["g"], ttlMs: 60_000, dueInMs: 5 }),
    consume(pages, "7"),
    remove(pages, "8"),
  ]);
  const rows = numbers(500).map((at) => ({ kind: "price", at, id: `${at}`, body: { at } }));
  await store.archive.append([...rows, { kind: "a", at: 1, id: "x", subject: "s", body: null }]);
  return store;
}

async function copied(store: Store): Promise<string> {
  const file = join(newFolder(), "copy.sqlite");
  await writeBackup({ store, file, now: () => 0 }, quiet);
  return file;
}

async function rowsIn(file: string): Promise<readonly DumpRow[]> {
  const rows: DumpRow[] = [];
  for await (const batch of (await openBackup(file)).batches) rows.push(...batch);
  return rows;
}

describe("a backup whose name ends in .sqlite", () => {
  it("holds every row of the store, in one file for its owner only", async () => {
    const store = await filled();
    const file = join(newFolder(), "copy.sqlite");
    const facts = await writeBackup({ store, file, now: () => 0 }, quiet);
    expect(await rowsIn(file)).toEqual(await dumpStore(store));
    expect(facts).toEqual(await checkBackup(file, quiet));
    expect(facts).toMatchObject({
      ...{ identity: store.identity, createdAt: "1970-01-01T00:00:00.000Z" },
      ...{ rows: { record: 300, archive: 501 }, bytes: statSync(file).size },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(file))).toEqual([basename(file)]);
  });

  it("is one moment of the store while commits go on", { tags: ["full"] }, async () => {
    const store = await filled();
    let writing = true;
    const written = (async () => {
      for (let n = 1; writing; n++) {
        await store.records.commit([
          put(pages, { key: "one", value: n }),
          put(notes, { key: "two", value: n }),
        ]);
        await store.archive.append([{ kind: "n", at: n, id: "x", body: n }]);
      }
    })();
    for (const _ of numbers(5)) {
      const rows = await rowsIn(await copied(store));
      const values = rows.flatMap((row) =>
        row.table === "record" && ["one", "two"].includes(row.key) ? [Number(row.text)] : [],
      );
      const [n = 0] = values;
      expect(values).toEqual(n === 0 ? [] : [n, n]);
      const archived = rows.filter((row) => row.table === "archive" && row.kind === "n").length;
      expect([n, n - 1]).toContain(archived);
    }
    writing = false;
    await written;
  });

  it("holds nothing that was removed before", async () => {
    const store = await filled();
    const secret = "forgotten-9f2c71d05be84a36";
    await store.records.commit(
      numbers(50).map((at) => put(pages, { key: `s${at}`, value: secret })),
    );
    await store.records.commit(numbers(50).map((at) => remove(pages, `s${at}`)));
    expect(readFileSync(await copied(store), "latin1")).not.toContain(secret);
  });

  it("is loaded into another store, which then has the same content and identity", async () => {
    const store = await filled();
    const { identity, batches } = await openBackup(await copied(store));
    const other = await opened();
    await other.load(identity, batches);
    expect(await dumpStore(other)).toEqual(await dumpStore(store));
    expect(other.identity).toEqual(store.identity);
  });

  it("is not written when the operator stops it, and never replaces a file", async () => {
    const store = await filled();
    const file = join(newFolder(), "copy.sqlite");
    const stop = () => {
      throw new Error("stopped");
    };
    await expect(writeBackup({ store, file, now: () => 0 }, stop)).rejects.toThrow("stopped");
    expect(readdirSync(dirname(file))).toEqual([]);
    writeFileSync(file, "mine");
    await expect(writeBackup({ store, file, now: () => 0 }, quiet)).rejects.toThrow(
      "already exists",
    );
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  it("is written although its size cannot be read meanwhile", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const store = await filled();
    const copyTo = store.copyTo as NonNullable<Store["copyTo"]>;
    const copyLater: typeof copyTo = async (path, createdAt, signal) => {
      renameSync(path, `${path}.away`);
      vi.advanceTimersByTime(1_000);
      await expect(stat(path)).rejects.toThrow("ENOENT");
      renameSync(`${path}.away`, path);
      return copyTo(path, createdAt, signal);
    };
    expect(await rowsIn(await copied(Object.assign(store, { copyTo: copyLater })))).toEqual(
      await dumpStore(store),
    );
  });

  it("is not written when the store closes meanwhile", async () => {
    const store = await filled();
    const file = join(newFolder(), "copy.sqlite");
    const { signal } = new AbortController();
    const refused = expect(store.copyTo?.(file, "", signal)).rejects.toMatchObject({
      ...{ code: "store_unavailable", detail: "The store is closed." },
    });
    await store.close();
    await refused;
    await expect(writeBackup({ store, file, now: () => 0 }, quiet)).rejects.toMatchObject({
      code: "store_unavailable",
    });
    expect(existsSync(file)).toBe(false);
  });

  it("is refused for a store that has no file, with what to do", async () => {
    const { store } = await openStore(model);
    const file = join(newFolder(), "copy.sqlite");
    await expect(writeBackup({ store, file, now: () => 0 }, quiet)).rejects.toThrow(
      /The store is in PostgreSQL.+Name it otherwise, such as store\.backup\.gz\.$/,
    );
  });
});

describe("a damaged backup whose name ends in .sqlite", () => {
  /** Checks a changed copy. @returns The message of the refusal; `undefined` if it was taken. */
  async function refusalOf(bytes: Buffer): Promise<string | undefined> {
    const file = join(newFolder(), "bad.sqlite");
    writeFileSync(file, bytes);
    const refused = await checkBackup(file, quiet).catch((error: Error) => error.message);
    return typeof refused === "string" ? refused : undefined;
  }

  it("is refused wherever it is truncated", async () => {
    const whole = readFileSync(await copied(await filled()));
    for (let length = 0; length < whole.length; length += 4_093) {
      expect(await refusalOf(whole.subarray(0, length)), `cut at ${length}`).toMatch(
        /bad\.sqlite(:|, )/,
      );
    }
  });

  it("is refused, or has every row as it was, wherever a bit is flipped", {
    tags: ["full"],
  }, async () => {
    const file = await copied(await filled());
    const whole = readFileSync(file);
    const rows = await rowsIn(file);
    let refused = 0;
    for (let at = 16; at < whole.length; at += 509) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(file, bytes);
      const read = await rowsIn(file).catch((error: Error) => error);
      if (read instanceof Error) refused += 1;
      else expect(read, `flipped at ${at}`).toEqual(rows);
    }
    expect(refused).toBeGreaterThan(50);
  });

  it.each([
    [
      "a removed record",
      "DELETE FROM record WHERE id = 3",
      "it counts 300 records and 501 archive",
    ],
    ["a removed archive row", "DELETE FROM archive WHERE at = 3", "there are 300 and 500"],
    ["a changed value", "UPDATE record SET text = '{}' WHERE id = 3", "a row is not as it was"],
    ["another column", "ALTER TABLE record ADD COLUMN more", "its tables are not the ones"],
    ["a removed fact", "DELETE FROM meta WHERE name = 'copy'", "it is the file of a store and no"],
  ])("is refused with %s, and nothing is changed", async (_, sql, said) => {
    const store = await filled();
    const before = await dumpStore(store);
    const file = await copied(store);
    const database = new DatabaseSync(file);
    database.exec(sql);
    database.close();
    const load = async () => {
      const { identity, batches } = await openBackup(file);
      await store.load(identity, batches);
    };
    await expect(checkBackup(file, quiet)).rejects.toThrow(/Nothing was changed; use another/);
    await expect(load()).rejects.toThrow(said);
    expect(await dumpStore(store)).toEqual(before);
  });

  it("is refused when it is the file of a store itself, which no backup wrote", async () => {
    const folder = newFolder();
    const store = await filled(folder);
    await store.close();
    const file = join(newFolder(), "store.sqlite");
    copyFileSync(join(folder, "store.sqlite"), file);
    await expect(checkBackup(file, quiet)).rejects.toThrow(`${file}: it is the file of a store`);
  });
});
