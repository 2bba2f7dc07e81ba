import * as oauth from "oauth4webapi";
import { afterAll, describe, expect, it } from "vitest";
import { clients } from "../../src/principals/agents/agent.ts";
import { remove, replace } from "../../src/store/port/operations.ts";
import { getWith, postForm, type RegisteredAgent, register, tokenOf } from "../support/agent.ts";
import { startAuthServer } from "../support/auth-server.ts";
import { authorizationRequest, CALLBACK, registerPublic } from "../support/person.ts";
import { dumpStore, embedded } from "../support/stores.ts";
import { createVisitor, exchange, giveConsent, interactionOn } from "../support/visitor.ts";

const insecure = { [oauth.allowInsecureRequests]: true };
const DAY_MS = 86_400_000;
const clock = { aheadMs: 0 };
const now = () => new Date(Date.now() + clock.aheadMs);
const store = await embedded.open({ now: () => now().getTime() });
const { records } = store;
const server = await startAuthServer({ records, now });
const { local: base } = server;

afterAll(() => expect(server.failures).toEqual([]));

let people = 0;
/** A person with a signed-in browser. */
async function newPerson({ secondsAgo = 0 } = {}) {
  const visitor = createVisitor(server);
  people += 1;
  clock.aheadMs = -1000 * secondsAgo;
  const accountId = await visitor.signIn(`person-${people}@example.com`);
  clock.aheadMs = 0;
  return { ...visitor, accountId };
}

/** Registers a web client, which prompts a person only for the first consent. */
const registerWeb = (changes: object = {}): Promise<RegisteredAgent> =>
  registerPublic(base, { redirect_uris: ["https://app.example/callback"], ...changes });

const ofWeb = { redirect_uri: "https://app.example/callback" };

async function whoIs(token: string, path = "/api/probe") {
  const response = await getWith(token, base + path);
  return { status: response.status, ...((await response.json()) as object) };
}

async function tokensOf(parameters: Record<string, unknown> = {}) {
  const person = await newPerson();
  const { form, client } = await giveConsent(server, person, parameters);
  const { body } = await exchange(server, form);
  return { person, client, tokens: body };
}

const refresh = (client: RegisteredAgent, refresh_token = "", more = {}) =>
  exchange(server, {
    grant_type: "refresh_token",
    client_id: client.client_id,
    refresh_token,
    ...more,
  });

describe("a person with a standard OAuth client", () => {
  it("signs in, consents, gets tokens with an ID token, refreshes and revokes", async () => {
    const person = await newPerson();
    const issuer = new URL(base);
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, insecure),
    );
    const metadata = {
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "client_secret_basic",
      scope: "signals:read alerts:write",
    };
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(as, metadata, insecure),
    );
    const auth = oauth.ClientSecretBasic(String(client.client_secret));
    const verifier = oauth.generateRandomCodeVerifier();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const request = new URL(String(as.authorization_endpoint));
    request.search = new URLSearchParams({
      client_id: client.client_id,
      response_type: "code",
      redirect_uri: CALLBACK,
      scope: "openid signals:read alerts:write",
      resource: `${base}/mcp`,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      nonce,
    }).toString();

    const end = await person.authorize(request);
    const parameters = oauth.validateAuthResponse(as, client, end, state);
    expect(parameters.get("iss")).toBe(base);
    const answer = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      auth,
      parameters,
      CALLBACK,
      verifier,
      insecure,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, answer, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    await oauth.validateApplicationLevelSignature(as, answer, insecure);
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: person.accountId });
    expect(tokens).toMatchObject({ expires_in: 3600, scope: "signals:read alerts:write" });
    expect(await whoIs(tokens.access_token, "/mcp")).toMatchObject({
      status: 200,
      kind: "user",
      id: person.accountId,
      accountId: person.accountId,
      clientId: client.client_id,
      scopes: ["signals:read", "alerts:write"],
      resource: `${base}/mcp`,
      signedInAt: expect.closeTo(Date.now(), -5),
    });
    expect(await whoIs(tokens.access_token)).toMatchObject({ status: 401 });

    const again = await oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(
        as,
        client,
        auth,
        String(tokens.refresh_token),
        insecure,
      ),
    );
    expect(again.refresh_token).not.toBe(tokens.refresh_token);
    expect(await whoIs(again.access_token, "/mcp")).toMatchObject({
      status: 200,
      signedInAt: expect.closeTo(Date.now(), -5),
    });
    const revoked = await oauth.revocationRequest(
      as,
      client,
      auth,
      String(again.refresh_token),
      insecure,
    );
    await oauth.processRevocationResponse(revoked);
    for (const { access_token } of [tokens, again]) {
      expect(await whoIs(access_token, "/mcp")).toMatchObject({ status: 401 });
    }
  });
});

