import { randomBytes } from "node:crypto";
import express from "express";
import { describe, expect, it } from "vitest";
import { createAuditor } from "../../src/access/auditor.ts";
import type { Caller } from "../../src/access/caller.ts";
import { anonymousScopeCeiling, type Scope } from "../../src/access/scopes.ts";
import { claimRouter } from "../../src/http/oauth/claim-endpoints.ts";
import type { LimitOverrides } from "../../src/limits/classes.ts";
import { createLimits } from "../../src/limits/limits.ts";
import { accounts } from "../../src/principals/accounts/accounts.ts";
import { grants } from "../../src/principals/accounts/grants.ts";
import { type Agent, clientGroup, clients } from "../../src/principals/agents/agent.ts";
import { ClaimService } from "../../src/principals/agents/claims.ts";
import {
  createRegistrationTokenLookup,
  registrationTokenGroup,
} from "../../src/principals/agents/registration-access-token.ts";
import { type AuditEntry, unsealedAudit } from "../../src/store/audit-entry.ts";
import { put } from "../../src/store/port/operations.ts";
import { collection } from "../../src/store/port/records.ts";
import { storeUnavailableProblem } from "../../src/store/port/unavailable.ts";
import { transact } from "../../src/store/transact.ts";
import { postJson } from "../support/agent.ts";
import { eachCaller } from "../support/limits.ts";
import { serveForTest } from "../support/local-server.ts";
import { problemHandler } from "../support/route-listener.ts";
import { embedded, openStore } from "../support/stores.ts";
import { verifies } from "../support/verifies.ts";

const MINUTE_MS = 60_000;
const ALL: readonly Scope[] = ["signals:read", "factor:read", "darkpool:read", "alerts:write"];
const tokens = collection<Omit<Caller, "scopes"> & { readonly scopes: readonly Scope[] }>("tokens");

/** Starts only the claim endpoints, on their own port and store. */
async function start(overrides: LimitOverrides = {}) {
  const { records, clock } = await openStore(embedded);
  const app = express();
  const base = await serveForTest(app);
  const now = () => new Date(clock.now);
  const store = { isDown: false };
  const claims = new ClaimService({
    records,
    now,
    audit: createAuditor({ hashAddress: (address) => `hash of ${address}`, now }),
    baseUrl: base,
    anonymousScopes: anonymousScopeCeiling,
    signUp: "open",
    codeKey: randomBytes(32),
  });
  app.use(
    claimRouter({
      claims,
      limits: createLimits({ overrides }),
      findRegisteredClient: createRegistrationTokenLookup(records),
      baseUrl: base,
      now,
      async authenticate(credential) {
        if (store.isDown) throw storeUnavailableProblem("The store does not answer.");
        const found = await records.get(tokens, credential);
        return found && { ...found.value, scopes: new Set(found.value.scopes) };
      },
    }),
  );
  app.use(problemHandler((error) => void error));

  async function register(agentId = "agt_1", agent: Partial<Agent> = {}) {
    const metadata = { client_name: "Helper", grant_types: ["client_credentials"] };
    const value = {
      metadata: { ...metadata, scope: anonymousScopeCeiling.join(" ") },
      agent: { identityType: "anonymous" as const, registeredAt: clock.now, ...agent },
    };
    const groups = [registrationTokenGroup(`rat-${agentId}`)];
    const begun = await transact(records, (tx) => {
      tx.insert(clients, { key: agentId, value, groups });
      return claims.begin(tx, agentId);
    });
    await issue(agentId, { kind: "agent", id: agentId, clientId: agentId });
    return begun;
  }
  /** Stores a token record; the credential is its key. */
  async function issue(credential: string, caller: Partial<Caller>) {
    const value = {
      ...{ kind: "user" as const, id: "acc_ann", clientId: "app" },
      ...{ accountId: undefined, resource: base, signedInAt: undefined },
      ...caller,
      scopes: [...(caller.scopes ?? anonymousScopeCeiling)],
    };
    const groups = value.clientId === undefined ? [] : [clientGroup(value.clientId)];
    await records.commit([put(tokens, { key: credential, value, groups })]);
  }
  async function signIn(accountId: string, caller: Partial<Caller> = {}) {
    const email = `${accountId}@people.example`;
    const value = { email, label: email, createdAt: clock.now };
    const grantId = `grant-${accountId}`;
    await records.commit([
      put(accounts, { key: accountId, value }),
      put(grants, {
        key: grantId,
        value: { accountId, clientId: "app", resources: { [base]: ALL.join(" ") } },
      }),
    ]);
    const scopes = new Set(ALL);
    const person = { kind: "user" as const, id: accountId, accountId, grantId, scopes };
    await issue(accountId, { ...person, signedInAt: clock.now, ...caller });
  }
  await signIn("acc_ann");
  await signIn("acc_bob");

  const bearer = (token: string | undefined) =>
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const claim = (token: string | undefined, body: unknown, headers = {}) =>
    postJson(`${base}/oauth/claim`, body, { ...bearer(token), ...headers });
  const begin = (token: string | undefined, body: unknown) =>
    postJson(`${base}/oauth/claim/start`, body, bearer(token));
  return { base, records, clock, claims, store, register, issue, signIn, claim, begin };
}

