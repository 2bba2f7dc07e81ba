import { describe, expect, it } from "vitest";
import { digestDump } from "../../../../src/maintenance/backup/digest.ts";
import type { DumpRow } from "../../../../src/store/port/store.ts";

const record: DumpRow = {
  ...{ table: "record", collection: "pages", key: "a", text: '{"b":1}', revision: 3 },
  ...{ groups: ["g", "h"], expiresAt: 1, dueAt: 2, consumedAt: null },
};
const history: DumpRow = {
  ...{ table: "archive", kind: "audit", at: 5, id: "x", subject: null, text: "1" },
};

async function digest(...batches: readonly (readonly DumpRow[])[]) {
  async function* dump() {
    yield* batches;
  }
  return Object.fromEntries(await digestDump(dump()));
}

describe("the digest of a dump", () => {
  it("is computed per collection and archive kind, however the rows are split into batches", async () => {
    const other = { ...record, collection: "notes" };
    const one = await digest([record, other], [record, history]);
    expect(await digest([record], [other, record], [], [history])).toEqual(one);
    expect(Object.keys(one)).toEqual(["archive/audit", "record/notes", "record/pages"]);
    expect(Object.values(one).map(({ rows }) => rows)).toEqual([1, 1, 2]);
  });

  // The expected value was computed separately with `sha256sum`.
  it("is the SHA-256 of the rows as lines of JSON", async () => {
    expect((await digest([record]))["record/pages"]?.sha256).toBe(
      "6db04241332ac1189a33b75d57443b9242120118bcf665890d0e50a9aace7072",
    );
  });

  it.each<[string, DumpRow]>([
    ["the key of a record", { ...record, key: "b" }],
    ["the value of a record", { ...record, text: '{"b": 1}' }],
    ["the revision of a record", { ...record, revision: 4 }],
    ["the order of groups", { ...record, groups: ["h", "g"] }],
    ["the expiry", { ...record, expiresAt: null }],
    ["the due time", { ...record, dueAt: 3 }],
    ["the time of consumption", { ...record, consumedAt: 4 }],
    ["the timestamp of an archive row", { ...history, at: 6 }],
    ["the id of an archive row", { ...history, id: "y" }],
    ["the subject of an archive row", { ...history, subject: "" }],
    ["the body of an archive row", { ...history, text: "2" }],
  ])("changes when %s changes", async (_, changed) => {
    const same = changed.table === "record" ? record : history;
    expect(await digest([changed])).not.toEqual(await digest([same]));
  });

  it("depends on the order of the rows", async () => {
    const later = { ...record, key: "b" };
    expect(await digest([record, later])).not.toEqual(await digest([later, record]));
  });
});
