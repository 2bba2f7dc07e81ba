import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { writeExport } from "../../../../src/maintenance/backup/export.ts";
import { importDocument, readExport } from "../../../../src/maintenance/backup/import.ts";
import { requireJson } from "../../../../src/maintenance/backup/json-text.ts";
import { unsealedAudit } from "../../../../src/store/audit-entry.ts";
import { appendToArchive, consume, put } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { Store } from "../../../../src/store/port/store.ts";
import { describeEngines, model, openStore, type TestStore } from "../../../support/stores.ts";

const folder = mkdtempSync(join(tmpdir(), "export-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function newFile(): string {
  files += 1;
  return join(folder, `${files}.json`);
}

interface Note {
  readonly text: string;
}
const notes = collection<Note>("notes");
const alerts = collection<Note>("alerts");
const odd = collection<unknown>("__proto__");
const quiet = () => {};
const written = (text: string) => {
  const file = newFile();
  writeFileSync(file, text);
  return file;
};

async function fill({ records, clock }: TestStore): Promise<void> {
  await records.commit([
    put(notes, {
      key: "b",
      value: { text: "second \ud83d\ude00\n" },
      groups: ["g"],
      ttlMs: 60_000,
    }),
    put(notes, { key: "a", value: { text: "first" }, dueInMs: -5 }),
    put(notes, { key: "gone", value: { text: "over soon" }, ttlMs: 1 }),
    put(alerts, { key: "used", value: { text: "" } }),
    consume(alerts, "used"),
    put(odd, { key: "__proto__", value: JSON.parse('{"__proto__":{"a":1}}') }),
    appendToArchive({ kind: "delivery", at: 1, id: "x", body: {} }),
  ]);
  clock.now += 10;
}

async function exported({ store, clock }: TestStore): Promise<string> {
  const file = newFile();
  await writeExport({ store, file, now: () => clock.now }, quiet);
  return file;
}

async function imported({ store, clock }: TestStore, file: string) {
  return importDocument({
    ...{ store, document: await readExport(file, store) },
    now: () => clock.now,
  });
}

async function all<T extends { readonly name: string }>(store: Store, from: T) {
  const found = await store.records.list<unknown>(from, { limit: 10_000 });
  return found.map(({ revision: _, ...rest }) => rest).sort((a, b) => (a.key < b.key ? -1 : 1));
}

describe("the export of a store", () => {
  it("is a sorted, readable JSON document of the records, without pending jobs", async () => {
    const opened = await openStore(model);
    await fill(opened);
    const file = await exported(opened);
    expect(readFileSync(file, "utf8")).toBe(`{
  "format": "market-signal-export",
  "version": 2,
  "storeId": "${opened.store.identity.id}",
  "mode": "sandbox",
  "exportedAt": "2026-11-21T12:00:00.010Z",
  "collections": {
    "__proto__": {
      "__proto__": {
        "value": {
          "__proto__": {
            "a": 1
          }
        }
      }
    },
    "alerts": {
      "used": {
        "value": {
          "text": ""
        },
        "consumedAt": "2026-11-21T12:00:00.000Z"
      }
    },
    "notes": {
      "a": {
        "value": {
          "text": "first"
        },
        "dueAt": "2026-11-21T11:59:59.995Z"
      },
      "b": {
        "value": {
          "text": "second 😀\\n"
        },
        "groups": [
          "g"
        ],
        "expiresAt": "2026-11-21T12:01:00.000Z"
      }
    }
  }
}
`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("is also possible for an empty store, and never overwrites a file", async () => {
    const opened = await openStore(model);
    const file = await exported(opened);
    expect(JSON.parse(readFileSync(file, "utf8")).collections).toEqual({});
    const again = writeExport({ store: opened.store, file, now: () => 0 }, quiet);
    await expect(again).rejects.toThrow(`${file} already exists`);
  });
});

describeEngines("the import of an export document", (engine) => {
  it("restores the exported records in another store", async () => {
    const from = await openStore(engine);
    await fill(from);
    const to = await openStore(engine);
    const done = await imported(to, await exported(from));
    expect(done).toEqual(
      Object.fromEntries([
        ["__proto__", { written: 1, removed: 0, expired: 0 }],
        ["alerts", { written: 1, removed: 0, expired: 0 }],
        ["notes", { written: 2, removed: 0, expired: 0 }],
      ]),
    );
    for (const each of [notes, odd]) {
      expect(await all(to.store, each)).toEqual(await all(from.store, each));
    }
    const used = await to.records.get(alerts, "used");
    expect(used).toMatchObject({ value: { text: "" }, consumedAt: expect.any(Number) });
  });

  it("replaces only the collections in the document, here one of version 1, and writes one audit row", async () => {
    const opened = await openStore(engine);
    await fill(opened);
    const document = {
      ...JSON.parse(readFileSync(await exported(opened), "utf8")),
      version: 1,
      collections: {
        notes: {
          b: { value: 1 },
          old: { value: 2, expiresAt: "2020-01-01T00:00:00Z" },
        },
      },
    };
    const done = await imported(opened, written(JSON.stringify(document)));
    expect(done).toEqual({ notes: { written: 1, removed: 1, expired: 1 } });
    expect((await all(opened.store, notes)).map(({ key, value }) => [key, value])).toEqual([
      ["b", 1],
    ]);
    expect(await all(opened.store, alerts)).toHaveLength(1);
    const audit = await opened.records.list(unsealedAudit, { limit: 100 });
    expect(audit.map(({ value }) => value.body)).toEqual([
      {
        ...{ action: "store.imported", actor: "operator", target: opened.store.identity.id },
        detail: { from: document.storeId, collections: "notes" },
      },
    ]);
  });

  it.skipIf(engine === model)("commits 20,000 records in a single commit", async () => {
    const opened = await openStore(engine);
    const records = Array.from({ length: 20_000 }, (_, at) => [`k${at}`, { value: at }]);
    const file = await exported(opened);
    const document = JSON.parse(readFileSync(file, "utf8"));
    document.collections = { notes: Object.fromEntries(records) };
    await imported(opened, written(JSON.stringify(document)));
    expect((await opened.store.counts()).records).toBe(20_001);
  });
});

describe("an invalid export document", () => {
  it("is rejected without being read when it exceeds 64 MiB", async () => {
    const { store } = await openStore(model);
    const file = newFile();
    writeFileSync(file, "{}");
    truncateSync(file, 64 * 1024 * 1024 + 1);
    await expect(readExport(file, store)).rejects.toThrow(`${file} is larger than 64 MiB`);
  });

  const good = async () => {
    const opened = await openStore(model);
    await fill(opened);
    const text = readFileSync(await exported(opened), "utf8");
    return { ...opened, text };
  };

  it.each<[string, (text: string) => string, string]>([
    [
      "invalid JSON",
      (text) => text.replace('"first"', "hello"),
      'line 28, column 19: not JSON, "h"',
    ],
    ["a truncated file", (text) => text.slice(0, -3), "the file ends too early"],
    ["another format", (text) => text.replace("-export", "-backup"), ": format: "],
    ["a later version", (text) => text.replace('"version": 2', '"version": 3'), ": version: "],
    [
      "another mode",
      (text) => text.replace('"sandbox"', '"files"'),
      "mode files; this one belongs to sandbox",
    ],
    ["no collections", (text) => text.replace('"collections"', '"c"'), ": collections: "],
    [
      "a record without a value",
      (text) => text.replace('"value"', '"valeu"'),
      "collections.__proto__.__proto__",
    ],
    ["an invalid time", (text) => text.replace("12:01", "25:01"), "collections.notes.b.expiresAt"],
    [
      "a key with a NUL character",
      (text) => text.replace('"used"', '"\\u0000"'),
      "must not contain NUL",
    ],
    [
      "a key that is too long",
      (text) => text.replace('"used"', `"${"k".repeat(513)}"`),
      "collections.alerts.k",
    ],
    [
      "an array instead of records",
      (text) => text.replace('"alerts": {', '"list": [], "alerts": {'),
      "collections.list: is no object",
    ],
    [
      "leases",
      (text) => text.replace('"alerts"', '"leases"'),
      "collections.leases: is never imported",
    ],
  ])("with %s is rejected with its path and the position of the error", async (_, change, said) => {
    const { store, text } = await good();
    const file = written(change(text));
    expect(readFileSync(file, "utf8")).not.toBe(text);
    await expect(readExport(file, store)).rejects.toThrow(said);
    await expect(readExport(file, store)).rejects.toThrow(file);
  });
});

describe("the reported position of a JSON error", () => {
  it.each([
    ["", 1, 1],
    ["{", 1, 2],
    ['{"a":tru', 1, 9],
    ['{"a":trux}', 1, 9],
    ["[1,\n2,\n,3]", 3, 1],
    ['{\n "a": hello\n}', 2, 7],
    ['"\\u12', 1, 6],
    ['"\\u12g4"', 1, 6],
    ['"\\', 1, 3],
    ['["a\nb"]', 1, 4],
    ["[01]", 1, 3],
    ["[-]", 1, 3],
    ["[1.]", 1, 4],
    ["[1e]", 1, 4],
    ["[1] x", 1, 5],
    ["NaN", 1, 1],
    ["\ufeff{}", 1, 1],
    ['{"a":1,}', 1, 8],
    ["<html>", 1, 1],
  ])("in %j is line %i, column %i", (text, line, column) => {
    expect(() => requireJson(text, "x.json")).toThrow(`x.json, line ${line}, column ${column}: `);
  });
});
