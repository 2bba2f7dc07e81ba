import type { Adapter } from "oidc-provider";
import { describe, expect, it } from "vitest";
import { createAuditor, withCallerAddress } from "../../../../src/access/auditor.ts";
import { withRequestState } from "../../../../src/auth/oidc/request-state.ts";
import { createStoreAdapter } from "../../../../src/auth/oidc/store-adapter.ts";
import { createLimits } from "../../../../src/limits/limits.ts";
import { accountRecordsGroup, clients } from "../../../../src/principals/agents/agent.ts";
import { UnclaimedCapacity } from "../../../../src/principals/agents/unclaimed-capacity.ts";
import type { AuditEntry } from "../../../../src/store/audit-entry.ts";
import { unsealedAudit } from "../../../../src/store/audit-entry.ts";
import { removeGroup, replace } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import {
  describeEngines,
  dumpStore,
  type Engine,
  embedded,
  openStore,
  slowRecords,
} from "../../../support/stores.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Creates an adapter on a new store with the clients `a` and `b`. Only the test advances the clock.
 */
async function build(engine: Engine = embedded, seenAs = (records: Records) => records) {
  const { store, records, clock } = await openStore(engine);
  const now = () => new Date(clock.now);
  const hashAddress = (address: string) => `hash of ${address}`;
  const audit = createAuditor({ now, hashAddress });
  const capacity = new UnclaimedCapacity({ records, now });
  const limits = createLimits();
  const context = { records: seenAs(records), now, audit, capacity, hashAddress, limits };
  const adapterFor = createStoreAdapter(context);
  const started = clock.now;
  for (const id of ["a", "b"]) await adapterFor("Client").upsert(id, { client_id: id });
  const before = (await records.list(unsealedAudit, { limit: 1000 })).length;
  const audited = async () => {
    const rows = await records.list(unsealedAudit, { limit: 1000 });
    return rows.slice(before).map(({ value }) => value.body as AuditEntry);
  };
  return { store, records, clock, adapterFor, audit: audited, started };
}

type Built = Awaited<ReturnType<typeof build>>;

const REFUSED = { error: "invalid_grant" };
const hundred = <T>(act: () => Promise<T>) =>
  Promise.allSettled(Array.from({ length: 100 }, () => act()));
const won = (attempts: readonly PromiseSettledResult<unknown>[]) =>
  attempts.filter(({ status }) => status === "fulfilled").length;

