import { describe, expect, it } from "vitest";
import { type Scope, scopeDescriptions } from "../../src/access/scopes.ts";
import { usedAssertions } from "../../src/auth/assertions/id-jag.ts";
import { ID_JAG_TOKEN_TYPE, JWT_BEARER_GRANT_TYPE } from "../../src/auth/assertions/oauth-urns.ts";
import { accounts } from "../../src/principals/accounts/accounts.ts";
import { clients, ownedAgentsGroup } from "../../src/principals/agents/agent.ts";
import { agentClaims } from "../../src/principals/agents/claim-records.ts";
import { unsealedAudit } from "../../src/store/audit-entry.ts";
import { put, remove } from "../../src/store/port/operations.ts";
import { readAll } from "../../src/store/port/read-all.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import {
  EXAMPLE_REGISTRATION,
  getWith,
  postForm,
  postJson,
  register,
  tokenOf,
} from "../support/agent.ts";
import { type AuthServer, startAuthServer } from "../support/auth-server.ts";
import { type Claims, claimsFor, startIdentityProvider } from "../support/identity-provider.ts";
import {
  type Engine,
  embedded,
  model,
  openStore,
  START,
  type TestStore,
} from "../support/stores.ts";

type Body = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly body: Body;
  readonly headers: Headers;
}

const ALL = Object.keys(scopeDescriptions) as Scope[];
const idp = await startIdentityProvider();
const tokens = collection<{ readonly aud: string }>("oidc:ClientCredentials");

interface Setting extends TestStore, AuthServer {
  readonly base: string;
  /**
   * Signs an assertion, with some claims changed. `clientId` is the id of a registered client or,
   * for a new registration, the issuer.
   */
  assert(clientId: string, changes?: Claims, header?: Claims): Promise<string>;
  /** Registers an agent with an assertion. */
  enter(assertion: unknown, changes?: object): Promise<Answer>;
  /** Exchanges an assertion for a token at the token endpoint. */
  exchange(client: Client, assertion: string, parameters?: Fields): Promise<Answer>;
  /** The actors of recorded replays, newest last. */
  replays(): Promise<readonly string[]>;
}

type Client = Parameters<typeof tokenOf>[1];
type Fields = Readonly<Record<string, string>>;

/**
 * Starts an authorization server that trusts the test issuer.
 * @param onKept Awaited after the use of an assertion is stored, before its request continues.
 * @param onKeeping Awaited before the use of an assertion is stored.
 */
async function setting(
  engine: Engine = model,
  onKept: () => Promise<unknown> = async () => {},
  onKeeping: (records: Records) => Promise<unknown> = async () => {},
): Promise<Setting> {
  const store = await openStore(engine);
  const { records, clock } = store;
  const issuers = await idp.trusted();
  const watched: Records = {
    ...records,
    async commit(operations) {
      const isUse = operations.some(
        (each) => each.kind === "insert" && each.collection === usedAssertions.name,
      );
      if (isUse) await onKeeping(records);
      const isKept = await records.commit(operations);
      if (isKept && isUse) await onKept();
      return isKept;
    },
  };
  const server = await startAuthServer({
    records: watched,
    now: () => new Date(clock.now),
    issuers,
  });
  const base = server.local;
  const answer = async (response: Response): Promise<Answer> => ({
    status: response.status,
    body: (await response.json()) as Body,
    headers: response.headers,
  });
  return {
    ...store,
    ...server,
    base,
    assert: (clientId, changes = {}, header = {}) =>
      idp.sign({ ...claimsFor(base, clientId, clock.now), ...changes }, header),
    enter: async (assertion, changes = {}) =>
      answer(
        await postJson(`${base}/oauth/register`, {
          ...EXAMPLE_REGISTRATION,
          scope: undefined,
          type: "identity_assertion",
          assertion_type: ID_JAG_TOKEN_TYPE,
          assertion,
          ...changes,
        }),
      ),
    exchange: async ({ client_id, client_secret }, assertion, parameters = {}) =>
      answer(
        await postForm(`${base}/oauth/token`, {
          grant_type: JWT_BEARER_GRANT_TYPE,
          client_id,
          client_secret,
          assertion,
          ...parameters,
        }),
      ),
    async replays() {
      const rows = await records.list(unsealedAudit, { limit: 1000 });
      const entries = rows.map(({ value }) => value.body as { action: string; actor: string });
      return entries.filter(({ action }) => action === "grant.replayed").map(({ actor }) => actor);
    },
  };
}

