import { expect, it } from "vitest";
import { JWT_BEARER_GRANT_TYPE } from "../../src/auth/assertions/oauth-urns.ts";
import {
  EXAMPLE_REGISTRATION,
  getWith,
  newToken,
  postForm,
  postJson,
  type RegisteredAgent,
  register,
  tokenOf,
} from "../support/agent.ts";
import { sharedTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const { base } = await sharedTestService();

verifies(
  [
    "1/self-registration",
    "1/json",
    "2.4/client-name",
    "2.4/redirect-uris",
    "2.4/grant-types",
    "2.4/grant-client-credentials",
    "2.4/grant-refresh-token",
    "2.4/response-types",
    "2.4/response-token",
    "2.4/scope",
    "2.4/auth-method",
    "2.4/auth-client-secret-post",
    "4.5/json",
    "4.5/response",
    "4.5/unauthenticated",
    "5.4/3-register",
    "5.2/registration-address",
  ],
  "an agent registers with the documented body and without a credential",
  async () => {
    const response = await postJson(`${base}/oauth/register`, EXAMPLE_REGISTRATION);
    expect(response.status).toBe(201);
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(response.headers.get("cache-control")).toContain("no-store");
    expect(await response.json()).toMatchObject({
      client_name: "Example Agent",
      redirect_uris: ["https://agent.example/callback"],
      response_types: [],
      token_endpoint_auth_method: "client_secret_post",
    });
  },
);

verifies(
  ["2.4/grant-refresh-token", "2.4/response-token", "2.4/granted-grant-types"],
  "a registration says in words what it was registered without",
  async () => {
    const noteOf = async (body: object) =>
      ((await (await postJson(`${base}/oauth/register`, body)).json()) as { note?: string }).note;
    const note = await noteOf({ ...EXAMPLE_REGISTRATION, scope: "signals:read alerts:write" });
    expect(note).toMatch(/grant_types without refresh_token \(.*a new access token instead\)/);
    expect(note).toMatch(/response_types without token \(the implicit grant is not supported\)/);
    expect(note).toMatch(/scope without alerts:write \(.*an agent claimed by a person\)/);
    expect(await noteOf({ client_name: "A", grant_types: ["client_credentials", "\u202ex"] })).toBe(
      "Not all was registered: grant_types without a malformed name (not available to it).",
    );
    expect(await noteOf({ client_name: "A" })).toBeUndefined();
    const redirect_uris = ["https://agent.example/callback"];
    const grant_types = ["authorization_code", "refresh_token"];
    const response_types = ["code"];
    expect(await noteOf({ redirect_uris, grant_types, response_types })).toBeUndefined();
  },
);

verifies(
  [
    "2.4/client-id",
    "2.4/client-secret",
    "2.4/issued-at",
    "2.4/secret-expires-at",
    "2.4/secret-expires-never",
    "2.4/granted-grant-types",
    "2.4/granted-scope",
    "2.4/client-uri",
    "8/secret-life",
  ],
  "a registration returns the client's identifier, secret, grants and scopes",
  async () => {
    const before = Math.floor(Date.now() / 1000);
    const body = (await register(base)) as unknown as Record<string, unknown>;
    expect(body.client_id).toMatch(/^\S+$/);
    expect(body.client_secret).toMatch(/^\S{32,}$/);
    expect(Number.isInteger(body.client_id_issued_at)).toBe(true);
    expect(body.client_id_issued_at).toBeGreaterThanOrEqual(before);
    expect(body.client_secret_expires_at).toBe(0);
    expect(body.registration_access_token).toMatch(/^\S{43,}$/);
    expect(body.grant_types).toEqual(["client_credentials"]);
    expect(body.scope).toBe("signals:read darkpool:read factor:read");
    expect(body.registration_client_uri).toBe(`${base}/oauth/register/${body.client_id}`);
    const again = (await register(base)) as unknown as Record<string, unknown>;
    expect(again.client_id).not.toBe(body.client_id);
    expect(again.client_secret).not.toBe(body.client_secret);
  },
);

verifies(
  [
    "1/token-issuance",
    "1/form",
    "2.5/access-token",
    "2.5/token-type",
    "2.5/expires-in",
    "2.5/scope",
    "4.6/form",
    "4.6/grant-type",
    "4.6/client-id",
    "4.6/client-secret",
    "4.6/scope",
    "4.6/response",
    "5.1/client-credentials",
    "5.4/1",
    "5.4/3-token",
  ],
  "the identifier and secret of a registration yield a bearer token for 3600 seconds",
  async () => {
    const { client_id, client_secret } = await register(base);
    const response = await postForm(`${base}/oauth/token`, {
      grant_type: "client_credentials",
      client_id,
      client_secret,
      scope: "signals:read factor:read",
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toContain("no-store");
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toEqual({
      access_token: expect.stringMatching(/^\S{32,}$/),
      token_type: "Bearer",
      expires_in: 3600,
      scope: "signals:read factor:read",
    });
  },
);

verifies("4.6/scope-encoded", "a token request may contain URL-encoded scopes", async () => {
  const { client_id, client_secret } = await register(base);
  const body = `grant_type=client_credentials&client_id=${client_id}&client_secret=${client_secret}&scope=signals%3Aread%20factor%3Aread`;
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = await fetch(`${base}/oauth/token`, { method: "POST", headers, body });
  expect(await response.json()).toMatchObject({ scope: "signals:read factor:read" });
});

verifies(
  ["5.3/signals-read-agent", "5.3/darkpool-read-agent", "5.3/factor-read-agent"],
  "an unclaimed agent is granted the three read scopes",
  async () => {
    const { client_id, client_secret } = await register(base);
    const credentials = { grant_type: "client_credentials", client_id, client_secret };
    const response = await postForm(`${base}/oauth/token`, credentials);
    const { scope } = (await response.json()) as { scope: string };
    expect(scope.split(" ").sort()).toEqual(["darkpool:read", "factor:read", "signals:read"]);
  },
);

verifies("5.3/alerts-write-agent", "alerts:write cannot be obtained by registration", async () => {
  const scope = "signals:read alerts:write";
  const narrowed = (await register(base, { scope })) as unknown as { scope: string };
  expect(narrowed.scope).toBe("signals:read");
  const only = { ...EXAMPLE_REGISTRATION, scope: "alerts:write" };
  const refused = await postJson(`${base}/oauth/register`, only);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: "invalid_scope" });
});

verifies(
  ["4.4/bearer", "4.4/symbol", "5.1/bearer-token", "5.4/2-bearer"],
  "the bearer token of an agent authorizes GET /api/signals for a symbol",
  async () => {
    const response = await getWith(await newToken(base), `${base}/api/signals?symbol=ALDER.SIM`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ symbol: "ALDER.SIM" });
  },
);

