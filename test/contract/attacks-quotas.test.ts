// @module-tag full

import { describe, expect, it } from "vitest";
import { getWith, postJson, type RegisteredAgent, register, tokenOf } from "../support/agent.ts";
import { bearer } from "../support/alert-events.ts";
import type { Person } from "../support/person.ts";
import { LOOSE_LIMITS, startTestService, type TestService } from "../support/test-service.ts";

/** A registration answer that includes the agent's claim code. */
type Claimable = RegisteredAgent & { readonly claim: { readonly code: string } };

const startWith = (limits: string) =>
  startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} ${limits}` });

/** Two applications of one person, and one application of another person. */
async function applications({ person }: TestService) {
  const one = person();
  const tokens = async (by: Person) => (await by.tokens()).access_token;
  return {
    person: one,
    greedy: await tokens(one),
    other: await tokens(one),
  };
}

/** Registers an agent and claims it with a person's token. @returns A token of the agent. */
async function agentClaimedBy({ base }: TestService, token: string): Promise<string> {
  const agent = (await register(base)) as Claimable;
  const body = { agent_id: agent.client_id, claim_code: agent.claim.code };
  expect((await postJson(`${base}/oauth/claim`, body, bearer(token))).status).toBe(200);
  return tokenOf(base, agent);
}

/** Repeats a request sequentially. @returns The statuses. */
async function repeated(times: number, ask: () => Promise<number>): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let nth = 0; nth < times; nth += 1) statuses.push(await ask());
  return statuses;
}

describe("one connected application of a person", () => {
  it("does not use up the calls of the person's other applications", async () => {
    const service = await startWith("calls=4/100000/1000000");
    const { greedy, other } = await applications(service);
    const call = (token: string) => async () =>
      (await getWith(token, `${service.base}/api/signals?limit=1`)).status;
    expect(await repeated(5, call(greedy))).toEqual([200, 200, 200, 200, 429]);
    expect(await repeated(4, call(other))).toEqual([200, 200, 200, 200]);
  });

  it("cannot use up the claim attempts of the person's other applications, or of the person on the claim page", async () => {
    const service = await startWith("claims=3/100000/1000000");
    const { base } = service;
    const { person, greedy, other } = await applications(service);
    const claim = async (token: string, code: string, agent: Claimable) => {
      const body = { agent_id: agent.client_id, claim_code: code };
      return (await postJson(`${base}/oauth/claim`, body, bearer(token))).status;
    };
    const newAgent = () => register(base) as Promise<Claimable>;
    const [first, second, third] = [await newAgent(), await newAgent(), await newAgent()];
    const guess = () => claim(greedy, "00000000", first);
    expect(await repeated(4, guess)).toEqual([400, 400, 400, 429]);
    expect(await claim(other, second.claim.code, second)).toBe(200);
    expect((await person.claim(third.client_id, third.claim.code)).status).toBe(200);
  });

  it("leaves other applications half of the alerts and webhooks, even if it claims agents", async () => {
    const service = await startWith("");
    const { base } = service;
    const { person, greedy, other } = await applications(service);
    const add = (token: string, type: "poll" | "webhook") => async () => {
      const url = "https://hooks.github.com/in";
      const delivery = type === "poll" ? { type } : { type, url };
      const wanted = { symbols: ["ALDER.SIM"], delivery };
      return (await postJson(`${base}/api/alerts`, wanted, bearer(token))).status;
    };
    const made = async (type: "poll" | "webhook", times: number) => {
      const statuses = [...(await repeated(times, add(greedy, type)))];
      for (let nth = 0; nth < 3; nth += 1) {
        const agent = await agentClaimedBy(service, greedy);
        statuses.push(...(await repeated(5, add(agent, type))));
      }
      return statuses.filter((status) => status === 201).length;
    };
    expect(await made("webhook", 8)).toBe(10);
    expect(await made("poll", 38)).toBe(40);
    expect(await add(other, "webhook")()).toBe(201);
    expect(await repeated(3, add(other, "poll"))).toEqual([201, 201, 201]);
    const key = await person.createKey(["signals:read", "alerts:write"]);
    expect(await repeated(12, add(key, "poll"))).toEqual(Array.from({ length: 12 }, () => 201));
  });
});
