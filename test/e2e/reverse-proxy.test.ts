// @module-tag full

import { describe, expect, it } from "vitest";
import { addressFaults, addressPaths } from "../support/checks-addresses.ts";
import { addressesIn, crawl } from "../support/checks-links.ts";
import { freePort } from "../support/free-port.ts";
import { startProcess } from "../support/process.ts";
import { startReverseProxy } from "../support/reverse-proxy.ts";
import { LOOSE_LIMITS } from "../support/test-service.ts";

import { verifies } from "../support/verifies.ts";

const PUBLIC = "https://signals.example";

const PORT = await freePort();
const { ready } = await startProcess({
  PORT,
  BASE_URL: PUBLIC,
  TRUST_PROXY: "1",
  RATE_LIMITS: LOOSE_LIMITS,
  SANDBOX_SESSION_SECONDS: "86400",
});
const proxy = await startReverseProxy({ inner: `http://127.0.0.1:${PORT}`, publicUrl: PUBLIC });

/** Matches URLs that are format identifiers. */
const IDENTIFIERS =
  /^https?:\/\/(static\.modelcontextprotocol\.io|schemas\.agentskills\.io|www\.sitemaps\.org|www\.rfc-editor\.org|www\.w3\.org)\//;

/** Matches URLs in examples (RFC 2606). */
const EXAMPLES = /^https:\/\/[\w.-]+\.example(\.com)?\//;

/** Internal addresses of the service, which must not be disclosed. */
const places = [`:${PORT}`, `:${new URL(proxy.address).port}`, "127.0.0.1", "localhost", "[::1]"];

/** Finds internal addresses and foreign URLs in the text of an answer. */
function leaksIn(told: string): readonly string[] {
  const others = addressesIn(told).filter(
    (address) =>
      !address.startsWith(`${PUBLIC}/`) &&
      address !== PUBLIC &&
      !IDENTIFIERS.test(address) &&
      !EXAMPLES.test(address),
  );
  return [...places.filter((place) => told.includes(place)), ...others];
}

/**
 * Finds leaks in an answer, except in scripts and styles, since libraries contain their own URLs.
 */
function leaksOf({ headers }: Response, told: string): readonly string[] {
  const isLibrary = /javascript|css/.test(headers.get("content-type") ?? "");
  return isLibrary ? places.slice(0, 2).filter((place) => told.includes(place)) : leaksIn(told);
}

/** Returns the whole answer as text, including its headers. */
async function toldBy(response: Response): Promise<string> {
  const body = (await response.text()).replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  return `${JSON.stringify([...response.headers])}\n${body}`;
}

const get = (path: string, init: RequestInit = {}) =>
  proxy.get(PUBLIC + path, { redirect: "manual", ...init });

const post = (path: string, body: object | URLSearchParams, headers: object = {}) =>
  get(path, {
    method: "POST",
    body: body instanceof URLSearchParams ? body : JSON.stringify(body),
    headers: {
      ...(!(body instanceof URLSearchParams) && { "content-type": "application/json" }),
      ...headers,
    },
  });

/** Registers an agent and gets a token, all through the proxy. */
async function agent() {
  const answer = await post("/oauth/register", {
    client_name: "Outside",
    grant_types: ["client_credentials"],
  });
  const told = await toldBy(answer.clone());
  const client = (await answer.json()) as Readonly<Record<string, string>>;
  const { client_id = "", client_secret = "" } = client;
  const form = { grant_type: "client_credentials", client_id, client_secret };
  const token = await post("/oauth/token", new URLSearchParams(form));
  const { access_token } = (await token.json()) as { access_token: string };
  return { client, told, authorization: `Bearer ${access_token}` };
}

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

const mcp = (authorization: string, method: string, params: { readonly name?: string } = {}) =>
  post(
    "/mcp",
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: MODERN } },
    {
      authorization,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(params.name && { "mcp-name": params.name }),
    },
  );

