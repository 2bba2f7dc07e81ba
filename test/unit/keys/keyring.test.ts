import { createPrivateKey, createPublicKey, randomBytes, sign, verify } from "node:crypto";
import { generateKeyPair, importJWK, jwtVerify, SignJWT } from "jose";
import { expect, it, vi } from "vitest";
import { hasStoredKeys, type KeyRecord, keyRecords } from "../../../src/keys/key-records.ts";
import { type KeyUse, keyUses } from "../../../src/keys/key-uses.ts";
import { type Keyring, openKeyring } from "../../../src/keys/keyring.ts";
import { put, remove } from "../../../src/store/port/operations.ts";
import type { Records, Stored } from "../../../src/store/port/records.ts";
import { sealAll } from "../../support/audit.ts";
import {
  describeEngines,
  dumpStore,
  openStore,
  slowRecords,
  type TestStore,
} from "../../support/stores.ts";

const DAY_MS = 86_400_000;
const masterKey = randomBytes(32);
const uses = Object.keys(keyUses) as readonly KeyUse[];
const operator = { actor: "operator" };

const open = ({ records, clock }: Pick<TestStore, "records" | "clock">): Promise<Keyring> =>
  openKeyring({ records, masterKey, now: () => clock.now });

const kids = (keyring: Keyring, of: readonly KeyUse[] = uses): readonly string[] =>
  of.flatMap((use) => keyring.keys(use).map(({ kid }) => kid));

async function stored(records: Records, use: KeyUse): Promise<Stored<KeyRecord>> {
  const found = await records.list(keyRecords, { limit: 100 });
  const key = found.find(({ value }) => value.use === use);
  if (key === undefined) throw new Error(`there is no key for ${use}`);
  return key;
}

async function actions({ records, archive, clock }: TestStore): Promise<readonly unknown[]> {
  await sealAll({ records, clock });
  const rows = await archive.read("audit", { order: "oldest", limit: 100 });
  return rows.map(({ body }) => body);
}

