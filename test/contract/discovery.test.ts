import { createHash } from "node:crypto";
import * as oauth from "oauth4webapi";
import { describe, expect, it } from "vitest";
import { paths } from "../../src/lib/paths.ts";
import { discoveryDocuments } from "../../wellknown/index.ts";
import { getWith, newToken, postJson } from "../support/agent.ts";
import { postMcp } from "../support/matrix-routes.ts";
import { mcpAsks, resultOf } from "../support/mcp-messages.ts";
import { startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";
import { agentAuthFaults } from "../unit/wellknown/agent-auth-rules.ts";
import { cardFaults } from "../unit/wellknown/card-schema.ts";

const { base, service, clock } = await startTestService();

const insecure = { [oauth.allowInsecureRequests]: true };
const ORIGIN = { origin: "https://elsewhere.example" };
const CARD = "application/mcp-server-card+json";

/** Metadata documents of the authorization server, which are not in the document list. */
const metadata = {
  "/.well-known/oauth-authorization-server": "application/json; charset=utf-8",
  "/.well-known/openid-configuration": "application/json; charset=utf-8",
  "/.well-known/jwks.json": "application/jwk-set+json; charset=utf-8",
} as const;

/** Default media type of every document. */
const types: Readonly<Record<string, string>> = {
  "/.well-known/oauth-protected-resource": "application/json",
  "/.well-known/oauth-protected-resource/mcp": "application/json",
  "/.well-known/mcp/server-card.json": "application/json",
  "/mcp/server-card": CARD,
  "/.well-known/ai-catalog.json": "application/json",
  "/.well-known/api-catalog":
    'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
  "/.well-known/agent-skills/index.json": "application/json",
  "/.well-known/agent-skills/market-signals/SKILL.md": "text/markdown; charset=utf-8",
  "/.well-known/agent-skills/register-agent/SKILL.md": "text/markdown; charset=utf-8",
  "/.well-known/agent-skills/alert-webhooks/SKILL.md": "text/markdown; charset=utf-8",
  "/docs/api/openapi.json": "application/vnd.oai.openapi+json",
  "/widgets.json": "application/json",
  "/apps.json": "application/json",
  "/auth.md": "text/markdown; charset=utf-8",
  "/llms.txt": "text/plain; charset=utf-8",
  "/icon.svg": "image/svg+xml",
  "/robots.txt": "text/plain; charset=utf-8",
  "/sitemap.xml": "application/xml; charset=utf-8",
  "/.well-known/security.txt": "text/plain; charset=utf-8",
  ...metadata,
};

const all = Object.keys(types);
const own = discoveryDocuments.map(({ path }) => path);

const ask = (path: string, init: RequestInit = {}) => fetch(base + path, init);

async function json(path: string, init?: RequestInit) {
  const response = await ask(path, init);
  expect(response.status, path).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

/**
 * Header fields that describe the connection, or differ from answer to answer, and are not
 * compared.
 */
const PASSING = new Set(["date", "connection", "keep-alive", "ratelimit", "x-request-id"]);

function fieldsOf({ headers }: Response): Readonly<Record<string, string>> {
  return Object.fromEntries([...headers].filter(([name]) => !PASSING.has(name)));
}

/** Pages, cards and documents that contain the name of the service. */
const named = [
  ...["/", "/sign-in", "/apply", "/contact", "/docs/api", "/docs/api/openapi.json", "/api/health"],
  ...["/llms.txt", "/auth.md", "/mcp/server-card", "/.well-known/mcp/server-card.json"],
  ...["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"],
  ...["/.well-known/agent-skills/index.json", "/.well-known/ai-catalog.json"],
];

verifies("1/name", "pages, cards and documents use the full name of the service", async () => {
  for (const path of named) {
    const text = await (await ask(path)).text();
    expect(text, path).toContain("Market Signal and Verification Service");
    expect(text, path).not.toMatch(/Market Signal(?! and Verification Service)/);
  }
});

it("every well-known document is served", () => {
  expect(all.toSorted()).toEqual([...own, ...Object.keys(metadata)].toSorted());
});

describe.each(all)("%s", (path) => {
  it("has the right Content-Type, allows every origin and is cacheable", async () => {
    const response = await ask(path);
    expect(response.status).toBe(200);
    expect(fieldsOf(response)).toMatchObject({
      "content-type": types[path],
      "access-control-allow-origin": "*",
      "cache-control": path.includes("server-card")
        ? "public, max-age=3600"
        : "public, max-age=300",
      "x-content-type-options": "nosniff",
    });
    expect(response.headers.has("set-cookie")).toBe(false);
    expect((await response.text()).length).toBeGreaterThan(0);
  });

  it("answers HEAD like GET but without the body", async () => {
    const headers = { "accept-encoding": "identity" };
    const [get, head] = [
      await ask(path, { headers }),
      await ask(path, { method: "HEAD", headers }),
    ];
    expect(head.status).toBe(200);
    expect(fieldsOf(head)).toEqual(fieldsOf(get));
    expect(Number(head.headers.get("content-length"))).toBe((await get.bytes()).length);
    expect(await head.text()).toBe("");
  });

  it("answers a CORS preflight", async () => {
    const response = await ask(path, {
      method: "OPTIONS",
      headers: {
        ...ORIGIN,
        "access-control-request-method": "GET",
        "access-control-request-headers": "mcp-protocol-version, if-none-match",
      },
    });
    expect(response.status).toBe(204);
    expect(fieldsOf(response)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET",
      "access-control-allow-headers": expect.stringMatching(/If-None-Match.*MCP-Protocol-Version/),
      "access-control-expose-headers": expect.stringContaining("ETag"),
    });
  });

  it("allows only GET and HEAD", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      const response = await ask(path, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      expect(response.headers.get("cache-control")).toBe("no-store");
    }
  });

  it("is not served at similar paths", async () => {
    for (const other of [`${path}x`, `${path}/x`, `${path}%00`]) {
      const response = await ask(other);
      expect(response.status, other).toBe(404);
      expect(response.headers.get("content-type")).toContain("application/problem+json");
    }
  });
});

