import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { sendRaw } from "../support/raw.ts";
import { startTown } from "../support/town.ts";

const { base } = await startTown();
const SECURE = "https://signals.example";
const secure = await startTown({ BASE_URL: SECURE });

const HTML = "text/html,application/xhtml+xml,*/*;q=0.8";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A message in each era of the protocol, with the header fields that belong to it. */
const eras = {
  legacy: { headers: {}, params: {} },
  modern: {
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
    params: { _meta: MODERN },
  },
};

describe.each(["1", "0"])("the MCP endpoint with MCP_FAST_PATH=%s", async (path) => {
  const town = await startTown({ MCP_FAST_PATH: path });
  const token = await newToken(town.base);

  it.each([
    ["legacy", "*/*"],
    ["legacy", undefined],
    ["modern", "*/*"],
    ["modern", undefined],
  ] as const)("answers a %s message with Accept: %s", async (era, accept) => {
    const { headers, params } = eras[era];
    const { status, body } = await sendRaw(`${town.base}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
        ...headers,
        ...(accept === undefined ? {} : { accept }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params }),
    });
    expect(status).toBe(200);
    expect(String(body)).toContain("get_signal");
  });
});

describe("a person who opens", () => {
  it.each([
    ["/mcp", 405, "This address is for programs"],
    ["/nothing", 404, "Nothing is here"],
    ["/.well-known/nothing", 404, "Nothing is here"],
  ])("%s gets a page that leads on", async (path, status, heading) => {
    const response = await fetch(base + path, { headers: { accept: HTML } });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      "text/html; charset=utf-8",
    ]);
    expect(response.headers.get("vary")).toContain("Accept");
    const html = await response.text();
    expect(html).toContain(`<h1>${heading}</h1>`);
    expect(html).toContain('<a class="main" href="/">');
  });

  it.each(["/mcp", "/nothing"])("%s as a program gets a problem", async (path) => {
    const response = await fetch(base + path, { headers: { accept: "*/*" } });
    expect(response.headers.get("content-type")).toContain("application/problem+json");
  });

  it("/api/nothing gets a problem, since the API has one form", async () => {
    const response = await fetch(`${base}/api/nothing`, { headers: { accept: HTML } });
    expect(response.headers.get("content-type")).toContain("application/problem+json");
  });
});

describe("a page of another site", () => {
  const ORIGIN = "https://app.example";

  it.each([
    ["/oauth/claim", "POST"],
    ["/oauth/claim/start", "POST"],
    ["/oauth/register", "POST"],
    ["/oauth/register/agt_some", "DELETE"],
    ["/oauth/token", "POST"],
    ["/mcp", "POST"],
    ["/api/signals", "GET"],
    ["/api/alerts/alert_some", "PATCH"],
  ])("may ask %s by %s, without credentials of the browser", async (path, method) => {
    const response = await fetch(secure.base + path, {
      method: "OPTIONS",
      headers: {
        origin: ORIGIN,
        "access-control-request-method": method,
        "access-control-request-headers": "authorization, content-type",
      },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-methods")).toContain(method);
    expect(response.headers.get("access-control-allow-headers")).toContain("Authorization");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("reads what it is answered, refusals too", async () => {
    const token = await newToken(secure.base);
    const headers = { origin: ORIGIN, authorization: `Bearer ${token}` };
    const read = await fetch(`${secure.base}/api/signals?symbol=ALDER.SIM`, { headers });
    const refused = await fetch(`${secure.base}/api/signals`, { headers: { origin: ORIGIN } });
    const message = await fetch(`${secure.base}/mcp`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect([read.status, refused.status, message.status]).toEqual([200, 401, 200]);
    for (const answer of [read, refused, message]) {
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    }
    expect(refused.headers.get("access-control-expose-headers")).toContain("WWW-Authenticate");
  });

  it.each(["/", "/account", "/sign-in", "/api/contact", "/api/apply"])(
    "gets nothing of %s, where a person acts",
    async (path) => {
      const response = await fetch(secure.base + path, {
        headers: { origin: ORIGIN },
        redirect: "manual",
      });
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
    },
  );
});

describe("a service at an https address", () => {
  it("says on every answer that it is there by https alone", async () => {
    const token = await newToken(secure.base);
    for (const path of ["/", "/api/health", "/api/signals?symbol=ALDER.SIM", "/nothing"]) {
      const headers = { authorization: `Bearer ${token}` };
      const { headers: said } = await fetch(secure.base + path, { headers });
      expect(said.get("strict-transport-security"), path).toBe("max-age=31536000");
      const open = await fetch(base + path);
      expect(open.headers.get("strict-transport-security"), path).toBeNull();
    }
  });
});

it("the home page names its Markdown", async () => {
  const { headers } = await fetch(`${base}/`);
  expect(headers.get("link")).toContain(`<${base}/>; rel="alternate"; type="text/markdown"`);
});
