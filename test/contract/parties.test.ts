import { describe, expect, it } from "vitest";
import { getWith, postForm, postJson, type RegisteredAgent } from "../support/agent.ts";
import { claimsFor, startIdentityProvider, trustFile } from "../support/identity-provider.ts";
import { startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const issuer = await startIdentityProvider();
const entry = { name: "Corp", issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/jwks.json` };
const testService = await startTestService({
  TRUSTED_ISSUERS: await trustFile(JSON.stringify([entry])),
});
const { base } = testService;
const signals = `${base}/api/signals?limit=1`;

type Answer = RegisteredAgent & {
  readonly identity_type: string;
  readonly scopes: {
    readonly pre_claim: readonly string[];
    readonly post_claim: readonly string[];
  };
  readonly claim?: { readonly status: string; readonly code?: string };
};

async function registered(body: object): Promise<{ status: number; body: Answer }> {
  const metadata = { client_name: "Party", grant_types: ["client_credentials"] };
  const response = await postJson(`${base}/oauth/register`, { ...metadata, ...body });
  return { status: response.status, body: (await response.json()) as Answer };
}

async function token({ client_id, client_secret }: RegisteredAgent): Promise<string | undefined> {
  const form = { grant_type: "client_credentials", client_id, client_secret };
  const response = await postForm(`${base}/oauth/token`, form);
  return ((await response.json()) as { access_token?: string }).access_token;
}

const statusWith = async (credential: string | undefined) =>
  (await getWith(credential ?? "", signals)).status;

const assertion = (changes: object = {}) =>
  issuer.sign({ ...claimsFor(base, issuer.issuer, testService.clock.now.getTime()), ...changes });

const verified = async (text: string) =>
  registered({
    type: "identity_assertion",
    assertion_type: "urn:ietf:params:oauth:token-type:id-jag",
    assertion: text,
  });

describe("a caller", () => {
  verifies(
    ["3/anonymous", "3/anonymous-at-once", "3/flow-client-credentials"],
    "is served immediately as an anonymous agent, within the limits of unclaimed agents",
    async () => {
      for (const type of [undefined, "anonymous"]) {
        const { status, body } = await registered({ type });
        expect([status, body.identity_type]).toEqual([201, "anonymous"]);
        expect(body.scopes.pre_claim).not.toContain("alerts:write");
        expect(await statusWith(await token(body))).toBe(200);
      }
    },
  );

  verifies("3/agent", "can be an agent that is a plain OAuth client", async () => {
    const { status, body } = await registered({ type: "agent" });
    expect([status, body.identity_type]).toEqual([201, "agent"]);
    expect(await statusWith(await token(body))).toBe(200);
  });

  verifies(
    ["3/identity-assertion", "3/identity-assertion-verified", "3/flow-agent-verified"],
    "can be an agent with an assertion from a trusted provider, if the assertion is valid",
    async () => {
      const { status, body } = await verified(await assertion());
      expect([status, body.identity_type]).toEqual([201, "identity_assertion"]);
      expect(body.claim?.status).toBe("claimed");
      expect(await statusWith(await token(body))).toBe(200);

      const forged = (await assertion()).replace(/.{8}$/, "AAAAAAAA");
      const refused = await verified(forged);
      expect(refused.status).toBe(400);
      expect(refused.body.client_id).toBeUndefined();
    },
  );

  it("can be an agent that specified its owner and is not yet claimed", async () => {
    const { status, body } = await registered({
      type: "service_auth",
      login_hint: "boss@example.com",
    });
    expect([status, body.identity_type]).toEqual([201, "service_auth"]);
    expect(body.scopes.pre_claim).toEqual([]);
    expect(await token(body)).toBeUndefined();

    const boss = testService.person("boss@example.com");
    await boss.claim(body.client_id, body.claim?.code ?? "");
    expect(await statusWith(await token(body))).toBe(200);
  });

  verifies(
    "3/user",
    "can be a person who uses an application, but users cannot register as clients",
    async () => {
      expect(await registered({ type: "user" })).toMatchObject({
        status: 400,
        body: { error: "invalid_client_metadata" },
      });
      const { access_token } = await testService.person().tokens();
      expect(await statusWith(access_token)).toBe(200);
    },
  );

  verifies(
    "3/service",
    "can be a service with an API key, but services cannot register as clients",
    async () => {
      expect(await registered({ type: "service" })).toMatchObject({
        status: 400,
        body: { error: "invalid_client_metadata" },
      });
      expect(await statusWith(await testService.person().createKey(["signals:read"]))).toBe(200);
    },
  );

  it("cannot have an unknown type", async () => {
    for (const type of ["root", "", 1, null, ["agent"], "Agent"]) {
      const { status, body } = await registered({ type });
      expect(status, JSON.stringify(type)).toBe(400);
      expect(body).toHaveProperty("error");
    }
  });
});

verifies(
  "2.4/client-record",
  "a client reads its registration at registration_client_uri",
  async () => {
    const { body } = await registered({ client_name: "Mine" });
    const response = await getWith(body.registration_access_token, body.registration_client_uri);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ client_id: body.client_id, client_name: "Mine" });
  },
);

verifies("5.2/claim-address", "the claim endpoint is published and answers", async () => {
  for (const name of ["oauth-authorization-server", "openid-configuration"]) {
    const metadata = (await (await fetch(`${base}/.well-known/${name}`)).json()) as {
      agent_auth: { claim_uri: string };
    };
    expect(metadata.agent_auth.claim_uri).toBe(`${base}/oauth/claim`);
  }
  expect((await postJson(`${base}/oauth/claim`, {})).status).toBe(401);
});