verifies(
  ["4.8/form", "4.8/token", "4.8/hint", "5.2/revocation-address"],
  "a token can be revoked by its holder and by its client",
  async () => {
    const agent = await register(base);
    const { client_id, client_secret } = agent;
    for (const credentials of [{}, { client_id, client_secret }]) {
      const token = await tokenOf(base, agent);
      const form = { token, token_type_hint: "access_token", ...credentials };
      const response = await postForm(`${base}/oauth/revoke`, form);
      expect(response.status).toBe(200);
      const refused = await getWith(token, `${base}/api/signals?symbol=ALDER.SIM`);
      expect(refused.status).toBe(401);
    }
  },
);

it("only one of several concurrent updates with the same registration access token succeeds and gets a new token", async () => {
  const { client_id, registration_client_uri, registration_access_token } = await register(base);
  const put = () =>
    fetch(registration_client_uri, {
      method: "PUT",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${registration_access_token}`,
      },
      body: JSON.stringify({ ...EXAMPLE_REGISTRATION, client_id }),
    });
  const answers = await Promise.all(Array.from({ length: 5 }, put));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
  const bodies = (await Promise.all(
    answers.map((each) => each.json()),
  )) as Partial<RegisteredAgent>[];
  const next = bodies.map((body) => body.registration_access_token).filter((token) => token);
  expect(next).toHaveLength(1);
  expect((await getWith(String(next[0]), registration_client_uri)).status).toBe(200);
});

it("both metadata documents describe agent registration, but omit the trusted issuers", async () => {
  for (const path of ["oauth-authorization-server", "openid-configuration"]) {
    const response = await fetch(`${base}/.well-known/${path}`);
    const metadata = (await response.json()) as Record<string, unknown>;
    expect(metadata).toMatchObject({
      grant_types_supported: expect.arrayContaining([JWT_BEARER_GRANT_TYPE]),
      authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
      agent_auth: {
        register_uri: metadata.registration_endpoint,
        identity_endpoint: metadata.registration_endpoint,
        claim_uri: `${base}/oauth/claim`,
        claim_endpoint: `${base}/oauth/claim`,
        revocation_uri: metadata.revocation_endpoint,
        identity_types_supported: [
          "anonymous",
          "identity_assertion",
          "service_auth",
          "agent",
          "user",
          "service",
        ],
        anonymous: { credential_types_supported: expect.arrayContaining(["bearer_token"]) },
        identity_assertion: {
          assertion_types_supported: ["urn:ietf:params:oauth:token-type:id-jag"],
          credential_types_supported: expect.arrayContaining(["oauth2_client_credentials"]),
        },
        service_auth: { credential_types_supported: expect.any(Array) },
      },
    });
    expect(JSON.stringify(metadata)).not.toContain("trusted");
  }
});
