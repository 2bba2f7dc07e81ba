// @module-tag full

import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { postJson, register } from "../support/agent.ts";
import { authorizationRequest, registerPublic } from "../support/person.ts";
import { sendRaw } from "../support/raw.ts";
import { LOOSE_LIMITS, sharedTestService, startTestService } from "../support/test-service.ts";

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
