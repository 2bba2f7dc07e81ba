import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verifyStore } from "../../../../src/maintenance/backup/verify-store.ts";
import { writeAuditEntry } from "../../../../src/store/audit-entry.ts";
import type { DumpRow, Store } from "../../../../src/store/port/store.ts";
import { sealAll } from "../../../support/audit.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { dumpStore, inBatches } from "../../../support/stores.ts";
import { fill, newFolder, openIn } from "../../store/sqlite/folders.ts";

const AUDIT_ROWS = 40;

/**
 * Returns the directory of a closed store of more than 4 MiB, so that opening it does not read
 * every row.
 */
async function closedStore(): Promise<string> {
  const folder = newFolder();
  const store = await openIn(folder);
  const { records, archive } = store;
  await fill({ ...store, archive: { ...archive, append: async () => 0 } });
  for (let at = 0; at < AUDIT_ROWS; at++) {
    const entry = { action: "page.read", actor: "system", target: `page ${at}` };
    await records.commit(stepsOf(writeAuditEntry, entry, at));
  }
  await sealAll({ records, clock: { now: 1 } });
  await archive.append(
    Array.from({ length: 2_500 }, (_, at) => ({
      ...{ kind: "print", at, id: `${at}`, body: { bar: at, text: "y".repeat(2_000) } },
    })),
  );
  await store.close();
  return folder;
}

/** Overwrites every occurrence of a text in the store's file, like a disk fault. */
function damage(folder: string, text: string, other: string): void {
  const path = join(folder, "store.sqlite");
  const bytes = readFileSync(path, "latin1");
  expect(bytes).toContain(text);
  writeFileSync(path, bytes.replaceAll(text, other), "latin1");
}

const verified = (store: Store) => verifyStore(store, { now: () => 0 }, () => {});

describe("the verification of an embedded store", () => {
  it("counts every row of an intact store", async () => {
    const store = await openIn(await closedStore());
    expect(await verified(store)).toMatchObject({
      records: { "audit-tree": 1, pages: 301 },
      archive: { audit: AUDIT_ROWS, print: 2_500 },
      audit: { rows: AUDIT_ROWS, unsealed: 0, problems: [] },
      problems: [],
    });
  });

  it("reports the file and row of a record that was changed on disk", async () => {
    const folder = await closedStore();
    damage(folder, '{"at":150,', '{"at":151,');
    const store = await openIn(folder);
    const { problems } = await verified(store);
    expect(problems).toEqual([
      expect.stringMatching(/^store.sqlite: the record in row \d+ is not as it was written$/),
      expect.stringMatching(/^The rows could not be read to the end: .+store.sqlite is damaged/),
    ]);
  });

  it("reports an archive row that was changed on disk, and can still read the audit log", async () => {
    const folder = await closedStore();
    damage(folder, '{"bar":1999,', '{"bar":1998,');
    const { problems, records, audit } = await verified(await openIn(folder));
    expect(problems).toEqual([
      expect.stringMatching(/^store.sqlite: the archive's row \d+ is not as it was written$/),
      expect.stringMatching(/^The rows could not be read to the end: .+store.sqlite is damaged/),
    ]);
    expect(records.pages).toBe(301);
    expect(audit).toMatchObject({ rows: AUDIT_ROWS, problems: [] });
  });

  it("reports that the audit log is unreadable when one of its rows was changed on disk", async () => {
    const folder = await closedStore();
    damage(folder, '"target":"page 20"', '"target":"page 21"');
    const { problems, audit } = await verified(await openIn(folder));
    expect(problems.at(-1)).toMatch(/^The audit log could not be read to the end: /);
    expect(audit).toMatchObject({ rows: 0, lastPosition: undefined });
  });

  it("reports at most 100 faulty rows", async () => {
    const store = await openIn(await closedStore());
    const rows = (await dumpStore(store)).map((row): DumpRow => ({ ...row, text: "{" }));
    const dump = () => inBatches(rows, 100);
    const { problems, archive } = await verified({ ...store, identity: store.identity, dump });
    expect(problems.filter((problem) => problem.endsWith("is not JSON."))).toHaveLength(100);
    expect(archive.print).toBe(2_500);
  });
});
