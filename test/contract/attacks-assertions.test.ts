// @module-tag full

import { SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import { clients, ownedAgentsGroup } from "../../src/principals/agents/agent.ts";
import { AUDIT_KIND, type AuditEntry, unsealedAudit } from "../../src/store/audit-entry.ts";
import { put } from "../../src/store/port/operations.ts";
import { getWith, postForm, postJson, type RegisteredAgent, register } from "../support/agent.ts";
import { type Claims, startIdentityProvider, trustFile } from "../support/identity-provider.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";

const trusted = await startIdentityProvider();
const stranger = await startIdentityProvider();
const [key] = trusted.keys;
const entry = { name: "Example ID", issuer: trusted.issuer, jwks_uri: `${trusted.issuer}/jwks` };
const testService = await startTestService({
  TRUSTED_ISSUERS: await trustFile(JSON.stringify([entry])),
});
const { base } = testService;
const seconds = () => Math.floor(testService.clock.now.getTime() / 1000);

/** Deviations from a valid assertion. */
interface Changes {
  readonly claims?: Claims;
  readonly header?: Claims;
  /** The provider that signs the assertion. */
  readonly by?: typeof trusted;
}

const claimsOf = (clientId: string, changes: Claims = {}): Claims => ({
  iss: trusted.issuer,
  sub: "alice",
  aud: base,
  client_id: clientId,
  jti: crypto.randomUUID(),
  iat: seconds(),
  exp: seconds() + 300,
  auth_time: seconds(),
  scope: "signals:read factor:read",
  resource: base,
  ...changes,
});

const assertionFor = (
  clientId: string,
  { claims, header, by = trusted }: Changes = {},
): Promise<string> => by.sign(claimsOf(clientId, claims), header);

const newClient = () => register(base, { grant_types: ["client_credentials", GRANT] });

async function present(
  { client_id, client_secret }: RegisteredAgent,
  assertion: string,
  changes = {},
) {
  const answer = await postForm(`${base}/oauth/token`, {
    grant_type: GRANT,
    client_id,
    client_secret,
    assertion,
    ...changes,
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
}

/** Counts the audit rows about replays by one actor. */
async function replaysBy(id: string): Promise<number> {
  const { records, archive } = testService.service.state.store;
  const waiting = await records.list(unsealedAudit, { limit: 10_000 });
  const sealed = await archive.read(AUDIT_KIND, { order: "newest", limit: 10_000 });
  const keys = new Map<string, AuditEntry>();
  for (const { value } of waiting) keys.set(value.id, value.body as AuditEntry);
  for (const row of sealed) keys.set(row.id, row.body as AuditEntry);
  const found = [...keys.values()];
  return found.filter(({ action, actor }) => action === "grant.replayed" && actor === id).length;
}

describe("an identity assertion at the token endpoint", () => {
  it("yields a token with no more than the asserted scopes", async () => {
    const client = await newClient();
    const { status, body } = await present(client, await assertionFor(client.client_id));
    expect(status).toBe(200);
    expect(body.scope).toBe("signals:read factor:read");
    expect(body).not.toHaveProperty("refresh_token");
    const read = (path: string) => getWith(body.access_token ?? "", `${base}/api/${path}`);
    expect((await read("signals?limit=1")).status).toBe(200);
    expect((await read("darkpool?symbol=ALDER.SIM")).status).toBe(403);
  });

  const wrong: readonly (readonly [string, () => Changes])[] = [
    ["a wrong typ", () => ({ header: { typ: "JWT" } })],
    ["no typ", () => ({ header: { typ: undefined } })],
    ["the type of an access token", () => ({ header: { typ: "at+jwt" } })],
    ["another audience", () => ({ claims: { aud: "https://evil.example" } })],
    ["the token endpoint as audience", () => ({ claims: { aud: `${base}/oauth/token` } })],
    ["the audience with a trailing slash", () => ({ claims: { aud: `${base}/` } })],
    ["a second audience", () => ({ claims: { aud: [base, "https://evil.example"] } })],
    ["no audience", () => ({ claims: { aud: undefined } })],
    ["the client_id of another client", () => ({ claims: { client_id: "somebody-else" } })],
    ["no client_id", () => ({ claims: { client_id: undefined } })],
    ["an untrusted issuer", () => ({ claims: { iss: stranger.issuer }, by: stranger })],
    ["the issuer with a trailing slash", () => ({ claims: { iss: `${trusted.issuer}/` } })],
    ["this server as issuer", () => ({ claims: { iss: base } })],
    ["a signature by another issuer's key", () => ({ by: stranger, header: { kid: key?.kid } })],
    ["an unknown kid", () => ({ header: { kid: "other" } })],
    ["an expiry in the past", () => ({ claims: { exp: seconds() - 120, iat: seconds() - 300 } })],
    ["no expiry", () => ({ claims: { exp: undefined } })],
    ["an expiry in ten years", () => ({ claims: { exp: seconds() + 315_360_000 } })],
    [
      "an issue time in the future",
      () => ({ claims: { iat: seconds() + 3_600, exp: seconds() + 3_900 } }),
    ],
    ["a not-before time in the future", () => ({ claims: { nbf: seconds() + 3_600 } })],
    ["no jti", () => ({ claims: { jti: undefined } })],
    ["no subject", () => ({ claims: { sub: undefined } })],
    ["the resource of another server", () => ({ claims: { resource: "https://evil.example" } })],
  ];

  it.each(wrong)("is rejected with %s", async (_what, changes) => {
    const client = await newClient();
    const assertion = await assertionFor(client.client_id, changes());
    const { status, body } = await present(client, assertion);
    expect(status).toBe(400);
    expect(body.error).toMatch(/^invalid_(grant|target)$/);
    expect(JSON.stringify(body)).not.toContain(stranger.issuer);
  });

  it("is rejected if it is unsigned, or signed with the public key as an HMAC secret", async () => {
    const client = await newClient();
    const claims = claimsOf(client.client_id);
    const none = new UnsecuredJWT({ ...claims }).encode().split(".");
    const header = (alg: string) =>
      Buffer.from(JSON.stringify({ alg, typ: "oauth-id-jag+jwt", kid: key?.kid })).toString(
        "base64url",
      );
    const hmac = await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: "HS256", typ: "oauth-id-jag+jwt", kid: String(key?.kid) })
      .sign(Buffer.from(JSON.stringify(key)));
    const signed = await assertionFor(client.client_id);
    const [head, , signature] = signed.split(".");
    const other = Buffer.from(JSON.stringify({ ...claims, sub: "root" })).toString("base64url");
    for (const assertion of [
      none.join("."),
      [header("none"), none[1], ""].join("."),
      [header("nOnE"), none[1], ""].join("."),
      [header("ES256"), none[1], ""].join("."),
      hmac,
      [head, other, signature].join("."),
      "",
      "x",
      "a.b.c",
      `${signed}.x`,
    ]) {
      const { status, body } = await present(client, assertion);
      expect(status, assertion.slice(0, 40)).toBe(400);
      expect(body.error).toMatch(/^invalid_(grant|request)$/);
    }
  });

  it("is rejected without the client's own secret", async () => {
    const client = await newClient();
    const assertion = await assertionFor(client.client_id);
    const other = await newClient();
    expect((await present({ ...client, client_secret: "x" }, assertion)).status).toBe(401);
    expect((await present(other, assertion)).status).toBe(400);
    expect((await present(client, assertion)).status).toBe(200);
  });

  it("is accepted only once among concurrent uses, and its replay revokes the tokens issued for it", async () => {
    const client = await newClient();
    const assertion = await assertionFor(client.client_id);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => present(client, assertion)),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    const others = answers.filter(({ status }) => status !== 200).map(({ body }) => body.error);
    expect([...new Set(others)]).toEqual(["invalid_grant"]);
    expect((await present(client, assertion)).status).toBe(400);
    const [first] = won;
    const read = await getWith(first?.body.access_token ?? "", `${base}/api/signals?limit=1`);
    expect(read.status).toBe(401);
  });

  it("adds only one audit row, however often it is replayed", async () => {
    const client = await newClient();
    const assertion = await assertionFor(client.client_id);
    for (let times = 0; times < 5; times += 1) await present(client, assertion);
    expect(await replaysBy(client.client_id)).toBe(1);
  });

  it("grants no scope that it does not contain, even if the request asks for more", async () => {
    const client = await newClient();
    const assertion = await assertionFor(client.client_id, { claims: { scope: "signals:read" } });
    const { status, body } = await present(client, assertion, {
      scope: "signals:read alerts:write",
    });
    if (status === 200) expect(body.scope).toBe("signals:read");
    else expect(body.error).toBe("invalid_scope");
  });

  it("is never linked to an account by email address", async () => {
    const person = testService.person("alice@example.com");
    await person.tokens();
    const client = await newClient();
    const claims = { email: "alice@example.com", email_verified: true };
    const assertion = await assertionFor(client.client_id, { claims });
    expect((await present(client, assertion)).status).toBe(200);
    const { html } = await person.web.get("/account");
    expect(html).not.toContain(client.client_id);
  });
});