describe("a person in the authorization flow", () => {
  it("must sign in first, and then sees the unverified name of the client", async () => {
    const visitor = createVisitor(server);
    const client = await registerPublic(base, { client_name: "Bank & Co <3" });
    const { url } = authorizationRequest(base, { client_id: client.client_id });
    const page = await visitor.open(url);
    expect(interactionOn(page)).toMatchObject({
      prompt: "login",
      minSignedInAt: 0,
      client: { clientId: client.client_id, name: "Bank & Co <3", redirectUri: CALLBACK },
    });
    await visitor.signIn();
    expect(interactionOn(await visitor.open(page.url))).toMatchObject({
      prompt: "consent",
      scopes: ["signals:read", "factor:read", "darkpool:read", "alerts:write"],
    });
  });

  it("decides on each requested scope, and the client gets the granted scopes in the token response", async () => {
    const person = await newPerson();
    const client = await registerPublic(base);
    const { client_id } = client;
    const { url, verifier } = authorizationRequest(base, {
      client_id,
      scope: "signals:read alerts:write",
    });
    const end = await person.authorize(url, ["signals:read", "factor:read", "openid"]);
    const { body } = await exchange(server, {
      grant_type: "authorization_code",
      client_id,
      code: String(end.searchParams.get("code")),
      redirect_uri: CALLBACK,
      code_verifier: verifier,
      scope: "signals:read alerts:write",
    });
    expect(body.scope).toBe("signals:read");
    expect(await whoIs(String(body.access_token))).toMatchObject({ scopes: ["signals:read"] });
  });

  it.each([
    ["denies access", "deny" as const],
    ["selects no scope", []],
  ])("who %s causes an error response to the client", async (_title, answer) => {
    const person = await newPerson();
    const { client_id } = await registerPublic(base);
    const { url } = authorizationRequest(base, { client_id, scope: "signals:read", state: "s" });
    const { searchParams } = await person.authorize(url, answer);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      error: "access_denied",
      state: "s",
      iss: base,
    });
  });

  it("is prompted again by a web client for additional scopes, but not for the same scopes", async () => {
    const person = await newPerson();
    const { client_id } = await registerWeb();
    const ask = (scope: string) => authorizationRequest(base, { client_id, scope, ...ofWeb }).url;
    await person.authorize(ask("signals:read"));
    expect((await person.open(ask("signals:read"))).leavesFor?.searchParams.has("code")).toBe(true);
    const page = await person.open(ask("signals:read alerts:write"));
    expect(interactionOn(page)).toMatchObject({ prompt: "consent", scopes: ["alerts:write"] });
  });

  it("is prompted again at each request of a native client, and can decide differently each time", async () => {
    const person = await newPerson();
    const client = await registerPublic(base);
    const scope = "signals:read alerts:write";
    const { url } = authorizationRequest(base, { client_id: client.client_id, scope });
    await person.authorize(url, ["signals:read"]);
    const page = await person.open(url);
    expect(interactionOn(page).scopes).toEqual(["signals:read", "alerts:write"]);
    const { form } = await giveConsent(server, person, { client, scope });
    expect((await exchange(server, form)).body.scope).toBe(scope);
  });

  it("sees all registered scopes of a client that requests no scope", async () => {
    const { tokens } = await tokensOf({
      client: await registerPublic(base, { scope: "signals:read factor:read" }),
      scope: undefined,
    });
    expect(tokens.scope).toBe("signals:read factor:read");
  });

  it("can sign in to a client that requests only the openid scope", async () => {
    const { tokens, person } = await tokensOf({ scope: "openid" });
    const [, payload = ""] = String(tokens.id_token).split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    expect(claims).toMatchObject({ iss: base, sub: person.accountId });
    expect(JSON.stringify(claims)).not.toContain("@");
    expect(await whoIs(String(tokens.access_token))).toMatchObject({ scopes: [] });
  });

  it.each([
    ["openid signals:read email profile", "signals:read"],
    ["offline_access", "signals:read factor:read darkpool:read alerts:write"],
  ])("is not prompted for the unknown scopes in %j", async (scope, granted) => {
    const { tokens } = await tokensOf({ scope, prompt: "consent" });
    expect(tokens.scope).toBe(granted);
    expect(tokens.refresh_token).toBeDefined();
  });

  it("is not prompted when no known scope is requested", async () => {
    const person = await newPerson();
    const { client_id } = await registerPublic(base);
    const { url } = authorizationRequest(base, { client_id, scope: "email profile" });
    const { leavesFor, html } = await person.open(url);
    expect(leavesFor).toBeUndefined();
    expect(JSON.parse(html)).toMatchObject({ error: "invalid_scope" });
  });
});