const bearerClient = (base: string, changes = {}) =>
  register(base, { grant_types: [JWT_BEARER_GRANT_TYPE], scope: ALL.join(" "), ...changes });

describe("registration with an identity assertion", () => {
  it("creates no agent of an account that ends meanwhile", async () => {
    const ended = async (records: Records) => {
      const all = await readAll(records, accounts);
      await records.commit(all.map(({ key }) => remove(accounts, key)));
    };
    const { enter, assert, records } = await setting(model, undefined, ended);
    const { status, body } = await enter(await assert(idp.issuer));
    expect({ status, body }).toMatchObject({
      status: 503,
      body: { error: "temporarily_unavailable", error_description: expect.stringMatching("ended") },
    });
    expect(await readAll(records, clients)).toEqual([]);
  });

  it("creates an agent that is claimed by the person from the start", async () => {
    const { base, assert, enter, records, accounts, failures } = await setting();
    const { status, body } = await enter(await assert(idp.issuer, { sub: "p-1" }));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      identity_type: "identity_assertion",
      scope: ALL.join(" "),
      scopes: { pre_claim: [], post_claim: ALL },
      claim: { status: "claimed", claimed_at: new Date(START).toISOString() },
    });
    expect(body.claim).not.toHaveProperty("code");
    const client = body as unknown as Client;
    expect(await tokenOf(base, client, { scope: "alerts:write" })).toEqual(expect.any(String));

    const account = await accounts.findOrCreateBySubject({
      issuer: idp.issuer,
      subject: "p-1",
      label: "",
    });
    expect(account).toMatchObject({ email: undefined, label: "person@corp.example (Corp)" });
    const kept = await records.get(clients, client.client_id);
    expect(kept).toMatchObject({
      expiresAt: undefined,
      groups: expect.arrayContaining([ownedAgentsGroup(account.id)]),
      value: { agent: { owner: { accountId: account.id, scopes: ALL } } },
    });
    expect(JSON.stringify(kept?.value.metadata)).not.toContain("assertion");
    expect(await records.get(agentClaims, client.client_id)).toBeUndefined();
    expect(failures).toEqual([]);
  });

  it("never links the agent to the account with the same email address", async () => {
    const { assert, enter, accounts } = await setting();
    const { id } = await accounts.findOrCreateByEmail("person@corp.example");
    await enter(await assert(idp.issuer));
    expect(await accounts.agentsOf(id)).toEqual([]);
  });

  it("grants no scope beyond those of the assertion, whether at registration, by update or by token request", async () => {
    const { base, assert, enter } = await setting();
    const assertion = await assert(idp.issuer, { scope: "signals:read admin" });
    const { body } = await enter(assertion, { scope: ALL.join(" ") });
    expect(body).toMatchObject({ scope: "signals:read", scopes: { post_claim: ["signals:read"] } });
    const client = body as unknown as Client;
    await expect(tokenOf(base, client, { scope: "alerts:write" })).rejects.toThrow("invalid_scope");

    const nothing = await enter(await assert(idp.issuer, { scope: "admin" }));
    expect(nothing).toMatchObject({ status: 400, body: { error: "invalid_scope" } });
  });

  it("does not use up the assertion when the rest of the body is invalid", async () => {
    const { assert, enter } = await setting();
    const assertion = await assert(idp.issuer);
    expect((await enter(assertion, { client_name: "a\u202eb" })).status).toBe(400);
    expect((await enter(assertion, { grant_types: ["authorization_code"] })).status).toBe(400);
    expect((await enter(assertion)).status).toBe(201);
  });

  it("is rejected when the assertion is replayed, and the first agent and its tokens are removed", async () => {
    const { base, assert, enter, replays, records, failures } = await setting();
    const assertion = await assert(idp.issuer);
    const client = (await enter(assertion)).body as unknown as Client;
    await tokenOf(base, client);
    const other = (await enter(await assert(idp.issuer))).body as unknown as Client;
    const second = await enter(assertion);
    expect(second).toMatchObject({ status: 400, body: { error: "replay_detected" } });
    expect(await replays()).toEqual(["anonymous"]);
    await expect(tokenOf(base, client)).rejects.toThrow("invalid_client");
    expect(await records.list(tokens, { limit: 9 })).toEqual([]);
    expect(await tokenOf(base, other)).toEqual(expect.any(String));
    expect(failures).toEqual([]);
  });

  it.each([
    "https://app.example",
    "https://app.example/client.json",
    `${idp.issuer}/`,
    `${idp.issuer}/app`,
  ])("rejects an assertion that was issued to the client %s", async (client_id) => {
    const { assert, enter, records } = await setting();
    const answer = await enter(await assert(client_id));
    expect(answer).toMatchObject({ status: 400, body: { error: "invalid_client_id" } });
    expect(await records.list(clients, { limit: 9 })).toEqual([]);
  });

  it.each<[string, (base: string) => unknown]>([
    ["another server", () => "https://other.example"],
    ["no audience", () => []],
    ["a path of this server that is not a resource", (base) => `${base}/api`],
  ])("creates no agent from an assertion for %s", async (_what, resource) => {
    const { base, assert, enter, records } = await setting();
    const answer = await enter(await assert(idp.issuer, { resource: resource(base) }));
    expect(answer).toMatchObject({ status: 400, body: { error: "invalid_target" } });
    expect(await records.list(clients, { limit: 9 })).toEqual([]);
  });

  it("creates an agent limited to /mcp from an assertion for /mcp", async () => {
    const { base, assert, enter, records } = await setting();
    const { status, body } = await enter(await assert(idp.issuer, { resource: `${base}/mcp` }));
    expect(status).toBe(201);
    const client = body as unknown as Client;
    const jwt = { Authorization: `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}` };
    const byHeader = (form: Fields) =>
      fetch(`${base}/oauth/token`, {
        method: "POST",
        headers: jwt,
        body: new URLSearchParams({ grant_type: "client_credentials", ...form }),
      });
    await tokenOf(base, client);
    await tokenOf(base, client, { resource: `${base}/mcp` });
    expect((await byHeader({})).status).toBe(200);
    await expect(tokenOf(base, client, { resource: base })).rejects.toThrow("invalid_target");
    expect((await byHeader({ resource: base })).status).toBe(400);
    const kept = await records.list(tokens, { limit: 9 });
    expect(kept.map(({ value }) => value.aud)).toEqual(Array(3).fill(`${base}/mcp`));
  });

  it("requires a sign-in within the last hour, and states this in the error", async () => {
    const { assert, enter } = await setting();
    const old = START / 1000 - 3601;
    for (const auth_time of [undefined, old]) {
      const { status, body, headers } = await enter(await assert(idp.issuer, { auth_time }));
      expect(status).toBe(401);
      expect(body).toMatchObject({ error: "login_required", max_age: 3600 });
      expect(headers.get("www-authenticate")).toBe(
        'AgentAuth error="login_required", max_age="3600"',
      );
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  it.each<[string, Claims, Claims]>([
    ["invalid_request", {}, { typ: "JWT" }],
    ["issuer_not_enabled", { iss: "https://stranger.example" }, {}],
    ["invalid_audience", { aud: "https://other.example" }, {}],
    ["invalid_client_id", { client_id: "agt_AAAAAAAAAAAAAAAAAAAAAA" }, {}],
    ["invalid_signature", {}, { kid: "unknown" }],
    ["expired", { iat: START / 1000 - 300, exp: START / 1000 - 61 }, {}],
  ])("is rejected with %s for the claims %j and the header %j", async (error, changes, header) => {
    const { assert, enter } = await setting();
    const { status, body } = await enter(await assert(idp.issuer, changes, header));
    expect({ status, error: body.error }).toEqual({ status: 400, error });
    expect(body).not.toHaveProperty("client_id");
  });

  it("keeps 1,000 agents of one person, even if many register at once, and removes the oldest", async () => {
    const { assert, enter, records } = await setting();
    const entered = async () => {
      const { status, body } = await enter(await assert(idp.issuer));
      expect(status).toBe(201);
      return String(body.client_id);
    };
    const first = await records.get(clients, await entered());
    if (first === undefined) throw new Error("no agent is kept");
    const { value, groups } = first;
    const copies = Array.from({ length: 999 }, (_, at) => {
      const agent = { ...value.agent, registeredAt: value.agent.registeredAt + at + 1 };
      return put(clients, { key: `copy-${at}`, value: { ...value, agent }, groups });
    });
    expect(await records.commit(copies)).toBe(true);
    const latest = await entered();
    const group = ownedAgentsGroup(value.agent.owner?.accountId ?? "");
    const kept = async () =>
      (await records.list(clients, { group, limit: 2_000 })).map(({ key }) => key);
    expect(await kept()).toHaveLength(1_000);
    expect(await kept()).not.toContain(first.key);
    expect(await kept()).toContain(latest);

    await Promise.all(Array.from({ length: 10 }, entered));
    expect(await kept()).toHaveLength(1_000);
  });

  it.each([
    { assertion: undefined },
    { assertion: 7 },
    { assertion: { toString: "a" } },
    { assertion_type: undefined },
    { assertion_type: "urn:ietf:params:oauth:token-type:jwt" },
  ])("is rejected when the body has the members %j", async (changes) => {
    const { assert, enter } = await setting();
    const answer = await enter(await assert(idp.issuer), changes);
    expect(answer).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  });

  it("reports an unreachable issuer with the same error as the token endpoint", async () => {
    const away = await startIdentityProvider();
    const { records, clock } = await openStore(model);
    const now = () => new Date(clock.now);
    const issuers = await away.trusted();
    const { local: base, failures } = await startAuthServer({ records, now, issuers });
    const { client_id, client_secret } = await bearerClient(base);
    await away.stop();

    const registration = await postJson(`${base}/oauth/register`, {
      ...EXAMPLE_REGISTRATION,
      type: "identity_assertion",
      assertion_type: ID_JAG_TOKEN_TYPE,
      assertion: await away.sign(claimsFor(base, away.issuer, clock.now)),
    });
    const exchange = await postForm(`${base}/oauth/token`, {
      ...{ grant_type: JWT_BEARER_GRANT_TYPE, client_id, client_secret },
      assertion: await away.sign(claimsFor(base, client_id, clock.now)),
    });
    for (const response of [registration, exchange]) {
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ error: "temporarily_unavailable" });
    }
    expect(failures).toEqual([]);
  });
});

