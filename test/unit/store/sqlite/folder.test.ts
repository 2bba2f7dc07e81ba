import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { put } from "../../../../src/store/port/operations.ts";
import type { DumpRow, StoreMode } from "../../../../src/store/port/store.ts";
import { lockFolder, replaceFile, storePathsIn } from "../../../../src/store/sqlite/folder.ts";
import { NextStore } from "../../../../src/store/sqlite/next-store.ts";
import { openEmbedded } from "../../../../src/store/sqlite/open.ts";
import { checksumOf } from "../../../../src/store/sqlite/store-file.ts";
import { copyOf, fill, NOW, namesIn, newFolder, openIn, pages, rowsOf } from "./folders.ts";

const OPENER = fileURLToPath(new URL("../../../../src/store/sqlite/open.ts", import.meta.url));

const FILES = ["store.sqlite"];

/** Opens the store of a folder in a separate process. @returns Its output and exit code. */
async function openElsewhere(folder: string) {
  const code = `
    const { openEmbedded } = await import(${JSON.stringify(OPENER)});
    try {
      const store = await openEmbedded({ folder: ${JSON.stringify(folder)}, now: Date.now });
      await store.close();
      process.stdout.write("opened");
    } catch (error) {
      process.stdout.write(error.message);
      process.exitCode = 1;
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code]);
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += chunk;
  });
  const [exitCode] = await once(child, "close");
  return { said, exitCode };
}

describe("a second process that opens the same store", () => {
  it("is rejected while the first process runs, and accepted after the first has closed the store", async () => {
    const folder = newFolder();
    const store = await openIn(folder);
    const refusal = `another process is using ${join(folder, "store.sqlite")}; stop it or set DATA_DIR`;
    expect(await openElsewhere(folder)).toEqual({ said: refusal, exitCode: 1 });
    expect(await store.records.commit([put(pages, { key: "a", value: 1 })])).toBe(true);
    await store.close();
    expect(await openElsewhere(folder)).toEqual({ said: "opened", exitCode: 0 });
  });

  it("is rejected while the first process creates the store", async () => {
    const folder = newFolder();
    const unlock = lockFolder(storePathsIn(folder));
    await expect(openIn(folder)).rejects.toThrow("another process is using");
    expect(namesIn(folder)).toEqual([]);
    unlock();
    await openIn(folder);
  });

  it("is still rejected after the first process has tried to open the store a second time", async () => {
    const folder = newFolder();
    await openIn(folder);
    await expect(openIn(folder)).rejects.toThrow("another process is using");
    expect(await openElsewhere(folder)).toMatchObject({ exitCode: 1 });
  });
});

describe("the files of an embedded store", () => {
  it("are accessible only to the owner, whatever the umask and their previous permissions", async () => {
    const before = process.umask(0);
    try {
      const folder = join(newFolder(), "deep", "store");
      await fill(await openIn(folder));
      const mode = (path: string) => statSync(path).mode & 0o777;
      expect(mode(folder)).toBe(0o700);
      const names = namesIn(folder);
      expect(names).toEqual(expect.arrayContaining([...FILES, "store.sqlite-wal"]));
      for (const name of names) expect([name, mode(join(folder, name))]).toEqual([name, 0o600]);
      const copy = copyOf(folder);
      for (const name of names) chmodSync(join(copy, name), 0o666);
      const store = await openIn(copy);
      for (const name of names) expect([name, mode(join(copy, name))]).toEqual([name, 0o600]);
      await store.close();
    } finally {
      process.umask(before);
    }
  });

  it("are a single file when the store is closed", async () => {
    const folder = newFolder();
    const store = await openIn(folder);
    await fill(store);
    await store.close();
    expect(namesIn(folder)).toEqual(FILES);
  });
});

describe("the format of a store", () => {
  const FORMAT = `SELECT value FROM meta WHERE name = 'format'`;
  const formatIn = (folder: string, change?: string) => {
    const database = new DatabaseSync(join(folder, "store.sqlite"));
    try {
      if (change !== undefined) {
        const crc = checksumOf(["format", change]);
        const sql = "UPDATE meta SET value = ?, crc = ? WHERE name = 'format'";
        database.prepare(sql).run(change, crc);
      }
      return database.prepare(FORMAT).get()?.value;
    } finally {
      database.close();
    }
  };

  /** SQL that undoes what format 4 changed. */
  const AS_BEFORE_4 = `DROP TABLE record_group;
    CREATE TABLE record_group (
    name TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (name, record)
  ) WITHOUT ROWID;
    INSERT INTO record_group SELECT DISTINCT value, record.id FROM record, json_each(groups)`;

  it.each(["2", "3"])(
    "is raised from %s by a start that opens it, so that older programs refuse it, with its content as before",
    async (format) => {
      const folder = newFolder();
      const store = await openIn(folder);
      await fill(store);
      const { records } = store;
      await records.commit([put(pages, { key: "in", value: 1, groups: ["g", "h", "g"] })]);
      const rows = await rowsOf(store);
      await store.close();
      const database = new DatabaseSync(join(folder, "store.sqlite"));
      database.exec(AS_BEFORE_4);
      database.close();
      expect(formatIn(folder, format)).toBe(format);
      const otherMode = openEmbedded({ folder, mode: "live", now: () => NOW });
      await expect(otherMode).rejects.toThrow("MARKET");
      expect(formatIn(folder)).toBe(format);
      const opened = await openIn(folder);
      expect(await rowsOf(opened)).toEqual(rows);
      const inGroup = await opened.records.list(pages, { group: "h", limit: 9 });
      expect(inGroup.map(({ key }) => key)).toEqual(["in"]);
      await opened.close();
      expect(formatIn(folder)).toBe("4");
    },
  );

  it("is as before where archive rows have numbers above all revisions, and no number is used again", async () => {
    const folder = newFolder();
    const store = await openIn(folder);
    await fill(store);
    await store.close();
    const database = new DatabaseSync(join(folder, "store.sqlite"));
    // Version 1.0.0 let SQLite number the rows.
    database.exec("UPDATE archive SET id = id + 1000000");
    database.close();
    const { archive } = await openIn(folder);
    const place = await archive.lastPlace();
    expect(await archive.prune("audit", NOW)).toBe(300);
    const row = { kind: "audit", at: 1, id: "new", body: 1 };
    await archive.append([row]);
    expect((await archive.follow(new Set(["audit"]), place, 9)).rows).toEqual([row]);
  });

  it("is rejected when it is newer than the program, and stays unchanged", async () => {
    const folder = newFolder();
    await (await openIn(folder)).close();
    formatIn(folder, "99");
    const opening = openEmbedded({ folder, mode: "sandbox", now: () => NOW });
    await expect(opening).rejects.toThrow(/another version.+format 99.+install that version/);
    expect(formatIn(folder)).toBe("99");
  });
});

describe("the market mode of a store", () => {
  it("is returned when the store is opened without a mode", async () => {
    const folder = newFolder();
    const { identity } = await openIn(folder).then(async (store) => {
      await store.close();
      return store;
    });
    const store = await openEmbedded({ folder, now: () => NOW });
    expect(store.identity).toEqual(identity);
    await store.close();
  });

  it("must be the requested mode, otherwise the store is rejected and stays unchanged", async () => {
    const folder = newFolder();
    const store = await openIn(folder);
    await fill(store);
    const rows = await rowsOf(store);
    await store.close();
    const opening = openEmbedded({ folder, mode: "live", now: () => NOW });
    await expect(opening).rejects.toThrow(`the store in ${folder} belongs to MARKET mode sandbox`);
    await expect(opening).rejects.toThrow("DATA_DIR");
    expect(await rowsOf(await openIn(folder))).toEqual(rows);
  });

  it("binds a store only once a start has settled it", async () => {
    const folder = newFolder();
    const start = (mode: StoreMode) =>
      openEmbedded({ folder, mode, mustSettle: true, now: () => NOW });
    const failed = await start("files");
    expect(failed.identity.mode).toBe("files");
    await fill(failed);
    await failed.close();
    const command = openEmbedded({ folder, now: () => NOW });
    await expect(command).rejects.toThrow(`there is no store in ${folder}`);
    const second = await start("sandbox");
    expect(await second.counts()).toEqual({ records: 0, archive: 0 });
    await fill(second);
    await second.settle();
    const { identity } = second;
    await second.close();
    await expect(start("files")).rejects.toThrow("belongs to MARKET mode sandbox");
    const third = await start("sandbox");
    await third.settle();
    expect(third.identity).toEqual(identity);
    expect((await third.counts()).records).toBeGreaterThan(0);
    await third.close();
  });

  it("is required to create a store", async () => {
    const folder = newFolder();
    const opening = openEmbedded({ folder, now: () => NOW });
    await expect(opening).rejects.toThrow(`there is no store in ${folder}`);
    expect(namesIn(folder)).toEqual([]);
    const nowhere = join(folder, "nowhere");
    await expect(openEmbedded({ folder: nowhere, now: () => NOW })).rejects.toThrow("no store in");
    expect(existsSync(nowhere)).toBe(false);
  });
});

/**
 * File states that a crash leaves while a store is created or replaced, from the first to the last
 * step.
 */
const crashes: readonly (readonly [string, "before" | "after", (folder: string) => void])[] = [
  [
    "when only an empty new file exists",
    "before",
    (folder) => writeFileSync(storePathsIn(folder).unfinished, ""),
  ],
  ["while the new file is being written", "before", (folder) => void stage(folder)],
  [
    "when the new file is complete but not yet committed",
    "before",
    (folder) => {
      const paths = storePathsIn(folder);
      stage(folder).finish();
      renameSync(paths.next, paths.unfinished);
    },
  ],
  ["when the new file is committed", "after", (folder) => stage(folder).finish()],
  [
    "when the new file has replaced the old file",
    "after",
    (folder) => {
      const paths = storePathsIn(folder);
      stage(folder).finish();
      replaceFile(paths.next, paths.store);
    },
  ],
];

const STAGED = {
  ...{ table: "record", collection: "pages", key: "staged", text: "1", revision: 9, groups: [] },
  ...{ expiresAt: null, dueAt: null, consumedAt: null },
} as const satisfies DumpRow;

function stage(folder: string) {
  const identity = { id: "staged-store", mode: "sandbox" } as const;
  const next = new NextStore(storePathsIn(folder), { identity, revision: 0 });
  next.add(STAGED);
  return next;
}

describe("a crash while a store is created", () => {
  it.each(crashes)("leaves a complete store or no store: %s", async (_, point, crash) => {
    const folder = newFolder();
    crash(folder);
    const crashed = copyOf(folder);
    const store = await openIn(crashed);
    expect(await rowsOf(store)).toEqual(point === "after" ? [STAGED] : []);
    expect(await store.records.commit([put(pages, { key: "a", value: 1 })])).toBe(true);
    await store.close();
    expect(namesIn(crashed)).toEqual(FILES);
  });
});

describe("a crash while a store is replaced", () => {
  it.each(crashes)("leaves either the old store or the new store: %s", async (_, point, crash) => {
    const old = newFolder();
    const before = await openIn(old);
    await fill(before);
    const rows = await rowsOf(before);
    // Includes the write-ahead log of the old file, which must not be applied to the new file.
    const crashing = copyOf(old);
    crash(crashing);
    const crashed = copyOf(crashing);
    const store = await openIn(crashed);
    expect(await rowsOf(store)).toEqual(point === "after" ? [STAGED] : rows);
    await store.close();
    expect(namesIn(crashed)).toEqual(FILES);
    expect(await rowsOf(await openIn(crashed))).toEqual(point === "after" ? [STAGED] : rows);
  });
});

it("other files in the store's directory are left unchanged", async () => {
  const folder = newFolder();
  mkdirSync(join(folder, "backups"));
  writeFileSync(join(folder, "notes.txt"), "mine");
  await (await openIn(folder)).close();
  expect(namesIn(folder)).toEqual([...FILES, "backups", "notes.txt"].sort());
});

it("a directory with a master.key but no store is not used for a new store", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "master.key"), "secret");
  await expect(openIn(folder)).rejects.toThrow(`${folder} holds a master.key but no store`);
  expect(namesIn(folder)).toEqual(["master.key"]);
  rmSync(join(folder, "master.key"));
  await openIn(folder);
});

it("a store whose files are dangling links is treated as damaged, and the links stay", async () => {
  const folder = newFolder();
  for (const name of FILES) symlinkSync(join(folder, "unmounted", name), join(folder, name));
  await expect(openIn(folder)).rejects.toThrow("store.sqlite is damaged (it is missing)");
  for (const name of FILES) expect(lstatSync(join(folder, name)).isSymbolicLink()).toBe(true);
});

describe.each(["store.sqlite", "store.sqlite-wal"])("an open store without its %s", (name) => {
  it.each(["removed", "replaced"])("acknowledges nothing once it was %s", async (how) => {
    const folder = newFolder();
    const warnings: string[] = [];
    const store = await openIn(folder, (message) => warnings.push(message));
    const write = () => store.records.commit([put(pages, { key: "a", value: 1 })]);
    expect(await write()).toBe(true);
    rmSync(join(folder, name));
    if (how === "replaced") writeFileSync(join(folder, name), "");
    const refusal = { code: "store_unavailable", detail: expect.stringContaining("are gone") };
    await expect(write()).rejects.toMatchObject(refusal);
    await expect(write()).rejects.toMatchObject(refusal);
    expect(warnings).toEqual([
      expect.stringContaining(`${join(folder, "store.sqlite")} was removed`),
    ]);
  });
});

it("a directory that is not writable is rejected with its path and a remedy", async () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  for (const folder of [file, join(file, "deep")]) {
    const opening = openIn(folder);
    await expect(opening).rejects.toThrow(`${folder} cannot be written (`);
    await expect(opening).rejects.toThrow("set DATA_DIR to another folder");
  }
});
