import { request } from "node:http";
import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { EXAMPLE_REGISTRATION as example, manageClient } from "../support/agent.ts";
import { type AuthServer, startAuthServer } from "../support/auth-server.ts";
import { authorizationRequest } from "../support/person.ts";
import { embedded } from "../support/stores.ts";

const codeClient = {
  client_name: "Desktop",
  redirect_uris: ["http://127.0.0.1/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
};

const insecure = { [oauth.allowInsecureRequests]: true };
const clock = { aheadMs: 0 };
const now = () => new Date(Date.now() + clock.aheadMs);
const { records } = await embedded.open({ now: () => now().getTime() });
const printed: unknown[][] = [];
let server: AuthServer;
let base: string;

beforeAll(async () => {
  for (const level of ["info", "warn", "error", "log"] as const) {
    vi.spyOn(console, level).mockImplementation((...line) => void printed.push(line));
  }
  server = await startAuthServer({ records, now });
  base = server.local;
});

afterAll(() => {
  expect(server.failures).toEqual([]);
  vi.restoreAllMocks();
});

function sendJson(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { "content-type": "application/json", ...init.headers };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(base + path, { method: "POST", ...init, headers, body: text });
}

function sendForm(path: string, form: Record<string, string>, headers = {}): Promise<Response> {
  return fetch(base + path, { method: "POST", headers, body: new URLSearchParams(form) });
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes, each asserted where it is used
async function json(response: Response): Promise<any> {
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  return response.json();
}

async function register(changes: object = {}) {
  const response = await sendJson("/oauth/register", { ...example, ...changes });
  expect(response.status).toBe(201);
  return json(response);
}

function credentials({ client_id, client_secret }: Record<string, string>) {
  return { client_id: client_id ?? "", client_secret: client_secret ?? "" };
}

function askToken(client: Record<string, string>, more: Record<string, string> = {}) {
  const form = { grant_type: "client_credentials", ...credentials(client), ...more };
  return sendForm("/oauth/token", form);
}

async function tokenOf(client: Record<string, string>, more = {}): Promise<string> {
  return (await json(await askToken(client, more))).access_token;
}

async function statusWith(token: string, path = "/api/probe"): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(base + path, { headers })).status;
}