async function told(answer: Response | Promise<Response>) {
  const response = await answer;
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("content-type")).toContain("application/json");
  const body = (await response.json()) as Record<string, string>;
  if (response.status !== 200) {
    const isByCode = ["invalid_claim_code", "claim_not_confirmed"].includes(body.error ?? "");
    const links = isByCode ? ["next", "page", "start_url"] : [];
    expect(Object.keys(body)).toEqual(["error", "error_description", ...links]);
    // Characters that RFC 6749 section 5.2 allows in `error_description`.
    expect(body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  }
  return { status: response.status, headers: response.headers, body };
}

/**
 * Removes the members that the answer to a repeated claim omits: the registration access token and
 * the registration URI.
 */
const withoutToken = ({
  registration_access_token: _,
  registration_client_uri: __,
  ...others
}: Readonly<Record<string, string>>) => others;

describe("POST /oauth/claim with a person's token", () => {
  verifies(
    ["2.6/agent-id", "2.6/claim-code", "4.7/json", "4.7/bearer", "4.7/effect"],
    "binds the agent to the person and revokes the agent's tokens",
    async () => {
      const { base, clock, records, register, claim, claims } = await start();
      const { code } = await register();
      const answer = await told(claim("acc_ann", { agent_id: "agt_1", claim_code: code }));

      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        agent_id: "agt_1",
        status: "claimed",
        identity_type: "anonymous",
        subject: "acc_ann",
        scope: ALL.join(" "),
        claimed_at: new Date(clock.now).toISOString(),
        claimed_through: "app",
        registration_client_uri: `${base}/oauth/register/agt_1`,
        registration_access_token: expect.stringMatching(/^rat_[\w-]{43}$/),
      });
      expect(await records.get(tokens, "agt_1")).toBeUndefined();
      expect((await claim("agt_1", { agent_id: "agt_1", claim_code: code })).status).toBe(401);
      expect(await claims.start("agt_1")).toBeUndefined();
    },
  );

  verifies(
    "4.7/keeps",
    "keeps the agent's previous scopes, and adds at most those of the person's token",
    async () => {
      const { register, claim, signIn } = await start();
      const { code } = await register();
      await signIn("acc_eve", { scopes: new Set(["signals:read"]) });
      const { body } = await told(claim("acc_eve", { agent_id: "agt_1", claim_code: code }));

      expect(body.scope).toBe("signals:read factor:read darkpool:read");
    },
  );

  it("returns the same answer when the owner repeats the claim, and rejects everyone else", async () => {
    const { register, claim } = await start();
    const { code } = await register();
    const body = { agent_id: "agt_1", claim_code: code };
    const first = await told(claim("acc_ann", body));

    expect((await told(claim("acc_ann", body))).body).toEqual(withoutToken(first.body));
    expect((await told(claim("acc_bob", body))).body.error).toBe("invalid_claim_code");
  });

  it("accepts the code in lower case and with a hyphen", async () => {
    const { register, claim } = await start();
    const { code } = await register();
    const written = `${code.slice(0, 4)}-${code.slice(4)}`.toLowerCase();

    expect((await claim("acc_ann", { agent_id: "agt_1", claim_code: written })).status).toBe(200);
  });

  it("does not disclose why a code is rejected", async () => {
    const { clock, register, claim, signIn } = await start({
      guesses: eachCaller(1_000),
      claims: eachCaller(1_000),
    });
    const wrong = "00000000";
    await register("agt_wrong");
    const used = await register("agt_used");
    for (let tries = 0; tries < 5; tries += 1) {
      await claim("acc_ann", { agent_id: "agt_used", claim_code: wrong });
    }
    const taken = await register("agt_taken");
    await claim("acc_bob", { agent_id: "agt_taken", claim_code: taken.code });
    const named = await register("agt_named", { loginHint: "acc_bob@people.example" });
    const cases = [
      ["agt_unknown", wrong],
      ["https://client.example/id", wrong],
      ["agt_wrong", wrong],
      ["agt_used", used.code],
      ["agt_taken", taken.code],
      ["agt_named", named.code],
    ];
    const late = await register("agt_late");
    const answers = [];
    for (const [agent_id, claim_code] of cases) {
      answers.push(await told(claim("acc_ann", { agent_id, claim_code })));
    }
    clock.now += 10 * MINUTE_MS;
    await signIn("acc_ann");
    answers.push(await told(claim("acc_ann", { agent_id: "agt_late", claim_code: late.code })));

    const [first] = answers;
    expect(first?.body.error).toBe("invalid_claim_code");
    for (const { status, body, headers } of answers) {
      expect(status).toBe(400);
      // `page` contains the agent id of the request, whether or not the agent exists.
      expect({ ...body, page: "" }).toEqual({ ...first?.body, page: "" });
      expect([...headers.keys()]).toEqual([...(first?.headers.keys() ?? [])]);
    }
  });

  it("rejects a sign-in older than five minutes, and a token without a sign-in", async () => {
    const { clock, register, claim, signIn } = await start();
    const { code } = await register();
    const body = { agent_id: "agt_1", claim_code: code };
    await signIn("acc_old", { signedInAt: clock.now - 5 * MINUTE_MS - 1 });
    await signIn("acc_none", { signedInAt: undefined });
    for (const token of ["acc_old", "acc_none"]) {
      const { status, body: refusal } = await told(claim(token, body));
      expect(status).toBe(403);
      expect(refusal.error).toBe("access_denied");
      expect(refusal.error_description).toContain("sign in again");
    }
    await signIn("acc_fresh", { signedInAt: clock.now - 5 * MINUTE_MS });
    expect((await claim("acc_fresh", body)).status).toBe(200);
  });

  it("rejects a token that the agent itself obtained from the person", async () => {
    const { register, claim, signIn, records } = await start();
    const { code } = await register();
    await signIn("acc_ann", { clientId: "agt_1" });
    const answer = await told(claim("acc_ann", { agent_id: "agt_1", claim_code: code }));

    expect(answer).toMatchObject({ status: 403, body: { error: "access_denied" } });
    expect((await records.get(clients, "agt_1"))?.value.agent.owner).toBeUndefined();
  });

  it("rejects a token that has no scope to grant", async () => {
    const { register, claim, signIn } = await start();
    const { code } = await register();
    await signIn("acc_ann", { scopes: new Set() });
    const answer = await told(claim("acc_ann", { agent_id: "agt_1", claim_code: code }));

    expect(answer).toMatchObject({ status: 403, body: { error: "access_denied" } });
  });
});

