import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { importDocument, readExport } from "../../../../src/maintenance/backup/import.ts";
import { requireJson } from "../../../../src/maintenance/backup/json-text.ts";
import { unsealedAudit } from "../../../../src/store/audit-entry.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { Store } from "../../../../src/store/port/store.ts";
import { transact } from "../../../../src/store/transact.ts";
import { describeEngines, model, openStore, type TestStore } from "../../../support/stores.ts";

const folder = mkdtempSync(join(tmpdir(), "import-"));
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
const written = (text: string) => {
  const file = newFile();
  writeFileSync(file, text);
  return file;
};

/** An export as version 1.0.0 writes it, of a store on 2026-11-21 at noon. */
const EXPORT = `{
  "format": "market-signal-export",
  "version": 1,
  "storeId": "3f6c0a52-4f5e-4c55-9d0e-6a1f1f0f9c11",
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
`;

/** An export with these collections. */
const exportOf = (collections: object): string =>
  JSON.stringify({ ...JSON.parse(EXPORT), collections });

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

describeEngines("the import of an export document", (engine) => {
  it("restores the records with their groups and times, and one that was consumed as consumed", async () => {
    const opened = await openStore(engine);
    const one = { written: 1, removed: 0, expired: 0 };
    const done = Object.fromEntries([
      ["__proto__", one],
      ["alerts", one],
      ["notes", { ...one, written: 2 }],
    ]);
    expect(await imported(opened, written(EXPORT))).toEqual(done);
    const plain = { groups: [], expiresAt: undefined, dueAt: undefined, consumedAt: undefined };
    const noon = Date.UTC(2026, 10, 21, 12);
    expect(await all(opened.store, notes)).toEqual([
      { ...plain, key: "a", value: { text: "first" }, dueAt: noon - 5 },
      {
        ...plain,
        key: "b",
        value: { text: "second 😀\n" },
        groups: ["g"],
        expiresAt: noon + 60_000,
      },
    ]);
    expect(await all(opened.store, odd)).toEqual([
      { ...plain, key: "__proto__", value: JSON.parse('{"__proto__":{"a":1}}') },
    ]);
    const used = await opened.records.get(alerts, "used");
    expect(used).toMatchObject({ value: { text: "" }, consumedAt: expect.any(Number) });
  });

  it("replaces only the collections in the document, and writes one audit row", async () => {
    const opened = await openStore(engine);
    await imported(opened, written(EXPORT));
    await transact(opened.records, async (tx) => {
      for (const { key } of await tx.list(unsealedAudit, { limit: 9 }))
        tx.remove(unsealedAudit, key);
    });
    const file = written(
      exportOf({
        notes: { b: { value: 1 }, old: { value: 2, expiresAt: "2020-01-01T00:00:00Z" } },
      }),
    );
    expect(await imported(opened, file)).toEqual({ notes: { written: 1, removed: 1, expired: 1 } });
    expect((await all(opened.store, notes)).map(({ key, value }) => [key, value])).toEqual([
      ["b", 1],
    ]);
    expect(await all(opened.store, alerts)).toHaveLength(1);
    const audit = await opened.records.list(unsealedAudit, { limit: 100 });
    expect(audit.map(({ value }) => value.body)).toEqual([
      {
        ...{ action: "store.imported", actor: "operator", target: opened.store.identity.id },
        detail: { from: JSON.parse(EXPORT).storeId, collections: "notes" },
      },
    ]);
  });

  it("replaces what another process writes while it reads", async () => {
    const opened = await openStore(engine);
    const { records } = opened;
    const late = (key: string) =>
      transact(records, (tx) => tx.put(notes, { key, value: { text: key } }));
    await late("early");
    const meanwhile: typeof records.commit = async (operations) => {
      if ((await records.get(notes, "late")) === undefined) await late("late");
      return records.commit(operations);
    };
    const store = { ...opened.store, records: { ...records, commit: meanwhile } };
    const file = written(exportOf({ notes: { b: { value: 1 } } }));
    expect(await imported({ ...opened, store }, file)).toMatchObject({ notes: { removed: 2 } });
    expect((await all(opened.store, notes)).map(({ key }) => key)).toEqual(["b"]);
  });

  it.skipIf(engine === model)("commits 20,000 records in a single commit", async () => {
    const opened = await openStore(engine);
    const records = Array.from({ length: 20_000 }, (_, at) => [`k${at}`, { value: at }]);
    await imported(opened, written(exportOf({ notes: Object.fromEntries(records) })));
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

  it.each<[string, (text: string) => string, string]>([
    [
      "invalid JSON",
      (text) => text.replace('"first"', "hello"),
      'line 28, column 19: not JSON, "h"',
    ],
    ["a truncated file", (text) => text.slice(0, -3), "the file ends too early"],
    ["another format", (text) => text.replace("-export", "-backup"), ": format: "],
    ["a later version", (text) => text.replace('"version": 1', '"version": 2'), ": version: "],
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
    const { store } = await openStore(model);
    expect(change(EXPORT)).not.toBe(EXPORT);
    const file = written(change(EXPORT));
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