describe("an agent with a standard OAuth client", () => {
  it("discovers the server, registers, gets tokens with client_secret_post and client_secret_basic, and revokes them", async () => {
    const issuer = new URL(base);
    const discovered = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: "oauth2" });
    const as = await oauth.processDiscoveryResponse(issuer, discovered);

    for (const method of ["client_secret_post", "client_secret_basic"]) {
      const metadata = { ...example, token_endpoint_auth_method: method };
      const registered = await oauth.dynamicClientRegistrationRequest(as, metadata, insecure);
      const client = await oauth.processDynamicClientRegistrationResponse(registered);
      const secret = String(client.client_secret);
      const auth =
        method === "client_secret_post"
          ? oauth.ClientSecretPost(secret)
          : oauth.ClientSecretBasic(secret);

      const answer = await oauth.clientCredentialsGrantRequest(as, client, auth, {}, insecure);
      const token = await oauth.processClientCredentialsResponse(as, client, answer);
      expect(token).toMatchObject({ token_type: "bearer", expires_in: 3600, scope: example.scope });
      expect(await statusWith(token.access_token)).toBe(200);

      const revoked = await oauth.revocationRequest(as, client, auth, token.access_token, insecure);
      await oauth.processRevocationResponse(revoked);
      expect(await statusWith(token.access_token)).toBe(401);
    }
  });

  it("gets two identical and complete metadata documents that advertise no unsupported endpoint", async () => {
    const [oauthDocument, openidDocument] = await Promise.all(
      ["oauth-authorization-server", "openid-configuration"].map(async (name) =>
        json(await fetch(`${base}/.well-known/${name}`)),
      ),
    );
    expect(openidDocument).toEqual(oauthDocument);
    expect(oauthDocument).toMatchObject({
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      registration_endpoint: `${base}/oauth/register`,
      revocation_endpoint: `${base}/oauth/revoke`,
      jwks_uri: `${base}/.well-known/jwks.json`,
      grant_types_supported: [
        "authorization_code",
        "refresh_token",
        "client_credentials",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
      ],
      token_endpoint_auth_methods_supported: [
        "client_secret_post",
        "client_secret_basic",
        "private_key_jwt",
        "none",
      ],
      client_id_metadata_document_supported: true,
      id_token_signing_alg_values_supported: ["ES256", "RS256"],
      scopes_supported: [
        "openid",
        "offline_access",
        "signals:read",
        "factor:read",
        "darkpool:read",
        "alerts:write",
      ],
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${base}/docs/api`,
    });
    expect(oauthDocument).not.toHaveProperty("introspection_endpoint");
    expect(oauthDocument).not.toHaveProperty("pushed_authorization_request_endpoint");
  });

  it("finds only public key members in the published JWKS", async () => {
    const response = await fetch(`${base}/.well-known/jwks.json`);
    const { keys } = JSON.parse(await response.text());
    expect(keys.map(({ kty, alg }: Record<string, string>) => [kty, alg])).toEqual([
      ["EC", "ES256"],
      ["RSA", "RS256"],
    ]);
    const secret = ["d", "p", "q", "dp", "dq", "qi"];
    expect(keys.flatMap(Object.keys).filter((name: string) => secret.includes(name))).toEqual([]);
  });
});

describe("registration", () => {
  it("ignores members that only the server may set", async () => {
    const client = await register({
      client_id: "chosen",
      client_secret: "known",
      registration_access_token: "known",
      registration_client_uri: "https://evil.example",
      claimed_by: "me",
    });
    expect(JSON.stringify(client)).not.toMatch(/chosen|known|evil/);
    expect(client).not.toHaveProperty("claimed_by");
  });

  it("rejects markup in a name, but accepts a < that is not markup", async () => {
    const named = (client_name: string) => sendJson("/oauth/register", { ...example, client_name });
    const refused = await named("<img src=x onerror=alert(1)>");
    expect([refused.status, await json(refused)]).toMatchObject([
      400,
      {
        error: "invalid_client_metadata",
        error_description: expect.stringMatching(/^client_name must have no markup/),
      },
    ]);
    expect((await json(await named("A <3 B"))).client_name).toBe("A <3 B");
  });

  it.each([
    [{ client_name: "a\u202eb" }, "invalid_client_metadata"],
    [{ client_name: "a\u0000b" }, "invalid_client_metadata"],
    [{ token_endpoint_auth_method: "none" }, "invalid_client_metadata"],
    [{ token_endpoint_auth_method: "private_key_jwt" }, "invalid_client_metadata"],
    [{ scope: "alerts:write" }, "invalid_scope"],
    [{ redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["http://agent.example/"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["https://agent.example/#top"] }, "invalid_redirect_uri"],
    [{ jwks: { keys: [{ kty: "oct", k: "AA" }] } }, "invalid_client_metadata"],
  ])("rejects %j", async (changes, error) => {
    const response = await sendJson("/oauth/register", { ...example, ...changes });
    expect(response.status).toBe(400);
    expect(await json(response)).toMatchObject({ error, error_description: expect.any(String) });
  });

  it.each(["", "{oops", "[]", "null", "7", '"text"'])("rejects the body %s", async (body) => {
    const response = await sendJson("/oauth/register", body);
    expect(response.status).toBe(400);
    expect(await json(response)).toMatchObject({ error: "invalid_request" });
  });

  it("rejects a body over 8 kB, even without a Content-Length", async () => {
    const body = JSON.stringify({ ...example, client_name: "a".repeat(8 * 1024) });
    const chunks = new Blob([body]).stream();
    const chunked = { body: chunks, duplex: "half", method: "POST" } as RequestInit;
    const headers = { "content-type": "application/json" };
    expect((await sendJson("/oauth/register", body)).status).toBe(413);
    expect((await fetch(`${base}/oauth/register`, { ...chunked, headers })).status).toBe(413);
  });

  it("accepts a small body without a Content-Length", async () => {
    const chunks = new Blob([JSON.stringify(example)]).stream();
    const chunked = { body: chunks, duplex: "half", method: "POST" } as RequestInit;
    const headers = { "content-type": "application/json" };
    expect((await fetch(`${base}/oauth/register`, { ...chunked, headers })).status).toBe(201);
  });
});

describe("registration management", () => {
  it("narrows the scope of tokens issued before, and never widens it", async () => {
    const client = await register({ scope: "signals:read factor:read" });
    const headers = { authorization: `Bearer ${await tokenOf(client)}` };
    const scope = "signals:read darkpool:read";
    expect(await json(await manageClient(client, "PUT", { scope }))).toMatchObject({ scope });
    const seen = await json(await fetch(`${base}/api/probe`, { headers }));
    expect(seen.scopes).toEqual(["signals:read"]);
  });

  it("cannot adopt the id of another client", async () => {
    const [mine, other] = [await register(), await register()];
    const response = await manageClient(mine, "PUT", { client_id: other.client_id });
    expect(response.status).toBe(400);
    expect(await tokenOf(other)).toEqual(expect.any(String));
  });

  it("cannot widen the scope, and rotates the registration access token", async () => {
    const client = await register();
    const refused = await manageClient(client, "PUT", { scope: "alerts:write" });
    expect(refused.status).toBe(400);
    expect(await json(refused)).toMatchObject({ error: "invalid_scope" });

    const scope = "signals:read alerts:write";
    const updated = await json(await manageClient(client, "PUT", { scope }));
    expect(updated.scope).toBe("signals:read");
    expect((await manageClient(client, "GET")).status).toBe(401);
    expect((await manageClient(updated, "GET")).status).toBe(200);
    expect((await askToken(client, { scope: "alerts:write" })).status).toBe(400);
    expect((await askToken(client, { scope: "factor:read" })).status).toBe(400);
  });

  it("cannot add scopes of another grant to client_credentials tokens", async () => {
    const client = await register();
    const grant_types = ["authorization_code", "client_credentials"];
    const updated = await manageClient(client, "PUT", { grant_types, scope: "alerts:write" });
    expect(await json(updated)).toMatchObject({ scope: "alerts:write" });

    for (const more of [{}, { scope: "alerts:write" }, { scope: "signals:read" }]) {
      const response = await askToken(client, more);
      expect(response.status).toBe(400);
      expect(await json(response)).toMatchObject({ error: "invalid_scope" });
    }
  });

  it("cannot turn a client_credentials client into a public one", async () => {
    const client = await register();
    const response = await manageClient(client, "PUT", { token_endpoint_auth_method: "none" });
    expect(await json(response)).toMatchObject({ error: "invalid_client_metadata" });
  });

  it("ends with the deletion of the client", async () => {
    const client = await register();
    expect((await manageClient(client, "DELETE")).status).toBe(204);
    expect((await askToken(client)).status).toBe(401);
    expect((await manageClient(client, "GET")).status).toBe(401);
  });
});

describe("a token issued while its client was being deleted", () => {
  it("is rejected", async () => {
    const registered = await register();
    const provider = server.provider();
    const client = await provider.Client.find(registered.client_id);
    if (client === undefined) throw new Error("the client was not stored");
    await fetch(registered.registration_client_uri, {
      method: "DELETE",
      headers: { authorization: `Bearer ${registered.registration_access_token}` },
    });
    const late = new provider.ClientCredentials({ client, aud: base, scope: "signals:read" });
    await expect(late.save()).rejects.toMatchObject({ error: "invalid_client" });
  });
});

describe("a token request", () => {
  it.each(["alerts:write", "signals:read alerts:write", "signals:read admin", "openid"])(
    "is rejected for the scope %j",
    async (scope) => {
      const response = await askToken(await register(), { scope });
      expect(response.status).toBe(400);
      expect(await json(response)).toMatchObject({
        error: "invalid_scope",
        error_description: expect.stringContaining("claimed by a person"),
      });
    },
  );

  it("is rejected for a wrong or missing secret or an unknown client", async () => {
    const client = await register();
    const wrong = [
      { ...client, client_secret: "wrong" },
      { ...client, client_secret: "" },
      { client_id: client.client_id },
      { ...client, client_id: "nobody" },
    ];
    const said = new Set<string>();
    for (const guess of wrong) {
      const response = await askToken(guess);
      expect(response.status).toBe(401);
      said.add(await response.text());
      expect(response.headers.get("www-authenticate")).toBe(
        `Basic realm="${base}", error="invalid_client"`,
      );
    }
    expect([...said]).toEqual([expect.stringContaining('"invalid_client"')]);
    const authorization = `Basic ${btoa(`${client.client_id}:wrong`)}`;
    const basic = await sendForm(
      "/oauth/token",
      { grant_type: "client_credentials" },
      { authorization },
    );
    expect(basic.status).toBe(401);
    expect(basic.headers.get("www-authenticate")).toMatch(/^Basic /);
  });

  it("is rejected for a public client", async () => {
    const client = await register(codeClient);
    expect(client).not.toHaveProperty("client_secret");
    const form = { grant_type: "client_credentials", client_id: client.client_id };
    expect((await sendForm("/oauth/token", form)).status).toBe(400);
    for (const client_secret of ["", "x", "undefined"]) {
      const answer = await sendForm("/oauth/token", { ...form, client_secret });
      expect([400, 401], client_secret).toContain(answer.status);
      expect(await json(answer)).not.toHaveProperty("access_token");
    }
  });

  it("is rejected when it has the client secret in the header and in the body", async () => {
    const form = { ...credentials(await register()), grant_type: "client_credentials" };
    const authorization = `Basic ${btoa(`${form.client_id}:${form.client_secret}`)}`;
    const answer = await sendForm("/oauth/token", form, { authorization });
    expect(answer.status).toBe(400);
    expect(await json(answer)).toMatchObject({ error: "invalid_request" });
  });

  it("is rejected when it has a parameter twice, whichever it is", async () => {
    const form = { ...credentials(await register()), grant_type: "client_credentials" };
    const all = { ...form, scope: "signals:read" };
    for (const [name, value] of Object.entries(all)) {
      for (const second of [value, "alerts:write"]) {
        const body = new URLSearchParams(all);
        body.append(name, second);
        const answer = await fetch(`${base}/oauth/token`, { method: "POST", body });
        expect([400, 401], name).toContain(answer.status);
        expect(await json(answer), name).not.toHaveProperty("access_token");
      }
    }
  });

  it.each(["scope[]", "scope[x]", "__proto__[scope]"])(
    "reads no scope from the parameter %s",
    async (name) => {
      const client = await register({ scope: "signals:read factor:read" });
      const answer = await json(await askToken(client, { [name]: "signals:read" }));
      expect(answer.scope).toBe("signals:read factor:read");
    },
  );

  it("is rejected with a JSON error, even in a browser", async () => {
    const accept = "text/html";
    const response = await sendForm("/oauth/token", { client_id: "<b>" }, { accept });
    expect(response.status).toBe(401);
    expect(await json(response)).toMatchObject({ error: "invalid_client" });
  });

  it.each([
    ["password", "unsupported_grant_type"],
    ["implicit", "unsupported_grant_type"],
    ["refresh_token", "unauthorized_client"],
    ["authorization_code", "unauthorized_client"],
    ["urn:ietf:params:oauth:grant-type:jwt-bearer", "unauthorized_client"],
  ])(
    "is rejected for %s, a grant type that the agent did not register",
    async (grant_type, error) => {
      const form = { ...credentials(await register()), grant_type, refresh_token: "x", code: "x" };
      const response = await sendForm("/oauth/token", form);
      expect(response.status).toBe(400);
      expect(await json(response)).toMatchObject({ error });
    },
  );

  it("may come from a web page of any origin, since no cookie is used", async () => {
    const form = { ...credentials(await register()), grant_type: "client_credentials" };
    const response = await sendForm("/oauth/token", form, { origin: "https://agent.example" });
    expect(response.status).toBe(200);
  });
});

describe("the resource parameter of a token request", () => {
  it.each([
    ["", "", 200, 200],
    ["/", "", 200, 200],
    ["/mcp", "", 401, 200],
    ["/mcp/", "", 401, 200],
  ])(
    "when it is the base URL followed by %j, determines where the token is valid",
    async (path, _title, api, mcp) => {
      const token = await tokenOf(await register(), { resource: base + path });
      expect(await statusWith(token, "/api/probe")).toBe(api);
      expect(await statusWith(token, "/mcp")).toBe(mcp);
    },
  );

  it("defaults to the whole service", async () => {
    const token = await tokenOf(await register());
    expect(await statusWith(token, "/api/probe")).toBe(200);
    expect(await statusWith(token, "/mcp")).toBe(200);
  });

  it.each(["https://evil.example", "/api", "/mcp?x=1"])(
    "is rejected, naming the resources that exist, when it is %j",
    async (resource) => {
      const asked = resource.startsWith("/") ? base + resource : resource;
      const response = await askToken(await register(), { resource: asked });
      expect(response.status).toBe(400);
      expect(await json(response)).toEqual({
        error: "invalid_target",
        error_description: `the resources of this server are ${base} and ${base}/mcp`,
      });
    },
  );

  it.each(["/mcp#x", "not a uri"])(
    "is rejected when it is no resource indicator at all, such as %j",
    async (resource) => {
      const asked = resource.startsWith("/") ? base + resource : resource;
      const response = await askToken(await register(), { resource: asked });
      expect(response.status).toBe(400);
      expect(await json(response)).toMatchObject({ error: "invalid_target" });
    },
  );

  it("is rejected when it appears twice", async () => {
    const form = new URLSearchParams({
      ...credentials(await register()),
      grant_type: "client_credentials",
    });
    form.append("resource", base);
    form.append("resource", `${base}/mcp`);
    const response = await fetch(`${base}/oauth/token`, { method: "POST", body: form });
    expect(await json(response)).toMatchObject({ error: "invalid_target" });
  });
});

describe("revocation", () => {
  it("requires only the token, whatever hint and bearer credential are sent with it", async () => {
    const client = await register();
    for (const [hint, headers] of [
      [{}, {}],
      [{ token_type_hint: "access_token" }, {}],
      [{ token_type_hint: "nonsense" }, { authorization: "Bearer x" }],
    ]) {
      const token = await tokenOf(client);
      const response = await sendForm("/oauth/revoke", { token, ...hint }, headers);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe("");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(await statusWith(token)).toBe(401);
    }
  });

  it("revokes one token and leaves the client's other tokens valid", async () => {
    const client = await register();
    const [first, second] = [await tokenOf(client), await tokenOf(client)];
    await sendForm("/oauth/revoke", { token: first });
    expect(await statusWith(second)).toBe(200);
  });

  it("succeeds for an unknown token, with or without client authentication", async () => {
    const client = credentials(await register());
    for (const form of [{ token: "unknown" }, { token: "unknown", ...client }]) {
      expect((await sendForm("/oauth/revoke", form)).status).toBe(200);
    }
  });

  it("gives the same answer for another client's token as for an unknown token, and leaves the other client's token valid", async () => {
    const [owner, other] = [await register(), await register()];
    const token = await tokenOf(owner);
    for (const presented of [token, "unknown"]) {
      const form = { token: presented, ...credentials(other) };
      const response = await sendForm("/oauth/revoke", form);
      expect([response.status, await response.text()]).toEqual([200, ""]);
    }
    expect(await statusWith(token)).toBe(200);
  });

  it("does not fall back to revocation by the holder when client authentication fails", async () => {
    const client = await register();
    const token = await tokenOf(client);
    const wrong = { ...credentials(client), client_secret: "wrong" };
    const bare = { client_id: client.client_id };
    for (const form of [wrong, bare]) {
      expect((await sendForm("/oauth/revoke", { token, ...form })).status).toBe(401);
    }
    const authorization = `Basic ${btoa(`${client.client_id}:wrong`)}`;
    expect((await sendForm("/oauth/revoke", { token }, { authorization })).status).toBe(401);
    expect(await statusWith(token)).toBe(200);
  });

  it("requires exactly one token parameter", async () => {
    expect((await sendForm("/oauth/revoke", {})).status).toBe(400);
    expect((await sendForm("/oauth/revoke", { token: "" })).status).toBe(400);
    const twice = new URLSearchParams("token=a&token=b");
    const response = await fetch(`${base}/oauth/revoke`, { method: "POST", body: twice });
    expect(await json(response)).toMatchObject({ error: "invalid_request" });
  });
});

describe("an access token", () => {
  it("is not interchangeable with a client id, a client secret or a registration access token", async () => {
    const client = await register();
    const secrets = [client.client_id, client.client_secret, client.registration_access_token];
    for (const secret of [...secrets, "", "__proto__"]) expect(await statusWith(secret)).toBe(401);
  });
});

describe("a URL in an answer", () => {
  /** Sends a raw request with headers and a target that `fetch` would not allow. */
  function raw(options: { path: string; method?: string; body?: string; headers?: object }) {
    const { port } = server;
    const { path, method = "GET", body = "", headers = {} } = options;
    return new Promise<string>((resolve, reject) => {
      const outgoing = request(
        { port, host: "127.0.0.1", path, method, headers: { ...headers }, agent: false },
        async (response) => resolve(Buffer.concat(await response.toArray()).toString()),
      );
      outgoing.on("error", reject).end(body);
    });
  }

  const poison = {
    host: "evil.example",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "https",
    "x-forwarded-prefix": "/evil.example",
    forwarded: "host=evil.example;proto=https",
  };

  it("is never derived from the headers or the target of a metadata request", async () => {
    const path = "/.well-known/oauth-authorization-server";
    for (const target of [path, `http://evil.example${path}`, `${path}?x=//evil.example`]) {
      const document = await raw({ path: target, headers: poison });
      expect(document).toContain(`"token_endpoint":"${base}/oauth/token"`);
      expect(document).not.toContain("evil.example");
    }
  });

  it("is never derived from the headers or the target of a registration request", async () => {
    const headers = { ...poison, "content-type": "application/json" };
    for (const path of ["/oauth/register", "http://evil.example/oauth/register"]) {
      const body = JSON.stringify(example);
      const client = JSON.parse(await raw({ path, method: "POST", body, headers }));
      expect(client.registration_client_uri).toBe(`${base}/oauth/register/${client.client_id}`);
    }
  });
});