describe("POST /oauth/claim with the agent's token", () => {
  it("is rejected until a person confirms, and then accepts the code that was shown to that person", async () => {
    const { register, claim, begin, claims, issue } = await start();
    await register();
    const { body: begun } = await told(begin("agt_1", { agent_id: "agt_1" }));
    const attempt = new URL(begun.verification_uri ?? "").searchParams.get("attempt") ?? "";
    const early = await told(claim("agt_1", { agent_id: "agt_1", claim_code: "00000000" }));
    expect(early).toMatchObject({ status: 409, body: { error: "claim_not_confirmed" } });

    const shown = await claims.confirm(attempt, { accountId: "acc_ann", scopes: ALL });
    const body = { agent_id: "agt_1", claim_code: shown?.code };
    const answer = await told(claim("agt_1", body));
    expect(answer).toMatchObject({ status: 200, body: { status: "claimed", subject: "acc_ann" } });

    expect((await claim("agt_1", body)).status).toBe(401);
    await issue("renewed", { kind: "agent", id: "agt_1", clientId: "agt_1", accountId: "acc_ann" });
    expect((await told(claim("renewed", body))).body).toEqual(withoutToken(answer.body));
    expect((await claim("rat-agt_1", body)).status).toBe(401);
  });

  it("rejects the agent's own code, and rejects the shown code together with a person's token", async () => {
    const { register, claim, claims, records } = await start();
    const { code, attempt } = await register();
    const own = { agent_id: "agt_1", claim_code: code };
    expect((await told(claim("agt_1", own))).status).toBe(409);
    expect((await told(claim("rat-agt_1", own))).status).toBe(409);

    const shown = await claims.confirm(attempt, { accountId: "acc_ann", scopes: ALL });
    expect((await told(claim("agt_1", own))).body.error).toBe("invalid_claim_code");
    const swapped = { agent_id: "agt_1", claim_code: shown?.code };
    expect((await told(claim("acc_ann", swapped))).body.error).toBe("invalid_claim_code");
    expect((await records.get(clients, "agt_1"))?.value.agent.owner).toBeUndefined();
  });

  it("rejects the id of another agent, whether or not it exists", async () => {
    const { register, claim } = await start();
    await register();
    const { code } = await register("agt_2");
    for (const token of ["agt_1", "rat-agt_1"]) {
      for (const agent_id of ["agt_2", "agt_none"]) {
        const answer = await told(claim(token, { agent_id, claim_code: code }));
        expect(answer).toMatchObject({ status: 403, body: { error: "access_denied" } });
      }
    }
  });
});

