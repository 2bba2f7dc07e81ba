// @module-tag full

import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { getWith, newToken, postJson, register } from "../support/agent.ts";
import { authorizationRequest, CALLBACK, registerPublic } from "../support/person.ts";
import { sendRaw } from "../support/raw.ts";
import { LOOSE_LIMITS, sharedTestService, startTestService } from "../support/test-service.ts";
import { createWeb } from "../support/web.ts";

const testService = await sharedTestService();
const { base } = testService;
const EVIL = "evil.example";

/** Every header with which a proxy or an attacker can specify another host. */
const poison = {
  host: EVIL,
  "x-forwarded-host": EVIL,
  "x-forwarded-proto": "https",
  "x-forwarded-server": EVIL,
  "x-forwarded-port": "1",
  "x-forwarded-prefix": `/${EVIL}`,
  forwarded: `host=${EVIL};proto=https`,
  "x-original-url": `//${EVIL}/`,
  "x-rewrite-url": `//${EVIL}/`,
  "x-host": EVIL,
};

describe.each([
  ["without a proxy", "0"],
  ["behind a proxy", "1"],
])("a forged header that names another host: %s", (_where, TRUST_PROXY) => {
  it("never appears in a document, redirect, page or challenge", async () => {
    const { base: own, service } = await startTestService({ TRUST_PROXY });
    const { client_id } = await registerPublic(own);
    const { url } = authorizationRequest(own, { client_id });
    const paths = service.routes
      .filter(({ method }) => method === "GET")
      .map(({ path }) => path.replace(/:\w+/g, "x"));
    for (const path of [...paths, url.pathname + url.search, "/nowhere", "/claim?agent=x"]) {
      const answer = await sendRaw(own + path, { headers: poison });
      const said = JSON.stringify([answer.headers, answer.body]);
      expect(said, path).not.toContain(EVIL);
      expect(said, path).not.toContain(own.replace("http:", "https:"));
    }
  });

  it("never appears in the response to a POST request", async () => {
    const { base: own } = await startTestService({ TRUST_PROXY });
    const post = (path: string, body: object) =>
      sendRaw(own + path, {
        method: "POST",
        headers: { ...poison, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const registered = await post("/oauth/register", { grant_types: ["client_credentials"] });
    expect(registered.status).toBe(201);
    const { client_id, registration_client_uri } = JSON.parse(registered.body) as {
      client_id: string;
      registration_client_uri: string;
    };
    expect(registration_client_uri).toBe(`${own}/oauth/register/${client_id}`);
    const answers = [
      registered,
      await post("/oauth/claim", {}),
      await post("/mcp", {}),
      await post("/api/apply", { name: "Eve", email: "eve@example.com" }),
      await post("/api/contact", {}),
      await post("/oauth/token", {}),
      await post("/sign-in", {}),
    ];
    for (const { headers, body } of answers) {
      expect(JSON.stringify([headers, body])).not.toContain(EVIL);
    }
  });
});

describe("a forged client address", () => {
  const apply = (own: string, from: string) =>
    postJson(
      `${own}/api/apply`,
      { name: "Flood", email: "flood@example.com" },
      {
        "x-forwarded-for": from,
        "x-real-ip": from,
        forwarded: `for=${from}`,
        "cf-connecting-ip": from,
      },
    );

  it("does not bypass a rate limit", async () => {
    const { base: own } = await startTestService({ RATE_LIMITS: "submissions=2/100000/1000000" });
    const statuses = [];
    for (const from of ["192.0.2.1", "192.0.2.2", "192.0.2.3"]) {
      statuses.push((await apply(own, from)).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it("does not bypass a rate limit behind a proxy that appends the real address", async () => {
    const { base: own } = await startTestService({
      RATE_LIMITS: "submissions=2/100000/1000000",
      TRUST_PROXY: "1",
    });
    const statuses = [];
    for (const from of ["192.0.2.1", "192.0.2.2", "192.0.2.3"]) {
      statuses.push((await apply(own, `${from}, 198.51.100.7`)).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect((await apply(own, "192.0.2.1, 198.51.100.8")).status).toBe(200);
  });
});

/** URLs of another site that some known parser has mistaken for a local path. */
const elsewhere = [
  "//evil.example",
  "///evil.example",
  "/\\evil.example",
  "\\\\evil.example",
  "/%2F%2Fevil.example",
  "/%2f/evil.example",
  "/%5Cevil.example",
  "https:evil.example",
  "https:/evil.example",
  "https://evil.example",
  "HtTpS://evil.example",
  "http://127.0.0.1@evil.example",
  "//127.0.0.1@evil.example",
  "/account@evil.example",
  "/account.evil.example",
  "/\t/evil.example",
  "/\n/evil.example",
  "\t//evil.example",
  " //evil.example",
  "/\r\nLocation: https://evil.example",
  "/account\r\nSet-Cookie: a=b",
  "javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "/account/../../evil",
  "/./\\evil.example",
  "/claim?agent=x&next=//evil.example",
  "/claim//evil.example",
  "/oauth/interaction/..%2f..%2f..%2fevil.example",
  "/oauth/interaction/x/../../../evil",
  "/oauth/authorize?client_id=x",
  "/account#//evil.example",
  "/account?//evil.example",
  "?evil",
  "evil.example",
  "",
  "%",
];

describe("the return address of a sign-in", () => {
  it("always stays on this site, however it is spelled", async () => {
    for (const target of elsewhere) {
      const person = testService.person();
      const start = await person.web.get(`/sign-in?return_to=${encodeURIComponent(target)}`);
      const code = async () => (await testService.codesTo(person.email)).at(-1) ?? "";
      const landed = await person.web.signIn(person.email, code, start);
      expect(landed.leavesFor, target).toBeUndefined();
      expect(landed.url.href, target).toBe(`${base}/account`);
    }
  });

  it("stays on this site even if the client forges the form fields", async () => {
    for (const target of elsewhere) {
      const person = testService.person();
      const form = (await person.web.get("/sign-in")).form("/sign-in");
      const asked = await person.web.submit(form, { email: person.email, return_to: target });
      expect(asked.url.pathname, target).toBe("/sign-in/code");
      const [code] = await testService.codesTo(person.email);
      const landed = await person.web.submit(asked.form("/sign-in/code"), {
        code,
        return_to: target,
      });
      expect(landed.leavesFor, target).toBeUndefined();
      expect(landed.url.href, target).toBe(`${base}/account`);
    }
  });

  it("is ignored at sign-out", async () => {
    const person = testService.person();
    await person.signIn();
    const form = (await person.web.get("/account")).form("/sign-out");
    const out = await person.web.submit(form, {
      return_to: "https://evil.example",
      post_logout_redirect_uri: "https://evil.example",
    });
    expect(out.leavesFor).toBeUndefined();
    expect(out.url.pathname).toBe("/sign-in");
    const metadata = await (await fetch(`${base}/.well-known/openid-configuration`)).json();
    expect(metadata).not.toHaveProperty("end_session_endpoint");
  });
});

describe("a redirect URI", () => {
  const registered = "https://app.example/callback";
  const tricks = [
    "https://app.example.evil.example/callback",
    "https://app.example@evil.example/callback",
    "https://app.example/callback/../../evil",
    "https://app.example/callback/",
    "https://app.example/callback?x=1",
    "https://app.example/callback#x",
    "https://app.example/Callback",
    "https://APP.example/callback",
    "http://app.example/callback",
    "https://app.example:443/callback",
    "https://app.example:8443/callback",
    "https://app.example/callback%0d%0aLocation:https://evil.example",
    "//app.example/callback",
    "javascript:alert(1)",
  ];

  it.each(tricks)(
    "that differs from the registered one never receives a redirect: %s",
    async (redirect_uri) => {
      const { client_id } = await registerPublic(base, { redirect_uris: [registered] });
      const { url } = authorizationRequest(base, { client_id, redirect_uri });
      const answer = await fetch(url, { redirect: "manual" });
      expect(answer.status).toBe(400);
      expect(answer.headers.get("location")).toBeNull();
    },
  );

  it("is required when the client has registered two", async () => {
    const one = await registerPublic(base, { redirect_uris: [registered] });
    const two = await registerPublic(base, { redirect_uris: [registered, `${registered}2`] });
    const ask = ({ client_id }: { client_id: string }) =>
      fetch(authorizationRequest(base, { client_id, redirect_uri: undefined }).url, {
        redirect: "manual",
      });
    expect([303, 302, 400]).toContain((await ask(one)).status);
    expect((await ask(two)).status).toBe(400);
  });

  it("that is sent twice is rejected with 400 and receives no redirect", async () => {
    const { client_id } = await registerPublic(base);
    const { url } = authorizationRequest(base, { client_id });
    url.searchParams.append("redirect_uri", "https://evil.example/callback");
    const { leavesFor, status } = await createWeb(base).get(url);
    expect([leavesFor, status]).toEqual([undefined, 400]);
  });

  it.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "http://app.example/callback",
    "https://app.example/callback#fragment",
    "http://localhost.evil.example/callback",
    "vbscript:x",
    "file:///etc/passwd",
    "about:blank",
    "blob:https://app.example/x",
    "https://user:password@app.example/callback",
  ])("that is unsafe cannot be registered: %s", async (redirect_uri) => {
    const answer = await postJson(`${base}/oauth/register`, {
      redirect_uris: [redirect_uri],
      grant_types: ["authorization_code"],
      token_endpoint_auth_method: "none",
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: expect.stringMatching(/^invalid_(redirect_uri|client_metadata)$/),
    });
  });

  it("receives error=invalid_request and iss, but no code, when the authorization request is invalid", async () => {
    const { client_id } = await registerPublic(base);
    const changes = { client_id, code_challenge: undefined, prompt: "none" };
    const { url } = authorizationRequest(base, changes);
    const web = createWeb(base);
    const { leavesFor } = await web.get(url);
    expect(leavesFor?.href.startsWith(CALLBACK)).toBe(true);
    expect(leavesFor?.searchParams.get("error")).toBe("invalid_request");
    expect(leavesFor?.searchParams.get("iss")).toBe(base);
    expect(leavesFor?.searchParams.has("code")).toBe(false);
  });
});

describe("a token", () => {
  it("in a URL is rejected, under any parameter name and at every route", async () => {
    const token = await newToken(base);
    const key = await testService.person().createKey(["signals:read"]);
    for (const [name, value] of [
      ["access_token", token],
      ["access_token", key],
      ["token", token],
      ["api_key", key],
      ["apikey", key],
      ["x-api-key", key],
      ["authorization", `Bearer ${token}`],
    ] as const) {
      const query = new URLSearchParams({ limit: "1", [name]: value });
      const answer = await fetch(`${base}/api/signals?${query}`);
      expect(answer.status, name).toBe(401);
      expect(await answer.text()).not.toContain(value);
    }
    for (const name of ["access_token", "api_key", "x-api-key"]) {
      const beside = await getWith(token, `${base}/api/signals?limit=1&${name}=${token}`);
      expect(beside.status, name).toBe(401);
    }
  });

  it("in the body of an MCP message or a form is not used as a credential", async () => {
    const token = await newToken(base);
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list", access_token: token };
    expect((await postJson(`${base}/mcp`, message)).status).toBe(401);
  });

  it("sent together with another credential is rejected, even if both are valid and equal", async () => {
    const token = await newToken(base);
    const key = await testService.person().createKey(["signals:read"]);
    const signals = `${base}/api/signals?limit=1`;
    const bearer = { authorization: `Bearer ${token}` };
    const both: readonly Readonly<Record<string, string | string[]>>[] = [
      { ...bearer, "x-api-key": key },
      { ...bearer, "x-api-key": "nonsense" },
      { authorization: `Bearer ${key}`, "x-api-key": key },
      { authorization: [`Bearer ${token}`, `Bearer ${token}`] },
      { "x-api-key": [key, key] },
    ];
    for (const headers of both) {
      const host = new URL(base).host;
      expect((await sendRaw(signals, { headers: { host, ...headers } })).status).toBe(400);
      const mcp = await sendRaw(`${base}/mcp`, { method: "POST", headers: { host, ...headers } });
      expect(mcp.status).toBe(400);
    }
    expect((await getWith(token, signals)).status).toBe(200);
  });

  it("is not issued when the request sends the client secret in both the header and the body", async () => {
    const { client_id, client_secret } = await register(base);
    const basic = Buffer.from(`${client_id}:${client_secret}`).toString("base64");
    const answer = await fetch(`${base}/oauth/token`, {
      method: "POST",
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }),
    });
    expect([400, 401]).toContain(answer.status);
    expect(await answer.json()).toMatchObject({ error: expect.stringMatching(/^invalid_/) });
  });
});

describe("an unusual spelling of a path", () => {
  it("never bypasses authentication", async () => {
    const { client_id } = await register(base);
    for (const path of [
      "/api/signals",
      "/api/factors",
      "/account",
      "/mcp",
      `/oauth/register/${client_id}`,
    ]) {
      const [, first = "", rest = ""] = /^\/([^/]+)(.*)$/.exec(path) ?? [];
      const hex = first.charCodeAt(0).toString(16);
      for (const spelling of [
        path.toUpperCase(),
        `${path}/`,
        `/${path}`,
        `/.${path}`,
        `/x/..${path}`,
        `/%${hex}${first.slice(1)}${rest}`,
        `${path};x=1`,
        `${path}%00`,
        `${path}%20`,
        `${path}%2e`,
        `${path}?`,
        `/assets/..${path}`,
        `/assets/%2e%2e${path}`,
        `/.well-known/..%2f${path.slice(1)}`,
        `${path}/.well-known/jwks.json`,
      ]) {
        const headers = { "x-http-method-override": "GET", "x-original-url": path };
        const { status, body } = await sendRaw(base + spelling, { headers });
        expect([303, 400, 401, 404, 405], spelling).toContain(status);
        expect(body, spelling).not.toMatch(/"score|client_name|Sign out/);
      }
    }
  });
});

describe("a page of another origin", () => {
  it("may read documents, but never with a person's cookie", async () => {
    const person = testService.person();
    await person.signIn();
    for (const { method, path } of testService.service.routes) {
      const answer = await fetch(base + path.replace(/:\w+/g, "x"), {
        method,
        headers: { origin: "https://evil.example", cookie: person.web.cookie() },
        redirect: "manual",
      });
      const allowed = answer.headers.get("access-control-allow-origin");
      expect(answer.headers.get("access-control-allow-credentials"), path).toBeNull();
      const isPrivate = /^\/(account|claim|sign-)/.test(path);
      if (isPrivate) expect(allowed, path).toBeNull();
    }
  });

  it("cannot exhaust a visitor's limit of authorization requests through images, frames or scripts", async () => {
    const { base: local } = await startTestService({
      RATE_LIMITS: `${LOOSE_LIMITS} authorizations=2/100000/1000000`,
    });
    const { client_id } = await registerPublic(local);
    const { url } = authorizationRequest(local, { client_id });
    const statusOf = async (destination: string) =>
      (await sendRaw(url.href, { headers: { "sec-fetch-dest": destination } })).status;
    for (const destination of ["image", "iframe", "empty", "script", "object", "embed", "frame"]) {
      expect(await statusOf(destination), destination).toBe(400);
    }
    expect(await statusOf("document")).toBe(303);
    expect((await sendRaw(url.href)).status).toBe(303);
    expect(await statusOf("document")).toBe(429);
  });
});

describe("a client_id that is the URL of a metadata document", () => {
  it("is never fetched if it points to this machine, in whatever notation", async () => {
    let connections = 0;
    const server = createServer().on("connection", (socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const answers = new Set<string>();
    for (const host of [
      "127.0.0.1",
      "127.1",
      "2130706433",
      "0x7f000001",
      "017700000001",
      "0.0.0.0",
      "localhost",
      "localhost.",
      "app.localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[64:ff9b::7f00:1]",
      "169.254.169.254",
      "metadata.google.internal",
    ]) {
      const client_id = `https://${host}:${port}/client.json`;
      const { url } = authorizationRequest(base, { client_id, state: "same" });
      const answer = await fetch(url, { redirect: "manual" });
      answers.add(`${answer.status} ${(await answer.text()).replaceAll(client_id, "<client>")}`);
    }
    expect(connections).toBe(0);
    expect([...answers].map((answer) => answer.slice(0, 3))).toEqual(["400"]);
  });
});

it("no attack makes the service log an internal error", () => {
  expect(testService.logged).toEqual([]);
});
