import { expect, it } from "vitest";
import { type Scope, scopeDescriptions } from "../../src/access/scopes.ts";
import { clients } from "../../src/principals/agents/agent.ts";
import type { Claimer } from "../../src/principals/agents/claim-records.ts";
import type { ClaimService } from "../../src/principals/agents/claims.ts";
import { EXAMPLE_REGISTRATION, postJson, register, tokenOf } from "../support/agent.ts";
import { type AuthServer, startAuthServer } from "../support/auth-server.ts";
import { model, openStore, START, type TestStore } from "../support/stores.ts";
import { verifies } from "../support/verifies.ts";

type Body = Readonly<Record<string, unknown>>;

const ALL = Object.keys(scopeDescriptions) as Scope[];
const READ = ["signals:read", "darkpool:read", "factor:read"];

interface Setting extends TestStore, AuthServer {
  readonly base: string;
  /** Registers with the documented example body and some changes. */
  send(changes: object): Promise<{ readonly status: number; readonly body: Body }>;
}

async function setting(): Promise<Setting> {
  const store = await openStore(model);
  const { records, clock } = store;
  const server = await startAuthServer({ records, now: () => new Date(clock.now) });
  const base = server.local;
  const send = async (changes: object) => {
    const response = await postJson(`${base}/oauth/register`, {
      ...EXAMPLE_REGISTRATION,
      ...changes,
    });
    return { status: response.status, body: (await response.json()) as Body };
  };
  return { ...store, ...server, base, send };
}

