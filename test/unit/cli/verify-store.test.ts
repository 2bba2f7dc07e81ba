import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { verifyStoreCommand } from "../../../src/cli/commands/verify-store.ts";
import { writeAuditEntry } from "../../../src/store/audit-entry.ts";
import { put } from "../../../src/store/port/operations.ts";
import { collection } from "../../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../../src/store/port/store.ts";
import { storeUnavailableProblem } from "../../../src/store/port/unavailable.ts";
import { sealAll } from "../../support/audit.ts";
import { stepsOf } from "../../support/steps-of.ts";
import { dumpStore, inBatches, model, openStore } from "../../support/stores.ts";

const notes = collection<number>("notes");

/** A store with two records, three sealed audit rows and one unsealed audit row. */
async function filledStore() {
  const { store, records, clock } = await openStore(model);
  const now = () => clock.now;
  const audit = (target: string) =>
    stepsOf(writeAuditEntry, { action: "note.written", actor: "system", target }, now());
  await records.commit([put(notes, { key: "a", value: 1 }), put(notes, { key: "b", value: 2 })]);
  await records.commit(["a", "b", "c"].flatMap(audit));
  await sealAll({ records, clock });
  await records.commit(audit("d"));
  return store;
}

const verified = (store: Store, args: { readonly state?: string } = {}) =>
  verifyStoreCommand.run(
    args,
    {
      ...{ store, folder: "", now: () => 0, holder: "command" },
      keyring: () => Promise.reject(new Error("no keys are needed")),
    },
    () => {},
  );

/** Loads the store again with `change` applied to each row, as an intruder could. */
async function changed(store: Store, change: (row: DumpRow) => DumpRow): Promise<Store> {
  const rows = (await dumpStore(store)).map(change);
  await store.load(store.identity, inBatches(rows, 100));
  return store;
}

describe("the store verify command", () => {
  it("counts the content of an intact store and prints ok", async () => {
    const { isGood, lines, result } = await verified(await filledStore());
    expect(isGood).toBe(true);
    expect(result).toMatchObject({
      ...{ isGood: true, problems: [], records: { notes: 2 } },
      audit: { rows: 3, unsealed: 1, lastPosition: 3 },
    });
    expect(lines.join("\n")).toMatch(
      / {2}notes: 2\n.* {2}audit: 3\n.*3; not sealed yet: 1\n.*\nok$/s,
    );
  });

  it("saves the state of the audit log, and later reports a log that was rebuilt", async () => {
    const folder = mkdtempSync(join(tmpdir(), "verify-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const state = join(folder, "audit.json");
    const [first, other] = [await filledStore(), await filledStore()];
    const { lines } = await verified(first, { state });
    expect(lines.join("\n")).toMatch(/^Signed checkpoint: audit\/\w+ 3 \S+=$/m);
    expect(JSON.parse(readFileSync(state, "utf8"))).toMatchObject({ sightings: [{ size: 3 }] });
    expect((await verified(first, { state })).isGood).toBe(true);
    const before = readFileSync(state, "utf8");
    expect((await verified(other, { state })).lines.join("\n")).toMatch(
      /another origin than "audit.*was seen before/,
    );
    expect(readFileSync(state, "utf8")).toBe(before);
  });

  it("reports a changed audit row", async () => {
    const store = await changed(await filledStore(), (row) =>
      row.table === "archive" ? { ...row, text: row.text.replace('"c"', '"x"') } : row,
    );
    const { isGood, lines } = await verified(store);
    expect(isGood).toBe(false);
    expect(lines.join("\n")).toMatch(/\b3\b.*changed/);
    expect(lines.join("\n")).not.toMatch(/ok$/);
  });

  it("reports rows that are not JSON and revisions out of order", async () => {
    const store = await filledStore();
    const rows = await dumpStore(store);
    const [first, second, ...others] = rows as [DumpRow, DumpRow, ...DumpRow[]];
    const dump = () => inBatches([second, first, { ...second, text: "{" }, ...others], 100);
    const { isGood, result } = await verified({ ...store, identity: store.identity, dump });
    expect(isGood).toBe(false);
    expect(result.problems).toEqual([
      'Record "a" of notes has the revision 1, after 2.',
      'Record "b" of notes is not JSON.',
    ]);
  });

  it("continues after an unreadable row, and reports the error message of the storage engine", async () => {
    const store = await filledStore();
    const fault = storeUnavailableProblem(
      "It did not answer.",
      new Error("database disk is malformed"),
    );
    async function* dump() {
      yield (await dumpStore(store)).slice(0, 1);
      throw fault;
    }
    const archive = { ...store.archive, read: () => Promise.reject(fault) };
    const broken = { ...store, identity: store.identity, dump, archive };
    const { isGood, result } = await verified(broken);
    expect(isGood).toBe(false);
    expect(result.problems).toEqual([
      "The rows could not be read to the end: It did not answer. database disk is malformed.",
      "The audit log could not be read to the end: It did not answer. database disk is malformed.",
    ]);
  });

  it("can be aborted, and does not report the abort as a problem of the store", async () => {
    const store = await filledStore();
    async function* dump(): AsyncGenerator<readonly DumpRow[]> {
      yield [];
      throw new Error("Stopped.");
    }
    await expect(verified({ ...store, identity: store.identity, dump })).rejects.toThrow(
      "Stopped.",
    );
  });

  it("reports faults in the files of a store", async () => {
    const store = await filledStore();
    const check = async () => ["store.sqlite: row 2 does not fit its checksum"];
    const checked = { ...store, identity: store.identity, check };
    const { isGood, result } = await verified(checked);
    expect(isGood).toBe(false);
    expect(result.problems).toEqual(["store.sqlite: row 2 does not fit its checksum"]);
  });
});