describe("the store adapter", () => {
  it("returns new objects and stores copies", async () => {
    const { adapterFor } = await build();
    for (const model of ["ClientCredentials", "Client", "Grant", "Session"]) {
      const adapter = adapterFor(model);
      const payload = { clientId: "a", scope: "signals:read", jwks: { keys: [] as object[] } };
      const before = structuredClone(payload);
      await adapter.upsert("t", payload, 60);
      payload.jwks.keys.push({});
      payload.scope = "alerts:write";
      const first = (await adapter.find("t")) as typeof payload;
      first.scope = "alerts:write";
      first.jwks.keys.push({});

      expect(await adapter.find("t")).toEqual({
        ...before,
        ...(model === "ClientCredentials" && { jti: "t" }),
      });
    }
  });

  it("keeps records of different models separate", async () => {
    const { adapterFor } = await build();
    await adapterFor("AccessToken").upsert("t", { clientId: "a" }, 60);

    expect(await adapterFor("ClientCredentials").find("t")).toBeUndefined();
  });

  it("expires a record at its expiry time, and keeps a record without an expiry", async () => {
    const { clock, started, adapterFor } = await build();
    await adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 60);
    await adapterFor("InitialAccessToken").upsert("i", { clientId: "a" });

    clock.now = started + 59_999;
    expect(await adapterFor("ClientCredentials").find("t")).toBeDefined();
    clock.now = started + 60_000;
    expect(await adapterFor("ClientCredentials").find("t")).toBeUndefined();
    clock.now = started + 1e12;
    expect(await adapterFor("InitialAccessToken").find("i")).toBeDefined();
  });

  it("extends the expiry of a record that is written again", async () => {
    const { clock, started, adapterFor } = await build();
    const sessions = adapterFor("Session");
    await sessions.upsert("s", { jti: "s", uid: "u" }, 60);
    clock.now = started + 30_000;
    await sessions.upsert("s", { jti: "s", uid: "u" }, 60);
    clock.now = started + 89_999;
    expect(await sessions.find("s")).toEqual({ jti: "s", uid: "u" });
    clock.now = started + 90_000;
    expect(await sessions.find("s")).toBeUndefined();
  });

  it("deletes the grant with its tokens, and no other grant or token", async () => {
    for (const end of [
      ({ adapterFor }: Built) => adapterFor("AccessToken").revokeByGrantId("g"),
      ({ adapterFor }: Built) => adapterFor("Grant").destroy("g"),
      ({ adapterFor }: Built) => adapterFor("RefreshToken").destroy("2"),
    ]) {
      const built = await build();
      const { adapterFor } = built;
      const given = { clientId: "a", grantId: "g" };
      await adapterFor("Grant").upsert("g", { clientId: "a" }, 60);
      await adapterFor("Grant").upsert("h", { clientId: "a" }, 60);
      await adapterFor("AccessToken").upsert("1", given, 60);
      await adapterFor("RefreshToken").upsert("2", given, 60);
      await adapterFor("AccessToken").upsert("3", { ...given, grantId: "h" }, 60);
      await end(built);

      expect(await adapterFor("Grant").find("g")).toBeUndefined();
      expect(await adapterFor("AccessToken").find("1")).toBeUndefined();
      expect(await adapterFor("RefreshToken").find("2")).toBeUndefined();
      expect(await adapterFor("AccessToken").find("3")).toBeDefined();
      expect(await adapterFor("Grant").find("h")).toBeDefined();
    }
  });

  it("stores a grant and its tokens in the group of the account", async () => {
    const { adapterFor, records } = await build();
    const given = { clientId: "a", grantId: "g", accountId: "acc_1" };
    await adapterFor("Grant").upsert("g", { clientId: "a", accountId: "acc_1" }, 60);
    const models = ["AccessToken", "AuthorizationCode", "RefreshToken", "Session"];
    for (const model of models) await adapterFor(model).upsert("t", given, 60);
    await records.commit([removeGroup(accountRecordsGroup("acc_1"))]);

    for (const model of models) expect(await adapterFor(model).find("t")).toBeUndefined();
    expect(await adapterFor("Grant").find("g")).toBeUndefined();
  });

  it("finds a session by its newest uid and a device code by its newest user code", async () => {
    const { adapterFor } = await build();
    await adapterFor("Session").upsert("s", { jti: "s", uid: "u1" }, 60);
    await adapterFor("Session").upsert("s", { jti: "s", uid: "u2" }, 60);
    await adapterFor("DeviceCode").upsert("d", { jti: "d", userCode: "ABCD" }, 60);

    expect(await adapterFor("Session").findByUid("u1")).toBeUndefined();
    expect(await adapterFor("Session").findByUid("u2")).toEqual({ jti: "s", uid: "u2" });
    expect(await adapterFor("DeviceCode").findByUserCode("ABCD")).toMatchObject({ jti: "d" });
  });

  it.each([
    ["the empty string", ""],
    ["a NUL character", "\0"],
    ["text with a NUL character inside", "a\0b"],
    ["513 characters", "a".repeat(513)],
    ["half a surrogate pair", "\ud800"],
  ])("finds no record when the id is %s", async (_title, id) => {
    const { adapterFor } = await build();
    for (const model of ["Client", "ClientCredentials", "Session", "RegistrationAccessToken"]) {
      const adapter: Adapter = adapterFor(model);
      expect(await adapter.find(id)).toBeUndefined();
      expect(await adapter.findByUid(id)).toBeUndefined();
      expect(await adapter.findByUserCode(id)).toBeUndefined();
      await adapter.destroy(id);
    }
  });
});