describe.each(all)("%s", (path) => {
  it("answers 304 to a matching If-None-Match", async () => {
    const first = await ask(path);
    const body = ["content-type", "content-length", "content-encoding"];
    const fields = Object.fromEntries(
      Object.entries(fieldsOf(first)).filter(([name]) => !body.includes(name)),
    );
    const { etag = "" } = fields;
    expect(etag).toMatch(/^"[\w-]{43,64}(-gzip)?"$/);
    for (const known of [etag, `"x", ${etag}`, `W/${etag}`, "*"]) {
      const response = await ask(path, { headers: { "if-none-match": known } });
      expect(response.status, known).toBe(304);
      expect(fieldsOf(response)).toEqual(fields);
      expect(await response.text()).toBe("");
    }
    const other = await ask(path, { headers: { "if-none-match": '"x"' } });
    expect(other.status).toBe(200);
  });
});

describe("a document in two media types", () => {
  it.each([
    ["/.well-known/mcp/server-card.json", CARD, CARD],
    ["/.well-known/mcp/server-card.json", "*/*", "application/json"],
    ["/.well-known/mcp/server-card.json", "text/html", "application/json"],
    ["/.well-known/mcp/server-card.json", `application/json;q=0.5, ${CARD}`, CARD],
    ["/mcp/server-card", "application/json", "application/json"],
    ["/mcp/server-card", "*/*", CARD],
    ["/.well-known/ai-catalog.json", "application/ai-catalog+json", "application/ai-catalog+json"],
    ["/.well-known/ai-catalog.json", "application/ai-catalog+json;q=0, */*", "application/json"],
  ])("%s with Accept: %s has the content type %s", async (path, accept, type) => {
    const { headers } = await ask(path, { headers: { accept } });
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("vary")).toBe("Accept, Accept-Encoding");
  });

  it("has a separate ETag for each media type", async () => {
    const etags = await Promise.all(
      ["application/json", CARD].map(async (accept) => {
        const { headers } = await ask("/mcp/server-card", { headers: { accept } });
        return headers.get("etag") ?? "";
      }),
    );
    expect(etags[0]).not.toBe(etags[1]);
    const headers = { accept: CARD, "if-none-match": etags[0] ?? "" };
    expect((await ask("/mcp/server-card", { headers })).status).toBe(200);
  });
});

describe("registration from a web page", () => {
  it("works from any origin, and the page can read error responses", async () => {
    const preflight = await ask("/oauth/register", {
      method: "OPTIONS",
      headers: {
        ...ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
      },
    });
    expect(preflight.status).toBe(204);
    expect(fieldsOf(preflight)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": expect.stringContaining("Content-Type"),
    });
    for (const [body, status] of [
      [{ grant_types: ["client_credentials"] }, 201],
      [{ grant_types: ["refresh_token"] }, 400],
    ] as const) {
      const response = await postJson(`${base}/oauth/register`, body, ORIGIN);
      expect(response.status).toBe(status);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("cache-control")).toContain("no-store");
    }
  });

  it.each(["/oauth/authorize", "/api/contact", "/api/apply", "/claim", "/sign-in", "/account"])(
    "gives the web page no CORS access to %s",
    async (path) => {
      const { headers } = await ask(path, { method: "OPTIONS", headers: ORIGIN });
      expect(headers.has("access-control-allow-origin")).toBe(false);
    },
  );
});

