// @module-tag full

import { once } from "node:events";
import {
  Client,
  type McpSubscription,
  StreamableHTTPClientTransport,
  type SubscriptionFilter,
} from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, describe, expect, it } from "vitest";
import { newToken, postForm, register, registerClaimable, tokenOf } from "../support/agent.ts";
import { bearer, claimedAgent, type Headers } from "../support/alert-events.ts";
import { startProcess } from "../support/process.ts";
import { startTestService } from "../support/test-service.ts";

const testService = await startTestService();
const { base } = testService;

/**
 * Maximum time in milliseconds until a subscription ends after its credential has become invalid:
 * 1 s plus 1 s of slack for a busy machine.
 */
const WITHIN_MS = 1_000 + 1_000;

/** Advances the clock by a simulated day, after which every signal may have changed. */
const nextDay = () => testService.advanceTo(new Date(testService.clock.now.getTime() + 60_000));

/** Three instruments that the sandbox always lists. */
const [ONE = "", TWO = "", THREE = ""] = testService.service.market
  .instruments()
  .filter(({ assetClass }) => assetClass === "stock")
  .map(({ symbol }) => symbol);

const uriOf = (symbol: string) => `market://signals/${symbol}`;

const clients: { close(): Promise<void> }[] = [];
afterAll(() => Promise.all(clients.map((client) => client.close())));

