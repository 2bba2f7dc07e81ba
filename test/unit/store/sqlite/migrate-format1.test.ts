import { copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { unsealedAudit } from "../../../../src/store/audit-entry.ts";
import { put } from "../../../../src/store/port/operations.ts";
import { type EmbeddedStore, openEmbedded } from "../../../../src/store/sqlite/open.ts";
import { auditOf, sealAll } from "../../../support/audit.ts";
import { standardErrorOf } from "../../../support/standard-error.ts";
import { copyOf, NOW, namesIn, newFolder, pages, rowsOf } from "./folders.ts";
import { type Format1Content, writeFormat1 } from "./format1.ts";

const WAITING = { kind: "audit", at: 7, id: "w", subject: "t", body: { action: "a", target: "t" } };
const EVENT = { kind: "alert-event", at: 8, id: "msg_1", subject: "client:c", body: { n: 1 } };
const ATTEMPT = { kind: "delivery-attempt", at: 9, id: "x", body: { n: 2 } };

const CONTENT: Format1Content = {
  records: [
    { collection: "pages", key: "plain", value: { text: "ключ 😀" }, revision: 3 },
    {
      ...{ collection: "pages", key: "full", value: [1], revision: 5, groups: ["g", "h"] },
      ...{ expiresAt: NOW + 60_000, dueAt: NOW + 5, consumedAt: NOW - 5 },
    },
    { collection: "outbox", key: "audit:7:w", value: WAITING, revision: 6 },
    { collection: "outbox", key: "alert-event:8:msg_1", value: EVENT, revision: 8 },
    // This row had already been added to the archive when the process ended.
    { collection: "outbox", key: "delivery-attempt:9:x", value: ATTEMPT, revision: 9 },
  ],
  archive: [{ kind: "snapshot", at: 1, id: "s", subject: "A", body: { score: 60 } }, ATTEMPT],
  revision: 40,
};

/** Opens a folder. @returns The store and the messages of the migration. */
async function opened(folder: string): Promise<{ store: EmbeddedStore; said: string[] }> {
  const said: string[] = [];
  const onProgress = (text: string) => void said.push(text);
  const store = await openEmbedded({ folder, mode: "sandbox", now: () => NOW, onProgress });
  onTestFinished(() => store.close());
  return { store, said };
}

function format1Folder(content: Format1Content = CONTENT): string {
  const folder = newFolder();
  writeFormat1(folder, content);
  return folder;
}

describe("an embedded store in format 1", () => {
  it("is opened with its records, groups, archive, identity and revisions", async () => {
    const { store } = await opened(format1Folder());
    expect(store.identity).toEqual({ id: "store-of-format-1", mode: "sandbox" });
    expect(await store.records.get(pages, "full")).toEqual({
      ...{ key: "full", value: [1], revision: 5, groups: ["g", "h"] },
      ...{ expiresAt: NOW + 60_000, dueAt: NOW + 5, consumedAt: NOW - 5 },
    });
    const listed = await store.records.list(pages, { group: "h", limit: 9 });
    expect(listed.map(({ key }) => key)).toEqual(["full"]);
    expect(await store.archive.read("snapshot", { order: "oldest", limit: 9 })).toEqual([
      CONTENT.archive[0],
    ]);
    await store.records.commit([put(pages, { key: "next", value: 1 })]);
    expect((await store.records.get(pages, "next"))?.revision).toBe(41);
    expect(await store.check()).toEqual([]);
  });

  it("is migrated with each row of its outbox once in the archive, and with its unsealed audit rows", async () => {
    const { store } = await opened(format1Folder());
    const read = (kind: string) => store.archive.read(kind, { order: "oldest", limit: 9 });
    expect(await read("alert-event")).toEqual([EVENT]);
    expect(await read("delivery-attempt")).toEqual([ATTEMPT]);
    const waiting = await store.records.list(unsealedAudit, { limit: 9 });
    expect(waiting.map(({ value }) => value)).toEqual([WAITING]);
    await sealAll({ ...store, clock: { now: NOW } });
    expect(await auditOf(store)).toMatchObject({ rows: 1, unsealed: 0, problems: [] });
  });

  it("is migrated only once, with progress messages, and its old files are kept as a backup", async () => {
    const folder = format1Folder();
    const before = copyOf(folder);
    const first = await opened(folder);
    expect(first.said.join("\n")).toMatch(/earlier version.*100 %.*5 records.*kept in/s);
    const rows = await rowsOf(first.store);
    await first.store.close();
    expect(namesIn(folder)).toEqual(["backup-of-format-1", "store.sqlite"]);
    for (const name of namesIn(before)) {
      const kept = readFileSync(join(folder, "backup-of-format-1", name));
      expect(kept.equals(readFileSync(join(before, name)))).toBe(true);
    }
    const second = await opened(folder);
    expect(second.said).toEqual([]);
    expect(await rowsOf(second.store)).toEqual(rows);
  });

  it("is migrated with messages that show the name of its folder as text", async () => {
    const folder = join(newFolder(), "\u001b[2J\u009b2J");
    mkdirSync(folder);
    writeFormat1(folder, CONTENT);
    const said = await standardErrorOf(async () => {
      const store = await openEmbedded({ folder, mode: "sandbox", now: () => NOW });
      await store.close();
    });
    expect(said).toMatch(/\ufffd\[2J\ufffd2J is of an earlier version; its files are checked\.\n/);
    expect(said).not.toContain("\u001b");
    expect(said).not.toContain("\u009b");
  });

  it("cannot be opened if it was moved to PostgreSQL", async () => {
    const folder = format1Folder({ ...CONTENT, moved: "2026-11-20" });
    await expect(opened(folder)).rejects.toThrow("was moved to PostgreSQL on 2026-11-20");
  });

  it.each<[string, string, (path: string) => void]>([
    ["records.sqlite", "that is truncated", (path) => truncateSync(path, 8192)],
    ["archive.sqlite", "that is truncated", (path) => truncateSync(path, 8192)],
    ["records.sqlite", "with a changed value", (path) => edit(path, '"ключ', '"плюч')],
    ["archive.sqlite", "that is empty", (path) => truncateSync(path, 0)],
  ])(
    "with a file %s %s is rejected with the path of the file, and nothing is changed",
    async (name, _, damage) => {
      const folder = format1Folder();
      damage(join(folder, name));
      const before = namesIn(folder).map((each) => readFileSync(join(folder, each), "latin1"));
      const opening = opened(folder);
      await expect(opening).rejects.toThrow(`${join(folder, name)} is damaged (`);
      await expect(opening).rejects.toThrow("market-signal store restore <backup file>");
      expect(namesIn(folder)).toEqual(["archive.sqlite", "records.sqlite"]);
      const after = namesIn(folder).map((each) => readFileSync(join(folder, each), "latin1"));
      expect(after).toEqual(before);
    },
  );

  it("is rejected if one of its files is missing", async () => {
    const whole = format1Folder();
    for (const name of ["records.sqlite", "archive.sqlite"]) {
      const folder = newFolder();
      copyFileSync(join(whole, name), join(folder, name));
      await expect(opened(folder)).rejects.toThrow("is damaged (it is missing)");
    }
  });

  const crashes: readonly (readonly [string, (folder: string, done: string) => void])[] = [
    ["while the new file is being written", (folder) => void writeFileSync(next(folder), "half")],
    [
      "before the files of format 1 are moved away",
      (folder, done) => copyFileSync(join(done, "store.sqlite"), join(folder, "store.sqlite.new")),
    ],
    [
      "while the files of format 1 are being moved away",
      (folder, done) => {
        copyFileSync(join(done, "store.sqlite"), join(folder, "store.sqlite.new"));
        mkdirSync(join(folder, "backup-of-format-1"));
        copyFileSync(
          join(folder, "records.sqlite"),
          join(folder, "backup-of-format-1", "records.sqlite"),
        );
      },
    ],
  ];

  it.each(crashes)("is migrated at the next start after a crash %s", async (_, crash) => {
    const folder = format1Folder();
    const done = copyOf(folder);
    const { store } = await opened(done);
    const rows = await rowsOf(store);
    await store.close();
    crash(folder, done);
    const again = await opened(folder);
    expect(await rowsOf(again.store)).toEqual(rows);
    await again.store.close();
    expect(namesIn(folder)).toEqual(["backup-of-format-1", "store.sqlite"]);
  });
});

const next = (folder: string) => join(folder, "store.sqlite.unfinished");

function edit(path: string, from: string, to: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(from);
  if (at < 0) throw new Error("The text is not there.");
  bytes.write(to, at);
  writeFileSync(path, bytes);
}