describe("a credential for a claim", () => {
  const body = { agent_id: "agt_1", claim_code: "00000000" };

  it.each([
    ["no credential", {}, false],
    ["another scheme", { authorization: "Basic YTpi" }, false],
    ["an empty token", { authorization: "Bearer " }, false],
    ["an unknown token", { authorization: "Bearer unknown" }, true],
    ["an unknown API key", { "x-api-key": "unknown" }, true],
    ["an access token as API key", { "x-api-key": "acc_ann" }, true],
    ["a registration access token as API key", { "x-api-key": "rat-agt_1" }, true],
    ["a token for /mcp only", { authorization: "Bearer mcp" }, true],
    ["an agent's token for /mcp only", { authorization: "Bearer agent-mcp" }, true],
  ])("is rejected with a challenge when the request has %s", async (_what, headers, hasError) => {
    const { base, register, claim, signIn, issue } = await start();
    await register();
    await signIn("mcp", { resource: `${base}/mcp` });
    await issue("agent-mcp", { kind: "agent", id: "agt_1", resource: `${base}/mcp` });
    const answer = await told(claim(undefined, body, headers));

    expect(answer).toMatchObject({ status: 401, body: { error: "invalid_token" } });
    const challenge = answer.headers.get("www-authenticate") ?? "";
    expect(challenge).toMatch(/^Bearer /);
    expect(challenge).toContain(`resource_metadata="${base}/.well-known/oauth-protected-resource"`);
    expect(challenge.includes('error="invalid_token"')).toBe(hasError);
  });

  it("is rejected with a challenge when it is in the URL, even next to a valid credential in the header", async () => {
    const { base, register } = await start();
    const { code } = await register();
    const url = `${base}/oauth/claim?access_token=acc_ann`;
    const good = { agent_id: "agt_1", claim_code: code };
    const answer = await told(postJson(url, good, { authorization: "Bearer acc_ann" }));

    expect(answer.status).toBe(401);
  });

  it("is rejected when it is an API key, in either header field", async () => {
    const { register, claim, issue } = await start();
    const { code } = await register();
    const key = { kind: "service" as const, id: "key_1", clientId: undefined };
    await issue("msv_test_key", { ...key, accountId: "acc_ann", scopes: new Set(ALL) });
    const good = { agent_id: "agt_1", claim_code: code };
    for (const headers of [
      { "x-api-key": "msv_test_key" },
      { authorization: "Bearer msv_test_key" },
    ]) {
      const answer = await told(claim(undefined, good, headers));
      expect(answer).toMatchObject({ status: 403, body: { error: "access_denied" } });
    }
  });

  it("is rejected when a second credential is sent with it", async () => {
    const { claim, register } = await start();
    await register();
    for (const headers of [{ "x-api-key": "a" }, { "x-api-key": "acc_ann" }]) {
      const answer = await told(claim("acc_ann", body, headers));
      expect(answer).toMatchObject({ status: 400, body: { error: "invalid_request" } });
    }
  });

  it("is rejected with 429 after too many unknown credentials, while valid credentials still work", async () => {
    const { claim, register } = await start({ visits: eachCaller(2) });
    const { code } = await register();
    await claim("unknown", body);
    await claim("unknown", body);
    const answer = await told(claim("unknown", body));

    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await claim("acc_ann", { agent_id: "agt_1", claim_code: code })).status).toBe(200);
  });
});