describe("the metadata", () => {
  verifies("4.10/oauth-protected-resource", "has one document for each resource", async () => {
    const common = {
      authorization_servers: [base],
      scopes_supported: ["signals:read", "factor:read", "darkpool:read", "alerts:write"],
      bearer_methods_supported: ["header"],
      resource_name: "Market Signal and Verification Service",
      resource_documentation: `${base}/docs/api`,
    };
    expect(await json(paths.protectedResource)).toEqual({ resource: base, ...common });
    const mcp = await json(paths.mcpProtectedResource);
    expect(mcp).toEqual({ resource: `${base}/mcp`, ...common });
  });

  verifies(
    [
      "4.10/oauth-authorization-server",
      "4.10/openid-configuration",
      "5.2/openid-address",
      "5.2/issuer",
      "5.2/client-credentials",
      "5.3/alerts-write-supported",
      "5.2/credential-api-key",
      "5.2/credential-bearer-token",
      "5.2/credential-client-credentials",
      "5.2/identity-types",
    ],
    "of the authorization server is the same at both well-known paths",
    async () => {
      const server = await json(paths.authorizationServer);
      expect(server).toMatchObject({
        issuer: base,
        authorization_endpoint: `${base}/oauth/authorize`,
        token_endpoint: `${base}/oauth/token`,
        registration_endpoint: `${base}/oauth/register`,
        revocation_endpoint: `${base}/oauth/revoke`,
        jwks_uri: `${base}/.well-known/jwks.json`,
        service_documentation: `${base}/docs/api`,
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        protected_resources: [base, `${base}/mcp`],
        agent_auth: {
          skill: `${base}/auth.md`,
          flows_supported: ["agent_verified", "user_claimed", "client_credentials"],
          credential_types_supported: ["api_key", "bearer_token", "oauth2_client_credentials"],
          identity_types_supported: [
            "anonymous",
            "identity_assertion",
            "service_auth",
            "agent",
            "user",
            "service",
          ],
        },
      });
      expect(server.grant_types_supported).toContain("client_credentials");
      expect(server.scopes_supported).toEqual(
        expect.arrayContaining(["signals:read", "factor:read", "darkpool:read", "alerts:write"]),
      );
      expect(await json(paths.openidConfiguration)).toEqual(server);
      expect(await json(paths.jwks)).toHaveProperty("keys");
    },
  );

  it.each(["oauth2", "oidc"] as const)(
    "is accepted by a strict client through %s discovery",
    async (algorithm) => {
      const issuer = new URL(base);
      const found = await oauth.discoveryRequest(issuer, { ...insecure, algorithm });
      expect((await oauth.processDiscoveryResponse(issuer, found)).issuer).toBe(base);
    },
  );

  it.each(["", "/mcp"])("is accepted by a strict client for the resource path %j", async (path) => {
    const resource = new URL(base + path);
    const found = await oauth.resourceDiscoveryRequest(resource, insecure);
    const read = await oauth.processResourceDiscoveryResponse(resource, found);
    expect(read.authorization_servers).toEqual([base]);
  });

  it("is the target of the link in the WWW-Authenticate challenge", async () => {
    for (const [path, method] of [
      ["/api/signals", "GET"],
      ["/mcp", "POST"],
    ] as const) {
      const response = await ask(path, { method });
      const challenge = response.headers.get("www-authenticate") ?? "";
      const [, address = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
      const { resource } = (await (await fetch(address)).json()) as { resource: string };
      expect(resource).toBe(path === "/mcp" ? `${base}/mcp` : base);
    }
  });

  it("describes agent registration in the form that scanners expect", async () => {
    const [resource, server] = [
      await json(paths.protectedResource),
      await json(paths.authorizationServer),
    ];
    const accept = { headers: { accept: "text/markdown, text/plain, */*" } };
    const authMd = await (await ask(paths.authMd, accept)).text();
    expect(agentAuthFaults({ origin: base, resource, server, authMd })).toEqual([]);
  });

  it("lists endpoints that accept the method they are documented for", async () => {
    const server = await json(paths.authorizationServer);
    const posted = ["token", "registration", "revocation"].map((n) => server[`${n}_endpoint`]);
    const { claim_uri } = server.agent_auth as Record<string, string>;
    for (const address of [...posted, claim_uri]) {
      const { status } = await fetch(String(address), { method: "POST" });
      expect([400, 401, 415], String(address)).toContain(status);
    }
    const { status } = await fetch(String(server.authorization_endpoint));
    expect(status).toBe(400);
  });
});

describe("the server card", () => {
  verifies("4.10/server-card", "is valid against its schema at both URLs", async () => {
    const card = await json(paths.serverCard, { headers: { accept: CARD } });
    expect(cardFaults(card)).toEqual([]);
    expect(await json(paths.mcpServerCard)).toEqual(card);
  });

  it("matches the MCP server's own information", async () => {
    const card = await json(paths.serverCard);
    const headers = { authorization: `Bearer ${await newToken(base)}` };
    const answer = await postMcp(base, { method: "server/discover" }, { headers });
    const { result } = (await answer.json()) as {
      result: {
        supportedVersions: readonly string[];
        capabilities: object;
        _meta: Readonly<Record<string, object>>;
      };
    };
    const [remote] = card.remotes as [{ url: string; supportedProtocolVersions: string[] }];
    expect(remote.url).toBe(answer.url);
    expect(remote.supportedProtocolVersions).toEqual(
      expect.arrayContaining([...result.supportedVersions]),
    );
    expect(remote.supportedProtocolVersions[0]).toBe(card.protocolVersion);
    const { resources, ...others } = card.capabilities as { readonly resources: object };
    expect(result.capabilities).toEqual({
      ...others,
      resources: { ...resources, subscribe: true },
    });
    const info = result._meta["io.modelcontextprotocol/serverInfo"];
    expect(info).toEqual(card.serverInfo);
    expect(info).toMatchObject({
      ...{ version: card.version, title: card.title },
      ...{ websiteUrl: card.websiteUrl, icons: card.icons },
    });
    expect(card.icons).toEqual([
      { src: `${base}${paths.icon}`, mimeType: types[paths.icon], sizes: ["any"] },
    ]);
  });

  it("matches the MCP server's own information for clients before 2026-07-28", async () => {
    const card = await json(paths.serverCard);
    const { askOld } = mcpAsks(base, await newToken(base));
    const clientInfo = { name: "old", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const { serverInfo, capabilities } = await resultOf<{
      readonly serverInfo: object;
      readonly capabilities: object;
    }>(askOld("initialize", params));
    expect(serverInfo).toEqual(card.serverInfo);
    expect(capabilities).toEqual(card.capabilities);
  });

  it("lists the MCP apps extension and the extensions that the authorization server supports", async () => {
    const { capabilities } = await json(paths.serverCard);
    const server = await json(paths.authorizationServer);
    const offers = (member: string, one: string) =>
      (server[member] as readonly string[]).includes(one);
    expect(Object.keys((capabilities as { extensions: object }).extensions)).toEqual([
      "io.modelcontextprotocol/ui",
      "io.modelcontextprotocol/oauth-client-credentials",
      "io.modelcontextprotocol/enterprise-managed-authorization",
    ]);
    expect(offers("grant_types_supported", "client_credentials")).toBe(true);
    expect(offers("grant_types_supported", "urn:ietf:params:oauth:grant-type:jwt-bearer")).toBe(
      true,
    );
    expect(
      offers(
        "authorization_grant_profiles_supported",
        "urn:ietf:params:oauth:grant-profile:id-jag",
      ),
    ).toBe(true);
  });

  it("lists no protocol revision that the endpoint does not support", async () => {
    const card = await json(paths.serverCard);
    const [{ supportedProtocolVersions }] = card.remotes as [
      { supportedProtocolVersions: readonly string[] },
    ];
    const authorization = `Bearer ${await newToken(base)}`;
    for (const protocolVersion of supportedProtocolVersions.slice(1)) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } };
      const answer = await postJson(
        `${base}/mcp`,
        { jsonrpc: "2.0", id: 1, method: "initialize", params },
        { authorization, accept: "application/json, text/event-stream" },
      );
      expect(await answer.text()).toContain(`"protocolVersion":"${protocolVersion}"`);
    }
  });
});