describeEngines("the keyring", (engine) => {
  it("creates one key for every use at the first start, and finds these keys at the next start", async () => {
    const store = await openStore(engine);
    expect(await hasStoredKeys(store.records)).toBe(false);
    const first = await open(store);
    expect(await hasStoredKeys(store.records)).toBe(true);
    expect(new Set(kids(first)).size).toBe(uses.length);
    const again = await open(await store.reopen());
    for (const use of uses) expect(again.keys(use)).toEqual(first.keys(use));
  });

  it("audits the creation of keys", async () => {
    const store = await openStore(engine);
    const keyring = await open(store);
    expect(await actions(store)).toEqual(
      uses.map((use) =>
        expect.objectContaining({
          ...{ action: "key.created", actor: "system", detail: { use } },
          target: keyring.keys(use)[0].kid,
        }),
      ),
    );
  });

  it("creates a missing key when an older store is opened", async () => {
    const store = await openStore(engine);
    const before = kids(await open(store));
    const key = "token-signing-rsa:1";
    await store.records.commit([remove(keyRecords, key)]);
    const after = await open(store);
    expect(after.keys("token-signing-rsa")[0].jwk).toMatchObject({ kty: "RSA", alg: "RS256" });
    expect(kids(after).filter((kid) => before.includes(kid))).toHaveLength(uses.length - 1);
  });

  it("returns the same keys to processes that start concurrently", async () => {
    const store = await openStore(engine);
    const beside = engine.isShared
      ? [await store.openBeside(), await store.openBeside()]
      : [store, store];
    const rings = await Promise.all(
      [store, ...beside].map(({ records }) =>
        open({ records: slowRecords(records), clock: store.clock }),
      ),
    );
    const [first, ...others] = rings.map((ring) => kids(ring));
    expect(first).toHaveLength(uses.length);
    expect(others).toEqual([first, first]);
  });

  it("creates keys that sign and verify only for their own use", async () => {
    const keyring = await open(await openStore(engine));
    const [{ jwk, kid }] = keyring.keys("token-signing");
    expect(jwk).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256", use: "sig", kid });
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: "ES256", kid })
      .sign(await importJWK(jwk));
    const { d: _, ...publicJwk } = jwk;
    await expect(jwtVerify(token, await importJWK(publicJwk))).resolves.toBeDefined();
    const other = await generateKeyPair("ES256");
    await expect(jwtVerify(token, other.publicKey)).rejects.toThrow();

    const [webhook] = keyring.keys("webhook-signing");
    const privateKey = createPrivateKey({ key: { ...webhook.jwk }, format: "jwk" });
    const signature = sign(null, Buffer.from("a body"), privateKey);
    expect(verify(null, Buffer.from("a body"), createPublicKey(privateKey), signature)).toBe(true);
    for (const use of ["cookie-signing", "secret-encryption", "address-hash"] as const) {
      expect(Buffer.from(keyring.keys(use)[0].jwk.k, "base64url")).toHaveLength(32);
    }
  });

  it("stores no secret in plain text", async () => {
    const store = await openStore(engine);
    const keyring = await open(store);
    const text = JSON.stringify(await dumpStore(store.store));
    const secrets = [
      ...[keyring.keys("token-signing"), keyring.keys("webhook-signing")].map(([{ jwk }]) => jwk.d),
      ...[keyring.keys("cookie-signing"), keyring.keys("address-hash")].map(([{ jwk }]) => jwk.k),
      ...[keyring.keys("secret-encryption")[0].jwk.k, masterKey.toString("base64")],
    ];
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    expect(text).toContain(keyring.keys("token-signing")[0].kid);
  });

  it("reports a wrong master key with instructions, and changes nothing", async () => {
    const store = await openStore(engine);
    await open(store);
    const before = await dumpStore(store.store);
    const { records, clock } = store;
    const opening = openKeyring({ records, masterKey: randomBytes(32), now: () => clock.now });
    await expect(opening).rejects.toThrow("put back the master.key, or set the MASTER_KEY");
    expect(await dumpStore(store.store)).toEqual(before);
  });

  it("rejects a stored key whose encrypted secret was replaced by the secret of a key for another use", async () => {
    const store = await openStore(engine);
    await open(store);
    const cookie = await stored(store.records, "cookie-signing");
    const { value } = await stored(store.records, "address-hash");
    const moved = { ...cookie.value, sealed: value.sealed };
    await store.records.commit([put(keyRecords, { key: cookie.key, value: moved })]);
    await expect(open(store)).rejects.toThrow("another master key");
  });

  it("puts a new key first and keeps the previous key", async () => {
    const store = await openStore(engine);
    const keyring = await open(store);
    const [old] = keyring.keys("cookie-signing");
    store.clock.now += DAY_MS;
    let changes = 0;
    keyring.onChange(() => {
      changes += 1;
    });
    const kid = await keyring.rotate("cookie-signing", { ...operator, requestId: "r1" });
    const [newest, ...others] = keyring.keys("cookie-signing");
    expect(newest).toMatchObject({ kid, createdAt: store.clock.now, retiredAt: null });
    expect(others).toEqual([{ ...old, retiredAt: store.clock.now }]);
    expect(newest.jwk.k).not.toBe(old.jwk.k);
    expect(changes).toBe(1);
    expect(keyring.keys("address-hash")).toHaveLength(1);
    expect((await actions(store)).at(-1)).toMatchObject({
      ...{ action: "key.rotated", actor: "operator", requestId: "r1", target: kid },
      detail: { use: "cookie-signing" },
    });
  });

  it("notifies the other processes, which then load the same keys", async () => {
    const store = await openStore(engine);
    const beside = engine.isShared ? await store.openBeside() : store;
    const [one, other] = [await open(store), await open(beside)];
    const announced = new Promise((resolve) => beside.records.onAnnounce("keys", resolve));
    await one.rotate("token-signing", operator);
    await announced;
    await other.reload();
    expect(kids(other)).toEqual(kids(one));
  });

  it("does not call a listener when nothing has changed or after the listener was removed", async () => {
    const keyring = await open(await openStore(engine));
    let changes = 0;
    const stop = keyring.onChange(() => {
      changes += 1;
    });
    await Promise.all([keyring.reload(), keyring.reload()]);
    stop();
    await keyring.rotate("token-signing", operator);
    expect(changes).toBe(0);
  });

  it("keeps the newest state when an earlier read finishes late", async () => {
    const store = await openStore(engine);
    const { records } = store;
    const late: (() => void)[] = [];
    let isLate = false;
    const keyring = await open({
      clock: store.clock,
      records: {
        ...records,
        async list(from, selection) {
          const found = await records.list(from, selection);
          if (isLate) await new Promise<void>((go) => late.push(go));
          return found;
        },
      },
    });
    isLate = true;
    const early = keyring.reload();
    await vi.waitUntil(() => late.length === 1);
    const kid = await (await open(store)).rotate("cookie-signing", operator);
    isLate = false;
    const last = keyring.reload();
    late[0]?.();
    await Promise.all([early, last]);
    expect(keyring.keys("cookie-signing")[0].kid).toBe(kid);
  });

  it("rotates once for each of several concurrent requests", async () => {
    const store = await openStore(engine);
    const records = slowRecords(store.records);
    const rings = await Promise.all([1, 2, 3].map(() => open({ records, clock: store.clock })));
    const made = await Promise.all(rings.map((ring) => ring.rotate("webhook-signing", operator)));
    const [ring] = rings;
    await ring?.reload();
    const keys = ring?.keys("webhook-signing") ?? [];
    expect(keys).toHaveLength(4);
    expect(keys.filter(({ retiredAt }) => retiredAt === null)).toHaveLength(1);
    expect(keys.map(({ kid }) => kid)).toEqual(expect.arrayContaining(made));
  });

  it("removes a retired key once nothing that is still in use depends on the key", async () => {
    const store = await openStore(engine);
    const keyring = await open(store);
    for (const use of uses) await keyring.rotate(use, operator);
    const left = async (afterMs: number) => {
      store.clock.now += afterMs;
      await keyring.removeEnded();
      return uses.filter((use) => keyring.keys(use).length === 2);
    };
    expect(await left(DAY_MS - 1)).toEqual(uses);
    expect(await left(1)).not.toContain("token-signing");
    expect(await left(6 * DAY_MS)).not.toContain("webhook-signing");
    expect(await left(7 * DAY_MS - 1)).toContain("cookie-signing");
    const kept = ["log-signing", "log-signing-ml-dsa", "secret-encryption", "address-hash"];
    expect(await left(1)).toEqual(kept);
    expect(await left(76 * DAY_MS - 1)).toEqual(kept);
    expect(await left(1)).toEqual(["secret-encryption", "address-hash"]);
    expect(await left(310 * DAY_MS)).toEqual(["secret-encryption"]);
    expect(await left(10_000 * DAY_MS)).toEqual(["secret-encryption"]);
    expect(await keyring.removeEnded()).toBe(0);
    expect(kids(await open(store))).toEqual(kids(keyring));
    const removed = (await actions(store)).filter((entry) =>
      JSON.stringify(entry).includes("key.removed"),
    );
    expect(removed).toHaveLength(uses.length - 1);
  });

  it("ignores keys of a later version", async () => {
    const store = await openStore(engine);
    const keyring = await open(store);
    const { value } = await stored(store.records, "cookie-signing");
    const later = { ...value, use: "later" as KeyUse, kid: "later", retiredAt: 0 };
    await store.records.commit([put(keyRecords, { key: "later:1", value: later })]);
    await keyring.reload();
    store.clock.now += 10_000 * DAY_MS;
    await keyring.removeEnded();
    expect(await store.records.get(keyRecords, "later:1")).toBeDefined();
  });

  it("hashes addresses identically in every process of a store, and differently in another store", async () => {
    const store = await openStore(engine);
    const [one, same, other] = [
      await open(store),
      await open(store),
      await open(await openStore(engine)),
    ];
    const hash = one.hashAddress("192.0.2.1");
    expect(hash).toMatch(/^[\w-]{22}$/);
    expect(same.hashAddress("192.0.2.1")).toBe(hash);
    expect(one.hashAddress("192.0.2.2")).not.toBe(hash);
    expect(other.hashAddress("192.0.2.1")).not.toBe(hash);
  });
});
