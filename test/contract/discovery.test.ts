import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";
import { verifies } from "../support/verifies.ts";

const { base } = await startService();

async function read(path: string, init?: RequestInit) {
  const response = await fetch(`${base}${path}`, init);
  expect(response.status, path).toBe(200);
  expect(response.headers.get("content-type"), path).toContain("application/json");
  return (await response.json()) as Record<string, unknown>;
}

describe("discovery", () => {
  verifies("4.10/oauth-protected-resource", "has one document for each resource", async () => {
    const common = {
      authorization_servers: [base],
      scopes_supported: ["signals:read", "factor:read", "darkpool:read", "alerts:write"],
      bearer_methods_supported: ["header"],
      resource_name: "Market Signal",
    };
    const root = await read("/.well-known/oauth-protected-resource");
    expect(root).toEqual({ resource: base, ...common });
    const mcp = await read("/.well-known/oauth-protected-resource/mcp");
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
    ],
    "has the authorization server's metadata under both names",
    async () => {
      const server = await read("/.well-known/oauth-authorization-server");
      expect(server).toMatchObject({
        issuer: base,
        authorization_endpoint: `${base}/oauth/authorize`,
        token_endpoint: `${base}/oauth/token`,
        registration_endpoint: `${base}/oauth/register`,
        revocation_endpoint: `${base}/oauth/revoke`,
        jwks_uri: `${base}/.well-known/jwks.json`,
        code_challenge_methods_supported: ["S256"],
        protected_resources: [base, `${base}/mcp`],
      });
      expect(server.grant_types_supported).toContain("client_credentials");
      expect(server.scopes_supported).toEqual(
        expect.arrayContaining(["signals:read", "factor:read", "darkpool:read", "alerts:write"]),
      );
      expect(await read("/.well-known/openid-configuration")).toEqual(server);
      const keys = await fetch(`${base}/.well-known/jwks.json`);
      expect(keys.headers.get("content-type")).toContain("application/jwk-set+json");
      expect(await keys.json()).toHaveProperty("keys");
    },
  );

  verifies("4/base-url", "never takes an address from the caller", async () => {
    const headers = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" };
    for (const path of [
      "/.well-known/oauth-authorization-server",
      "/.well-known/openid-configuration",
      "/.well-known/oauth-protected-resource",
      "/.well-known/oauth-protected-resource/mcp",
    ]) {
      const text = JSON.stringify(await read(path, { headers }));
      expect(text).not.toContain("evil");
      for (const [address] of text.matchAll(/https?:\/\/[^"]+/g)) {
        expect(address.startsWith(base)).toBe(true);
      }
    }
  });

  it("may be read by any web page and kept for five minutes", async () => {
    const response = await fetch(`${base}/.well-known/oauth-protected-resource`);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("cache-control")).toBe("public, max-age=300");
  });
});