verifies(
  ["4.10/agent-skills", "9/agent-skills"],
  "every agent skill in the index has the digest of its file and the name of its directory",
  async () => {
    const index = await ask(paths.skillsIndex);
    const { $schema, skills } = (await index.json()) as {
      $schema: string;
      skills: readonly Readonly<Record<"name" | "type" | "url" | "digest", string>>[];
    };
    expect($schema).toBe("https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    expect(skills).toHaveLength(3);
    for (const { name, type, url, digest } of skills) {
      const skill = await fetch(new URL(url, index.url));
      const bytes = await skill.bytes();
      expect(type).toBe("skill-md");
      expect(digest).toBe(`sha256:${createHash("sha256").update(bytes).digest("hex")}`);
      expect(Buffer.from(bytes).toString()).toMatch(new RegExp(`^---\nname: ${name}\n`));
      expect(url.split("/").at(-2)).toBe(name);
    }
    expect((await ask("/.well-known/agent-skills/none/SKILL.md")).status).toBe(404);
  },
);

describe("Link headers", () => {
  /** Parses a Link header field into targets and parameters (RFC 8288 section 3). */
  function linksIn(field: string | null) {
    return Array.from((field ?? "").matchAll(/<([^>]*)>((?:; \w+="[^"]*")*)/g), (found) => {
      const [, href = "", parameters = ""] = found;
      const pairs = Array.from(parameters.matchAll(/(\w+)="([^"]*)"/g), ([, n, v]) => [n, v]);
      return { href, ...(Object.fromEntries(pairs) as { rel: string; type?: string }) };
    });
  }

  verifies("4.10/api-catalog", "of the API catalog point to it, also for HEAD", async () => {
    for (const method of ["GET", "HEAD"]) {
      const { headers } = await ask(paths.apiCatalog, { method });
      expect(linksIn(headers.get("link"))).toEqual([
        { href: `${base}/.well-known/api-catalog`, rel: "api-catalog" },
      ]);
    }
    const { linkset } = (await json(paths.apiCatalog)) as {
      linkset: readonly Readonly<Record<string, unknown>>[];
    };
    expect(linkset[0]).toMatchObject({ anchor: `${base}/.well-known/api-catalog` });
    expect(linkset.length).toBeGreaterThan(1);
  });

  verifies("4.10/web-linking", "of every API answer point to the API description", async () => {
    const token = await newToken(base);
    for (const [path, status] of [
      ["/api/health", 200],
      ["/api/signals?limit=1", 200],
      ["/api/signals?limit=x", 400],
      ["/api/nothing", 404],
    ] as const) {
      const response = await getWith(token, base + path);
      expect(response.status).toBe(status);
      const links = linksIn(response.headers.get("link"));
      expect(links.map(({ href, rel, type }) => [href, rel, type])).toEqual([
        [`${base}/.well-known/api-catalog`, "api-catalog", "application/linkset+json"],
        [`${base}/docs/api/openapi.json`, "service-desc", "application/vnd.oai.openapi+json"],
        [`${base}/docs/api`, "service-doc", "text/html"],
        [`${base}/api/health`, "status", "application/json"],
        [`${base}/llms.txt`, "describedby", "text/plain"],
        [`${base}/auth.md`, "describedby", "text/markdown"],
      ]);
    }
    expect((await ask("/")).headers.has("link")).toBe(true);
    expect((await ask("/sign-in")).headers.has("link")).toBe(false);
  });

  it("state the media type of their target", async () => {
    const { headers } = await ask("/api/health");
    for (const { href, type = "" } of linksIn(headers.get("link"))) {
      const response = await fetch(href);
      const path = new URL(href).pathname;
      if (!missing.includes(path)) expect(response.headers.get("content-type")).toContain(type);
    }
  });
});

/** Linked paths that do not exist yet. */
const missing: readonly string[] = ["/"];

/** Finds URLs in a text, without the punctuation that ends a sentence. */
const addressesIn = (text: string): readonly string[] =>
  Array.from(text.matchAll(/\bhttps?:\/\/[^\s"'`)<>;,\\]+/g), ([address]) =>
    address.replace(/\.$/, ""),
  );

/** Whether a URL is a format identifier or an example host, which nobody opens. */
const isIdentifier = (address: string): boolean =>
  /^https?:\/\/(static\.modelcontextprotocol\.io|schemas\.agentskills\.io|www\.sitemaps\.org|www\.w3\.org|(agent|hooks)\.example(\.com)?)\//.test(
    address,
  );

describe("every operation with a fixed URL", () => {
  /** Tags of operations that are documents or probes, which the two lists have in other sections. */
  const others = ["Discovery", "Service"];

  it("of the OpenAPI description is in the API catalog and in llms.txt", async () => {
    const { paths: described } = (await json(paths.openapi)) as {
      paths: Record<string, Record<string, { tags?: readonly string[] }>>;
    };
    const { linkset } = (await json(paths.apiCatalog)) as { linkset: { anchor: string }[] };
    const anchors = linkset.map(({ anchor }) => anchor);
    const llms = await (await ask(paths.llms)).text();
    const fixed = Object.entries(described).filter(([path, methods]) => {
      const [tag = ""] = Object.values(methods).flatMap(({ tags = [] }) => tags);
      return !path.includes("{") && !others.includes(tag);
    });
    for (const [path] of fixed) expect(anchors, path).toContain(base + path);
    const beside = ["/api/export", "/api/alerts/stream", "/api/apply", "/api/contact"];
    const access = ["/oauth/register", "/oauth/token", "/oauth/claim", "/oauth/revoke"];
    for (const path of [...beside, ...access]) {
      expect(anchors).toContain(base + path);
      expect(llms).toContain(`](${base}${path}): \``);
    }
  });
});

describe("every link", () => {
  /** URLs that exist but do not answer an unauthenticated GET. */
  const endpoints = service.routes.map(
    ({ path }) => new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}$`),
  );

  async function linksOf(path: string): Promise<readonly string[]> {
    const response = await ask(path);
    const text = `${response.headers.get("link")}\n${await response.text()}`;
    const relative = Array.from(text.matchAll(/"url":"(\/[^"]+)"/g), ([, url = ""]) => base + url);
    return [...addressesIn(text).filter((address) => !isIdentifier(address)), ...relative];
  }

  it.each(all)("in %s leads to an existing page or endpoint", async (path) => {
    for (const link of new Set(await linksOf(path))) {
      const { origin, pathname } = new URL(link);
      expect(origin).toBe(base);
      if (missing.includes(pathname) || link.includes("$")) continue;
      const { status } = await fetch(link, { redirect: "manual" });
      const isEndpoint =
        endpoints.some((endpoint) => endpoint.test(pathname)) &&
        [303, 400, 401, 405].includes(status);
      expect(status === 200 || isEndpoint, `${link} answers ${status}`).toBe(true);
    }
  });
});

describe("behind a reverse proxy", async () => {
  const PUBLIC = "https://signals.example";
  const testService = await startTestService({ BASE_URL: PUBLIC });
  const inner = new URL(testService.base).host;
  const forwarded = { host: "evil.example", "x-forwarded-host": "evil.example" };

  verifies("4/base-url", "every document contains only the public URL", async () => {
    for (const path of [...all, "/api/health", "/api/signals", "/oauth/register"]) {
      const response = await fetch(testService.base + path, { headers: forwarded });
      const told = `${JSON.stringify([...response.headers])}\n${await response.text()}`;
      expect(told).not.toContain(inner);
      expect(told).not.toContain("127.0.0.1");
      expect(told).not.toContain("evil.example");
      const origins = addressesIn(told).filter((address) => !/rfc-editor/.test(address));
      for (const address of origins.filter((each) => !isIdentifier(each))) {
        expect(new URL(address).origin).toBe(PUBLIC);
      }
    }
  });

  it("the WWW-Authenticate challenge contains the public URL", async () => {
    const { headers } = await fetch(`${testService.base}/mcp`, { method: "POST" });
    expect(headers.get("www-authenticate")).toContain(
      `resource_metadata="${PUBLIC}/.well-known/oauth-protected-resource/mcp"`,
    );
  });
});

it("the Expires date of security.txt stays in the future while the service runs", async () => {
  const expiresAt = async () => {
    const text = await (await ask(paths.securityTxt)).text();
    return Date.parse(/^Expires: (.*)$/m.exec(text)?.[1] ?? "");
  };
  const YEAR_MS = 365 * 86_400_000;
  const before = clock.now;
  const leftMs = async () => (await expiresAt()) - clock.now.getTime();
  expect(await leftMs()).toBeGreaterThan(0);
  const { headers } = await ask(paths.securityTxt);
  clock.now = new Date(before.getTime() + YEAR_MS);
  expect(await leftMs()).toBeGreaterThan(0);
  expect(await leftMs()).toBeLessThan(YEAR_MS);
  expect((await ask(paths.securityTxt)).headers.get("etag")).not.toBe(headers.get("etag"));
  clock.now = before;
});
