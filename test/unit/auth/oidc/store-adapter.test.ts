import type { Adapter } from "oidc-provider";
import { expect, it } from "vitest";
import { calledFrom } from "../../../../src/auth/auditor.ts";
import { createStoreAdapter } from "../../../../src/auth/oidc/store-adapter.ts";
import type { AuditEntry } from "../../../../src/store/audit.ts";
import { outbox } from "../../../../src/store/outbox.ts";
import type { Records } from "../../../../src/store/records.ts";
import { describeStores, dumped, type Engine, openStore, slowed } from "../../../support/stores.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** An adapter over a new store whose clock stands still until the test moves it. */
async function build(engine: Engine, seenAs = (records: Records) => records) {
  const { store, records, clock } = await openStore(engine);
  const adapterFor = createStoreAdapter({
    records: seenAs(records),
    now: () => new Date(clock.now),
    hashAddress: (address) => `hash of ${address}`,
  });
  const audit = async () => {
    const rows = await records.list(outbox, { limit: 1000 });
    return rows.map(({ value }) => value.body as AuditEntry);
  };
  return { store, records, clock, adapterFor, audit, started: clock.now };
}

const REFUSED = { error: "invalid_grant" };
const hundred = <T>(act: () => Promise<T>) =>
  Promise.allSettled(Array.from({ length: 100 }, () => act()));
const won = (attempts: readonly PromiseSettledResult<unknown>[]) =>
  attempts.filter(({ status }) => status === "fulfilled").length;