describe("an identity assertion at the token endpoint", () => {
  it("returns a token for the person of the subject, not of the email address, and no refresh token", async () => {
    const { base, assert, exchange, accounts, failures } = await setting();
    const { id: sameEmail } = await accounts.findOrCreateByEmail("person@corp.example");
    const client = await bearerClient(base);
    const { status, body, headers } = await exchange(client, await assert(client.client_id));
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toContain("no-store");
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43,}$/),
      token_type: "Bearer",
      expires_in: 3600,
      scope: ALL.join(" "),
    });
    const account = await accounts.findOrCreateBySubject({
      issuer: idp.issuer,
      subject: "person-1",
      label: "",
    });
    expect(await accounts.applicationsOf(account.id)).toHaveLength(1);
    expect(await accounts.applicationsOf(sameEmail)).toEqual([]);
    expect(failures).toEqual([]);
  });

  it.each([
    [{ scope: "signals:read alerts:write" }, {}, "signals:read alerts:write"],
    [{ scope: "signals:read" }, { scope: "signals:read alerts:write" }, "signals:read"],
    [{}, { scope: "alerts:write" }, "alerts:write"],
  ])(
    "with the claims %j and the token request %j yields the scope %j",
    async (changes, parameters, scope) => {
      const { base, assert, exchange } = await setting();
      const client = await bearerClient(base);
      const assertion = await assert(client.client_id, changes);
      expect((await exchange(client, assertion, parameters as Fields)).body).toMatchObject({
        scope,
      });
    },
  );

  it("yields no scope that the client has not registered", async () => {
    const { base, assert, exchange } = await setting();
    const client = await bearerClient(base, { scope: "signals:read" });
    const { body } = await exchange(client, await assert(client.client_id));
    expect(body).toMatchObject({ scope: "signals:read" });
    const more = await exchange(client, await assert(client.client_id), { scope: "alerts:write" });
    expect(more).toMatchObject({ status: 400, body: { error: "invalid_scope" } });
  });

  it.each<[number, (base: string) => { claims: Claims; parameters: Fields }]>([
    [200, (base) => ({ claims: {}, parameters: { resource: `${base}/mcp` } })],
    [200, (base) => ({ claims: { resource: `${base}/mcp` }, parameters: {} })],
    [
      200,
      (base) => ({ claims: { resource: [`${base}/`] }, parameters: { resource: `${base}/mcp` } }),
    ],
    [400, (base) => ({ claims: { resource: `${base}/mcp` }, parameters: { resource: base } })],
    [400, () => ({ claims: {}, parameters: { resource: "https://other.example" } })],
    [400, () => ({ claims: { resource: "https://other.example" }, parameters: {} })],
    [400, (base) => ({ claims: { resource: [] }, parameters: { resource: base } })],
  ])(
    "is answered with %d for the combination %# of its resource claim and the resource parameter",
    async (status, of) => {
      const { base, assert, exchange } = await setting();
      const client = await bearerClient(base);
      const { claims, parameters } = of(base);
      const assertion = await assert(client.client_id, claims);
      const answer = await exchange(client, assertion, parameters);
      expect(answer.status).toBe(status);
      if (status === 400) expect(answer.body).toMatchObject({ error: "invalid_target" });
    },
  );

  it("is rejected with the same error for every defect", async () => {
    const { base, assert, exchange } = await setting();
    const client = await bearerClient(base);
    const wrong: [Claims, Claims][] = [
      [{}, { typ: "JWT" }],
      [{ iss: "https://stranger.example" }, {}],
      [{ iss: base }, {}],
      [{ iss: `${idp.issuer}/` }, {}],
      [{ aud: [base, "https://other.example"] }, {}],
      [{ client_id: "agt_other" }, {}],
      [{ client_id: idp.issuer }, {}],
      [{ exp: START / 1000 - 61, iat: START / 1000 - 300 }, {}],
      [{ iat: START / 1000 + 61 }, {}],
      [{ jti: undefined }, {}],
      [{}, { kid: "unknown" }],
    ];
    for (const [changes, header] of wrong) {
      const answer = await exchange(client, await assert(client.client_id, changes, header));
      expect(answer).toMatchObject({
        status: 400,
        body: { error: "invalid_grant", error_description: "grant request is invalid" },
      });
    }
    const none = await postForm(`${base}/oauth/token`, {
      grant_type: JWT_BEARER_GRANT_TYPE,
      client_id: client.client_id,
      client_secret: client.client_secret,
    });
    expect(await none.json()).toMatchObject({ error: "invalid_request" });
  });

  it("is not used up by a rejected request", async () => {
    const { base, assert, exchange } = await setting();
    const [client, other] = [await bearerClient(base), await bearerClient(base)];
    const assertion = await assert(client.client_id);
    expect((await exchange(other, assertion)).status).toBe(400);
    const foreign = { resource: "https://other.example" };
    expect((await exchange(client, assertion, foreign)).status).toBe(400);
    expect((await exchange({ ...client, client_secret: "wrong" }, assertion)).status).toBe(401);
    expect((await exchange(client, assertion)).status).toBe(200);
  });

  it("requires that the client registered the grant type, and that a pending agent is claimed first", async () => {
    const { base, assert, exchange } = await setting();
    const plain = await register(base);
    expect(await exchange(plain, await assert(plain.client_id))).toMatchObject({ status: 400 });
    const waiting = await register(base, {
      grant_types: ["client_credentials", JWT_BEARER_GRANT_TYPE],
      type: "service_auth",
      login_hint: "owner@example.com",
    });
    expect(await exchange(waiting, await assert(waiting.client_id))).toMatchObject({
      status: 400,
      body: { error: "unauthorized_client" },
    });
  });
});

