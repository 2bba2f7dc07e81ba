import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { keyUses } from "../../../src/keys/key-uses.ts";
import { openKeyring } from "../../../src/keys/keyring.ts";
import { purgeExpiredData } from "../../../src/maintenance/maintenance.ts";
import { writeAuditEntry } from "../../../src/store/audit-entry.ts";
import { put } from "../../../src/store/port/operations.ts";
import { collection } from "../../../src/store/port/records.ts";
import { auditOf, sealAll } from "../../support/audit.ts";
import { stepsOf } from "../../support/steps-of.ts";
import { embedded, openStore } from "../../support/stores.ts";

const DAY_MS = 86_400_000;
/** Number of keys that a new keyring creates, each with an audit row. */
const KEYS_MADE = Object.keys(keyUses).length;
const masterKey = randomBytes(32);
const tokens = collection<number>("tokens");

describe("the cleanup of a store", () => {
  async function open() {
    const store = await openStore(embedded);
    const now = () => store.clock.now;
    const keyring = await openKeyring({ records: store.records, masterKey, now });
    const retentionMs = { event: 30 * DAY_MS };
    const tick = () =>
      purgeExpiredData(
        { records: store.records, archive: store.archive, retentionMs, keyring },
        now(),
      );
    return { store, keyring, tick };
  }

  it("deletes expired records in steps of at most 1,000, and keeps the other records", async () => {
    const { store, tick } = await open();
    const expiring = Array.from({ length: 2_500 }, (_, value) =>
      put(tokens, { key: `expiring ${value}`, value, ttlMs: 1_000 }),
    );
    await store.records.commit([
      ...expiring,
      put(tokens, { key: "lasting", value: 0, ttlMs: 1_001 }),
    ]);
    const { records: before } = await store.store.counts();
    expect(await tick()).toBe(0);
    store.clock.now += 1_000;
    expect([await tick(), await tick(), await tick()]).toEqual([1_000, 1_000, 0]);
    expect((await store.store.counts()).records).toBe(before - 2_500);
    expect(await store.records.get(tokens, "lasting")).toBeDefined();
  });

  it("removes audit rows after 400 days and keeps the tree intact", async () => {
    const { store, tick } = await open();
    await sealAll(store);
    store.clock.now += 400 * DAY_MS;
    await store.records.commit(
      stepsOf(
        writeAuditEntry,
        { action: "tested", actor: "system", target: "late" },
        store.clock.now,
      ),
    );
    await sealAll(store);
    await tick();
    const all = { rows: KEYS_MADE + 1, firstPosition: 1, problems: [] };
    expect(await auditOf(store)).toMatchObject(all);
    store.clock.now += 1;
    await tick();
    const late = { rows: 1, firstPosition: KEYS_MADE + 1, problems: [] };
    expect(await auditOf(store)).toMatchObject(late);
  });

  it("removes no audit rows if the oldest row was not written by the service, and reports that row", async () => {
    const { store, tick } = await open();
    const row = { kind: "audit", at: store.clock.now, id: "other", body: { action: "inserted" } };
    await store.archive.append([row]);
    store.clock.now += 401 * DAY_MS;
    await expect(tick()).rejects.toThrow('audit row "other"');
    expect(await store.archive.read("audit", { order: "oldest", limit: 1 })).toEqual([row]);
  });

  it("keeps rows of kinds without a retention period", async () => {
    const { store, tick } = await open();
    await store.archive.append([{ kind: "bar", at: 0, id: "1", body: {} }]);
    store.clock.now += 4_000 * DAY_MS;
    await tick();
    expect(await store.archive.read("bar", { order: "oldest", limit: 1 })).toHaveLength(1);
  });

  it("removes rows after the retention period of their kind", async () => {
    const { store, tick } = await open();
    const kinds = ["event", "bar"];
    await store.archive.append(
      kinds.map((kind) => ({ kind, at: store.clock.now, id: "1", body: {} })),
    );
    const left = () =>
      Promise.all(kinds.map((kind) => store.archive.read(kind, { order: "oldest", limit: 1 })));
    store.clock.now += 30 * DAY_MS;
    await tick();
    expect(await left()).toMatchObject([[{ kind: "event" }], [{ kind: "bar" }]]);
    store.clock.now += 1;
    await tick();
    expect(await left()).toMatchObject([[], [{ kind: "bar" }]]);
  });

  it("removes keys after their retention period", async () => {
    const { store, keyring, tick } = await open();
    await keyring.rotate("token-signing", { actor: "operator" });
    await tick();
    expect(keyring.keys("token-signing")).toHaveLength(2);
    store.clock.now += DAY_MS;
    await tick();
    expect(keyring.keys("token-signing")).toHaveLength(1);
  });

  it("gives the same result when several processes run it concurrently", async () => {
    const { store, keyring, tick } = await open();
    await keyring.rotate("token-signing", { actor: "operator" });
    await sealAll(store);
    store.clock.now += 401 * DAY_MS;
    await Promise.all([tick(), tick(), tick()]);
    await sealAll(store);
    // The rows of the first keys and of the rotation were removed, and the row of the key's removal
    // remains.
    const removal = { rows: 1, firstPosition: KEYS_MADE + 2, problems: [] };
    expect(await auditOf(store)).toMatchObject(removal);
  });
});