describeStores("the store adapter", (engine) => {
  it("hands out fresh objects and keeps none that was handed in", async () => {
    const { adapterFor } = await build(engine);
    for (const model of ["ClientCredentials", "Client", "Grant"]) {
      const adapter = adapterFor(model);
      const payload = { clientId: "a", scope: "signals:read", jwks: { keys: [] as object[] } };
      const before = structuredClone(payload);
      await adapter.upsert("t", payload, 60);
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

  it("keeps models apart", async () => {
    const { adapterFor } = await build(engine);
    await adapterFor("AccessToken").upsert("t", { clientId: "a" }, 60);

    expect(await adapterFor("ClientCredentials").find("t")).toBeUndefined();
  });

  it("forgets a record at its expiry and keeps one that has none", async () => {
    const { clock, started, adapterFor } = await build(engine);
    await adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 60);
    await adapterFor("InitialAccessToken").upsert("i", { clientId: "a" });

    clock.now = started + 59_999;
    expect(await adapterFor("ClientCredentials").find("t")).toBeDefined();
    clock.now = started + 60_000;
    expect(await adapterFor("ClientCredentials").find("t")).toBeUndefined();
    clock.now = started + 1e12;
    expect(await adapterFor("InitialAccessToken").find("i")).toBeDefined();
  });

  it("moves the expiry of a record that is written again", async () => {
    const { clock, started, adapterFor } = await build(engine);
    const sessions = adapterFor("Session");
    await sessions.upsert("s", { jti: "s", uid: "u" }, 60);
    clock.now = started + 30_000;
    await sessions.upsert("s", { jti: "s", uid: "u" }, 60);
    clock.now = started + 89_999;
    expect(await sessions.find("s")).toEqual({ jti: "s", uid: "u" });
    clock.now = started + 90_000;
    expect(await sessions.find("s")).toBeUndefined();
  });

  it("drops what belongs to a grant and leaves the rest", async () => {
    const { adapterFor } = await build(engine);
    await adapterFor("AccessToken").upsert("1", { grantId: "g" }, 60);
    await adapterFor("RefreshToken").upsert("2", { grantId: "g" }, 60);
    await adapterFor("AccessToken").upsert("3", { grantId: "h" }, 60);
    await adapterFor("AccessToken").revokeByGrantId("g");

    expect(await adapterFor("AccessToken").find("1")).toBeUndefined();
    expect(await adapterFor("RefreshToken").find("2")).toBeUndefined();
    expect(await adapterFor("AccessToken").find("3")).toBeDefined();
  });

  it("finds a session by uid and a device code by user code, under their newest values", async () => {
    const { adapterFor } = await build(engine);
    await adapterFor("Session").upsert("s", { jti: "s", uid: "u1" }, 60);
    await adapterFor("Session").upsert("s", { jti: "s", uid: "u2" }, 60);
    await adapterFor("DeviceCode").upsert("d", { jti: "d", userCode: "ABCD" }, 60);

    expect(await adapterFor("Session").findByUid("u1")).toBeUndefined();
    expect(await adapterFor("Session").findByUid("u2")).toEqual({ jti: "s", uid: "u2" });
    expect(await adapterFor("DeviceCode").findByUserCode("ABCD")).toMatchObject({ jti: "d" });
  });

  it.each([
    ["the empty text", ""],
    ["NUL alone", "\0"],
    ["text with NUL inside", "a\0b"],
    ["513 characters", "a".repeat(513)],
    ["half a surrogate pair", "\ud800"],
  ])("has nothing under %s", async (_title, id) => {
    const { adapterFor } = await build(engine);
    for (const model of ["Client", "ClientCredentials", "Session", "RegistrationAccessToken"]) {
      const adapter: Adapter = adapterFor(model);
      expect(await adapter.find(id)).toBeUndefined();
      expect(await adapter.findByUid(id)).toBeUndefined();
      expect(await adapter.findByUserCode(id)).toBeUndefined();
      await adapter.destroy(id);
    }
  });
});

describeStores("single use in the store adapter", (engine) => {
  it("lets one of a hundred concurrent uses win, in a slow store too", async () => {
    for (const seenAs of [(records: Records) => records, slowed]) {
      const { adapterFor, started } = await build(engine, seenAs);
      const codes = adapterFor("AuthorizationCode");
      await codes.upsert("c", { clientId: "a" }, 60);
      const uses = await hundred(() => codes.consume("c"));

      expect(won(uses)).toBe(1);
      expect(uses.find(({ status }) => status === "rejected")).toMatchObject({ reason: REFUSED });
      expect(await codes.find("c")).toMatchObject({ consumed: Math.floor(started / 1000) });
    }
  });

  it("lets one of a hundred concurrent replay records win, in a slow store too", async () => {
    for (const seenAs of [(records: Records) => records, slowed]) {
      const { adapterFor, clock } = await build(engine, seenAs);
      const seen = adapterFor("ReplayDetection");
      const writes = await hundred(() => seen.upsert("jti", { iss: "a" }, 60));

      expect(won(writes)).toBe(1);
      expect(writes.find(({ status }) => status === "rejected")).toMatchObject({ reason: REFUSED });
      clock.now += 60_000;
      await seen.upsert("jti", { iss: "a" }, 60);
    }
  });

  it("does not make a used record usable again by saving it", async () => {
    const { adapterFor } = await build(engine);
    const codes = adapterFor("AuthorizationCode");
    await codes.upsert("c", { clientId: "a" }, 60);
    await codes.consume("c");
    await codes.upsert("c", { clientId: "a" }, 60);

    await expect(codes.consume("c")).rejects.toMatchObject(REFUSED);
  });

  it("refuses to use an unknown or expired record", async () => {
    const { clock, adapterFor, audit } = await build(engine);
    const codes = adapterFor("AuthorizationCode");
    await codes.upsert("c", { clientId: "a" }, 60);
    clock.now += 60_000;

    await expect(codes.consume("c")).rejects.toMatchObject(REFUSED);
    await expect(codes.consume("none")).rejects.toMatchObject(REFUSED);
    expect(await audit()).toEqual([]);
  });
});

describeStores("secrets in the store adapter", (engine) => {
  const SECRET = "SECRET-that-must-not-be-kept";

  it("are kept as hashes and found by what they were", async () => {
    const { adapterFor, store } = await build(engine);
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

    const rows = await dumped(store);
    expect(rows.length).toBeGreaterThan(bearers.length);
    expect(JSON.stringify(rows)).not.toContain(SECRET);
    for (const kind of [...bearers, "RegistrationAccessToken"]) {
      expect(await adapterFor(kind).find(SECRET)).toEqual({ clientId: "a", jti: SECRET, kind });
    }
    await adapterFor("ClientCredentials").destroy(SECRET);
    expect(await adapterFor("ClientCredentials").find(SECRET)).toBeUndefined();
  });

  it("hashes a client secret once, however often the client is saved", async () => {
    const { adapterFor } = await build(engine);
    const clients = adapterFor("Client");
    await clients.upsert("a", { client_id: "a", client_secret: SECRET });
    const first = await clients.find("a");
    await clients.upsert("a", first ?? {});

    expect(first?.client_secret).toMatch(/^sha256:[\w-]{43}$/);
    expect(await clients.find("a")).toEqual(first);
  });
});

describeStores("the life of a client in the store adapter", (engine) => {
  async function registered(seenAs?: (records: Records) => Records) {
    const built = await build(engine, seenAs);
    const { adapterFor, clock, started } = built;
    await adapterFor("Client").upsert("a", { client_id: "a", client_name: "one" });
    await adapterFor("RegistrationAccessToken").upsert("rat", { clientId: "a" });
    /** What is there after so many milliseconds: the client, then its registration token. */
    const after = async (ms: number) => {
      clock.now = started + ms;
      const client = await adapterFor("Client").find("a");
      const token = await adapterFor("RegistrationAccessToken").find("rat");
      return [client !== undefined, token !== undefined];
    };
    return { ...built, after };
  }

  it("ends after a day without a token, and that of its registration token too", async () => {
    const { after, records, store } = await registered();
    expect(await after(DAY_MS - 1)).toEqual([true, true]);
    expect(await after(DAY_MS)).toEqual([false, false]);
    while ((await records.purgeExpired(100)) > 0);
    expect(JSON.stringify(await dumped(store))).not.toContain("oidc:");
  });

  it.each(["ClientCredentials", "AccessToken"])(
    "ends thirty days after the registration with a token of the kind %s",
    async (model) => {
      const { after, adapterFor, clock } = await registered();
      clock.now += DAY_MS - 1;
      await adapterFor(model).upsert("t", { clientId: "a" }, 3600);
      clock.now += 2 * DAY_MS;
      await adapterFor(model).upsert("u", { clientId: "a" }, 3600);

      expect(await after(30 * DAY_MS - 1)).toEqual([true, true]);
      expect(await after(30 * DAY_MS)).toEqual([false, false]);
    },
  );

  it("is not changed by an update of the client or of its registration token", async () => {
    const unused = await registered();
    unused.clock.now += HOUR_MS;
    await unused.adapterFor("Client").upsert("a", { client_id: "a", client_name: "two" });
    await unused.adapterFor("RegistrationAccessToken").destroy("rat");
    await unused.adapterFor("RegistrationAccessToken").upsert("rat", { clientId: "a" });
    expect(await unused.adapterFor("Client").find("a")).toMatchObject({ client_name: "two" });
    expect(await unused.after(DAY_MS - 1)).toEqual([true, true]);
    expect(await unused.after(DAY_MS)).toEqual([false, false]);

    const used = await registered();
    await used.adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 3600);
    await used.adapterFor("Client").upsert("a", { client_id: "a", client_name: "two" });
    expect(await used.after(30 * DAY_MS - 1)).toEqual([true, true]);
    expect(await used.after(30 * DAY_MS)).toEqual([false, false]);
  });

  it("is lengthened once when fifty first tokens come together, and none is lost", async () => {
    const { after, adapterFor } = await registered(slowed);
    const tokens = adapterFor("ClientCredentials");
    const ids = Array.from({ length: 50 }, (_, number) => `t${number}`);
    await Promise.all([
      ...ids.map((id) => tokens.upsert(id, { clientId: "a" }, 3600)),
      adapterFor("Client").upsert("a", { client_id: "a", client_name: "two" }),
    ]);

    for (const id of ids) expect(await tokens.find(id)).toBeDefined();
    expect(await adapterFor("Client").find("a")).toMatchObject({ client_name: "two" });
    expect(await after(30 * DAY_MS - 1)).toEqual([true, true]);
    expect(await after(30 * DAY_MS)).toEqual([false, false]);
  });

  it("costs one read and one write per token", async () => {
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
    const { adapterFor } = await registered(counted);
    calls.length = 0;
    await adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 3600);
    await adapterFor("ClientCredentials").upsert("u", { clientId: "a" }, 3600);
    expect(calls).toEqual(["get", "commit", "get", "commit"]);
  });

  it("takes everything along that was issued to the client when it is destroyed", async () => {
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

  it("has one registration token at a time, and none without the client", async () => {
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

describeStores("the audit of the store adapter", (engine) => {
  it("records clients, revocations and replays, and no issuance", async () => {
    const { adapterFor, audit } = await build(engine);
    await calledFrom("203.0.113.7", async () => {
      await adapterFor("Client").upsert("a", { client_id: "a" });
      await adapterFor("Client").upsert("a", { client_id: "a" });
      await adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 60);
      await adapterFor("Session").upsert("s", { uid: "u" }, 60);
      await adapterFor("Session").destroy("s");
    });
    await adapterFor("ClientCredentials").destroy("t");
    await adapterFor("ClientCredentials").destroy("t");
    await adapterFor("AuthorizationCode").upsert("c", { clientId: "a" }, 60);
    await hundred(() => adapterFor("AuthorizationCode").consume("c"));
    await adapterFor("Client").destroy("a");
    await adapterFor("Client").destroy("a");

    const address = { addressHash: "hash of 203.0.113.7" };
    const token = expect.stringMatching(/^ClientCredentials:[\w-]{43}$/);
    const code = expect.stringMatching(/^AuthorizationCode:[\w-]{43}$/);
    const entries = await audit();
    const replays = entries.filter(({ action }) => action === "grant.replayed");
    expect(entries.filter(({ action }) => action !== "grant.replayed")).toEqual([
      { action: "client.registered", actor: "anonymous", target: "a", ...address },
      { action: "client.updated", actor: "a", target: "a", ...address },
      { action: "token.revoked", actor: "a", target: token },
      { action: "client.deleted", actor: "a", target: "a" },
    ]);
    expect(replays).toHaveLength(99);
    expect(replays[0]).toEqual({ action: "grant.replayed", actor: "a", target: code });
  });

  it("is not written when what it records is not", async () => {
    const { adapterFor, audit } = await build(engine, (kept) => ({
      ...kept,
      commit: async (operations) => {
        if (operations.some(({ kind }) => kind === "removeGroup")) throw new Error("disk full");
        return kept.commit(operations);
      },
    }));
    await adapterFor("Client").upsert("a", { client_id: "a" });
    await expect(adapterFor("Client").destroy("a")).rejects.toThrow("disk full");
    expect(await adapterFor("Client").find("a")).toBeDefined();
    expect((await audit()).map(({ action }) => action)).toEqual(["client.registered"]);
  });
});