describe("concurrent uses of one identity assertion", () => {
  it("yield one token, which the replays revoke, and are recorded as a single replay", async () => {
    const all = Promise.withResolvers<void>();
    let verified = 0;
    const together = async () => {
      verified += 1;
      if (verified === 100) all.resolve();
      await all.promise;
    };
    const { base, assert, exchange, replays, failures } = await setting(
      embedded,
      undefined,
      together,
    );
    const client = await bearerClient(base);
    const assertion = await assert(client.client_id);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => exchange(client, assertion)),
    );
    const statuses = answers.map(({ status }) => status).sort((one, other) => one - other);
    expect(statuses).toEqual([200, ...Array.from({ length: 99 }, () => 400)]);
    expect(new Set(answers.map(({ body }) => body.error))).toEqual(
      new Set([undefined, "invalid_grant"]),
    );
    const won = answers.find(({ status }) => status === 200);
    const probe = await getWith(String(won?.body.access_token), `${base}/api/probe`);
    expect(probe.status).toBe(401);
    expect((await exchange(client, assertion)).status).toBe(400);
    expect(await replays()).toEqual([client.client_id]);
    expect(failures).toEqual([]);
  });

  it("count as replays at registration, even if the agent is deleted while it registers", async () => {
    const replay = async () => second.push(await enter(assertion));
    const { assert, enter, records, replays, failures } = await setting(embedded, replay);
    const second: Answer[] = [];
    const assertion = await assert(idp.issuer);
    const first = await enter(assertion);
    expect([first, ...second]).toMatchObject(
      [1, 2].map(() => ({ status: 400, body: { error: "replay_detected" } })),
    );
    expect(await records.list(clients, { limit: 9 })).toEqual([]);
    expect(await replays()).toEqual(["anonymous"]);
    expect(failures).toEqual([]);
  });

  it("create one agent at registration, which the replays then remove", async () => {
    const { assert, enter, records, replays, failures } = await setting(embedded);
    const assertion = await assert(idp.issuer);
    const answers = await Promise.all(Array.from({ length: 20 }, () => enter(assertion)));
    // A replay can remove the agent before the registration that created it is answered.
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.length).toBeGreaterThanOrEqual(19);
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.error}`))).toEqual(
      new Set(["400 replay_detected"]),
    );
    // The other requests were replays, which removed the agent.
    expect(await records.list(clients, { limit: 100 })).toEqual([]);
    expect(await replays()).toEqual(["anonymous"]);
    expect(failures).toEqual([]);
  });
});
