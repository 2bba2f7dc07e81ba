import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkBackup, openBackup } from "../../../../src/maintenance/backup/backup.ts";
import { unsealedAudit } from "../../../../src/store/audit-entry.ts";
import { collection } from "../../../../src/store/port/records.ts";
import { auditOf, sealAll } from "../../../support/audit.ts";
import { embedded, openStore } from "../../../support/stores.ts";

const pages = collection<unknown>("pages");

const WAITING = { kind: "audit", at: 7, id: "w", subject: "t", body: { action: "a", target: "t" } };
const EVENT = { kind: "alert-event", at: 8, id: "msg_1", subject: "client:c", body: { n: 1 } };
const ATTEMPT = { kind: "delivery-attempt", at: 9, id: "x", body: { n: 2 } };

const record = (name: string, key: string, value: unknown, revision: number) => ({
  ...{ table: "record", collection: name, key, text: JSON.stringify(value), revision },
  ...{ groups: [], expiresAt: null, dueAt: null, consumedAt: null },
});

/** Rows of a version 1 backup, in which archive rows waited in the collection `outbox`. */
const ROWS = [
  record("pages", "plain", { text: "ключ 😀" }, 3),
  record("outbox", "audit:7:w", WAITING, 6),
  record("outbox", "alert-event:8:msg_1", EVENT, 8),
  // The backup was written after this row was copied to the archive and before it was removed from
  // the outbox.
  record("outbox", "delivery-attempt:9:x", ATTEMPT, 9),
  { table: "archive", kind: "delivery-attempt", at: 9, id: "x", subject: null, text: '{"n":2}' },
];

/** Writes a backup in an earlier version of the format. */
function backupOf(
  rows: readonly { readonly table: string; readonly text: string }[],
  version = 1,
): string {
  const folder = mkdtempSync(join(tmpdir(), "backup-1-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const header = {
    ...{ format: "market-signal-backup", version, storeId: "store-1", mode: "sandbox" },
    createdAt: "2026-01-02T03:04:05.678Z",
  };
  const text = [header, ...rows].map((line) => `${JSON.stringify(line)}\n`).join("");
  const count = (name: string) => rows.filter(({ table }) => table === name).length;
  const footer = {
    rows: { record: count("record"), archive: count("archive") },
    sha256: createHash("sha256").update(text).digest("hex"),
  };
  const file = join(folder, "backup.gz");
  writeFileSync(file, gzipSync(`${text}${JSON.stringify(footer)}\n`));
  return file;
}

/** Opens a store and loads a backup into it. */
async function restored(file: string) {
  const { store } = await openStore(embedded);
  const { identity, batches } = await openBackup(file);
  await store.load(identity, batches);
  return store;
}

describe("a backup in format version 1", () => {
  it("is restored with its identity, records and archive", async () => {
    const { identity, records, archive } = await restored(backupOf(ROWS));
    expect(identity).toEqual({ id: "store-1", mode: "sandbox" });
    expect(await records.get(pages, "plain")).toMatchObject({
      ...{ value: { text: "ключ 😀" }, revision: 3 },
    });
    const attempts = await archive.read(ATTEMPT.kind, { order: "oldest", limit: 9 });
    expect(attempts).toEqual([ATTEMPT]);
  });

  it("is restored with each row of its outbox once in the archive", async () => {
    const { records, archive } = await restored(backupOf(ROWS));
    expect(await archive.read(EVENT.kind, { order: "oldest", limit: 9 })).toEqual([EVENT]);
    expect(await records.list(collection("outbox"), { limit: 9 })).toEqual([]);
  });

  it("is restored with the unsealed audit rows of its outbox as unsealed rows", async () => {
    const store = await restored(backupOf(ROWS));
    const waiting = await store.records.list(unsealedAudit, { limit: 9 });
    expect(waiting.map(({ value }) => value)).toEqual([WAITING]);
    await sealAll({ ...store, clock: { now: 10 } });
    expect(await auditOf(store)).toMatchObject({ rows: 1, unsealed: 0, problems: [] });
  });

  it("is restored in version 2 too", async () => {
    const { records } = await restored(backupOf(ROWS.slice(0, 1), 2));
    expect(await records.get(pages, "plain")).toMatchObject({ value: { text: "ключ 😀" } });
  });

  it("is checked by its number of rows", async () => {
    const { rows } = await checkBackup(backupOf(ROWS), () => {});
    expect(rows.record + rows.archive).toBe(ROWS.length);
  });

  it("is rejected when a row of its outbox is not JSON", async () => {
    const file = backupOf([{ ...record("outbox", "bad", "", 4), text: "{" }]);
    await expect(checkBackup(file, () => {})).rejects.toThrow(`${file}, line 2: text: is not JSON`);
  });
});