describe("the body of a claim request", () => {
  it.each([
    ["invalid JSON", "{"],
    ["an empty body", ""],
    ["an array", "[]"],
    ["null", "null"],
    ["no claim_code", '{"agent_id":"agt_1"}'],
    ["no agent_id", '{"claim_code":"00000000"}'],
    ["a number as the code", '{"agent_id":"agt_1","claim_code":12345678}'],
    ["an empty code", '{"agent_id":"agt_1","claim_code":""}'],
    ["a code that is too long", JSON.stringify({ agent_id: "agt_1", claim_code: "0".repeat(65) })],
    [
      "an agent id that is too long",
      JSON.stringify({ agent_id: "a".repeat(201), claim_code: "0" }),
    ],
    ["an agent id with a NUL character", '{"agent_id":"a\\u0000","claim_code":"0"}'],
    ["an agent id with half a surrogate pair", '{"agent_id":"\\ud800","claim_code":"0"}'],
  ])("is rejected with 400: %s", async (_what, text) => {
    const { base } = await start();
    const headers = { authorization: "Bearer acc_ann", "content-type": "application/json" };
    const answer = await told(
      fetch(`${base}/oauth/claim`, { method: "POST", headers, body: text }),
    );

    expect(answer).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  });

  it("may have additional members, and any text as the code", async () => {
    const { claim, register } = await start();
    const { code } = await register();
    const odd = await told(
      claim("acc_ann", { agent_id: "agt_1", claim_code: "\u{1f600}\0\ud800" }),
    );
    expect(odd.body.error).toBe("invalid_claim_code");
    const more = { agent_id: "agt_1", claim_code: code, __proto__: null, status: "claimed" };
    expect((await claim("acc_ann", more)).status).toBe(200);
  });

  it("is validated only after the caller is authenticated", async () => {
    const { base } = await start();
    for (const path of ["/oauth/claim", "/oauth/claim/start"]) {
      expect((await told(postJson(`${base}${path}`, []))).status).toBe(401);
    }
  });

  it("must be JSON of at most 4096 bytes, sent by POST", async () => {
    const { base } = await start();
    const authorization = "Bearer acc_ann";
    for (const path of ["/oauth/claim", "/oauth/claim/start"]) {
      const url = `${base}${path}`;
      const form = new URLSearchParams({ agent_id: "agt_1" });
      const posted = { method: "POST", headers: { authorization }, body: form };
      expect((await fetch(url, posted)).status).toBe(415);
      const large = { agent_id: "a".repeat(5000) };
      expect((await postJson(url, large, { authorization })).status).toBe(413);
      const got = await fetch(url, { headers: { authorization } });
      expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });
});

describe("the rate limits of claims", () => {
  const one = eachCaller(1);
  const wrong = (agent_id: string) => ({ agent_id, claim_code: "00000000" });

  async function expectLimited(answer: Promise<Response>) {
    const { status, headers, body } = await told(answer);
    expect([status, body.error]).toEqual([429, "temporarily_unavailable"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    return body;
  }

  it("count the agent's own attempts separately, so that others cannot lock it out", async () => {
    const { claim, register } = await start({ claims: one });
    await register();
    await claim("acc_bob", wrong("agt_1"));
    expect((await claim("agt_1", wrong("agt_1"))).status).toBe(409);
    await expectLimited(claim("agt_1", wrong("agt_1")));
  });

  it("count the attempts of a person", async () => {
    const { claim } = await start({ claims: one });
    expect((await claim("acc_ann", wrong("agt_1"))).status).toBe(400);
    await expectLimited(claim("acc_ann", wrong("agt_2")));
    expect((await claim("acc_bob", wrong("agt_2"))).status).toBe(400);
  });

  it("count the attempts from a network", async () => {
    const { claim } = await start({ claims: { caller: 9, network: 1, total: 99 } });
    expect((await claim("acc_ann", wrong("agt_1"))).status).toBe(400);
    await expectLimited(claim("acc_bob", wrong("agt_2")));
  });

  it("count new codes for each agent", async () => {
    const { begin, register } = await start({ claims: one });
    await register();
    await register("agt_2");
    expect((await begin("agt_1", { agent_id: "agt_1" })).status).toBe(200);
    await expectLimited(begin("agt_1", { agent_id: "agt_1" }));
    expect((await begin("agt_2", { agent_id: "agt_2" })).status).toBe(200);
  });
});

describe("POST /oauth/claim/start", () => {
  verifies(
    ["3/anonymous-claimable", "3/flow-user-claimed"],
    "gives the agent a new code, with which a person can complete the claim",
    async () => {
      const { base, clock, register, begin, claim } = await start();
      const old = await register();
      const { status, body } = await told(begin("agt_1", { agent_id: "agt_1" }));
      const { code, expires_at } = body.claim as unknown as Record<string, string>;

      expect(status).toBe(200);
      expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
      expect(body).toEqual({
        agent_id: "agt_1",
        status: "pending_claim",
        claim: { code, expires_at },
        verification_uri: expect.stringMatching(`^${base}/claim\\?attempt=[\\w-]{43}$`),
        who_can_claim: "Anyone with an email address can sign in there.",
        note: "This code ends the one before it.",
        expires_at: new Date(clock.now + 10 * MINUTE_MS).toISOString(),
      });
      expect(expires_at).toBe(body.expires_at);
      expect((await claim("acc_ann", { agent_id: "agt_1", claim_code: old.code })).status).toBe(
        400,
      );
      expect((await claim("acc_ann", { agent_id: "agt_1", claim_code: code })).status).toBe(200);
    },
  );

  verifies(
    "3/service-auth-claimed",
    "of an agent that registered for a person is possible only for that person",
    async () => {
      const { register, begin, claim } = await start();
      const loginHint = "acc_ann@people.example";
      await register("agt_1", { identityType: "service_auth", loginHint });
      const { body } = await told(begin("rat-agt_1", { agent_id: "agt_1" }));
      const { code } = body.claim as unknown as Record<string, string>;
      const asked = { agent_id: "agt_1", claim_code: code };

      expect((await told(claim("acc_bob", asked))).body.error).toBe("invalid_claim_code");
      expect((await told(claim("acc_ann", asked))).body.identity_type).toBe("service_auth");
    },
  );

  it("binds the claim to an email address, case-insensitively", async () => {
    const { register, begin, claim } = await start();
    await register();
    const login_hint = " Acc_Ann@People.example";
    const { body } = await told(begin("agt_1", { agent_id: "agt_1", login_hint }));
    const { code } = body.claim as unknown as Record<string, string>;
    const asked = { agent_id: "agt_1", claim_code: code };

    expect((await claim("acc_bob", asked)).status).toBe(400);
    expect((await claim("acc_ann", asked)).status).toBe(200);
  });

  it.each(["", "nobody", "a@b.example\r\nBcc: c@d.example", 7, null])(
    "rejects %j as an email address",
    async (login_hint) => {
      const { register, begin } = await start();
      await register();
      const answer = await told(begin("agt_1", { agent_id: "agt_1", login_hint }));
      expect(answer).toMatchObject({ status: 400, body: { error: "invalid_request" } });
    },
  );

  it("rejects every caller except the agent", async () => {
    const { register, begin } = await start();
    await register();
    await register("agt_2");
    for (const token of ["acc_ann", "agt_2", "rat-agt_2"]) {
      const answer = await told(begin(token, { agent_id: "agt_1" }));
      expect(answer).toMatchObject({ status: 403, body: { error: "access_denied" } });
    }
    expect((await told(begin(undefined, { agent_id: "agt_1" }))).status).toBe(401);
  });

  it("rejects an agent that is already claimed", async () => {
    const { register, begin, claim, issue } = await start();
    const { code } = await register();
    await claim("acc_ann", { agent_id: "agt_1", claim_code: code });
    expect((await begin("rat-agt_1", { agent_id: "agt_1" })).status).toBe(401);
    await issue("renewed", { kind: "agent", id: "agt_1", clientId: "agt_1", accountId: "acc_ann" });
    const answer = await told(begin("renewed", { agent_id: "agt_1" }));

    expect(answer).toMatchObject({ status: 409, body: { error: "already_claimed" } });
  });
});

describe("a claim", () => {
  it("is recorded in the audit log with the address of the caller", async () => {
    const { records, register, claim, begin } = await start();
    await register("agt_1", { identityType: "identity_assertion" });
    await begin("agt_1", { agent_id: "agt_1" });
    await claim("acc_ann", { agent_id: "agt_1", claim_code: "00000000" });
    const rows = await records.list(unsealedAudit, { limit: 9 });

    expect(rows.map(({ value }) => value.body as AuditEntry)).toMatchObject([
      { action: "claim.started", actor: "agt_1", addressHash: "hash of 127.0.0.1" },
      { action: "claim.refused", actor: "acc_ann", addressHash: "hash of 127.0.0.1" },
    ]);
  });

  it("is answered with 503 while the store is unavailable", async () => {
    const { store, claim, begin } = await start();
    store.isDown = true;
    for (const answer of [claim("acc_ann", {}), begin("agt_1", {})]) {
      expect(await told(answer)).toMatchObject({
        status: 503,
        body: { error: "temporarily_unavailable" },
      });
    }
  });
});
