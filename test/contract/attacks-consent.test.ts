// @module-tag full

import { describe, expect, it } from "vitest";
import { grants } from "../../src/principals/accounts/grants.ts";
import { clientGroup } from "../../src/principals/agents/agent.ts";
import { replace } from "../../src/store/port/operations.ts";
import { getWith, type RegisteredAgent } from "../support/agent.ts";
import { startAuthServer } from "../support/auth-server.ts";
import { authorizationRequest, registerPublic } from "../support/person.ts";
import { embedded } from "../support/stores.ts";
import {
  createVisitor,
  exchange,
  fieldsOf,
  interactionOn,
  type Visitor,
} from "../support/visitor.ts";

const GOOD = "https://claude.example/callback";
const EVIL = "https://evil.example/callback";
const DOCUMENT_ID = "https://claude.example/client.json";
const SCOPE = "signals:read factor:read";

const metadataDocument = {
  client_id: DOCUMENT_ID,
  client_name: "Claude",
  redirect_uris: [GOOD, EVIL],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
};

/** The metadata document of a client that later changes its redirect URIs. */
const CHANGEABLE_ID = "https://claude.example/changeable.json";
const changeableDocument = {
  ...metadataDocument,
  client_id: CHANGEABLE_ID,
  redirect_uris: [GOOD],
};

const { records } = await embedded.open({ now: () => Date.now() });
const server = await startAuthServer({
  records,
  now: () => new Date(),
  fetch: async (url) =>
    Response.json(String(url) === CHANGEABLE_ID ? changeableDocument : metadataDocument),
});
const { local: base } = server;

/**
 * Registers a web client. Unlike for a native client, a person is asked only about new decisions.
 */
const registerWeb = (redirect_uris: readonly string[]) =>
  registerPublic(base, { redirect_uris, scope: SCOPE });

const byRegistration = async () => (await registerWeb([GOOD, EVIL])).client_id;
const byDocument = async () => DOCUMENT_ID;

const request = (client_id: string, parameters: Record<string, string> = {}) =>
  authorizationRequest(base, { client_id, scope: SCOPE, ...parameters });

async function signedIn(email: string): Promise<Visitor> {
  const visitor = createVisitor(server);
  await visitor.signIn(email);
  return visitor;
}

/** Lets a person consent to one redirect URI. @returns The resulting tokens. */
async function tokensAt(visitor: Visitor, client_id: string, redirect_uri: string) {
  const { url, verifier } = request(client_id, { redirect_uri });
  const code = (await visitor.authorize(url)).searchParams.get("code") ?? "";
  const { status, body } = await exchange(server, {
    grant_type: "authorization_code",
    client_id,
    code,
    redirect_uri,
    code_verifier: verifier,
  });
  expect(status).toBe(200);
  return body;
}

/** Replaces the redirect URIs of a client (RFC 7592 section 2.2). */
const putRedirects = (client: RegisteredAgent, redirect_uris: readonly string[]) =>
  putClient(client, { redirect_uris });

/** Updates the registration of a client (RFC 7592 section 2.2). */
async function putClient(client: RegisteredAgent, changes: object) {
  const response = await fetch(client.registration_client_uri, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${client.registration_access_token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      client_id: client.client_id,
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
      scope: SCOPE,
      ...changes,
    }),
  });
  expect(response.status).toBe(200);
  return { ...client, ...((await response.json()) as RegisteredAgent) };
}

const probe = async (token = "") => (await getWith(token, `${base}/api/probe`)).status;

describe.each([
  ["by registration", byRegistration],
  ["by metadata document", byDocument],
])("a client created %s, with redirect URIs at two sites", (how, newClient) => {
  it("gets a code at its second site only after the person approved that site as well", async () => {
    const clientId = await newClient();
    const visitor = await signedIn(`two-sites ${how}@example.com`.replaceAll(" ", "-"));
    await tokensAt(visitor, clientId, GOOD);
    const again = await visitor.open(request(clientId, { redirect_uri: GOOD }).url);
    expect(again.leavesFor?.searchParams.get("code")).toBeTruthy();

    const page = await visitor.open(request(clientId, { redirect_uri: EVIL }).url);
    expect(page.leavesFor).toBeUndefined();
    expect(interactionOn(page)).toMatchObject({
      prompt: "consent",
      client: { redirectUri: EVIL },
      scopes: SCOPE.split(" "),
      isRedirectApproved: false,
    });

    await tokensAt(visitor, clientId, EVIL);
    for (const redirect_uri of [GOOD, EVIL]) {
      const { leavesFor } = await visitor.open(request(clientId, { redirect_uri }).url);
      expect(leavesFor?.searchParams.get("code"), redirect_uri).toBeTruthy();
    }
  });

  it("gets no code at the unapproved site with prompt=none", async () => {
    const clientId = await newClient();
    const visitor = await signedIn(`silent ${how}@example.com`.replaceAll(" ", "-"));
    await tokensAt(visitor, clientId, GOOD);
    const silent = request(clientId, { redirect_uri: EVIL, prompt: "none" });
    const { leavesFor } = await visitor.open(silent.url);
    expect(leavesFor?.searchParams.get("code")).toBeNull();
    expect(leavesFor?.searchParams.get("error")).toBe("consent_required");
  });
});