describe("a browser session", () => {
  const ask = (client_id: string, more: Record<string, string> = {}) =>
    authorizationRequest(base, { client_id, scope: "openid signals:read", ...ofWeb, ...more }).url;

  it("is valid for every client, and a sign-out ends it for every client", async () => {
    const person = await newPerson();
    const [one, two] = [await registerWeb(), await registerWeb()];
    await person.authorize(ask(one.client_id));
    expect(interactionOn(await person.open(ask(two.client_id))).prompt).toBe("consent");
    await person.signOut();
    for (const { client_id } of [one, two]) {
      expect(interactionOn(await person.open(ask(client_id))).prompt).toBe("login");
      const silent = await person.open(ask(client_id, { prompt: "none" }));
      expect(silent.leavesFor?.searchParams.get("error")).toBe("login_required");
    }
  });

  it("of another person does not resume the previous person's session", async () => {
    const person = await newPerson();
    const { client_id } = await registerWeb();
    await person.authorize(ask(client_id));
    const other = await person.signIn("other@example.com");
    expect(interactionOn(await person.open(ask(client_id))).prompt).toBe("consent");

    const client = await registerPublic(base);
    const { form } = await giveConsent(server, person, { client, scope: "openid" });
    const { body } = await exchange(server, form);
    expect(await whoIs(String(body.access_token))).toMatchObject({ accountId: other });
  });

  it("that has expired leaves no stored data, however often its cookie is sent, and can be renewed", async () => {
    const person = await newPerson();
    const { client_id } = await registerWeb();
    await person.authorize(ask(client_id));
    await person.signOut();
    const sessions = async () =>
      (await dumpStore(store)).filter(
        (row) => "collection" in row && row.collection === "oidc:Session",
      );
    const before = await sessions();
    for (let count = 0; count < 10; count++) {
      const { leavesFor } = await person.open(ask(client_id, { prompt: "none" }));
      expect(leavesFor?.searchParams.get("error")).toBe("login_required");
      expect(interactionOn(await person.open(ask(client_id))).prompt).toBe("login");
    }
    expect(await sessions()).toHaveLength(before.length - 1);

    await person.signIn("comes-back@example.com");
    await person.authorize(ask(client_id));
    expect(await sessions()).toHaveLength(before.length);
    const { leavesFor } = await person.open(ask(client_id, { prompt: "none" }));
    expect(leavesFor?.searchParams.has("code")).toBe(true);
  });

  it("that ends during the consent prompt also ends the authorization request", async () => {
    const person = await newPerson();
    const { client_id } = await registerWeb();
    const page = await person.open(ask(client_id));
    await person.signOut();
    await expect(person.authorize(page.url)).rejects.toThrow("invalid_request");
  });

  it("that ended before the request was resumed is not used", async () => {
    const person = createVisitor(server);
    await person.signIn();
    const { client_id } = await registerWeb();
    const jar = new Map<string, string>();
    const cookieHeader = () => [person.cookie(), ...jar.values()].join("; ");
    const go = async (url: string | URL) => {
      const headers = { cookie: cookieHeader() };
      const response = await fetch(new URL(url, base), { redirect: "manual", headers });
      for (const line of response.headers.getSetCookie()) {
        const [pair = ""] = line.split(";");
        jar.set(String(pair.split("=")[0]), pair);
      }
      return response;
    };
    const locationOf = (response: Response) => String(response.headers.get("location"));
    const onward = locationOf(await go(locationOf(await go(ask(client_id)))));
    expect(onward).toContain("/oauth/authorize/");
    await person.signOut();
    const page = await go(locationOf(await go(onward)));
    expect(await page.json()).toMatchObject({ prompt: "login" });
  });

  it("that is too old does not satisfy prompt=login and max_age", async () => {
    const person = await newPerson({ secondsAgo: 20 });
    const { client_id } = await registerWeb();
    await person.authorize(ask(client_id));
    const { leavesFor } = await person.open(ask(client_id, { max_age: "3600" }));
    expect(leavesFor?.searchParams.has("code")).toBe(true);

    const wanted = [
      [{ prompt: "login" }, 0],
      [{ max_age: "0" }, 0],
      [{ max_age: "10" }, 10],
    ] as const;
    for (const [more, seconds] of wanted) {
      const { prompt, minSignedInAt } = interactionOn(await person.open(ask(client_id, more)));
      expect(prompt).toBe("login");
      expect(Date.now() / 1000 - minSignedInAt / 1000 - seconds).toBeLessThan(5);
    }
  });

  it("can be replaced by another person's session when a client requires a new sign-in", async () => {
    const person = await newPerson({ secondsAgo: 20 });
    const { client_id } = await registerWeb();
    await person.authorize(ask(client_id));
    const page = await person.open(ask(client_id, { prompt: "login" }));
    await person.signIn("other-one@example.com");
    expect(interactionOn(await person.open(page.url)).prompt).toBe("consent");
  });

  it("allows prompt=none once the person has consented", async () => {
    const person = await newPerson();
    const { client_id } = await registerWeb();
    const silent = ask(client_id, { prompt: "none" });
    const before = await person.open(silent);
    expect(before.leavesFor?.searchParams.get("error")).toMatch(/_required$/);
    await person.authorize(ask(client_id));
    const after = await person.open(silent);
    expect(after.leavesFor?.searchParams.has("code")).toBe(true);
  });
});

