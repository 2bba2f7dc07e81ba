// @module-tag full

import { describe, expect, it } from "vitest";
import { type RegisteredAgent, register } from "../support/agent.ts";
import type { UserTokens } from "../support/person.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { LOOSE_LIMITS, startTestService, type TestService } from "../support/test-service.ts";

type Members = Readonly<Record<string, string>>;

/**
 * Two places for the client's credentials in the same token request: the fast path handles
 * credentials in the form, the authorization server those in the Authorization header.
 */
const ways = ["form", "header"] as const;
type Way = (typeof ways)[number];

interface Agent {
  readonly client: RegisteredAgent & { readonly claim?: { readonly code: string } };
  readonly by: Way;
}

const post = ({ base }: TestService, form: Members, headers: Members = {}) =>
  fetch(`${base}/oauth/token`, { method: "POST", headers, body: new URLSearchParams(form) });

/** Requests a token for the agent itself. */
function ask(
  testService: TestService,
  { client, by }: Agent,
  from = "198.51.100.1",
): Promise<Response> {
  const { client_id, client_secret } = client;
  const grant = { grant_type: "client_credentials" };
  const forwarded = { "x-forwarded-for": from };
  if (by === "form") return post(testService, { ...grant, client_id, client_secret }, forwarded);
  const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`;
  return post(testService, grant, { ...forwarded, authorization });
}

/** Sends requests sequentially. @returns Their statuses. */
async function statusesOf(requests: readonly (() => Promise<Response>)[]) {
  const statuses: number[] = [];
  for (const request of requests) statuses.push((await request()).status);
  return statuses;
}

/** Expects the OAuth error for an exceeded rate limit. */
async function expectRefused(answer: Response, quota: string): Promise<void> {
  expect(answer.status).toBe(429);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(3000);
  expect(await answer.json()).toEqual({
    error: "temporarily_unavailable",
    error_description: expect.stringContaining(`The limit ${quota} allows 2 in 3600 seconds.`),
  });
}

const engines = [
  { name: "the embedded store", isHere: true, tags: [], env: async () => ({}) },
  {
    name: "PostgreSQL",
    isHere: postgresAvailable,
    tags: ["full" as const],
    env: async () => ({
      DATABASE_URL: await createDatabase(),
      MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    }),
  },
];

for (const { name, isHere, tags, env } of engines) {
  describe.skipIf(!isHere)(`live token limits on ${name}`, { tags: [...tags] }, () =>
    provesLimits(env),
  );
}

function provesLimits(env: () => Promise<Readonly<Record<string, string>>>) {
  /** A service that allows two requests an hour in the given quotas, and 100,000 in all others. */
  const allowingTwo = async (...quotas: readonly string[]) =>
    startTestService({
      ...(await env()),
      TRUST_PROXY: "1",
      RATE_LIMITS: [LOOSE_LIMITS, ...quotas.map((quota) => `${quota}=2/3600`)].join(" "),
    });

  it("token limits cap the tokens of an unclaimed agent across all its addresses", async () => {
    const testService = await allowingTwo("token-unclaimed-client");
    for (const by of ways) {
      const agent = { client: await register(testService.base), by };
      const asked = ["198.51.100.1", "203.0.113.1"].map(
        (from) => () => ask(testService, agent, from),
      );
      expect(await statusesOf(asked)).toEqual([200, 200]);
      await expectRefused(await ask(testService, agent, "192.0.2.1"), "token-unclaimed-client");
      expect(
        (await ask(testService, { client: await register(testService.base), by })).status,
      ).toBe(200);
    }
  });

  it.each([
    ["token-unclaimed", ["198.51.100.1", "198.51.100.1", "198.51.100.1"]],
    ["token-unclaimed-site", ["2001:db8:1:100::1", "2001:db8:1:200::1", "2001:db8:1:300::1"]],
    ["token-unclaimed-provider", ["2001:db8:1::1", "2001:db8:2::1", "2001:db8:3::1"]],
  ])(
    "token limits with the quota %s cap the tokens that several unclaimed agents get in total",
    async (quota, [first, second, third]) => {
      const testService = await allowingTwo(quota);
      const agents = ["form", "header", "form", "header"] as const;
      const [one, other, ...late] = await Promise.all(
        agents.map(
          async (by): Promise<Agent> => ({ client: await register(testService.base), by }),
        ),
      );
      const within = [
        () => ask(testService, one as Agent, first),
        () => ask(testService, other as Agent, second),
      ];
      expect(await statusesOf(within)).toEqual([200, 200]);
      for (const agent of late) {
        await expectRefused(await ask(testService, agent, third), quota);
        expect((await ask(testService, agent, `203.0.113.${agent.by.length}`)).status).toBe(200);
      }
    },
  );

  it("token limits do not restrict other agents when one agent keeps requesting tokens", async () => {
    const testService = await allowingTwo("token-unclaimed-client", "token-unclaimed-site");
    const client = await register(testService.base);
    const asked = ways.map((by) => () => ask(testService, { client, by }));
    await ask(testService, { client, by: "form" }, "203.0.113.1");
    expect(await statusesOf([...asked, ...asked])).toEqual([200, 429, 429, 429]);
    const neighbor = await register(testService.base);
    expect((await ask(testService, { client: neighbor, by: "form" })).status).toBe(200);
  });

  it("token limits count the tokens of a claimed agent only against that agent", async () => {
    const testService = await allowingTwo("token-client", "token-unclaimed");
    for (const by of ways) {
      const client: Agent["client"] = await register(testService.base);
      await testService.person().claim(client.client_id, client.claim?.code ?? "");
      const asked = [1, 2].map(() => () => ask(testService, { client, by }));
      expect(await statusesOf(asked)).toEqual([200, 200]);
      await expectRefused(await ask(testService, { client, by }), "token-client");
    }
  });

  it("token limits cap the tokens of a person across all their clients and agents", async () => {
    const testService = await allowingTwo("token-account");
    const agents = await Promise.all(
      ways.map(async (by) => ({
        client: (await register(testService.base)) as Agent["client"],
        by,
      })),
    );
    const person = testService.person();
    for (const { client } of agents) await person.claim(client.client_id, client.claim?.code ?? "");
    const { refresh_token, client } = await person.tokens();
    const { client_id } = client;
    const [first, second] = agents;
    expect((await ask(testService, first as Agent)).status).toBe(200);
    await expectRefused(await ask(testService, second as Agent), "token-account");
    const form = { grant_type: "refresh_token", client_id, refresh_token };
    await expectRefused(await post(testService, form), "token-account");
    await testService.person().tokens({ client });
  });

  it("token limits count the tokens of a shared client for each of its users", async () => {
    const testService = await allowingTwo("token-client", "token-unclaimed-client");
    const first = await testService.person().tokens();
    const { client_id } = first.client;
    const refresh = (refresh_token: string) =>
      post(testService, { grant_type: "refresh_token", client_id, refresh_token });
    const refreshed = await refresh(first.refresh_token);
    expect(refreshed.status).toBe(200);
    const { refresh_token } = (await refreshed.json()) as UserTokens;
    await expectRefused(await refresh(refresh_token), "token-client");
    await testService.person().tokens({ client: first.client });
  });
}
