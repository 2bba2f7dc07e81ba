import { describe, expect, it } from "vitest";
import { LastUseTracker } from "../../../../src/access/last-use.ts";
import { accounts } from "../../../../src/principals/accounts/accounts.ts";
import { accountRecordsGroup } from "../../../../src/principals/agents/agent.ts";
import {
  ApiKeyService,
  MAX_API_KEYS_PER_ACCOUNT,
} from "../../../../src/principals/keys/api-keys.ts";
import { generateApiKey } from "../../../../src/principals/keys/key-format.ts";
import {
  type AuditEntry,
  unsealedAudit,
  writeAuditEntry,
} from "../../../../src/store/audit-entry.ts";
import { insert, remove, removeGroup } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import { transact } from "../../../../src/store/transact.ts";
import {
  describeEngines,
  dumpStore,
  embedded,
  openStore,
  slowRecords,
  type TestStore,
} from "../../../support/stores.ts";

const DAY_MS = 86_400_000;
const wanted = { name: "Desk", scopes: ["signals:read"], actor: "operator" } as const;

function keysOn({ clock }: TestStore, records: Records, mode: "sandbox" | "live" = "sandbox") {
  const now = () => new Date(clock.now);
  const onError = (error: unknown) => {
    throw error;
  };
  return new ApiKeyService({
    ...{ records, mode, now },
    audit: (tx, entry) => writeAuditEntry(tx, entry, clock.now),
    lastUse: new LastUseTracker({ records, now, onError }),
  });
}

async function open() {
  const kept = await openStore(embedded);
  return { ...kept, keys: keysOn(kept, kept.records) };
}

async function auditOf(records: Records): Promise<readonly AuditEntry[]> {
  const rows = await records.list(unsealedAudit, { limit: 1_000 });
  return rows.map(({ value }) => value.body as AuditEntry);
}

const account = (id: string) =>
  insert(accounts, {
    key: id,
    value: { label: id, createdAt: 0 },
    groups: [accountRecordsGroup(id)],
  });