describe("a service behind a reverse proxy", () => {
  it("prints its public URL at startup", () => {
    expect(ready.baseUrl).toBe(PUBLIC);
  });

  it("answers every path as it does without the proxy", async () => {
    expect(await addressFaults(PUBLIC, proxy.get)).toEqual([]);
  });

  verifies("4/base-url", "never discloses its internal address in links", async () => {
    const told = new Map<string, readonly string[]>();
    const { visited, elsewhere } = await crawl(PUBLIC, addressPaths, async (address, init) => {
      const response = await proxy.get(address, init);
      told.set(address, leaksOf(response, await toldBy(response.clone())));
      return response;
    });
    expect([...told].filter(([, leaks]) => leaks.length > 0)).toEqual([]);
    const dead = visited.filter(({ status }) => status === 404 || status >= 500);
    expect(dead).toEqual([]);
    expect(visited.length).toBeGreaterThan(addressPaths.length);
    const foreign = elsewhere.map(({ address }) => address);
    expect(foreign.filter((one) => !IDENTIFIERS.test(one) && !EXAMPLES.test(one))).toEqual([]);
  });

  it.each([
    ["/mcp", "POST", "/mcp"],
    ["/api/signals", "GET", ""],
  ])(
    "answers %s with a challenge that has the public metadata URL",
    async (path, method, resource) => {
      const response = await get(path, { method });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toContain(
        `resource_metadata="${PUBLIC}/.well-known/oauth-protected-resource${resource}"`,
      );
      expect(leaksIn(await toldBy(response))).toEqual([]);
    },
  );

  it("registers an agent, and serves its registration_client_uri", async () => {
    const { client, told } = await agent();
    expect(leaksIn(told)).toEqual([]);
    const { registration_client_uri = "", registration_access_token = "" } = client;
    expect(registration_client_uri).toBe(`${PUBLIC}/oauth/register/${client.client_id}`);
    const headers = { authorization: `Bearer ${registration_access_token}` };
    const read = await proxy.get(registration_client_uri, { headers });
    expect(read.status).toBe(200);
    expect(leaksIn(await toldBy(read))).toEqual([]);
  });

  it("serves MCP and REST to the agent", async () => {
    const { authorization } = await agent();
    const answers = await Promise.all([
      mcp(authorization, "server/discover"),
      mcp(authorization, "tools/list"),
      mcp(authorization, "resources/list"),
      mcp(authorization, "tools/call", { name: "get_signal" }),
      get("/api/signals", { headers: { authorization } }),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(leaksIn(await toldBy(answer))).toEqual([]);
    }
  });

  it("does not disclose its internal address in errors", async () => {
    const { authorization } = await agent();
    const authorize = `/oauth/authorize?${new URLSearchParams({
      response_type: "code",
      client_id: "nobody",
      redirect_uri: "https://agent.example/callback",
    })}`;
    const answers = await Promise.all([
      get("/nothing"),
      get("/api/alerts/events", { headers: { authorization } }),
      mcp("Bearer wrong", "tools/call", { name: "list_alerts" }),
      mcp(authorization, "nothing"),
      get("/api/signals", { headers: { authorization: "Bearer wrong" } }),
      post("/oauth/register", { grant_types: [] }),
      post("/oauth/token", new URLSearchParams({ grant_type: "password" })),
      post("/mcp", {}, { authorization, origin: "https://elsewhere.example" }),
      get(authorize),
      get("/oauth/interaction/nothing"),
    ]);
    for (const answer of answers) {
      expect(answer.status, answer.url).toBeGreaterThanOrEqual(303);
      expect(leaksIn(await toldBy(answer)), answer.url).toEqual([]);
    }
  });

  it.each(["/", "/sign-in", "/account", "/claim", "/docs/api", "/docs/api.md"])(
    "discloses only its public URL on the page %s and in redirects to it",
    async (path) => {
      const cookies: string[] = [];
      for (const _visit of ["first", "once more"]) {
        const response = await get(path, { headers: { cookie: cookies.join("; ") } });
        cookies.push(...response.headers.getSetCookie().map((one) => one.split(";")[0] ?? ""));
        expect([200, 303, 307, 403], `${path} ${response.status}`).toContain(response.status);
        const location = response.headers.get("location");
        if (location !== null) expect(new URL(location, PUBLIC).origin).toBe(PUBLIC);
        expect(leaksIn(await toldBy(response))).toEqual([]);
      }
    },
  );
});