describe("an authorization code", async () => {
  const withSecret = { grant_types: ["authorization_code"], redirect_uris: [CALLBACK] };
  const credentialsOf = ({ client_id, client_secret }: RegisteredAgent) => ({
    client_id,
    ...(client_secret && { client_secret }),
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ["a wrong code_verifier", { code_verifier: "x".repeat(43) }],
    ["an empty code_verifier", { code_verifier: "" }],
    ["another redirect_uri", { redirect_uri: "http://127.0.0.1/other" }],
    ["another port in redirect_uri", { redirect_uri: "http://127.0.0.1:1/callback" }],
    ["another client", credentialsOf(await registerPublic(base))],
    ["a client that has a secret", credentialsOf(await register(base, withSecret))],
  ])("is rejected with %s", async (_title, changes) => {
    const { form } = await giveConsent(server, await newPerson());
    const { status, body } = await exchange(server, { ...form, ...changes });
    expect(status).toBe(400);
    expect(body.error).toBe("invalid_grant");
  });

  it("expires after a minute", async () => {
    const { form } = await giveConsent(server, await newPerson());
    clock.aheadMs = 61_000;
    expect((await exchange(server, form)).body.error).toBe("invalid_grant");
    clock.aheadMs = 0;
  });

  it("yields a token only for the consented resource", async () => {
    const person = await newPerson();
    const mcp = await giveConsent(server, person, { resource: `${base}/mcp/` });
    const { body } = await exchange(server, { ...mcp.form, resource: `${base}/mcp` });
    expect(await whoIs(String(body.access_token), "/mcp")).toMatchObject({ status: 200 });
    expect(await whoIs(String(body.access_token))).toMatchObject({ status: 401 });

    const other = await giveConsent(server, person, { resource: `${base}/mcp` });
    const refused = await exchange(server, { ...other.form, resource: `${base}/` });
    expect(refused.body.error).toBe("invalid_target");
  });
});

