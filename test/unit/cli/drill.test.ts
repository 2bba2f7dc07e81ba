import { copyFileSync, readFileSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { writeBackup } from "../../../src/maintenance/backup/backup.ts";
import { writeAuditEntry } from "../../../src/store/audit-entry.ts";
import type { DumpRow, Store } from "../../../src/store/port/store.ts";
import { openEmbedded } from "../../../src/store/sqlite/open.ts";
import { sealAll } from "../../support/audit.ts";
import { runCommand } from "../../support/run-command.ts";
import { dataFolder, Sessions, signalLog } from "../../support/signal-log.ts";
import { stepsOf } from "../../support/steps-of.ts";

const folders = { store: dataFolder(), good: dataFolder(), copy: dataFolder() };
const good = join(folders.good, "good.backup.gz");

/**
 * Writes a backup of a store with audit rows and a signal log, after applying `change` to each row.
 */
async function backUp(file: string, change: (row: DumpRow) => DumpRow = (row) => row) {
  const store = await openEmbedded({ folder: folders.store, mode: "sandbox", now: Date.now });
  const { identity } = store;
  const changed = {
    identity,
    counts: () => store.counts(),
    async *dump() {
      for await (const batch of store.dump()) yield batch.map(change);
    },
  } as Partial<Store> as Store;
  await writeBackup({ store: changed, file, now: Date.now }, () => {});
  await store.close();
}

beforeAll(async () => {
  const store = await openEmbedded({ folder: folders.store, mode: "sandbox", now: Date.now });
  const { records } = store;
  for (let at = 0; at < 5; at++) {
    const entry = { action: "page.read", actor: "system", target: `page ${at}` };
    await records.commit(stepsOf(writeAuditEntry, entry, at));
  }
  await sealAll({ records, clock: { now: 1 } });
  const sessions = new Sessions();
  for (let day = 0; day < 3; day++) sessions.close(day, "crypto", ["A", "B"]);
  await signalLog(store, sessions).settle();
  await store.close();
  await backUp(good);
  const again = await openEmbedded({ folder: folders.store, now: Date.now });
  const file = join(folders.copy, "good.backup.sqlite");
  await writeBackup({ store: again, file, now: Date.now }, () => {});
  await again.close();
});

const drill = (folder: string, ...options: readonly string[]) =>
  runCommand(["store", "drill", folder, ...options], { folder: tmpdir() });

/** A directory with a valid backup of yesterday and a newer backup. */
function folderWith(newer: (file: string) => void): string {
  const folder = dataFolder();
  const older = join(folder, "older.backup.gz");
  copyFileSync(good, older);
  utimesSync(older, 0, 0);
  newer(join(folder, "newer.backup.gz"));
  return folder;
}

describe("the restore drill", () => {
  it.each(["good", "copy"] as const)(
    "restores and verifies a valid backup (%s), and leaves no files behind",
    async (name) => {
      const { code, out } = await drill(folders[name]);
      expect(out).toMatch(/Sealed audit rows: 5\nLog of signals: \d+ entries\nok\n/);
      expect(code).toBe(0);
      const left = await readdir(tmpdir());
      expect(left.filter((name) => name.startsWith("market-signal-drill-"))).toEqual([]);
    },
  );

  it("also takes the file that a backup was written to, under any name", async () => {
    const file = join(dataFolder(), "before-the-upgrade");
    copyFileSync(good, file);
    const { code, out } = await drill(file);
    expect(out).toContain(file);
    expect(code).toBe(0);
    truncateSync(file, readFileSync(good).length - 40);
    expect(await drill(file)).toMatchObject({ code: 1, err: expect.stringContaining(file) });
  });

  it("reports a damaged newest backup even if an older backup is intact", async () => {
    const folder = folderWith((file) => {
      copyFileSync(good, file);
      truncateSync(file, readFileSync(good).length - 40);
    });
    const { code, err } = await drill(folder);
    expect(err).toContain("newer.backup.gz");
    expect(code).toBe(1);
  });

  it("reports a file that is not a backup", async () => {
    const { code, err } = await drill(folderWith((file) => writeFileSync(file, "not a backup")));
    expect(err).toContain("newer.backup.gz");
    expect(code).toBe(1);
  });

  it.each([
    ["audit row", "audit", "page 3", "page 4", /row/],
    ["entry of the signal log", "", '\\"A\\"', '\\"C\\"', /log of signals/],
  ])("reports a backup of a store with a changed %s", async (_name, kind, from, to, said) => {
    const folder = dataFolder();
    let changes = 0;
    await backUp(join(folder, "changed.backup.gz"), (row) => {
      const isMeant = row.table === "archive" && (kind === "" || row.kind === kind);
      if (!isMeant || changes > 0 || !row.text.includes(from)) return row;
      changes += 1;
      return { ...row, text: row.text.replace(from, to) };
    });
    expect(changes).toBe(1);
    const { code, out } = await drill(folder);
    expect(out).toMatch(said);
    expect(out).not.toMatch(/^ok$/m);
    expect(code).toBe(1);
  });

  it("reports a backup that is too old, and a folder without a backup", async () => {
    const late = await drill(folders.good, "--max-age", "0.0000001");
    expect(late.out).toContain("The newest backup is 0 hours old");
    expect(late.code).toBe(1);
    expect((await drill(folders.good, "--max-age", "26")).code).toBe(0);
    const none = await drill(dataFolder());
    expect(none.err).toContain("has no backup");
    expect(none.code).toBe(1);
  });
});