describe("an identity assertion at registration", () => {
  const registerWith = async (
    assertion: string,
  ): Promise<{ readonly status: number; readonly body: Record<string, string> }> => {
    const answer = await postJson(`${base}/oauth/register`, {
      type: "identity_assertion",
      assertion_type: "urn:ietf:params:oauth:token-type:id-jag",
      assertion,
      grant_types: ["client_credentials"],
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };

  it("creates a verified agent", async () => {
    expect((await registerWith(await assertionFor(trusted.issuer))).status).toBe(201);
  });

  it("adds only one audit row, however often it is replayed", async () => {
    const assertion = await assertionFor(trusted.issuer);
    const before = await replaysBy("anonymous");
    for (let times = 0; times < 5; times += 1) await registerWith(assertion);
    expect(await replaysBy("anonymous")).toBe(before + 1);
  });

  it("creates no second agent when it is replayed, and the replay removes the first agent", async () => {
    const assertion = await assertionFor(trusted.issuer);
    const answers = await Promise.all(Array.from({ length: 20 }, () => registerWith(assertion)));
    expect(answers.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
    expect(answers.every(({ status }) => status === 201 || status === 400)).toBe(true);
    for (const { body } of answers.filter(({ status }) => status === 201)) {
      const form = { grant_type: "client_credentials", client_id: body.client_id ?? "" };
      const secret = { client_secret: body.client_secret ?? "" };
      expect((await postForm(`${base}/oauth/token`, { ...form, ...secret })).status).toBe(401);
    }
  });

  const wrong: readonly (readonly [string, () => Promise<string>])[] = [
    ["issued to another client", () => assertionFor("somebody-else")],
    [
      "issued to an application instead of its issuer",
      () => assertionFor("https://app.example/client.json"),
    ],
    [
      "for the resource of another server",
      () => assertionFor(trusted.issuer, { claims: { resource: "https://evil.example" } }),
    ],
    [
      "whose audience is another server",
      () => assertionFor(trusted.issuer, { claims: { aud: "https://evil.example" } }),
    ],
    ["with a wrong typ", () => assertionFor(trusted.issuer, { header: { typ: "JWT" } })],
    [
      "from an untrusted issuer",
      () =>
        assertionFor(stranger.issuer, {
          claims: { iss: stranger.issuer },
          by: stranger,
        }),
    ],
    [
      "from a sign-in two hours ago",
      () => assertionFor(trusted.issuer, { claims: { auth_time: seconds() - 7_200 } }),
    ],
    [
      "that has expired",
      () =>
        assertionFor(trusted.issuer, { claims: { exp: seconds() - 120, iat: seconds() - 300 } }),
    ],
    ["that is not a JWT", async () => "x"],
  ];

  it.each(wrong)("is rejected when it is invalid: an assertion %s", async (_what, assertion) => {
    const { status, body } = await registerWith(await assertion());
    expect([400, 401]).toContain(status);
    expect(body).not.toHaveProperty("client_id");
  });
});

it("no attack makes the service log an internal error", () => {
  expect(testService.logged).toEqual([]);
});

describe("agents that one person registers with identity assertions", () => {
  it("are limited to 1,000 even under concurrent registrations, and the oldest agent is removed", async () => {
    const { records } = testService.service.state.store;
    const enter = async () => {
      const answer = await postJson(`${base}/oauth/register`, {
        type: "identity_assertion",
        assertion_type: "urn:ietf:params:oauth:token-type:id-jag",
        assertion: await assertionFor(trusted.issuer, { claims: { sub: "many" } }),
      });
      expect(answer.status).toBe(201);
      return ((await answer.json()) as RegisteredAgent).client_id;
    };
    const first = await records.get(clients, await enter());
    if (first === undefined) throw new Error("no agent is kept");
    const { value, groups } = first;
    const copies = Array.from({ length: 999 }, (_, at) => {
      const agent = { ...value.agent, registeredAt: value.agent.registeredAt + at + 1 };
      return put(clients, { key: `copy-${at}`, value: { ...value, agent }, groups });
    });
    expect(await records.commit(copies)).toBe(true);
    const latest = await enter();
    const group = ownedAgentsGroup(value.agent.owner?.accountId ?? "");
    const kept = await records.list(clients, { group, limit: 2_000 });
    const ids = kept.map(({ key: id }) => id);
    expect(ids).toHaveLength(1_000);
    expect(ids).not.toContain(first.key);
    expect(ids).toContain(latest);

    await Promise.all(Array.from({ length: 10 }, enter));
    expect(await records.list(clients, { group, limit: 2_000 })).toHaveLength(1_000);
  });
});

describe("registrations with identity assertions", () => {
  it("are rate limited per person, without affecting other people", async () => {
    const limited = await startTestService({
      TRUSTED_ISSUERS: await trustFile(JSON.stringify([entry])),
      RATE_LIMITS: `${LOOSE_LIMITS} registrations=2/100000/1000000`,
      TRUST_PROXY: "1",
    });
    const registerFor = async (sub: string, from: string) => {
      const claims = { sub, aud: limited.base, resource: limited.base };
      const application = {
        type: "identity_assertion",
        assertion_type: "urn:ietf:params:oauth:token-type:id-jag",
        assertion: await assertionFor(trusted.issuer, { claims }),
      };
      const headers = { "x-forwarded-for": from };
      return (await postJson(`${limited.base}/oauth/register`, application, headers)).status;
    };
    const statuses: number[] = [];
    for (const [at, sub] of ["alice", "alice", "alice", "bob"].entries()) {
      statuses.push(await registerFor(sub, `198.51.100.${at}`));
    }
    expect(statuses).toEqual([201, 201, 429, 201]);
    expect(limited.logged).toEqual([]);
  });
});