describeEngines("single use in the store adapter", (engine) => {
  it("lets exactly one of 100 concurrent uses succeed, even in a slow store", async () => {
    for (const seenAs of [(records: Records) => records, slowRecords]) {
      const { adapterFor, started } = await build(engine, seenAs);
      const codes = adapterFor("AuthorizationCode");
      await codes.upsert("c", { clientId: "a" }, 60);
      const uses = await hundred(() => codes.consume("c"));

      expect(won(uses)).toBe(1);
      expect(uses.find(({ status }) => status === "rejected")).toMatchObject({ reason: REFUSED });
      expect(await codes.find("c")).toMatchObject({ consumed: Math.floor(started / 1000) });
    }
  });

  it("accepts exactly one of 100 concurrent replay-detection records, even in a slow store", async () => {
    for (const seenAs of [(records: Records) => records, slowRecords]) {
      const { adapterFor, clock } = await build(engine, seenAs);
      const seen = adapterFor("ReplayDetection");
      const writes = await hundred(() => seen.upsert("jti", { iss: "a" }, 60));

      expect(won(writes)).toBe(1);
      expect(writes.find(({ status }) => status === "rejected")).toMatchObject({ reason: REFUSED });
      clock.now += 60_000;
      await seen.upsert("jti", { iss: "a" }, 60);
    }
  });

  it("does not make a used record usable again when the record is saved", async () => {
    const { adapterFor } = await build(engine);
    const codes = adapterFor("AuthorizationCode");
    await codes.upsert("c", { clientId: "a" }, 60);
    await codes.consume("c");
    await expect(codes.upsert("c", { clientId: "a" }, 60)).rejects.toMatchObject(REFUSED);
    await expect(codes.consume("c")).rejects.toMatchObject(REFUSED);

    const logins = adapterFor("PushedAuthorizationRequest");
    await logins.upsert("p", { clientId: "a" }, 60);
    await logins.consume("p");
    await logins.upsert("p", { clientId: "a" }, 60);
    await expect(logins.consume("p")).rejects.toMatchObject(REFUSED);
  });

  it("rejects the use of an unknown or expired record", async () => {
    const { clock, adapterFor, audit } = await build(engine);
    const codes = adapterFor("AuthorizationCode");
    await codes.upsert("c", { clientId: "a" }, 60);
    clock.now += 60_000;

    await expect(codes.consume("c")).rejects.toMatchObject(REFUSED);
    await expect(codes.consume("none")).rejects.toMatchObject(REFUSED);
    expect(await audit()).toEqual([]);
  });
});

describe("secrets in the store adapter", () => {
  const SECRET = "SECRET-that-must-not-be-kept";

  it("are stored as hashes and can be found by the original secret", async () => {
    const { adapterFor, store } = await build();
    const bearers = [
      "AccessToken",
      "AuthorizationCode",
      "ClientCredentials",
      "InitialAccessToken",
      "PushedAuthorizationRequest",
      "RefreshToken",
    ];
    await adapterFor("Client").upsert("a", { client_id: "a", client_secret: SECRET });
    for (const model of bearers) {
      await adapterFor(model).upsert(SECRET, { clientId: "a", jti: SECRET, kind: model }, 60);
    }
    await adapterFor("RegistrationAccessToken").upsert(SECRET, { clientId: "a", jti: SECRET });

    const rows = await dumpStore(store);
    expect(rows.length).toBeGreaterThan(bearers.length);
    expect(JSON.stringify(rows)).not.toContain(SECRET);
    for (const kind of [...bearers, "RegistrationAccessToken"]) {
      expect(await adapterFor(kind).find(SECRET)).toEqual({ clientId: "a", jti: SECRET, kind });
    }
    await adapterFor("ClientCredentials").destroy(SECRET);
    expect(await adapterFor("ClientCredentials").find(SECRET)).toBeUndefined();
  });

  it("hashes a client secret once, however often the client is saved", async () => {
    const { adapterFor } = await build();
    const clients = adapterFor("Client");
    await clients.upsert("a", { client_id: "a", client_secret: SECRET });
    const first = await clients.find("a");
    await clients.upsert("a", first ?? {});

    expect(first?.client_secret).toMatch(/^sha256:[\w-]{43}$/);
    expect(await clients.find("a")).toEqual(first);
  });
});

/** A client with its registration access token. */
async function registered(engine?: Engine, seenAs?: (records: Records) => Records) {
  const built = await build(engine, seenAs);
  const { adapterFor, clock, started } = built;
  await adapterFor("Client").upsert("a", { client_id: "a", client_name: "one" });
  await adapterFor("RegistrationAccessToken").upsert("rat", { clientId: "a" });
  /** Whether the client and its registration token exist after this many milliseconds. */
  const livesAfter = async (ms: number) => {
    clock.now = started + ms;
    const client = await adapterFor("Client").find("a");
    const token = await adapterFor("RegistrationAccessToken").find("rat");
    return [client !== undefined, token !== undefined];
  };
  return { ...built, livesAfter };
}