/** Manages a client with its registration access token (RFC 7592). */
async function manage(client: Body, method: string, body?: object) {
  const response = await fetch(String(client.registration_client_uri), {
    method,
    headers: {
      authorization: `Bearer ${client.registration_access_token}`,
      "content-type": "application/json",
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

const update = (client: Body, changes: object) =>
  manage(client, "PUT", { ...EXAMPLE_REGISTRATION, client_id: client.client_id, ...changes });

/**
 * Completes the claim of an agent: a person confirms it, and the agent sends the code shown to that
 * person.
 * @returns The agent with its new registration access token.
 */
async function claimedByAgent(claims: ClaimService, agent: Body, claimer: Claimer): Promise<Body> {
  const agentId = String(agent.client_id);
  const { attempt = "" } = (await claims.start(agentId)) ?? {};
  const { code = "" } = (await claims.confirm(attempt, claimer)) ?? {};
  const outcome = await claims.completeByAgent({ agentId, code });
  if (outcome.status !== "claimed") throw new Error(outcome.status);
  return { ...agent, registration_access_token: outcome.registrationToken };
}

it.each([{}, { type: "anonymous" }, { type: "agent" }])(
  "registration accepts %j, and returns a claim code and the scopes before and after a claim",
  async (changes) => {
    const { base, send, claims, accounts } = await setting();
    const { status, body } = await send(changes);
    expect(status).toBe(201);
    const page = `${base}/claim?agent=${body.client_id}`;
    expect(body).toMatchObject({
      client_id: expect.stringMatching(/^agt_[\w-]{22}$/),
      registration_access_token: expect.stringMatching(/^rat_[\w-]{43}$/),
      identity_type: "type" in changes ? changes.type : "anonymous",
      scopes: { pre_claim: READ, post_claim: ALL },
      claim: {
        status: "unclaimed",
        code: expect.stringMatching(/^[0-9A-Z-]{8,9}$/),
        expires_at: new Date(START + 600_000).toISOString(),
        url: `${base}/oauth/claim`,
        start_url: `${base}/oauth/claim/start`,
        page,
      },
    });
    const { id: accountId } = await accounts.findOrCreateByEmail("owner@example.com");
    const { code } = body.claim as { code: string };
    const claim = { agentId: String(body.client_id), code };
    expect(await claims.completeByPerson(claim, { accountId, scopes: ALL })).toMatchObject({
      status: "claimed",
    });
  },
);

it("a service_auth agent can be claimed only by the person it specifies, and gets no token before the claim", async () => {
  const { base, send, claims, accounts } = await setting();
  const { status, body } = await send({ type: "service_auth", login_hint: " Owner@Example.com" });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    identity_type: "service_auth",
    scopes: { pre_claim: [], post_claim: ALL },
    claim: { status: "unclaimed", code: expect.any(String) },
  });
  const client = body as unknown as Parameters<typeof tokenOf>[1];
  await expect(tokenOf(base, client)).rejects.toThrow("unauthorized_client");

  const claim = { agentId: client.client_id, code: (body.claim as { code: string }).code };
  const stranger = await accounts.findOrCreateByEmail("stranger@example.com");
  const owner = await accounts.findOrCreateByEmail("owner@example.com");
  const by = ({ id }: { id: string }) =>
    claims.completeByPerson(claim, { accountId: id, scopes: ALL });
  expect(await by(stranger)).toEqual({ status: "invalid_claim_code" });
  expect(await by(owner)).toMatchObject({ status: "claimed" });
  expect(await tokenOf(base, client, { scope: "alerts:write" })).toEqual(expect.any(String));
});

it.each([
  ["invalid_login_hint", { type: "service_auth" }, "login_hint"],
  ["invalid_login_hint", { type: "service_auth", login_hint: "a@b.example\nbcc:c" }, "login_hint"],
  ["invalid_client_metadata", { type: "user" }, "/oauth/authorize"],
  ["invalid_client_metadata", { type: "service" }, "API key"],
  ["unsupported_identity_type", { type: "root" }, "anonymous, identity_assertion"],
  ["unsupported_identity_type", { type: "__proto__" }, "anonymous, identity_assertion"],
  ["unsupported_identity_type", { type: null }, "anonymous, identity_assertion"],
  ["unsupported_identity_type", { type: ["anonymous"] }, "anonymous, identity_assertion"],
  [
    "invalid_client_metadata",
    { type: "agent", grant_types: ["authorization_code"] },
    "client_cred",
  ],
  ["invalid_scope", { scope: "alerts:write" }, "claimed by a person"],
  ["unapproved_software_statement", { software_statement: "a.b.c" }, "no signer"],
  ["invalid_client_metadata", { jwks: { keys: [] } }, "at least one key"],
])("registration answers %s to the members %j", async (error, changes, description) => {
  const { send, failures } = await setting();
  const { status, body } = await send(changes);
  expect(status).toBe(400);
  expect(body).toEqual({
    error,
    error_description: expect.stringContaining(description),
    ...(error === "invalid_scope" && { scope: "alerts:write" }),
  });
  expect(failures).toEqual([]);
});

it("registration rejects members that could pollute prototypes, and JSON that is nested too deeply", async () => {
  const { base, failures } = await setting();
  const post = (body: string) =>
    fetch(`${base}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
  const example = JSON.stringify(EXAMPLE_REGISTRATION).slice(1);
  for (const body of [
    `{"__proto__":{"token_endpoint_auth_method":"none"},${example}`,
    `{"jwks":{"keys":[{"__proto__":{"kty":"EC"}}]},${example}`,
    `{"a":${"[".repeat(4000)}${"]".repeat(4000)}}`,
  ]) {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_client_metadata" });
  }
  expect(failures).toEqual([]);
});

it("registration either parses a body as the OAuth library does or rejects it", async () => {
  const { base, records } = await setting();
  const text = JSON.stringify({ ...EXAMPLE_REGISTRATION, type: "user" });
  for (const [charset, body] of [
    ["utf-16le", Buffer.from(text, "utf16le")],
    ["utf-8", Buffer.from(`\ufeff${text}`)],
    ["utf-7", Buffer.from(text)],
    ["utf-8", Buffer.from(text)],
  ] as const) {
    const response = await fetch(`${base}/oauth/register`, {
      method: "POST",
      headers: { "content-type": `application/json; charset=${charset}` },
      body,
    });
    expect(response.status).toBe(400);
  }
  expect(await records.list(clients, { limit: 1 })).toEqual([]);
});

it("registration stores no part of the identity request in the client metadata", async () => {
  const { send, records } = await setting();
  const markup = '" onfocus="alert(1)';
  const { body } = await send({
    type: "service_auth",
    login_hint: "owner@example.com",
    client_name: markup,
    owner: { accountId: "acc_1", scopes: ALL },
    agent: { identityType: "identity_assertion" },
    claimed_by: "acc_1",
  });
  expect(body).toMatchObject({ client_name: markup });
  const kept = await records.get(clients, String(body.client_id));
  expect(kept?.value.agent).toEqual({
    identityType: "service_auth",
    loginHint: "owner@example.com",
    registeredAt: START,
    site: "hash of 127.0.0.0/24",
  });
  const members = Object.keys(kept?.value.metadata ?? {});
  for (const member of ["type", "login_hint", "owner", "agent", "claimed_by", "claim"]) {
    expect(members).not.toContain(member);
  }
  expect(kept?.value.metadata.client_name).toBe(markup);
});

for (const [body, identity_type] of [
  [{ type: "anonymous" }, "anonymous"],
  [{ type: "agent", redirect_uris: ["https://agent.example/callback"] }, "agent"],
  [{ type: "service_auth", login_hint: "owner@example.com" }, "service_auth"],
  [{ client_name: "A" }, "anonymous"],
  [{}, "anonymous"],
] as const)
  verifies(
    "2.4/type-alone",
    `registration of ${JSON.stringify(body)}, without a grant type, creates an agent`,
    async () => {
      const { base } = await setting();
      const response = await postJson(`${base}/oauth/register`, body);
      const client = (await response.json()) as Body;
      expect([response.status, client.identity_type]).toEqual([201, identity_type]);
      expect(client).toMatchObject({ grant_types: ["client_credentials"], response_types: [] });

      const { client_id } = client;
      const updated = await manage(client, "PUT", { client_id, client_name: "B" });
      expect(updated).toMatchObject({ status: 200, body: { grant_types: ["client_credentials"] } });
    },
  );

it("registration creates an application from a body with redirect URIs and no grant type", async () => {
  const { base } = await setting();
  const redirect_uris = ["https://app.example/callback"];
  const response = await postJson(`${base}/oauth/register`, { redirect_uris });
  expect(await response.json()).toMatchObject({ grant_types: ["authorization_code"] });
  for (const body of [{ response_types: ["code"] }, [], [{ client_name: "A" }]]) {
    expect((await postJson(`${base}/oauth/register`, body)).status).toBe(400);
  }
});

verifies(
  "2.4/registration-end",
  "a registration states when it expires, while its secret does not expire",
  async () => {
    const { base, send, clock, claims, accounts } = await setting();
    const { body: agent } = await send({});
    const day = 86_400;
    const now = clock.now / 1000;
    expect(agent).toMatchObject({
      client_secret_expires_at: 0,
      registration_expires_at: now + day,
    });
    await tokenOf(base, agent as unknown as Parameters<typeof tokenOf>[1]);
    expect((await manage(agent, "GET")).body.registration_expires_at).toBe(now + 30 * day);

    const { id: accountId } = await accounts.findOrCreateByEmail("owner@example.com");
    const claimed = await claimedByAgent(claims, agent, { accountId, scopes: ALL });
    expect((await manage(claimed, "GET")).body.registration_expires_at).toBe(0);
  },
);

it("a registration shows the agent's identity and claim status, but never its claim code again", async () => {
  const { send, claims, accounts, clock } = await setting();
  const { body: agent } = await send({ scope: "signals:read" });
  const { status, body: before } = await manage(agent, "GET");
  expect(status).toBe(200);
  expect(before).toMatchObject({
    scope: "signals:read",
    identity_type: "anonymous",
    scopes: { pre_claim: ["signals:read"], post_claim: ALL },
    claim: { status: "unclaimed", url: expect.any(String) },
  });
  expect(before.claim).not.toHaveProperty("code");

  const { id: accountId } = await accounts.findOrCreateByEmail("owner@example.com");
  const held: Scope[] = ["signals:read", "alerts:write"];
  const claimed = await claimedByAgent(claims, agent, { accountId, scopes: held });
  const { body: after } = await manage(claimed, "GET");
  expect(after).toMatchObject({
    scope: held.join(" "),
    scopes: { pre_claim: ["signals:read"], post_claim: held },
    claim: { status: "claimed", claimed_at: new Date(clock.now).toISOString() },
  });
  expect(JSON.stringify(after)).not.toContain(accountId);
});

it("a registration update can change neither the agent's identity nor its owner, and grants no scope reserved for claimed agents", async () => {
  const { send, records } = await setting();
  const { body: agent } = await send({ scope: "signals:read" });
  const { status, body } = await update(agent, {
    scope: "signals:read darkpool:read alerts:write",
    type: "identity_assertion",
    identity_type: "identity_assertion",
    owner: { accountId: "acc_1", scopes: ALL },
    agent: { owner: { accountId: "acc_1", scopes: ALL, claimedAt: 1 } },
    claimed_by: "acc_1",
    claim: { status: "claimed" },
    scopes: { pre_claim: ALL },
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    scope: "signals:read darkpool:read",
    identity_type: "anonymous",
    claim: { status: "unclaimed" },
  });
  expect(body.claim).not.toHaveProperty("code");
  const kept = await records.get(clients, String(agent.client_id));
  expect(kept?.value.agent).toEqual({
    identityType: "anonymous",
    registeredAt: START,
    site: "hash of 127.0.0.0/24",
  });

  const refused = await update({ ...agent, ...body }, { scope: "alerts:write" });
  expect(refused).toMatchObject({ status: 400, body: { error: "invalid_scope" } });
});

it("an update of a claimed agent keeps the scopes that its owner granted, and adds none", async () => {
  const { base, send, claims, accounts } = await setting();
  const { body: agent } = await send({ scope: "signals:read" });
  const { id: accountId } = await accounts.findOrCreateByEmail("owner@example.com");
  const scopes: Scope[] = ["signals:read", "alerts:write"];
  const claimed = await claimedByAgent(claims, agent, { accountId, scopes });

  const { body } = await update(claimed, { scope: ALL.join(" ") });
  expect(body).toMatchObject({
    scope: "signals:read alerts:write",
    claim: { status: "claimed" },
  });
  const client = { ...agent, ...body, client_secret: agent.client_secret };
  const token = (scope: string) =>
    tokenOf(base, client as unknown as Parameters<typeof tokenOf>[1], { scope });
  expect(await token("alerts:write")).toEqual(expect.any(String));
  await expect(token("darkpool:read")).rejects.toThrow("invalid_scope");
});

it("a public client cannot use the client_credentials grant", async () => {
  const { send } = await setting();
  const code = {
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    scope: undefined,
  };
  const { status, body: client } = await send(code);
  expect(status).toBe(201);
  expect(client).toMatchObject({
    grant_types: ["authorization_code", "refresh_token"],
    scope: [...ALL, "openid", "offline_access"].join(" "),
    scopes: { pre_claim: ALL, post_claim: ALL },
  });
  expect(client).not.toHaveProperty("claim");
  expect(client).not.toHaveProperty("client_secret");
  const { body: narrow } = await send({ ...code, scope: "signals:read" });
  expect((await manage(narrow, "GET")).body).toMatchObject({ scope: "signals:read" });

  const grants = { grant_types: ["client_credentials"], response_types: [] };
  const refused = await update(client, { ...code, ...grants });
  expect(refused).toMatchObject({ status: 400, body: { error: "invalid_client_metadata" } });
  const { body } = await update(client, { ...grants, scope: "signals:read" });
  expect(body).toMatchObject({
    client_secret: expect.stringMatching(/^[\w-]{43,}$/),
    claim: { status: "unclaimed" },
  });
});

it("registration verifies the identity type at every spelling of the path", async () => {
  const { base } = await setting();
  for (const path of ["/OAuth/Register", "/oauth/register?a=b"]) {
    const response = await postJson(base + path, { ...EXAMPLE_REGISTRATION, type: "user" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_client_metadata" });
  }
});

it("registration management answers a wrong token alike, whether the client exists or its id cannot exist", async () => {
  const { base, failures } = await setting();
  const { client_id } = await register(base);
  const said = new Set<string>();
  for (const id of [client_id, "a".repeat(600), "%00", "agt_%F0%9F%98%80", "..%2f..%2fetc"]) {
    const response = await fetch(`${base}/oauth/register/${id}`, {
      method: "PUT",
      headers: { authorization: "Bearer x", "content-type": "application/json" },
      body: JSON.stringify(EXAMPLE_REGISTRATION),
    });
    expect(response.status).toBe(401);
    said.add(`${response.headers.get("www-authenticate")} ${await response.text()}`);
  }
  expect(said.size).toBe(1);
  expect(failures).toEqual([]);
});