describe("a client that changes its redirect URIs", () => {
  it("loses its grants, and people must consent again for the new site", async () => {
    const client = await registerWeb([GOOD]);
    const { client_id } = client;
    const visitor = await signedIn("swapped@example.com");
    const { access_token, refresh_token = "" } = await tokensAt(visitor, client_id, GOOD);
    expect(await probe(access_token)).toBe(200);

    await putRedirects(client, [EVIL]);
    expect(await probe(access_token)).toBe(401);
    const refreshed = await exchange(server, {
      grant_type: "refresh_token",
      client_id,
      refresh_token,
    });
    expect(refreshed).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    const page = await visitor.open(request(client_id, { redirect_uri: EVIL }).url);
    expect(page.leavesFor).toBeUndefined();
    expect(interactionOn(page)).toMatchObject({ prompt: "consent", scopes: SCOPE.split(" ") });
  });

  it("also loses its grants when it only adds a site", async () => {
    const client = await registerWeb([GOOD]);
    const visitor = await signedIn("added@example.com");
    const { access_token } = await tokensAt(visitor, client.client_id, GOOD);
    await putRedirects(client, [GOOD, EVIL]);
    expect(await probe(access_token)).toBe(401);
  });

  it("keeps its grants when the redirect URIs stay the same", async () => {
    const client = await registerWeb([GOOD, EVIL]);
    const visitor = await signedIn("kept@example.com");
    const { access_token } = await tokensAt(visitor, client.client_id, GOOD);
    await putRedirects(client, [EVIL, GOOD]);
    expect(await probe(access_token)).toBe(200);
  });
});