describe("behind a proxy that terminates TLS", () => {
  it("URLs use https and cookies are Secure", async () => {
    const { local } = await startAuthServer({
      records,
      now,
      publicUrl: "https://signals.example",
    });
    const body = JSON.stringify(codeClient);
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${local}/oauth/register`, { method: "POST", headers, body });
    const client = await json(answer);
    expect(client.registration_client_uri).toMatch(/^https:\/\/signals\.example\/oauth\//);

    const query = new URLSearchParams({
      client_id: client.client_id,
      response_type: "code",
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "S256",
    });
    const start = await fetch(`${local}/oauth/authorize?${query}`, { redirect: "manual" });
    expect(start.status).toBe(303);
    expect(start.headers.getSetCookie().length).toBeGreaterThan(0);
    for (const cookie of start.headers.getSetCookie()) {
      expect(cookie).toMatch(/; path=\/.*; samesite=(lax|strict); secure; httponly/i);
      expect(cookie).not.toMatch(/domain=/i);
    }
  });
});

describe("an authorization request", () => {
  const REDIRECT = "http://127.0.0.1:8976/callback";

  async function authorize(
    changes: Readonly<Record<string, string | undefined>> = {},
    client = {},
  ): Promise<Response> {
    const { client_id } = await register({ ...codeClient, ...client });
    const asked = { scope: "signals:read", state: "s-1", redirect_uri: REDIRECT, ...changes };
    const { url } = authorizationRequest(base, { client_id, ...asked });
    return fetch(url, { redirect: "manual", headers: { accept: "application/json" } });
  }

  /**
   * Follows redirects within the server, keeping cookies, up to the interaction page or the
   * client's redirect URI.
   */
  async function follow(start: Response): Promise<URL> {
    const cookies = new Map<string, string>();
    let response = start;
    for (let hop = 0; hop < 5; hop += 1) {
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        cookies.set(name, value);
      }
      const location = new URL(String(response.headers.get("location")), base);
      if (location.origin !== base || location.pathname.includes("/interaction/")) return location;

      const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
      response = await fetch(location, { redirect: "manual", headers: { cookie } });
    }
    throw new Error("too many redirects");
  }

  it("redirects to the interaction page, which requires a sign-in", async () => {
    const page = await follow(await authorize());
    expect(page.origin + page.pathname.replace(/[^/]+$/, "")).toBe(`${base}/oauth/interaction/`);
  });

  it.each([
    [{}, "login_required"],
    [{ code_challenge: undefined }, "invalid_request"],
  ])("with prompt=none and %o is answered with an error by redirect", async (changes, error) => {
    const end = await follow(await authorize({ prompt: "none", ...changes }));
    expect(end.href.startsWith(REDIRECT)).toBe(true);
    expect(Object.fromEntries(end.searchParams)).toMatchObject({ error, iss: base });
    expect(end.searchParams.has("code")).toBe(false);
  });

  it.each<[Readonly<Record<string, string | undefined>>, string]>([
    [{ code_challenge: "" }, "invalid_request"],
    [{ code_challenge: "x" }, "invalid_request"],
    [{ code_challenge: undefined }, "invalid_request"],
    [{ code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    [{ code_challenge_method: "plain" }, "invalid_request"],
    [{ code_challenge_method: "S512" }, "invalid_request"],
    [{ code_challenge_method: undefined }, "invalid_request"],
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ response_type: "id_token" }, "unsupported_response_type"],
    [{ response_type: "code token" }, "unsupported_response_type"],
    [{ response_type: "code id_token" }, "unsupported_response_type"],
    [{ response_type: "none" }, "unsupported_response_type"],
    [{ response_type: "token id_token" }, "unsupported_response_type"],
    [{ request: "e30.e30." }, "request_not_supported"],
    [{ request_uri: "https://evil.example/request.jwt" }, "request_uri_not_supported"],
    [{ resource: "https://evil.example" }, "invalid_target"],
    [{ scope: "alerts:write" }, "invalid_scope"],
  ])("with %o is rejected without a redirect, before any sign-in", async (changes, error) => {
    const response = await authorize(changes);
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    expect(await response.json()).toMatchObject({ error, state: "s-1", iss: base });
  });

  it("requires PKCE from a confidential client as well", async () => {
    const confidential = { token_endpoint_auth_method: "client_secret_basic" };
    const response = await authorize({ code_challenge: "" }, confidential);
    expect(await response.json()).toMatchObject({ error: "invalid_request" });
  });

  it.each([
    ["http://127.0.0.1/callback", "https://evil.example/callback"],
    ["http://127.0.0.1/callback", "http://127.0.0.1/callback/../evil"],
    ["http://127.0.0.1/callback", "http://127.0.0.1/callback?next=https://evil.example"],
    ["http://127.0.0.1/callback", "http://127.0.0.1@evil.example/callback"],
    ["http://127.0.0.1/callback", "//evil.example"],
    ["https://app.example/callback", "https://app.example.evil.example/callback"],
    ["https://app.example/callback", "https://app.example@evil.example/callback"],
    ["https://app.example/callback", "https://app.example/callback/../../evil"],
    ["https://app.example/callback", "https://app.example/callback/"],
    ["https://app.example/callback", "https://app.example/callback?x=1"],
    ["https://app.example/callback", "https://app.example/callback#x"],
    ["https://app.example/callback", "https://app.example/Callback"],
    ["https://app.example/callback", "https://APP.example/callback"],
    ["https://app.example/callback", "http://app.example/callback"],
    ["https://app.example/callback", "https://app.example:443/callback"],
    ["https://app.example/callback", "https://app.example:8443/callback"],
    [
      "https://app.example/callback",
      "https://app.example/callback%0d%0aLocation:https://evil.example",
    ],
    ["https://app.example/callback", "//app.example/callback"],
    ["https://app.example/callback", "javascript:alert(1)"],
  ])("of a client at %s is never answered at %s", async (registered, redirect_uri) => {
    const response = await authorize({ redirect_uri }, { redirect_uris: [registered] });
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    expect(await json(response)).toMatchObject({ error: "invalid_redirect_uri" });
  });

  it("is rejected when it names no redirect URI of the two of its client, or two", async () => {
    const redirect_uris = [REDIRECT, "https://app.example/callback"];
    expect((await authorize({ redirect_uri: undefined }, { redirect_uris })).status).toBe(400);
    const { client_id } = await register({ ...codeClient, redirect_uris });
    const { url } = authorizationRequest(base, { client_id, redirect_uri: REDIRECT });
    url.searchParams.append("redirect_uri", "https://evil.example/callback");
    const response = await fetch(url, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
  });

  it.each([
    { client_id: "<script>alert(1)</script>" },
    { redirect_uri: "<script>alert(1)</script>" },
  ])("with %j is answered without a redirect, as JSON and not as a page", async (changes) => {
    const response = await authorize(changes);
    expect(response.status).toBe(400);
    expect(await json(response)).toMatchObject({ error: expect.any(String) });
  });

  it("shows no interaction page in a browser without the cookie", async () => {
    const response = await fetch(`${base}/oauth/interaction/abc`);
    expect(response.status).toBe(400);
    expect(await json(response)).toMatchObject({ error: "invalid_request" });
  });
});

describe("an unsupported request", () => {
  it.each([
    ["GET", "/oauth/token", "POST"],
    ["PUT", "/oauth/register", "POST"],
    ["POST", "/oauth/register/abc", "GET, HEAD, PUT, DELETE"],
    ["POST", "/oauth/authorize", "GET, HEAD"],
    ["DELETE", "/.well-known/jwks.json", "GET, HEAD"],
  ])("%s %s is rejected with 405, and Allow is %s", async (method, path, allow) => {
    const response = await fetch(base + path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(allow);
    expect(response.headers.get("content-type")).toMatch(/^application\/problem\+json/);
  });

  it.each([
    ["/oauth/token", "application/json", "{}"],
    ["/oauth/revoke", "application/json", '{"token":"x"}'],
    ["/oauth/revoke", "text/plain", "token=x"],
    ["/oauth/register", "application/x-www-form-urlencoded", "client_name=x"],
  ])("%s with the content type %s is rejected with 415", async (path, type, body) => {
    const headers = { "content-type": type };
    const response = await fetch(base + path, { method: "POST", headers, body });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({
      code: "unsupported_media_type",
      error: "invalid_request",
      error_description: expect.stringContaining("must be"),
    });
  });

  it("is rejected when its form exceeds 16 kB, or when it has a content encoding", async () => {
    expect((await sendForm("/oauth/revoke", { token: "a".repeat(16 * 1024) })).status).toBe(413);
    const encoded = await sendForm("/oauth/revoke", { token: "a" }, { "content-encoding": "gzip" });
    expect(encoded.status).toBe(415);
  });

  it.each(["/oauth/nothing", "/oauth/introspect", "/oauth/par", "/session/end/confirm"])(
    "POST %s is not handled by the OAuth endpoints, and the rest of the service answers 404",
    async (path) => {
      expect((await fetch(base + path, { method: "POST" })).status).toBe(404);
    },
  );
});

describe("the console", () => {
  it("has no output after these tests", () => {
    expect(printed).toEqual([]);
  });
});