describe("the lifetime of a client in the store adapter", () => {
  it("ends after a day without an issued token, together with the registration access token", async () => {
    const { livesAfter, records, store } = await registered();
    expect(await livesAfter(DAY_MS - 1)).toEqual([true, true]);
    expect(await livesAfter(DAY_MS)).toEqual([false, false]);
    while ((await records.purgeExpired(100)) > 0);
    expect(JSON.stringify(await dumpStore(store))).not.toContain("oidc:");
  });

  it.each(["ClientCredentials", "AccessToken"])(
    "ends thirty days after the registration when a token of the kind %s was issued",
    async (model) => {
      const { livesAfter, adapterFor, clock } = await registered();
      clock.now += DAY_MS - 1;
      await adapterFor(model).upsert("t", { clientId: "a" }, 3600);
      clock.now += 2 * DAY_MS;
      await adapterFor(model).upsert("u", { clientId: "a" }, 3600);

      expect(await livesAfter(30 * DAY_MS - 1)).toEqual([true, true]);
      expect(await livesAfter(30 * DAY_MS)).toEqual([false, false]);
    },
  );

  it("is not changed when the client or its registration token is updated", async () => {
    const unused = await registered();
    unused.clock.now += HOUR_MS;
    await unused.adapterFor("Client").upsert("a", { client_id: "a", client_name: "two" });
    await unused.adapterFor("RegistrationAccessToken").destroy("rat");
    await unused.adapterFor("RegistrationAccessToken").upsert("rat", { clientId: "a" });
    expect(await unused.adapterFor("Client").find("a")).toMatchObject({ client_name: "two" });
    expect(await unused.livesAfter(DAY_MS - 1)).toEqual([true, true]);
    expect(await unused.livesAfter(DAY_MS)).toEqual([false, false]);

    const used = await registered();
    await used.adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 3600);
    await used.adapterFor("Client").upsert("a", { client_id: "a", client_name: "two" });
    expect(await used.livesAfter(30 * DAY_MS - 1)).toEqual([true, true]);
    expect(await used.livesAfter(30 * DAY_MS)).toEqual([false, false]);
  });

  it("is extended with one read and one write per issued token", async () => {
    const calls: string[] = [];
    const counted = (records: Records): Records => ({
      ...records,
      get: (from, key) => {
        calls.push("get");
        return records.get(from, key);
      },
      commit: (operations) => {
        calls.push("commit");
        return records.commit(operations);
      },
    });
    const { adapterFor } = await registered(embedded, counted);
    calls.length = 0;
    await adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 3600);
    await adapterFor("ClientCredentials").upsert("u", { clientId: "a" }, 3600);
    expect(calls).toEqual(["get", "commit", "get", "commit"]);
  });

  it("ends with the deletion of everything issued to the client", async () => {
    const { adapterFor } = await registered();
    await adapterFor("ClientCredentials").upsert("mine", { clientId: "a" }, 60);
    await adapterFor("AuthorizationCode").upsert("code", { clientId: "a" }, 60);
    await adapterFor("ClientCredentials").upsert("other", { clientId: "b" }, 60);
    await adapterFor("Client").destroy("a");

    expect(await adapterFor("Client").find("a")).toBeUndefined();
    expect(await adapterFor("ClientCredentials").find("mine")).toBeUndefined();
    expect(await adapterFor("AuthorizationCode").find("code")).toBeUndefined();
    expect(await adapterFor("RegistrationAccessToken").find("rat")).toBeUndefined();
    expect(await adapterFor("ClientCredentials").find("other")).toBeDefined();
  });

  it("covers one registration access token at a time, and none after the client is deleted", async () => {
    const { adapterFor } = await registered();
    const tokens = adapterFor("RegistrationAccessToken");
    await tokens.upsert("next", { clientId: "a" });
    expect(await tokens.find("rat")).toBeUndefined();
    expect(await tokens.find("next")).toMatchObject({ clientId: "a" });
    await tokens.destroy("rat");
    expect(await tokens.find("next")).toMatchObject({ clientId: "a" });
    await tokens.destroy("next");
    expect(await tokens.find("next")).toBeUndefined();

    await adapterFor("Client").destroy("a");
    await expect(tokens.upsert("late", { clientId: "a" })).rejects.toMatchObject({
      error: "invalid_token",
    });
  });
});