describe("offline access", () => {
  const BRIEF = ["authorization_code"];
  const LASTING = ["authorization_code", "refresh_token"];

  /**
   * Returns a client without refresh tokens, and a function that adds the refresh_token grant to
   * it.
   */
  async function briefByRegistration() {
    const client = await registerPublic(base, {
      redirect_uris: [GOOD],
      grant_types: BRIEF,
      scope: SCOPE,
    });
    return {
      clientId: client.client_id,
      extend: async () =>
        void (await putClient(client, { redirect_uris: [GOOD], grant_types: LASTING })),
    };
  }

  async function briefByDocument() {
    changeableDocument.grant_types = BRIEF;
    await forgetDocuments();
    return {
      clientId: CHANGEABLE_ID,
      async extend() {
        changeableDocument.grant_types = LASTING;
        await forgetDocuments();
      },
    };
  }

  /** Clears the document cache, as if another process read the document. */
  async function forgetDocuments() {
    server.useKeys(server.keys());
  }

  const codeIn = ({ searchParams }: URL) => searchParams.get("code") ?? "";

  async function exchangeCode(client_id: string, code: string, code_verifier: string) {
    const grant_type = "authorization_code";
    return exchange(server, { grant_type, client_id, code, redirect_uri: GOOD, code_verifier });
  }

  const ways = [
    ["by registration", briefByRegistration],
    ["by metadata document", briefByDocument],
  ] as const;

  it.each(ways)(
    "requires a new consent before it is granted to a client created %s",
    async (how, newClient) => {
      const { clientId, extend } = await newClient();
      const visitor = await signedIn(`lasting ${how}@example.com`.replaceAll(" ", "-"));
      const first = request(clientId, { redirect_uri: GOOD });
      expect(interactionOn(await visitor.open(first.url)).requestsOfflineAccess).toBe(false);
      const brief = await tokensAt(visitor, clientId, GOOD);
      expect(brief).not.toHaveProperty("refresh_token");

      await extend();
      const silent = request(clientId, { redirect_uri: GOOD, prompt: "none" });
      const { leavesFor } = await visitor.open(silent.url);
      expect(leavesFor?.searchParams.get("error")).toBe("consent_required");
      const page = await visitor.open(request(clientId, { redirect_uri: GOOD }).url);
      expect(page.leavesFor).toBeUndefined();
      expect(interactionOn(page)).toMatchObject({
        requestsOfflineAccess: true,
        scopes: SCOPE.split(" "),
      });

      const { refresh_token = "" } = await tokensAt(visitor, clientId, GOOD);
      const form = { grant_type: "refresh_token", client_id: clientId, refresh_token };
      expect((await exchange(server, form)).status).toBe(200);
      expect((await visitor.open(silent.url)).leavesFor?.searchParams.get("code")).toBeTruthy();
    },
  );

  it.each(ways)(
    "is not granted to a client created %s when it redeems a code from an earlier consent",
    async (how, newClient) => {
      const { clientId, extend } = await newClient();
      const visitor = await signedIn(`early-code ${how}@example.com`.replaceAll(" ", "-"));
      const { url, verifier } = request(clientId, { redirect_uri: GOOD });
      const code = codeIn(await visitor.authorize(url));
      await extend();
      const { status, body } = await exchangeCode(clientId, code, verifier);
      expect(status).toBe(200);
      expect(body).not.toHaveProperty("refresh_token");
    },
  );

  it.each(ways)(
    "is not granted on a page that was opened before the client, created %s, requested it",
    async (how, newClient) => {
      const { clientId, extend } = await newClient();
      const visitor = await signedIn(`open-page ${how}@example.com`.replaceAll(" ", "-"));
      const { url } = request(clientId, { redirect_uri: GOOD });
      const page = await visitor.open(url);
      expect(interactionOn(page).requestsOfflineAccess).toBe(false);
      await extend();
      const again = await visitor.answer(page, SCOPE.split(" "));
      expect(again.leavesFor).toBeUndefined();
      expect(interactionOn(again)).toMatchObject({
        requestsOfflineAccess: true,
        scopes: SCOPE.split(" "),
      });
    },
  );

  it("covers only the scopes on the consent page that offered it", async () => {
    const { clientId, extend } = await briefByRegistration();
    const visitor = await signedIn("other-scope@example.com");
    await tokensAt(visitor, clientId, GOOD);
    await extend();
    const some = request(clientId, { redirect_uri: GOOD, scope: "signals:read" });
    await visitor.authorize(some.url);
    const all = await visitor.open(request(clientId, { redirect_uri: GOOD }).url);
    expect(interactionOn(all)).toMatchObject({
      requestsOfflineAccess: true,
      scopes: ["factor:read"],
    });
  });

  it("ends when the person consents again without it", async () => {
    const client = await registerWeb([GOOD]);
    const clientId = client.client_id;
    const visitor = await signedIn("no-longer-lasting@example.com");
    const { refresh_token = "" } = await tokensAt(visitor, clientId, GOOD);
    const changed = await putClient(client, { redirect_uris: [GOOD], grant_types: BRIEF });
    const again = request(clientId, { redirect_uri: GOOD, prompt: "consent" });
    expect(interactionOn(await visitor.open(again.url)).requestsOfflineAccess).toBe(false);
    await visitor.authorize(again.url);
    await putClient(changed, { redirect_uris: [GOOD], grant_types: LASTING });
    const form = { grant_type: "refresh_token", client_id: clientId, refresh_token };
    expect(await exchange(server, form)).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
  });

  it("requires a new consent when the stored grant does not record offline access, but the grant's refresh tokens stay valid", async () => {
    const { client_id } = await registerWeb([GOOD]);
    const visitor = await signedIn("before-it-was-recorded@example.com");
    const { refresh_token = "" } = await tokensAt(visitor, client_id, GOOD);
    const [grant] = await records.list(grants, { group: clientGroup(client_id), limit: 1 });
    if (grant === undefined) throw new Error("no grant");
    const { isLasting: _, ...value } = grant.value;
    expect(await records.commit([replace(grants, grant, { value })])).toBe(true);

    const silent = request(client_id, { redirect_uri: GOOD, prompt: "none" });
    const { leavesFor } = await visitor.open(silent.url);
    expect(leavesFor?.searchParams.get("error")).toBe("consent_required");
    const form = { grant_type: "refresh_token", client_id, refresh_token };
    expect((await exchange(server, form)).status).toBe(200);
  });
});

