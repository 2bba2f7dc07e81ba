import { describe, expect, it } from "vitest";
import { postJson } from "../support/agent.ts";
import { type AgentAuthScan, agentAuthFaults } from "../support/checks-agent-auth.ts";
import { claimsFor, startIdentityProvider, trustFile } from "../support/identity-provider.ts";
import { startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

type Members = Readonly<Record<string, unknown>>;

const provider = await startIdentityProvider();
const entry = {
  name: "Corp",
  issuer: provider.issuer,
  jwks_uri: `${provider.issuer}/jwks.json`,
};
const TRUSTED_ISSUERS = await trustFile(JSON.stringify([entry]));
const NONE = { ANONYMOUS_SCOPES: " " };

/**
 * One instance for each combination of anonymous agents (accepted or not) and trusted issuers (none
 * or one).
 */
const instances = {
  "that accepts anonymous agents and trusts no issuers": {},
  "that accepts anonymous agents and trusts one issuer": { TRUSTED_ISSUERS },
  "that accepts no anonymous agents and trusts no issuers": NONE,
  "that accepts no anonymous agents and trusts one issuer": { ...NONE, TRUSTED_ISSUERS },
} as const;

/** The `agent_auth` members of the server metadata that these tests read. */
interface AgentAuth extends Members {
  readonly register_uri: string;
  readonly identity_types_supported: readonly string[];
  readonly identity_assertion: { readonly assertion_types_supported: readonly string[] };
}

const json = async (address: string) => (await (await fetch(address)).json()) as Members;

/** Follows the discovery chain of a scanner, from the 401 challenge to the metadata documents. */
async function scan(origin: string): Promise<AgentAuthScan> {
  const refused = await fetch(`${origin}/mcp`, { method: "POST" });
  const challenge = refused.headers.get("www-authenticate") ?? "";
  const [, address = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  const resource = await json(address);
  const [issuer] = resource.authorization_servers as readonly string[];
  const server = await json(`${issuer}/.well-known/oauth-authorization-server`);
  const { skill } = server.agent_auth as Members;
  const headers = { accept: "text/markdown, text/plain, */*" };
  const prose = await (await fetch(String(skill), { headers })).text();
  return { origin, server, resource, prose };
}

describe.each(Object.entries(instances))("an instance %s", async (_what, env) => {
  const { base, person, clock } = await startTestService(env);
  const scanned = await scan(base);
  const auth = scanned.server.agent_auth as AgentAuth;
  const register = async (body: object) => {
    const asked = { grant_types: ["client_credentials"], ...body };
    const response = await postJson(auth.register_uri, asked);
    return { status: response.status, body: (await response.json()) as Members };
  };

  it("publishes agent_auth metadata in which the linter finds no faults", () => {
    expect(agentAuthFaults(scanned)).toEqual([]);
  });

  it("publishes an identical agent_auth member in the OpenID Connect metadata", async () => {
    const server = await json(`${base}/.well-known/openid-configuration`);
    expect(agentAuthFaults({ ...scanned, server })).toEqual([]);
    expect(server.agent_auth).toEqual(auth);
  });

  verifies(
    "5.2/identity-types-taken",
    "registers anonymous agents, and grants them only the scopes that the operator allows",
    async () => {
      const isOpen = !("ANONYMOUS_SCOPES" in env);
      for (const type of ["anonymous", "agent"]) {
        expect(auth.identity_types_supported).toContain(type);
        const { status, body } = await register({ type });
        expect(status, type).toBe(201);
        expect(body.scope !== "", type).toBe(isOpen);
      }
    },
  );

  it("does not disclose which assertion issuers it trusts", () => {
    expect(JSON.stringify(scanned)).not.toContain(provider.issuer);
  });

  verifies(
    "5.2/identity-types-taken",
    "supports every identity type that it advertises, or suggests an alternative in the error",
    async () => {
      const login_hint = person().email;
      const [assertion_type] = auth.identity_assertion.assertion_types_supported;
      const assertion = "e30.e30.e30";
      for (const type of auth.identity_types_supported) {
        const { status, body } = await register({ type, login_hint, assertion_type, assertion });
        if (status === 201) {
          expect(body.identity_type).toBe(type);
          continue;
        }
        expect(status, type).toBe(400);
        expect(String(body.error_description).length, type).toBeGreaterThan(20);
        expect(body.error, type).not.toBe("unsupported_identity_type");
        if (type === "user" || type === "service") {
          expect(body.error_description).toMatch(/authorization code flow|API key/);
        }
      }
      expect((await register({ type: "nonsense" })).body.error).toBe("unsupported_identity_type");
    },
  );

  it("answers requests at every URL that its agent_auth metadata advertises", async () => {
    for (const name of ["register_uri", "identity_endpoint", "claim_uri", "claim_endpoint"]) {
      const { status } = await fetch(String(auth[name]), { method: "POST" });
      expect([400, 401, 415], name).toContain(status);
    }
    const revoked = await fetch(String(auth.revocation_uri), {
      method: "POST",
      body: new URLSearchParams({ token: "unknown" }),
    });
    expect(revoked.status).toBe(200);
  });

  verifies(
    "5.2/identity-types-taken",
    "accepts assertions from trusted issuers, or states that it trusts none",
    async () => {
      const [assertion_type] = auth.identity_assertion.assertion_types_supported;
      const claims = claimsFor(base, provider.issuer, clock.now.getTime());
      const assertion = await provider.sign(claims);
      const asked = { type: "identity_assertion", assertion_type, assertion };
      const { status, body } = await register(asked);
      const isTrusted = "TRUSTED_ISSUERS" in env;
      expect(status).toBe(isTrusted ? 201 : 400);
      expect(body).toMatchObject(
        isTrusted ? { identity_type: "identity_assertion" } : { error: "issuer_not_enabled" },
      );
    },
  );

  verifies(
    "5.2/identity-types-taken",
    "accepts an agent that registers for a person, even when anonymous agents are not accepted",
    async () => {
      const { status, body } = await register({
        type: "service_auth",
        login_hint: person().email,
      });
      expect(status).toBe(201);
      expect(body).toMatchObject({ claim: { status: "unclaimed" } });
    },
  );
});

describe("the agent auth linter", async () => {
  const { base } = await startTestService();
  const right = await scan(base);
  const auth = right.server.agent_auth as Members;
  const { claim_uri: _, ...lacking } = auth;
  const with_ = (agent_auth: unknown) => ({ ...right, server: { ...right.server, agent_auth } });

  it.each<[string, AgentAuthScan, string]>([
    ["an empty document", with_(undefined), "skill is no url"],
    ["no claim_uri", with_(lacking), "claim_uri is no url, for readers: first, scanner"],
    [
      "a relative URL",
      with_({ ...auth, register_uri: "/oauth/register" }),
      "register_uri is no url",
    ],
    [
      "a URL on another host",
      with_({ ...auth, claim_endpoint: "https://elsewhere.example/claim" }),
      "claim_uri and claim_endpoint are the same",
    ],
    [
      "a flat list of credentials",
      with_({ ...auth, anonymous: ["bearer_token"] }),
      "anonymous is no credentials",
    ],
    [
      "no identity types",
      with_({ ...auth, identity_types_supported: [] }),
      "identity_types_supported is no",
    ],
    [
      "an unsupported identity type",
      with_({ ...auth, identity_types_supported: ["anonymous", "identity_assertion"] }),
      "every kind that is described is supported",
    ],
    [
      "a misspelled member name",
      with_({ ...auth, supported_identity_types: ["anonymous"] }),
      "supported_identity_types is a name that nobody reads",
    ],
    [
      "an events endpoint without event types",
      with_({ ...auth, events_endpoint: `${base}/oauth/revoke` }),
      "events have an address and kinds, or neither",
    ],
    [
      "a published list of trusted issuers",
      with_({ ...auth, trusted_issuers: ["https://idp.example"] }),
      "trusted_issuers is a name that nobody reads",
    ],
    [
      "an issuer with a trailing slash",
      { ...right, server: { ...right.server, issuer: `${base}/` } },
      "the issuer is the origin",
    ],
    [
      "identity assertions without their grant type",
      { ...right, server: { ...right.server, grant_types_supported: ["client_credentials"] } },
      "assertions that are taken can be exchanged",
    ],
    [
      "a resource without an authorization server",
      { ...right, resource: { ...right.resource, authorization_servers: [] } },
      "the resource names the issuer",
    ],
    ["prose with the wrong heading", { ...right, prose: "# Access\n" }, "the prose has its name"],
  ])("reports a fault in %s", (_what, scanned, fault) => {
    expect(agentAuthFaults(scanned).join("\n")).toContain(fault);
  });
});