describe("the lifetime of a client that people use", () => {
  it("lasts for thirty days after the last use, and is written at most once a day", async () => {
    const { adapterFor, clock, started, records } = await build();
    await adapterFor("Grant").upsert("g", { clientId: "a", accountId: "acc_1" }, 90 * 86_400);
    const use = (id: string) =>
      adapterFor("AccessToken").upsert(
        id,
        { clientId: "a", grantId: "g", accountId: "acc_1" },
        3600,
      );
    const revision = async () => (await records.get(clients, "a"))?.revision;
    await use("first");
    const first = await revision();
    clock.now = started + DAY_MS - 1;
    await use("same day");
    expect(await revision()).toBe(first);

    clock.now = started + 20 * DAY_MS;
    await use("later");
    clock.now = started + 50 * DAY_MS - 1;
    expect(await adapterFor("Client").find("a")).toBeDefined();
    clock.now += 1;
    expect(await adapterFor("Client").find("a")).toBeUndefined();
  });

  it("is unlimited once the client has an owner", async () => {
    const { adapterFor, clock, records } = await build();
    const client = await records.get(clients, "a");
    if (client === undefined) throw new Error("the client was not stored");
    const owner = { accountId: "acc_1", scopes: [], claimedAt: clock.now };
    const value = { ...client.value, agent: { ...client.value.agent, owner } };
    await records.commit([replace(clients, client, { value, ttlMs: null })]);
    await adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 3600);
    await adapterFor("Client").upsert("a", { client_id: "a", client_name: "two" });
    clock.now += 1000 * DAY_MS;
    expect(await records.get(clients, "a")).toMatchObject({
      value: { metadata: { client_name: "two" }, agent: { owner } },
    });
  });
});

describeEngines("an issued token", (engine) => {
  const tokens = ["AccessToken", "AuthorizationCode", "ClientCredentials", "RefreshToken"];

  it.each(tokens)("of the kind %s cannot be issued to a deleted client", async (model) => {
    const { adapterFor } = await build(engine);
    await expect(adapterFor(model).upsert("t", { clientId: "gone" }, 60)).rejects.toMatchObject({
      error: "invalid_client",
    });
    expect(await adapterFor(model).find("t")).toBeUndefined();
  });

  it.each(tokens)("of the kind %s cannot be issued under a deleted grant", async (model) => {
    const { adapterFor } = await build(engine);
    const given = { clientId: "a", grantId: "gone" };
    await expect(adapterFor(model).upsert("t", given, 60)).rejects.toMatchObject(REFUSED);
    expect(await adapterFor(model).find("t")).toBeUndefined();
  });

  it("can be issued without a registration to a client that is identified by a metadata document", async () => {
    const { adapterFor } = await build(engine);
    const clientId = "https://app.example/client.json";
    await adapterFor("AccessToken").upsert("t", { clientId }, 60);
    expect(await adapterFor("AccessToken").find("t")).toMatchObject({ clientId });
  });

  it("extends the lifetime of its client once when it is one of the first fifty at the same time, and no token is lost", async () => {
    const { livesAfter, adapterFor } = await registered(engine, slowRecords);
    const tokens = adapterFor("ClientCredentials");
    const ids = Array.from({ length: 50 }, (_, number) => `t${number}`);
    await Promise.all([
      ...ids.map((id) => tokens.upsert(id, { clientId: "a" }, 3600)),
      adapterFor("RegistrationAccessToken").upsert("rat", { clientId: "a" }),
    ]);

    for (const id of ids) expect(await tokens.find(id)).toBeDefined();
    expect(await livesAfter(30 * DAY_MS - 1)).toEqual([true, true]);
    expect(await livesAfter(30 * DAY_MS)).toEqual([false, false]);
  });

  it("never outlives its client or grant, whatever happens concurrently", async () => {
    const { adapterFor } = await build(engine, slowRecords);
    for (let round = 0; round < 20; round += 1) {
      await adapterFor("Client").upsert("x", { client_id: "x" });
      await adapterFor("Grant").upsert("g", { clientId: "x" }, 60);
      const ids = Array.from({ length: 5 }, (_, number) => `${round}.${number}`);
      const given = { clientId: "x", grantId: "g" };
      await Promise.allSettled([
        ...ids.map((id) => adapterFor("AccessToken").upsert(id, given, 60)),
        round % 2 === 0
          ? adapterFor("Client").destroy("x")
          : adapterFor("AccessToken").revokeByGrantId("g"),
      ]);
      const found = await Promise.all(ids.map((id) => adapterFor("AccessToken").find(id)));
      expect(found.filter((token) => token !== undefined)).toEqual([]);
      await adapterFor("Client").destroy("x");
    }
  });
});

