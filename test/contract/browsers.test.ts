import { describe, expect, it } from "vitest";
import { getWith, newToken, postJson } from "../support/agent.ts";
import { handlers } from "../support/mcp-usual.ts";
import { sendRaw } from "../support/raw.ts";
import { startTestService } from "../support/test-service.ts";

const { base } = await startTestService();
const SECURE = "https://signals.example";
const secure = await startTestService({ BASE_URL: SECURE });

const HTML = "text/html,application/xhtml+xml,*/*;q=0.8";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A message in each era of the MCP protocol, with the header fields of that era. */
const eras = {
  legacy: { headers: {}, eraMeta: {} },
  modern: {
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
    eraMeta: MODERN,
  },
};

describe.each(handlers)("the MCP endpoint by $handler", async ({ meta }) => {
  const token = await newToken(base);

  it.each([
    ["legacy", "*/*"],
    ["legacy", undefined],
    ["modern", "*/*"],
    ["modern", undefined],
  ] as const)("answers a %s message with Accept: %s", async (era, accept) => {
    const { headers, eraMeta } = eras[era];
    const params = { _meta: { ...eraMeta, ...meta } };
    const { status, body } = await sendRaw(`${base}/mcp`, {
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

describe("an error response", () => {
  it.each([
    ["/mcp", 405, "This page cannot do that"],
    ["/nothing", 404, "Page not found"],
    ["/.well-known/nothing", 404, "Page not found"],
  ])(
    "at %s is a page with a link to continue when the client is a browser",
    async (path, status, heading) => {
      const response = await fetch(base + path, { headers: { accept: HTML } });
      expect([response.status, response.headers.get("content-type")]).toEqual([
        status,
        "text/html; charset=utf-8",
      ]);
      expect(response.headers.get("vary")).toContain("Accept");
      const [, main = ""] = /<main>(.*?)<\/main>/s.exec(await response.text()) ?? [];
      expect(main).toContain(`<h1>${heading}</h1>`);
      expect(main).toContain('<a class="main" href="/">');
      expect(main).not.toMatch(/llms|well-known|catalog/);
    },
  );

  it.each([
    ["/mcp", "POST"],
    ["/nothing", "/.well-known/api-catalog"],
  ])(
    "at %s is a problem document when the client sends a program's Accept header",
    async (path, next) => {
      const response = await fetch(base + path, { headers: { accept: "*/*" } });
      expect(response.headers.get("content-type")).toContain("application/problem+json");
      expect(await response.json()).toMatchObject({ next: expect.stringContaining(next) });
    },
  );

  it("at /api/nothing is always a problem document, since the API answers only in JSON", async () => {
    const response = await fetch(`${base}/api/nothing`, { headers: { accept: HTML } });
    expect(response.headers.get("content-type")).toContain("application/problem+json");
  });
});

describe("a page of another origin", () => {
  const ORIGIN = "https://app.example";

  it.each([
    ["/oauth/claim", "POST"],
    ["/oauth/claim/start", "POST"],
    ["/oauth/register", "POST"],
    ["/oauth/register/agt_some", "DELETE"],
    ["/oauth/token", "POST"],
    ["/mcp", "POST"],
    ["/.well-known/webhook-keys.json", "GET"],
    ["/api/signals", "GET"],
    ["/api/alerts/alert_some", "PATCH"],
  ])("may send %s %s requests without the browser's credentials", async (path, method) => {
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

  it("can read the answers, including errors", async () => {
    const token = await newToken(secure.base);
    const headers = { origin: ORIGIN, authorization: `Bearer ${token}` };
    const read = await fetch(`${secure.base}/api/signals?detail=full&symbol=ALDER.SIM`, {
      headers,
    });
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

  it.each(["/", "/account", "/sign-in", "/claim", "/api/contact", "/api/apply"])(
    "gets no CORS access to %s",
    async (path) => {
      const response = await fetch(secure.base + path, {
        headers: { origin: ORIGIN },
        redirect: "manual",
      });
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
    },
  );
});

describe("a service with an https base URL", () => {
  it("sends Strict-Transport-Security on every answer", async () => {
    const token = await newToken(secure.base);
    for (const path of [
      "/",
      "/api/health",
      "/api/signals?detail=full&symbol=ALDER.SIM",
      "/nothing",
    ]) {
      const headers = { authorization: `Bearer ${token}` };
      const { headers: said } = await fetch(secure.base + path, { headers });
      expect(said.get("strict-transport-security"), path).toBe("max-age=31536000");
      const open = await fetch(base + path);
      expect(open.headers.get("strict-transport-security"), path).toBeNull();
    }
  });

  it("gives its pages a cookie that is Secure and of this host alone", async () => {
    const headers = { host: new URL(SECURE).host };
    const { headers: said } = await sendRaw(`${secure.base}/sign-in`, { headers });
    expect(said["set-cookie"]).toEqual([
      expect.stringMatching(/^__Host-market-signal=[\w-]+; Path=\/; HttpOnly; Secure;/),
    ]);
  });
});

describe.each([
  ["/", "# Market Signal and Verification Service\n"],
  ["/contact", "# Contact\n"],
  ["/market/ALDER.SIM", "# ALDER.SIM: "],
])("the page %s", (path, beginning) => {
  const reading = (accept: string) => fetch(base + path, { headers: { accept } });

  it("links to its Markdown version, and serves it to clients that prefer Markdown", async () => {
    for (const [accept, type] of [
      ["*/*", "text/html"],
      [HTML, "text/html"],
      ["application/json", "text/html"],
      ["text/html, text/markdown;q=0.5", "text/html"],
      ["text/html;q=0.5, text/markdown", "text/markdown"],
      ["text/markdown", "text/markdown"],
    ] as const) {
      const { status, headers } = await reading(accept);
      expect([status, headers.get("content-type")], accept).toEqual([
        200,
        `${type}; charset=utf-8`,
      ]);
      expect(headers.get("vary"), accept).toMatch(/^Accept\b/);
      expect(headers.get("link"), accept).toContain(
        `<${base}${path}>; rel="alternate"; type="text/markdown"`,
      );
    }
    const text = await (await reading("text/markdown")).text();
    expect(text.startsWith(beginning)).toBe(true);
    expect(text).not.toMatch(/<\w|undefined|\[object/);
  });
});

describe("in Markdown,", () => {
  const headers = { accept: "text/markdown" };
  const read = async (path: string) => {
    const response = await fetch(base + path, { headers });
    return { status: response.status, text: await response.text() };
  };

  it("the page of an instrument has the same figures as the tools", async () => {
    const token = await newToken(base);
    const { text } = await read("/market/ALDER.SIM");
    const answer = async (path: string) =>
      JSON.parse(await (await getWith(token, `${base}${path}?symbol=ALDER.SIM`)).text());
    const signal = await answer("/api/signals");
    expect(text).toContain(
      `> ${signal.signal} since ${signal.since}, with a score of ${signal.score} `,
    );
    const { factors } = await answer("/api/factors");
    expect(text).toContain(
      `| Momentum | ${factors.momentum.contribution} | ${factors.momentum.z} |`,
    );
    const { summary } = await answer("/api/darkpool");
    expect(text).toContain(`| Prints | ${summary.prints} |`);
    for (const [, path = ""] of text.matchAll(/`GET (\S+)`/g)) {
      expect((await getWith(token, base + path)).status, path).toBe(200);
    }
  });

  it("the page of an unknown instrument is a 404 that escapes the symbol", async () => {
    const near = await read("/market/ALDER");
    expect(near.status).toBe(404);
    expect(near.text).toContain("- [ALDER.SIM](/market/ALDER.SIM) ");
    const bad = await read(`/market/${encodeURIComponent("x\n# [a](https://evil.example) <b>")}`);
    expect(bad.status).toBe(404);
    expect(bad.text).toContain("the symbol x \\# \\[a\\](https://evil.example) \\<b\\> is covered");
  });

  it("the contact page describes the API request that sends a message, and that request works", async () => {
    const { text } = await read("/contact");
    const [, address = "", body = ""] = /`POST (\S+)` with `([^`]+)`/.exec(text) ?? [];
    const sent = await postJson(address, JSON.parse(body));
    expect(sent.status).toBe(200);
  });
});