describe("an authorization response", () => {
  it("uses only the advertised response modes", async () => {
    const { client_id } = await registerPublic(base);
    for (const document of ["oauth-authorization-server", "openid-configuration"]) {
      const announced = await (await fetch(`${base}/.well-known/${document}`)).json();
      expect(announced).toMatchObject({ response_modes_supported: ["query"] });
    }
    for (const response_mode of ["form_post", "fragment", "web_message", "query.jwt"]) {
      const { url } = authorizationRequest(base, { client_id, response_mode });
      const answer = await fetch(url, { redirect: "manual" });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toEqual({
        error: "invalid_request",
        error_description: "response_mode is query",
      });
    }
    const { url } = authorizationRequest(base, { client_id, response_mode: "query" });
    expect((await fetch(url, { redirect: "manual" })).status).toBe(303);
  });
});

describe("a refresh token", () => {
  it("is issued only to clients that registered the refresh_token grant", async () => {
    const client = await registerPublic(base, { grant_types: ["authorization_code"] });
    expect((await tokensOf({ client })).tokens).not.toHaveProperty("refresh_token");
    expect((await tokensOf({ scope: "signals:read" })).tokens.refresh_token).toBeDefined();
  });

  it("can narrow the scope of an access token, and never widens it", async () => {
    const { client, tokens } = await tokensOf({ scope: "signals:read factor:read" });
    const narrow = await refresh(client, tokens.refresh_token, { scope: "factor:read" });
    expect(narrow.body.scope).toBe("factor:read");
    const wide = await refresh(client, narrow.body.refresh_token);
    expect(wide.body.scope).toBe("signals:read factor:read");
    const wider = await refresh(client, wide.body.refresh_token, { scope: "alerts:write" });
    expect(wider).toMatchObject({ status: 400, body: { error: "invalid_scope" } });
  });

  it("for /mcp yields no token for the whole service", async () => {
    const { client, tokens } = await tokensOf({ resource: `${base}/mcp` });
    const wide = await refresh(client, tokens.refresh_token, { resource: base });
    expect(wide).toMatchObject({ status: 400, body: { error: "invalid_target" } });
  });

  it("works once, and its reuse revokes the whole grant", async () => {
    const { client, tokens } = await tokensOf();
    const next = await refresh(client, tokens.refresh_token);
    expect(next.status).toBe(200);
    const again = await refresh(client, tokens.refresh_token);
    expect(again).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    for (const { access_token = "" } of [tokens, next.body]) {
      expect(await whoIs(access_token)).toMatchObject({ status: 401 });
    }
    expect((await refresh(client, next.body.refresh_token)).status).toBe(400);
  });

  it("works only for its own client", async () => {
    const { client, tokens } = await tokensOf();
    const other = await registerPublic(base);
    expect((await refresh(other, tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect((await refresh(client, tokens.refresh_token)).status).toBe(200);
  });

  it("expires thirty days after the consent, even if it is rotated in the meantime", async () => {
    const { client, tokens } = await tokensOf();
    clock.aheadMs = 29 * DAY_MS;
    const next = await refresh(client, tokens.refresh_token);
    expect(next.status).toBe(200);
    clock.aheadMs = 31 * DAY_MS;
    expect((await refresh(client, next.body.refresh_token)).body.error).toBe("invalid_grant");
    clock.aheadMs = 0;
  });
});

describe("a grant", () => {
  it("ends when the refresh token is revoked, with or without client authentication", async () => {
    for (const form of [{}, { token_type_hint: "access_token" }]) {
      const { client, tokens } = await tokensOf();
      const { client_id } = client;
      const mine = "token_type_hint" in form ? { client_id } : {};
      const token = String(tokens.refresh_token);
      const response = await postForm(`${base}/oauth/revoke`, { token, ...form, ...mine });
      expect(response.status).toBe(200);
      expect(await whoIs(String(tokens.access_token))).toMatchObject({ status: 401 });
      expect((await refresh(client, token)).body.error).toBe("invalid_grant");
    }
  });

  it("survives the revocation of one access token", async () => {
    for (const isByClient of [false, true]) {
      const { client, tokens } = await tokensOf();
      const form = { token: String(tokens.access_token) };
      const { client_id } = client;
      await postForm(`${base}/oauth/revoke`, isByClient ? { ...form, client_id } : form);
      expect(await whoIs(form.token)).toMatchObject({ status: 401 });
      expect((await refresh(client, tokens.refresh_token)).status).toBe(200);
    }
  });

  it("ends with its client, even when the client expires", async () => {
    const { tokens, client } = await tokensOf();
    const agent = await register(base);
    const own = await tokenOf(base, agent);
    await records.commit([client, agent].map(({ client_id }) => remove(clients, client_id)));
    for (const token of [String(tokens.access_token), own]) {
      expect(await whoIs(token)).toMatchObject({ status: 401 });
    }
  });

  it("does not give a public client tokens of its own, whatever grant types are stored for the client", async () => {
    const { client_id } = await registerPublic(base);
    const stored = await records.get(clients, client_id);
    if (stored === undefined) throw new Error("the client was not stored");
    const metadata = { ...stored.value.metadata, grant_types: ["client_credentials"] };
    const value = { ...stored.value, metadata: { ...metadata, response_types: [] } };
    await records.commit([replace(clients, stored, { value })]);
    const { status, body } = await exchange(server, {
      grant_type: "client_credentials",
      client_id,
    });
    expect(status).toBe(400);
    expect(body).toEqual({
      error: "unauthorized_client",
      error_description:
        "this client may use no grant; client_credentials requires a confidential client: register one with POST /oauth/register",
    });
  });
});

describe("a claimed agent", () => {
  async function claimedAgent(changes: object = {}) {
    const agent = (await register(base, changes)) as RegisteredAgent & { claim: { code: string } };
    const before = await tokenOf(base, agent);
    const accountId = (await server.accounts.findOrCreateByEmail("owner@example.com")).id;
    const { status } = await server.claims.completeByPerson(
      { agentId: agent.client_id, code: agent.claim.code },
      { accountId, scopes: ["signals:read", "alerts:write"] },
    );
    expect(status).toBe("claimed");
    return { agent, before, accountId };
  }

  it("keeps its scopes, gains the scopes that its owner grants, and gets tokens with its owner's account id", async () => {
    // The agent had two of these scopes before the claim; the owner adds the third.
    const scope = "signals:read darkpool:read alerts:write";
    const { agent, before, accountId } = await claimedAgent({ scope });
    expect(await whoIs(before)).toMatchObject({ status: 401 });
    const token = await tokenOf(base, agent);
    expect(await whoIs(token)).toMatchObject({
      kind: "agent",
      id: agent.client_id,
      accountId,
      scopes: scope.split(" "),
    });
    const { ClientCredentials } = server.provider();
    expect((await ClientCredentials.find(token))?.extra).toEqual({
      owner: accountId,
      identity_type: "anonymous",
    });
    const form = { grant_type: "client_credentials", scope: "factor:read" };
    const { client_id, client_secret } = agent;
    const wider = await exchange(server, { ...form, client_id, client_secret });
    expect(wider.body.error).toBe("invalid_scope");
  });
});