describeEngines("a grant that is saved again", (engine) => {
  const grant = (scope: string) => ({ clientId: "a", accountId: "acc_1", openid: { scope } });

  /**
   * Creates a grant, and a function that reads the grant, runs `meanwhile` and then saves the grant
   * again.
   */
  async function given() {
    const built = await build(engine);
    const grants = built.adapterFor("Grant");
    await grants.upsert("g", grant("one"), 60);
    const extend = (scope: string, meanwhile?: () => Promise<unknown>) =>
      withRequestState(async () => {
        await grants.find("g");
        await meanwhile?.();
        await grants.upsert("g", grant(scope), 120);
      });
    return { ...built, grants, extend };
  }

  it("has the latest content and expiry", async () => {
    const { grants, extend, clock, started } = await given();
    await extend("one two");
    expect(await grants.find("g")).toEqual(grant("one two"));
    clock.now = started + 119_999;
    expect(await grants.find("g")).toBeDefined();
    clock.now = started + 120_000;
    expect(await grants.find("g")).toBeUndefined();
  });

  it("is rejected unless the request has read the current state of the grant", async () => {
    const { grants, extend } = await given();
    await expect(grants.upsert("g", grant("two"), 60)).rejects.toMatchObject(REFUSED);
    await expect(extend("two", () => extend("three"))).rejects.toMatchObject(REFUSED);
    expect(await grants.find("g")).toEqual(grant("three"));
  });

  it("is not restored when it was deleted in the meantime", async () => {
    const { grants, extend, audit } = await given();
    await expect(extend("two", () => grants.destroy("g"))).rejects.toMatchObject(REFUSED);
    expect(await grants.find("g")).toBeUndefined();
    expect((await audit()).map(({ action }) => action)).toEqual(["grant.given", "grant.revoked"]);
  });
});

describe("the audit trail of the store adapter", () => {
  it("records clients with an owner, revocations and replays, but not the issuance of tokens", async () => {
    const { adapterFor, audit, records } = await build();
    await withCallerAddress("203.0.113.7", async () => {
      await adapterFor("Client").upsert("c", { client_id: "c" });
      await adapterFor("Client").upsert("c", { client_id: "c" });
      expect(await audit()).toEqual([]);
      const client = await records.get(clients, "c");
      if (client === undefined) return expect.unreachable();
      const owner = { accountId: "acc_1", scopes: [], claimedAt: 0 };
      const agent = { ...client.value.agent, owner };
      await records.commit([replace(clients, client, { value: { ...client.value, agent } })]);
      await adapterFor("Client").upsert("c", { client_id: "c" });
      await adapterFor("ClientCredentials").upsert("t", { clientId: "c" }, 60);
      await adapterFor("Session").upsert("s", { uid: "u" }, 60);
      await adapterFor("Session").destroy("s");
    });
    await adapterFor("ClientCredentials").destroy("t");
    await adapterFor("ClientCredentials").destroy("t");
    await adapterFor("Grant").upsert("used", { clientId: "c", accountId: "acc_1" }, 60);
    await adapterFor("AuthorizationCode").upsert("c", { clientId: "c", grantId: "used" }, 60);
    await hundred(() => adapterFor("AuthorizationCode").consume("c"));
    await adapterFor("Grant").upsert("g", { clientId: "c", accountId: "acc_1" }, 60);
    await adapterFor("AccessToken").revokeByGrantId("g");
    await adapterFor("AccessToken").revokeByGrantId("g");
    await adapterFor("Client").destroy("c");
    await adapterFor("Client").destroy("c");

    const address = { addressHash: "hash of 203.0.113.7" };
    const token = expect.stringMatching(/^ClientCredentials:[\w-]{43}$/);
    const code = expect.stringMatching(/^AuthorizationCode:[\w-]{43}$/);
    const entries = await audit();
    const replays = entries.filter(({ action }) => action === "grant.replayed");
    expect(entries.filter(({ action }) => action !== "grant.replayed")).toEqual([
      { action: "client.updated", actor: "c", target: "c", ...address },
      { action: "token.revoked", actor: "c", target: token },
      { action: "grant.given", actor: "acc_1", target: "used" },
      { action: "grant.given", actor: "acc_1", target: "g" },
      { action: "grant.revoked", actor: "c", target: "g" },
      { action: "client.deleted", actor: "c", target: "c" },
    ]);
    expect(replays).toEqual([{ action: "grant.replayed", actor: "c", target: code }]);
  });

  it("contains no entry when the change is rejected", async () => {
    const { adapterFor, audit } = await build(embedded, (kept) => ({
      ...kept,
      commit: async (operations) => {
        if (operations.some(({ kind }) => kind === "removeGroup")) throw new Error("disk full");
        return kept.commit(operations);
      },
    }));
    await expect(adapterFor("Client").destroy("a")).rejects.toThrow("disk full");
    expect(await adapterFor("Client").find("a")).toBeDefined();
    expect(await audit()).toEqual([]);
  });
});