describe("a redirect URI that a client removes during consent", () => {
  const gone = async (how: string) => {
    const client = await registerWeb([EVIL]);
    const visitor = await signedIn(`${how}@example.com`);
    const { url } = request(client.client_id, { redirect_uri: EVIL });
    return { client, visitor, page: await visitor.open(url) };
  };

  it.each([
    ["allows", SCOPE.split(" ")],
    ["refuses", "deny"],
  ] as const)("gets no redirect if removed before the person %s access", async (how, answer) => {
    const { client, visitor, page } = await gone(`gone-${how}`);
    await putRedirects(client, [GOOD]);
    const { status, leavesFor } = await visitor.answer(page, answer);
    expect([status, leavesFor]).toEqual([400, undefined]);
    const group = clientGroup(client.client_id);
    expect(await records.list(grants, { group, limit: 1 })).toEqual([]);
  });

  it.each([
    ["allowed", SCOPE.split(" ")],
    ["refused", "deny"],
  ] as const)("gets no redirect if removed after the person %s access", async (how, answer) => {
    const { client, visitor, page } = await gone(`just-${how}`);
    const decided = await fetch(page.url, {
      method: "POST",
      headers: { cookie: visitor.cookie(page.url) },
      body: new URLSearchParams(fieldsOf(answer) as [string, string][]),
      redirect: "manual",
    });
    await putRedirects(client, [GOOD]);
    const { status, leavesFor } = await visitor.open(decided.headers.get("location") ?? "");
    expect([status, leavesFor]).toEqual([400, undefined]);
  });
});

describe("an authorization request that fails", () => {
  const wrong = { scope: "no:such", response_type: "token", code_challenge_method: "plain" };
  const failures = Object.entries(wrong).map(([name, value]) => ({ [name]: value }));

  it.each([
    ["by registration", byRegistration],
    ["by metadata document", byDocument],
  ])(
    "never redirects to a site that the person has not approved (client created %s)",
    async (how, newClient) => {
      const clientId = await newClient();
      const someone = createVisitor(server);
      const known = await signedIn(`elsewhere ${how}@example.com`.replaceAll(" ", "-"));
      for (const failure of failures) {
        const { url } = request(clientId, { redirect_uri: EVIL, state: "s", ...failure });
        for (const visitor of [someone, known]) {
          const { status, leavesFor, html } = await visitor.open(url);
          expect([status, leavesFor], JSON.stringify(failure)).toEqual([400, undefined]);
          expect(JSON.parse(html)).toMatchObject({
            error: expect.any(String),
            error_description: expect.any(String),
          });
        }
      }
    },
  );

  it("redirects only to a site that the signed-in person approved", async () => {
    const clientId = await byRegistration();
    const visitor = await signedIn("approved@example.com");
    await tokensAt(visitor, clientId, GOOD);
    for (const failure of failures) {
      const toGood = request(clientId, { redirect_uri: GOOD, state: "s", ...failure });
      const { leavesFor } = await visitor.open(toGood.url);
      expect(leavesFor?.origin, JSON.stringify(failure)).toBe("https://claude.example");
      expect(`${leavesFor?.search}${leavesFor?.hash}`).toMatch(/[?#].*error=.*state=s/);
      const toEvil = request(clientId, { redirect_uri: EVIL, ...failure });
      expect((await visitor.open(toEvil.url)).leavesFor).toBeUndefined();
    }
    await visitor.signOut();
    const { url } = request(clientId, { redirect_uri: GOOD, ...failures[0] });
    expect((await visitor.open(url)).leavesFor).toBeUndefined();
  });
});

describe("a withdrawn scope", () => {
  const scopesOf = async (token = "") => {
    const response = await getWith(token, `${base}/api/probe`);
    return ((await response.json()) as { readonly scopes: readonly string[] }).scopes;
  };

  it.each([
    ["by registration", byRegistration],
    ["by metadata document", byDocument],
  ])(
    "is no longer valid for tokens that were already issued to a client created %s",
    async (how, newClient) => {
      const clientId = await newClient();
      const visitor = await signedIn(`narrowed ${how}@example.com`.replaceAll(" ", "-"));
      const { access_token } = await tokensAt(visitor, clientId, GOOD);
      expect(await scopesOf(access_token)).toEqual(SCOPE.split(" "));
      const again = request(clientId, { redirect_uri: GOOD, prompt: "consent" });
      await visitor.authorize(again.url, ["signals:read"]);
      expect(await scopesOf(access_token)).toEqual(["signals:read"]);
    },
  );

  it("disappears from tokens for every resource, even if the new consent was for only one resource", async () => {
    const clientId = await byRegistration();
    const visitor = await signedIn("other-resource@example.com");
    const { access_token } = await tokensAt(visitor, clientId, GOOD);
    const asked = { redirect_uri: GOOD, prompt: "consent", resource: `${base}/mcp` };
    await visitor.authorize(request(clientId, asked).url, ["signals:read"]);
    expect(await scopesOf(access_token)).toEqual(["signals:read"]);
  });
});