/** Connects a client of protocol revision 2026-07-28, and collects its notifications. */
async function connect(headers: Headers, at = base) {
  const client = new Client(
    { name: "listener", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  const requestInit = { headers };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${at}/mcp`), { requestInit }));
  clients.push(client);
  const told: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    told.push(params.uri);
  });
  return { client, told };
}

const to = (...symbols: readonly string[]): SubscriptionFilter => ({
  resourceSubscriptions: symbols.map(uriOf),
});

/** Performs an action and expects the subscription to end as a result. */
async function expectEnd({ closed }: McpSubscription, end: () => unknown): Promise<void> {
  await end();
  const from = performance.now();
  expect(await closed).toBe("graceful");
  expect(performance.now() - from).toBeLessThan(WITHIN_MS);
}

const anonymous = async () => bearer(await newToken(base));

describe("an MCP client with subscriptions to signals", () => {
  it("is notified of each change of its instruments, and of no other changes", async () => {
    const { client, told } = await connect(await anonymous());
    const { client: another, told: toldAnother } = await connect(await anonymous());
    const { honoredFilter } = await client.listen(to(ONE, TWO));
    expect(honoredFilter).toEqual(to(ONE, TWO));
    await another.listen(to(THREE));

    const before = await read(client, ONE);
    let changes = 0;
    let shown = await shownOf(ONE);
    for (let day = 0; day < 30; day++) {
      await nextDay();
      const now = await shownOf(ONE);
      if (now !== shown) changes += 1;
      shown = now;
    }
    expect(changes).toBeGreaterThan(5);
    const count = () => told.filter((uri) => uri === uriOf(ONE)).length;
    await expect.poll(count).toBeGreaterThanOrEqual(changes);
    expect(count()).toBeLessThanOrEqual(30);
    await expect.poll(() => toldAnother.length).toBeGreaterThan(5);
    expect(new Set(told)).toEqual(new Set([uriOf(ONE), uriOf(TWO)]));
    expect(new Set(toldAnother)).toEqual(new Set([uriOf(THREE)]));
    // The client caches what it read until it is notified.
    expect((await read(client, ONE)).asOf > before.asOf).toBe(true);
  });

  it("is notified with the URI that it subscribed to", async () => {
    const { client, told } = await connect(await anonymous());
    await client.listen({ resourceSubscriptions: ["market://signals/alder.sim"] });
    for (let day = 0; day < 10; day++) await nextDay();
    await expect.poll(() => told.length).toBeGreaterThan(0);
    expect(new Set(told)).toEqual(new Set(["market://signals/alder.sim"]));
  });

  it("is not notified after it disconnects", async () => {
    const { client, told } = await connect(await anonymous());
    const { client: other, told: toldOther } = await connect(await anonymous());
    const subscription = await client.listen(to("ALDER.SIM"));
    await other.listen(to("ALDER.SIM"));
    await subscription.close();
    for (let day = 0; day < 10; day++) await nextDay();
    await expect.poll(() => toldOther.length).toBeGreaterThan(0);
    expect(told).toEqual([]);
  });

  it("can have at most five open subscriptions, and can open another after it closes one", async () => {
    const { client } = await connect(await anonymous());
    const open = await Promise.all(Array.from({ length: 5 }, () => client.listen(to("ALDER.SIM"))));
    await expect(client.listen(to(TWO))).rejects.toThrow(/5 streams/);
    await open[0]?.close();
    const again = () =>
      client.listen(to(TWO)).then(
        () => true,
        () => false,
      );
    await expect.poll(again).toBe(true);
  });

  it("gets an error with a hint for an unknown instrument", async () => {
    const { client } = await connect(await anonymous());
    await expect(client.listen(to("ALDER.SIM", "ALDE.SIM"))).rejects.toThrow(/ALDER\.SIM/);
  });

  it("is rejected without the scope", async () => {
    const token = await tokenOf(base, await register(base), { scope: "factor:read" });
    const { client } = await connect(bearer(token));
    await expect(client.listen(to("ALDER.SIM"))).rejects.toThrow(/signals:read/);
  });
});

const reading = await anonymous();

/**
 * The public figures of a signal whose change causes a notification, with scores to two decimals.
 */
async function shownOf(symbol: string): Promise<string> {
  const query = new URLSearchParams({ symbol, detail: "full" });
  const answer = await fetch(`${base}/api/signals?${query}`, { headers: reading });
  const { scoreRaw, status, signal } = (await answer.json()) as Record<string, unknown>;
  return JSON.stringify([Number(scoreRaw).toFixed(2), status, signal]);
}

async function read(client: Client, symbol: string): Promise<{ readonly asOf: string }> {
  const { contents } = await client.readResource({ uri: uriOf(symbol) });
  const [first] = contents as { text: string }[];
  return JSON.parse(first?.text ?? "");
}

describe("a subscription ends cleanly within a second", () => {
  it("when its token is revoked", async () => {
    const token = await newToken(base);
    const { client } = await connect(bearer(token));
    const subscription = await client.listen(to("ALDER.SIM"));
    await expectEnd(subscription, () => postForm(`${base}/oauth/revoke`, { token }));
    await expect(client.listen(to("ALDER.SIM"))).rejects.toThrow();
  });

  it("when a person claims the agent", async () => {
    const agent = await registerClaimable(base);
    const { client } = await connect(bearer(await tokenOf(base, agent)));
    const subscription = await client.listen(to("ALDER.SIM"));
    const person = testService.person();
    await person.signIn();
    await expectEnd(subscription, () => person.claim(agent.client_id, agent.claim.code));
  });

  it("when the client is deleted", async () => {
    const agent = await register(base);
    const { client } = await connect(bearer(await tokenOf(base, agent)));
    const subscription = await client.listen(to("ALDER.SIM"));
    await expectEnd(subscription, () =>
      fetch(agent.registration_client_uri, {
        method: "DELETE",
        headers: bearer(agent.registration_access_token),
      }),
    );
  });

  it("when its API key is revoked, while the subscription of a person's agent continues", async () => {
    const person = testService.person();
    const { client } = await connect({ "x-api-key": await person.createKey(["signals:read"]) });
    const { client: agent, told } = await connect(
      bearer((await claimedAgent(testService, person)).token),
    );
    const subscription = await client.listen(to("ALDER.SIM"));
    await agent.listen(to("ALDER.SIM"));
    const { forms } = await person.web.get("/account");
    const revoke = forms.find(({ action }) => /keys\/.*\/revoke/.test(action));
    if (revoke === undefined) throw new Error("no key is shown");
    await expectEnd(subscription, () => person.web.submit(revoke));
    for (let day = 0; day < 10; day++) await nextDay();
    await expect.poll(() => told.length).toBeGreaterThan(0);
  });

  it("when the token expires", async () => {
    const { client } = await connect(await anonymous());
    const subscription = await client.listen(to("ALDER.SIM"));
    await expectEnd(subscription, () => {
      testService.clock.now = new Date(testService.clock.now.getTime() + 3_601_000);
    });
  });

  it("when the process is stopped, and the process then exits in time", async () => {
    const { baseUrl, child } = await startProcess();
    const { client } = await connect(bearer(await newToken(baseUrl)), baseUrl);
    const subscription = await client.listen(to("ALDER.SIM"));
    const exit = once(child, "exit");
    const from = performance.now();
    await expectEnd(subscription, () => child.kill("SIGTERM"));
    expect(await exit).toEqual([0, null]);
    expect(performance.now() - from).toBeLessThan(5_000);
  });
});

describe("an MCP client before 2026-07-28", () => {
  it("can read signals, but is offered no subscriptions", async () => {
    const client = new OldClient({ name: "old", version: "1" });
    const requestInit = { headers: await anonymous() };
    const transport = new OldTransport(new URL(`${base}/mcp`), { requestInit });
    await client.connect(transport as never);
    clients.push(client);
    expect(client.getServerCapabilities()?.resources).toEqual({
      ...{ listChanged: false, subscribe: false },
    });
    const { contents } = await client.readResource({ uri: uriOf("ALDER.SIM") });
    const [first] = contents as { text: string }[];
    expect(JSON.parse(first?.text ?? "")).toMatchObject({ symbol: "ALDER.SIM" });
    await expect(client.subscribeResource({ uri: uriOf("ALDER.SIM") })).rejects.toThrow(
      /subscri|not found/i,
    );
  });
});

describe("the service", () => {
  it("logs no internal failure during these tests", () => {
    expect(testService.logged).toEqual([]);
  });
});
