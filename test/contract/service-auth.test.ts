import { expect, it } from "vitest";
import {
  EXAMPLE_REGISTRATION,
  getWith,
  postJson,
  type RegisteredAgent,
  tokenOf,
} from "../support/agent.ts";
import { startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const { base, person } = await startTestService({ ANONYMOUS_SCOPES: " " });

interface Answer extends RegisteredAgent {
  readonly error?: string;
  readonly scope: string;
  readonly claim: { readonly code: string };
}

async function ask(body: object): Promise<{ readonly status: number; readonly body: Answer }> {
  const asked = { grant_types: ["client_credentials"], ...body };
  const response = await postJson(`${base}/oauth/register`, asked);
  return { status: response.status, body: (await response.json()) as Answer };
}

const ALL = "signals:read factor:read darkpool:read alerts:write";

verifies(
  "3/service-auth",
  "an agent can register for its person where anonymous agents have no scopes",
  async () => {
    const ann = person();
    const { status, body } = await ask({ type: "service_auth", login_hint: ann.email });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      identity_type: "service_auth",
      scope: ALL,
      scopes: { pre_claim: [], post_claim: ALL.split(" ") },
    });
    await expect(tokenOf(base, body)).rejects.toThrow("invalid_scope");

    await ann.claim(body.client_id, body.claim.code);
    expect(await tokenOf(base, body, { scope: "alerts:write" })).toEqual(expect.any(String));
  },
);

it("a registration gets no scopes other than those it requests", async () => {
  const { body } = await ask({
    type: "service_auth",
    login_hint: person().email,
    scope: "signals:read alerts:write",
  });
  expect(body).toMatchObject({
    scope: "signals:read alerts:write",
    scopes: { pre_claim: [], post_claim: ALL.split(" ") },
  });
});

it("an agent without scopes can update its registration on an instance that grants anonymous agents no scopes", async () => {
  const { body } = await ask({ type: "service_auth", login_hint: person().email });
  const { client_id, registration_client_uri, registration_access_token } = body;
  const response = await fetch(registration_client_uri, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${registration_access_token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      client_id,
      client_name: "Renamed",
      grant_types: ["client_credentials"],
      scope: "signals:read",
    }),
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ client_name: "Renamed", scope: "signals:read" });
});

it.each([{}, { type: "anonymous" }, { type: "agent" }, EXAMPLE_REGISTRATION])(
  "an agent registered with %j has no scopes until a person claims it",
  async (changes) => {
    const { status, body } = await ask(changes);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      scope: "",
      scopes: { pre_claim: [], post_claim: ALL.split(" ") },
    });
    await expect(tokenOf(base, body)).rejects.toThrow("invalid_scope");

    await person().claim(body.client_id, body.claim.code);
    const token = await tokenOf(base, body);
    expect((await getWith(token, `${base}/api/signals?limit=1`)).status).toBe(200);
  },
);

it("a registration that requests an unknown scope is rejected", async () => {
  const { status, body } = await ask({ scope: "admin" });
  expect([status, body.error]).toEqual([400, "invalid_scope"]);
});

it("the documents for agents explain how an agent gets claimed", async () => {
  for (const path of ["/auth.md", "/.well-known/agent-skills/register-agent/SKILL.md"]) {
    expect(await (await fetch(base + path)).text(), path).toContain("service_auth");
  }
});

it("the answer to a request without a credential states that a person is required", async () => {
  const answer = await fetch(`${base}/api/signals`);
  expect(answer.status).toBe(401);
  expect(await answer.json()).toMatchObject({
    next: `Agents need a person on this instance: see ${base}/auth.md.`,
  });
});
