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
  /** A service that allows two requests an hour in the given classes, and 100,000 in all others. */
  const allowingTwo = async (...names: readonly string[]) =>
    startTestService({
      ...(await env()),
      TRUST_PROXY: "1",
      RATE_LIMITS: [LOOSE_LIMITS, ...names.map((name) => `${name}=2/100000/1000000`)].join(" "),
    });

  it("token limits cap the tokens of an unclaimed agent across all its addresses", async () => {
    const testService = await allowingTwo("tokens-unclaimed");
    for (const by of ways) {
      const agent = { client: await register(testService.base), by };
      const asked = ["198.51.100.1", "203.0.113.1"].map(
        (from) => () => ask(testService, agent, from),
      );
      expect(await statusesOf(asked)).toEqual([200, 200]);
      await expectRefused(await ask(testService, agent, "192.0.2.1"), "tokens-unclaimed");
      expect(
        (await ask(testService, { client: await register(testService.base), by })).status,
      ).toBe(200);
    }
  });

  it("token limits do not restrict other agents when one agent keeps requesting tokens", async () => {
    const testService = await allowingTwo("tokens-unclaimed");
    const client = await register(testService.base);
    const asked = ways.map((by) => () => ask(testService, { client, by }));
    await ask(testService, { client, by: "form" }, "203.0.113.1");
    expect(await statusesOf([...asked, ...asked])).toEqual([200, 429, 429, 429]);
    const neighbor = await register(testService.base);
    expect((await ask(testService, { client: neighbor, by: "form" })).status).toBe(200);
  });

  it("token limits count the tokens of a claimed agent only against that agent", async () => {
    const testService = await allowingTwo("tokens", "tokens-unclaimed");
    for (const by of ways) {
      const client: Agent["client"] = await register(testService.base);
      await testService.person().claim(client.client_id, client.claim?.code ?? "");
      const asked = [1, 2].map(() => () => ask(testService, { client, by }));
      expect(await statusesOf(asked)).toEqual([200, 200]);
      await expectRefused(await ask(testService, { client, by }), "tokens");
    }
  });

  it("token limits count the tokens of a shared client for each of its users", async () => {
    const testService = await allowingTwo("tokens", "tokens-unclaimed");
    const first = await testService.person().tokens();
    const { client_id } = first.client;
    const refresh = (refresh_token: string) =>
      post(testService, { grant_type: "refresh_token", client_id, refresh_token });
    const refreshed = await refresh(first.refresh_token);
    expect(refreshed.status).toBe(200);
    const { refresh_token } = (await refreshed.json()) as UserTokens;
    await expectRefused(await refresh(refresh_token), "tokens");
    await testService.person().tokens({ client: first.client });
  });
}
