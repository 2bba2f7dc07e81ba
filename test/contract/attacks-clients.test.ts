// @module-tag full

import { describe, expect, it } from "vitest";
import {
  getWith,
  postForm,
  postJson,
  type RegisteredAgent,
  register,
  tokenOf,
} from "../support/agent.ts";
import { authorizationRequest, CALLBACK, registerPublic } from "../support/person.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";

const testService = await startTestService();
const { base } = testService;
const signals = `${base}/api/signals?limit=1`;
const WIDE = "signals:read factor:read darkpool:read alerts:write";

const statusOf = async (token: string) => (await getWith(token, signals)).status;

/** Determines the effective scopes of a token by calling an operation of each scope. */
async function reaches(token: string) {
  const paths = { factors: "factors?symbol=ALDER.SIM", darkpool: "darkpool?symbol=ALDER.SIM" };
  const [factors, darkpool] = await Promise.all(
    Object.values(paths).map(async (path) => (await getWith(token, `${base}/api/${path}`)).status),
  );
  return { signals: await statusOf(token), factors, darkpool };
}

const asClient = async (agent: RegisteredAgent, form: Record<string, string>) => {
  const { client_id, client_secret } = agent;
  const response = await postForm(`${base}/oauth/token`, { client_id, client_secret, ...form });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

/** Updates a client's registration with arbitrary members (RFC 7592 section 2.2). */
async function put(agent: RegisteredAgent, changes: object, from: Record<string, string> = {}) {
  const response = await fetch(agent.registration_client_uri, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${agent.registration_access_token}`,
      "content-type": "application/json",
      ...from,
    },
    body: JSON.stringify({
      client_id: agent.client_id,
      client_name: "Example Agent",
      grant_types: ["client_credentials"],
      response_types: [],
      scope: "signals:read",
      token_endpoint_auth_method: "client_secret_post",
      ...changes,
    }),
  });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, body, agent: { ...agent, ...body } as RegisteredAgent };
}

describe("a client that updates its registration", () => {
  it("cannot widen its scopes", async () => {
    for (const changes of [
      { scope: WIDE },
      {
        scope: WIDE,
        grant_types: ["client_credentials", "authorization_code"],
        redirect_uris: [CALLBACK],
        response_types: ["code"],
      },
      { scope: "alerts:write signals:read" },
    ]) {
      const { body, agent } = await put(await register(base), changes);
      const wide = await asClient(agent, { grant_type: "client_credentials", scope: WIDE });
      expect(wide.status, JSON.stringify(body)).toBe(400);
      expect(wide.body).toMatchObject({ error: "invalid_scope" });
      const plain = await asClient(agent, { grant_type: "client_credentials" });
      expect(plain.body.scope ?? "").not.toContain("alerts:write");
    }
  });

  it("cannot widen the scopes of a token that was issued before", async () => {
    const agent = await register(base, { scope: "signals:read" });
    const token = await tokenOf(base, agent);
    await put(agent, { scope: "signals:read factor:read darkpool:read" });
    expect(await reaches(token)).toEqual({ signals: 200, factors: 403, darkpool: 403 });
  });

  it("cannot change its owner through members that the server controls", async () => {
    const forged = {
      agent: { owner: { accountId: "acc_victim", scopes: WIDE.split(" "), claimedAt: 1 } },
      owner: { accountId: "acc_victim" },
      identity_type: "identity_assertion",
      type: "identity_assertion",
      claimed_by: "acc_victim",
      claim: { status: "claimed" },
      scopes: { pre_claim: WIDE.split(" ") },
      client_secret_expires_at: 0,
      client_id_issued_at: 1,
      registration_access_token: "chosen-by-the-client",
      registration_client_uri: "https://evil.example",
    };
    const first = (await (
      await postJson(`${base}/oauth/register`, {
        ...forged,
        type: undefined,
        grant_types: ["client_credentials"],
        client_id: "chosen-by-the-client",
        client_secret: "chosen-by-the-client",
      })
    ).json()) as RegisteredAgent;
    expect(JSON.stringify(first)).not.toContain("chosen-by-the-client");
    expect(JSON.stringify(first)).not.toContain("acc_victim");

    const agent = await register(base);
    const { status, body } = await put(agent, forged);
    expect([200, 400]).toContain(status);
    expect(JSON.stringify(body)).not.toMatch(/acc_victim|evil\.example|chosen-by-the-client/);
    const token = await asClient(agent, { grant_type: "client_credentials", scope: WIDE });
    expect(token.body).toMatchObject({ error: "invalid_scope" });
  });

  it("cannot adopt another client's id or secret", async () => {
    const [mine, other] = [await register(base), await register(base)];
    const byId = await put(mine, { client_id: other.client_id });
    expect([400, 401, 403]).toContain(byId.status);
    expect(await tokenOf(base, other)).toBeTypeOf("string");
    const bySecret = await put(await register(base), { client_secret: other.client_secret });
    expect([400, 401, 403]).toContain(bySecret.status);
  });

  it("cannot use a replaced registration access token", async () => {
    const agent = await register(base);
    const { agent: next } = await put(agent, {});
    expect(next.registration_access_token).not.toBe(agent.registration_access_token);
    const read = ({ registration_access_token: token }: RegisteredAgent) =>
      getWith(token, agent.registration_client_uri);
    expect((await read(agent)).status).toBe(401);
    expect((await read(next)).status).toBe(200);
  });

  it("cannot read or change another client's registration with its own token", async () => {
    const [mine, other] = [await register(base), await register(base)];
    for (const method of ["GET", "DELETE"]) {
      const answer = await fetch(other.registration_client_uri, {
        method,
        headers: { authorization: `Bearer ${mine.registration_access_token}` },
      });
      expect([401, 403]).toContain(answer.status);
    }
    expect(await tokenOf(base, other)).toBeTypeOf("string");
  });
});

describe("clients behind one address", () => {
  it("get tokens even after another client at the address has exceeded its limit on wrong secrets", async () => {
    const strict = await startTestService({
      RATE_LIMITS: `${LOOSE_LIMITS} guesses=3/100000/1000000`,
    });
    const [attacker, known] = [await register(strict.base), await register(strict.base)];
    const form = { grant_type: "client_credentials" };
    const ask = async ({
      client_id,
      client_secret,
    }: Pick<RegisteredAgent, "client_id" | "client_secret">) =>
      (await postForm(`${strict.base}/oauth/token`, { ...form, client_id, client_secret })).status;
    const guesses = [];
    for (let nth = 0; nth < 4; nth += 1)
      guesses.push(await ask({ ...attacker, client_secret: "x" }));
    expect(guesses).toEqual([401, 401, 401, 429]);
    expect(await ask(attacker)).toBe(429);
    for (const client_id of ["a", "b", "c", "d"]) await ask({ client_id, client_secret: "x" });
    expect(await ask(known)).toBe(200);
    expect(await ask(await register(strict.base))).toBe(200);
  });
});

describe("a deleted client", () => {
  it("immediately loses everything that was issued to it", async () => {
    const agent = await register(base);
    const token = await tokenOf(base, agent);
    const person = testService.person();
    const client = await registerPublic(base);
    const tokens = await person.tokens({ client });
    expect([await statusOf(token), await statusOf(tokens.access_token)]).toEqual([200, 200]);

    for (const { registration_client_uri, registration_access_token } of [agent, client]) {
      const gone = await fetch(registration_client_uri, {
        method: "DELETE",
        headers: { authorization: `Bearer ${registration_access_token}` },
      });
      expect(gone.status).toBe(204);
    }
    expect([await statusOf(token), await statusOf(tokens.access_token)]).toEqual([401, 401]);
    const again = await asClient(agent, { grant_type: "client_credentials" });
    expect(again).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    const refreshed = await asClient(client, {
      grant_type: "refresh_token",
      refresh_token: tokens.refresh_token,
    });
    expect(refreshed.status).toBe(401);
    const request = await fetch(authorizationRequest(base, { client_id: client.client_id }).url, {
      redirect: "manual",
    });
    expect(request.status).toBe(400);
  });
});

describe("a public client", () => {
  it("cannot register the client_credentials grant, neither initially nor by an update", async () => {
    const answer = await postJson(`${base}/oauth/register`, {
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "none",
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: "invalid_client_metadata" });

    const client = await registerPublic(base);
    const { status } = await put(client, {
      grant_types: ["authorization_code", "client_credentials"],
      redirect_uris: [CALLBACK],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
    expect(status).toBe(400);
    const secret = await put(await register(base), { token_endpoint_auth_method: "none" });
    expect(secret.status).toBe(400);
  });

  it("gets no token with its client_id alone", async () => {
    const { client_id } = await registerPublic(base);
    for (const form of [
      { client_id },
      { client_id, client_secret: "" },
      { client_id, client_secret: "x" },
      { client_id, client_secret: "undefined" },
    ]) {
      const answer = await postForm(`${base}/oauth/token`, {
        grant_type: "client_credentials",
        ...form,
      });
      expect([400, 401]).toContain(answer.status);
      expect(await answer.json()).not.toHaveProperty("access_token");
    }
  });

  it("cannot be impersonated by a confidential client that omits its secret", async () => {
    const { client_id } = await register(base);
    for (const form of [{ client_id }, { client_id, client_secret: "" }]) {
      const answer = await postForm(`${base}/oauth/token`, {
        grant_type: "client_credentials",
        ...form,
      });
      expect([400, 401]).toContain(answer.status);
    }
  });
});

describe("a repeated parameter", () => {
  it("is rejected at the token endpoint, whichever parameter it is", async () => {
    const { client_id, client_secret } = await register(base);
    const form = {
      grant_type: "client_credentials",
      client_id,
      client_secret,
      scope: "signals:read",
    };
    for (const [name, value] of Object.entries(form)) {
      for (const second of [value, "alerts:write"]) {
        const body = new URLSearchParams(form);
        body.append(name, second);
        const answer = await fetch(`${base}/oauth/token`, { method: "POST", body });
        expect([400, 401], name).toContain(answer.status);
        expect(await answer.json(), name).not.toHaveProperty("access_token");
      }
    }
  });

  it("is also rejected when a parser would read it as a list or an object", async () => {
    const { client_id, client_secret } = await register(base);
    for (const changes of ["scope[]=signals:read", "scope[x]=signals:read", "__proto__[scope]=x"]) {
      const form = new URLSearchParams({
        grant_type: "client_credentials",
        client_id,
        client_secret,
      });
      const answer = await fetch(`${base}/oauth/token`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: `${form}&${changes}`,
      });
      const { scope = "" } = (await answer.json()) as { scope?: string };
      expect(scope).not.toContain("alerts:write");
    }
  });
});

describe("an authorization request without a required protection", () => {
  const ask = async (parameters: Record<string, string | undefined>) => {
    const { client_id } = await registerPublic(base);
    const { url } = authorizationRequest(base, { client_id, ...parameters });
    const answer = await fetch(url, { redirect: "manual" });
    const location = answer.headers.get("location");
    if (location !== null) return `sent to ${location}`;
    return ((await answer.json()) as { readonly error: string }).error;
  };

  it.each([
    ["no code challenge", { code_challenge: undefined, code_challenge_method: undefined }],
    ["a challenge method without a challenge", { code_challenge: undefined }],
    ["the code challenge method plain", { code_challenge_method: "plain" }],
    ["no challenge method, which defaults to plain", { code_challenge_method: undefined }],
    ["an unknown challenge method", { code_challenge_method: "S512" }],
    ["an empty code challenge", { code_challenge: "" }],
    ["a code challenge that is too short", { code_challenge: "x" }],
  ])("is rejected: %s", async (_what, parameters) => {
    expect(await ask(parameters)).toBe("invalid_request");
  });

  it.each(["token", "id_token", "code token", "code id_token", "none", "token id_token"])(
    "is rejected: response_type %s",
    async (response_type) => {
      expect(await ask({ response_type })).toMatch(
        /^(unsupported_response_type|unauthorized_client|invalid_request)$/,
      );
    },
  );

  it.each([
    ["a request object", { request: "e30.e30." }],
    ["a request_uri", { request_uri: "https://evil.example/request.jwt" }],
  ])("is rejected: %s", async (_what, parameters) => {
    expect(await ask(parameters)).toMatch(/^request(_uri)?_not_supported$|^invalid_request/);
  });

  it("is rejected when it requests a token for another server's resource", async () => {
    expect(await ask({ resource: "https://evil.example" })).toBe("invalid_target");
  });
});

describe("an authorization code", () => {
  /**
   * Returns a fresh authorization code that has not been exchanged, and the form for its exchange.
   */
  async function issued() {
    const client = await registerPublic(base);
    const { url, verifier } = authorizationRequest(base, {
      client_id: client.client_id,
      resource: base,
    });
    const callback = await testService.person().authorize(url);
    const right = {
      grant_type: "authorization_code",
      client_id: client.client_id,
      code: callback.searchParams.get("code") ?? "",
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    };
    const exchange = async (changes: Record<string, string | undefined> = {}) => {
      const form = Object.entries({ ...right, ...changes }).filter(
        ([, value]) => value !== undefined,
      );
      const answer = await postForm(`${base}/oauth/token`, Object.fromEntries(form) as never);
      return { status: answer.status, body: (await answer.json()) as Record<string, string> };
    };
    return { exchange, right };
  }

  it("is rejected with another verifier, redirect URI, client or resource", async () => {
    const other = await registerPublic(base);
    const confidential = await register(base, {
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    });
    for (const changes of [
      { code_verifier: undefined },
      { code_verifier: "" },
      { code_verifier: "x".repeat(43) },
      { redirect_uri: `${CALLBACK}2` },
      { redirect_uri: "http://127.0.0.1:1/callback" },
      { client_id: other.client_id },
      { client_id: confidential.client_id, client_secret: confidential.client_secret },
      { resource: "https://evil.example" },
    ]) {
      const { exchange } = await issued();
      const { status, body } = await exchange(changes);
      expect(status, JSON.stringify(changes)).toBe(400);
      expect(body).not.toHaveProperty("access_token");
    }
  });

  it("yields no scope to which the person did not consent", async () => {
    const client = await registerPublic(base);
    const { url, verifier } = authorizationRequest(base, { client_id: client.client_id });
    const callback = await testService.person().authorize(url, { scopes: ["signals:read"] });
    const answer = await postForm(`${base}/oauth/token`, {
      grant_type: "authorization_code",
      client_id: client.client_id,
      code: callback.searchParams.get("code") ?? "",
      redirect_uri: CALLBACK,
      code_verifier: verifier,
      scope: WIDE,
      resource: base,
    });
    const { access_token, scope } = (await answer.json()) as Record<string, string>;
    expect(scope).toBe("signals:read");
    expect(await reaches(access_token ?? "")).toEqual({
      signals: 200,
      factors: 403,
      darkpool: 403,
    });
  });

  it("expires after a minute", async () => {
    const { exchange } = await issued();
    const { now } = testService.clock;
    testService.clock.now = new Date(now.getTime() + 11 * 60_000);
    const { body } = await exchange();
    testService.clock.now = now;
    expect(body).toMatchObject({ error: "invalid_grant" });
  });

  it("is rejected when it is replayed, and all tokens issued for it are revoked", async () => {
    const { exchange, right } = await issued();
    const { body: tokens } = await exchange();
    expect(await statusOf(tokens.access_token ?? "")).toBe(200);
    expect((await exchange()).body).toMatchObject({ error: "invalid_grant" });
    expect(await statusOf(tokens.access_token ?? "")).toBe(401);
    const refreshed = await postForm(`${base}/oauth/token`, {
      grant_type: "refresh_token",
      client_id: right.client_id,
      refresh_token: tokens.refresh_token ?? "",
    });
    expect(await refreshed.json()).toMatchObject({ error: "invalid_grant" });
  });

  it("yields tokens only once under concurrent requests", async () => {
    const { exchange } = await issued();
    const answers = await Promise.all(Array.from({ length: 100 }, () => exchange()));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const [{ body } = { body: {} as Record<string, string> }] = answers.filter(
      ({ status }) => status === 200,
    );
    expect(await statusOf(body.access_token ?? "")).toBe(401);
  });
});

describe("a refresh token", () => {
  const refresh = async (client_id: string, refresh_token: string, changes = {}) => {
    const form = { grant_type: "refresh_token", client_id, refresh_token, ...changes };
    const answer = await postForm(`${base}/oauth/token`, form);
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };

  it("is rejected when it is replayed, and its whole family is revoked", async () => {
    const { client, ...tokens } = await testService.person().tokens();
    const second = await refresh(client.client_id, tokens.refresh_token);
    const third = await refresh(client.client_id, second.body.refresh_token ?? "");
    expect([second.status, third.status]).toEqual([200, 200]);
    const replayed = await refresh(client.client_id, tokens.refresh_token);
    expect(replayed.body).toMatchObject({ error: "invalid_grant" });
    for (const { body } of [second, third]) {
      expect(await statusOf(body.access_token ?? "")).toBe(401);
      expect((await refresh(client.client_id, body.refresh_token ?? "")).status).toBe(400);
    }
  });

  it("yields tokens only once under concurrent requests", async () => {
    const { client, refresh_token } = await testService.person().tokens();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => refresh(client.client_id, refresh_token)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it("is rejected when another client sends it", async () => {
    const { refresh_token } = await testService.person().tokens();
    const other = await registerPublic(base);
    const { body } = await refresh(other.client_id, refresh_token);
    expect(body).toMatchObject({ error: "invalid_grant" });
  });

  it("cannot widen the scopes or the resource", async () => {
    const { client, refresh_token } = await testService.person().tokens({ scope: "signals:read" });
    const { body } = await refresh(client.client_id, refresh_token, { scope: WIDE });
    expect(body).toMatchObject({ error: "invalid_scope" });
  });

  it("for /mcp yields no token for the whole service", async () => {
    const { client, refresh_token } = await testService
      .person()
      .tokens({ resource: `${base}/mcp` });
    const { body } = await refresh(client.client_id, refresh_token, { resource: base });
    if (body.access_token !== undefined) expect(await statusOf(body.access_token)).toBe(401);
    else expect(body).toMatchObject({ error: "invalid_target" });
  });

  it("is revoked when the person removes the application", async () => {
    const person = testService.person();
    const { client, access_token, refresh_token } = await person.tokens();
    const { forms } = await person.web.get("/account");
    const remove = forms.find(({ action }) => action.includes("/account/applications/"));
    if (remove === undefined) throw new Error("the application is not on the account page");
    await person.web.submit(remove);
    expect(await statusOf(access_token)).toBe(401);
    expect((await refresh(client.client_id, refresh_token)).body).toMatchObject({
      error: "invalid_grant",
    });
  });
});

describe("a revocation", () => {
  it("by another client leaves the token valid, and an unknown token gets the same answer as a valid one", async () => {
    const token = await tokenOf(base, await register(base));
    const { client_id, client_secret } = await register(base);
    const form = { token, client_id, client_secret };
    await postForm(`${base}/oauth/revoke`, form);
    expect(await statusOf(token)).toBe(200);
    for (const unknown of ["x", "msv_test_x", token.slice(1)]) {
      const answer = await postForm(`${base}/oauth/revoke`, { token: unknown });
      expect([answer.status, await answer.text()]).toEqual([200, ""]);
    }
  });
});

it("no attack makes the service log an internal error", () => {
  expect(testService.logged).toEqual([]);
});