describe("API keys", () => {
  it("are found by the key text that a caller presents", async () => {
    const { keys, clock } = await open();
    const { key, id } = await keys.create(wanted);
    expect(await keys.find(key)).toEqual({
      ...{ id, name: "Desk", scopes: ["signals:read"], hint: key.slice(0, 13) },
      ...{ createdAt: clock.now },
    });
    expect(id).toMatch(/^key_\w{16}$/);
  });

  it("are stored only as a hash, and neither the key nor the hash is written to the audit log", async () => {
    const { keys, store, records } = await open();
    const { key, id } = await keys.create(wanted);
    await keys.revoke(id, "operator");
    await keys.create(wanted);
    const text = JSON.stringify(await dumpStore(store));
    expect(text).not.toContain(key);
    expect(text).not.toContain(key.slice(13));
    expect(JSON.stringify(await auditOf(records))).not.toContain("msv_");
  });

  it("are rejected when unknown, however well formed", async () => {
    const { keys } = await open();
    const { key } = await keys.create(wanted);
    for (const text of ["", "x", generateApiKey("sandbox"), generateApiKey("live"), `${key} `]) {
      expect(await keys.find(text), text).toBeUndefined();
    }
  });

  it("are rejected when malformed, without accessing the store", async () => {
    const kept = await openStore(embedded);
    const { key } = await keysOn(kept, kept.records).create(wanted);
    let asked = 0;
    const counting: Records = {
      ...kept.records,
      get(from, name) {
        asked += 1;
        return kept.records.get(from, name);
      },
    };
    const sandbox = keysOn(kept, counting);
    const wrong = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");
    expect(await sandbox.find(wrong)).toBeUndefined();
    expect(await sandbox.find(generateApiKey("live"))).toBeUndefined();
    expect(await keysOn(kept, counting, "live").find(key)).toBeUndefined();
    expect(asked).toBe(0);
    expect(await sandbox.find(key)).toBeDefined();
    expect(asked).toBe(1);
  });

  it("expire at their expiry time", async () => {
    const { keys, clock } = await open();
    const { key } = await keys.create({ ...wanted, ttlMs: 7 * DAY_MS });
    const [listed] = await keys.list();
    expect(listed?.expiresAt).toBe(clock.now + 7 * DAY_MS);
    clock.now += 7 * DAY_MS - 1;
    expect(await keys.find(key)).toBeDefined();
    clock.now += 1;
    expect(await keys.find(key)).toBeUndefined();
    expect(await keys.list()).toEqual([]);
  });

  it("are revoked immediately and only once", async () => {
    const { keys, records } = await open();
    const { key, id } = await keys.create(wanted);
    const other = await keys.create(wanted);
    const revoked = await Promise.all(
      Array.from({ length: 20 }, () => keys.revoke(id, "operator")),
    );
    expect(revoked.filter(Boolean)).toHaveLength(1);
    expect(await keys.find(key)).toBeUndefined();
    expect(await keys.find(other.key)).toBeDefined();
    expect(await auditOf(records)).toEqual([
      { action: "key.created", actor: "operator", target: id },
      { action: "key.created", actor: "operator", target: other.id },
      { action: "key.revoked", actor: "operator", target: id },
    ]);
  });

  it("are not revoked by a request with a malformed id or from another account", async () => {
    const { keys, records } = await open();
    await records.commit([account("acc_a"), account("acc_b")]);
    const theirs = await keys.createFor("acc_a", wanted);
    const operators = await keys.create(wanted);
    for (const id of [
      "",
      "key_",
      "x".repeat(600),
      "key_\0",
      operators.key,
      "key_0123456789abcdef",
    ]) {
      expect(await keys.revoke(id, "operator"), id).toBe(false);
    }
    expect(await keys.revoke(operators.id, "acc_b", "acc_b")).toBe(false);
    expect(await keys.revoke(theirs?.id ?? "", "acc_b", "acc_b")).toBe(false);
    expect(await keys.list()).toHaveLength(2);
    expect(await keys.revoke(theirs?.id ?? "", "acc_a", "acc_a")).toBe(true);
  });

  it("are listed in full or per account, oldest first, with their last use", async () => {
    const { keys, records, clock } = await open();
    await records.commit([account("acc_a"), account("acc_b")]);
    const first = await keys.create(wanted);
    const second = await keys.createFor("acc_a", wanted);
    const third = await keys.createFor("acc_b", wanted);
    await keys.find(second?.key ?? "");
    await expect
      .poll(async () => (await keys.list("acc_a")).map(({ lastUsedAt }) => lastUsedAt))
      .toEqual([Math.floor(clock.now / 3_600_000) * 3_600_000]);
    const all = await keys.list();
    expect(all.map(({ id }) => id)).toEqual([first.id, second?.id, third?.id]);
    expect(all.map(({ accountId }) => accountId)).toEqual([undefined, "acc_a", "acc_b"]);
    expect(all[0]?.lastUsedAt).toBeUndefined();
  });

  it("are all listed even if they do not fit on one page", async () => {
    const { keys, records } = await open();
    const made = await transact(records, (tx) =>
      Array.from({ length: 1_001 }, () => keys.add(tx, wanted)),
    );
    expect((await keys.list()).map(({ id }) => id)).toEqual(made.map(({ id }) => id));
  });

  it("are deleted with their account, and cannot be created for a deleted account", async () => {
    const { keys, records } = await open();
    await records.commit([account("acc_a")]);
    const made = await keys.createFor("acc_a", wanted);
    await records.commit([removeGroup(accountRecordsGroup("acc_a"))]);
    expect(await keys.find(made?.key ?? "")).toBeUndefined();
    expect(await keys.createFor("acc_a", wanted)).toBeUndefined();
    expect(await keys.list()).toEqual([]);
  });

  it("cannot be created for an account that is deleted concurrently", async () => {
    const kept = await openStore(embedded);
    await kept.records.commit([account("acc_a")]);
    const going: Records = {
      ...kept.records,
      async commit(operations) {
        await kept.records.commit([remove(accounts, "acc_a")]);
        return kept.records.commit(operations);
      },
    };
    expect(await keysOn(kept, going).createFor("acc_a", wanted)).toBeUndefined();
    expect(await keysOn(kept, kept.records).list()).toEqual([]);
  });

  it("are limited per person, and a revocation makes room for another key", async () => {
    const { keys, records } = await open();
    await records.commit([account("acc_a"), account("acc_b")]);
    const made = [];
    for (let count = 0; count <= MAX_API_KEYS_PER_ACCOUNT; count += 1) {
      made.push(await keys.createFor("acc_a", wanted));
    }
    expect(made.map((each) => each !== undefined)).toEqual([true, true, true, true, true, false]);
    expect(await keys.createFor("acc_b", wanted)).toBeDefined();
    await keys.revoke(made[2]?.id ?? "", "acc_a", "acc_a");
    expect(await keys.createFor("acc_a", wanted)).toBeDefined();
    expect(await keys.createFor("acc_a", wanted)).toBeUndefined();
    const [entry] = (await auditOf(records)).slice(-1);
    expect(entry).toMatchObject({ action: "key.created", actor: "acc_a" });
  });
});

describeEngines("API keys that one person creates at once", (engine) => {
  const ways: readonly [string, (records: Records) => Records][] = [
    ["", (records) => records],
    [", with a store slowed by 3 ms", slowRecords],
  ];
  it.each(ways)("are created for only 5 of 100 requests%s", async (_, way) => {
    const kept = await openStore(engine);
    const beside = engine.isShared ? await kept.openBeside() : kept;
    await kept.records.commit([account("acc_a")]);
    const on = [keysOn(kept, way(kept.records)), keysOn(kept, way(beside.records))];
    const made = await Promise.all(
      Array.from({ length: 100 }, (_each, at) => on[at % 2]?.createFor("acc_a", wanted)),
    );
    const won = made.filter((each) => each !== undefined);
    expect(won).toHaveLength(MAX_API_KEYS_PER_ACCOUNT);
    const listed = await keysOn(kept, kept.records).list("acc_a");
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(won.map(({ id }) => id)));
    expect(await auditOf(kept.records)).toHaveLength(MAX_API_KEYS_PER_ACCOUNT);
  });
});

describe("an API key that is created together with another record", () => {
  it("is committed together with the other record, or not at all", async () => {
    const { keys, records } = await open();
    let made = "";
    const refused = transact(records, (tx) => {
      made = keys.add(tx, wanted).key;
      throw new Error("refused");
    });
    await expect(refused).rejects.toThrow("refused");
    expect(await keys.find(made)).toBeUndefined();
    const { key } = await transact(records, (tx) =>
      keys.add(tx, { ...wanted, groups: ["email:x"] }),
    );
    expect(await keys.find(key)).toBeDefined();
    await records.commit([removeGroup("email:x")]);
    expect(await keys.find(key)).toBeUndefined();
  });
});
