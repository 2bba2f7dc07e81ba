// @module-tag full

import { describe, expect, it } from "vitest";
import { type ClientRecord, clients } from "../../src/principals/agents/agent.ts";
import { type AuditEntry, unsealedAudit } from "../../src/store/audit-entry.ts";
import type { Records, Stored } from "../../src/store/port/records.ts";
import { EXAMPLE_REGISTRATION, postJson, type RegisteredAgent, tokenOf } from "../support/agent.ts";
import { type AuthServer, startAuthServer } from "../support/auth-server.ts";
import { ALL_SCOPES, authorizationRequest, CALLBACK } from "../support/person.ts";
import { describeEngines, type Engine, embedded } from "../support/stores.ts";
import { createVisitor, exchange, giveConsent } from "../support/visitor.ts";

/** Capacity for unclaimed agents in these tests. */
const CAPACITY = 50;

/** Longer than the validity of a claim code, in milliseconds. */
const ELEVEN_MINUTES_MS = 11 * 60_000;

/**
 * Longer than a process waits before it rereads the registrations of other processes, in
 * milliseconds.
 */
const A_MOMENT_MS = 1_001;

interface Place {
  readonly server: AuthServer;
  readonly records: Records;
  readonly clock: { aheadMs: number };
  /** Starts another process on the same store. */
  beside(): Promise<AuthServer>;
}

async function place(engine: Engine = embedded): Promise<Place> {
  const clock = { aheadMs: 0 };
  const nowMs = () => Date.now() + clock.aheadMs;
  const store = await engine.open({ now: nowMs });
  const serve = (records: Records) =>
    startAuthServer({ records, now: () => new Date(nowMs()), capacity: CAPACITY, proxyHops: 1 });
  return {
    ...{ server: await serve(store.records), records: store.records, clock },
    beside: async () => serve((await engine.openBeside(store)).records),
  };
}

const ask = (local: string, address: string, changes: object = {}) =>
  postJson(
    `${local}/oauth/register`,
    { ...EXAMPLE_REGISTRATION, ...changes },
    { "x-forwarded-for": address },
  );

async function registered(
  local: string,
  address: string,
  changes?: object,
): Promise<RegisteredAgent> {
  const answer = await ask(local, address, changes);
  expect(answer.status).toBe(201);
  return (await answer.json()) as RegisteredAgent;
}

/** Registers one agent from each IP address. @returns The agents' ids. */
async function registeredAt(
  local: string,
  addresses: readonly string[],
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const address of addresses) ids.push((await registered(local, address)).client_id);
  return ids;
}

/** Updates an agent so that its metadata have 7,000 characters. */
function grow(client: RegisteredAgent, address: string): Promise<Response> {
  const long = (host: string) => `https://${host}.example/${"a".repeat(1_650)}`;
  const links = { tos_uri: long("t"), policy_uri: long("p"), client_uri: long("c") };
  const { client_id } = client;
  return fetch(client.registration_client_uri, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${client.registration_access_token}`,
      "content-type": "application/json",
      "x-forwarded-for": address,
    },
    body: JSON.stringify({ client_id, ...PUBLIC, ...links, logo_uri: long("l") }),
  });
}

/** Size of clients in units of an ordinary agent with 2,048 characters of metadata. */
const sizeOf = (kept: readonly Stored<ClientRecord>[]): number =>
  kept.reduce(
    (size, { value }) => size + Math.ceil(JSON.stringify(value.metadata).length / 2_048),
    0,
  );

/** Returns the clients whose deletion is in the audit log. */
async function deletions(records: Records): Promise<readonly string[]> {
  const rows = await records.list(unsealedAudit, { limit: 10_000 });
  return rows
    .map(({ value }) => value.body as AuditEntry)
    .flatMap(({ action, target }) => (action === "client.deleted" ? [target] : []));
}

/** Registers many agents sequentially. @returns The statuses. */
async function flood(local: string, addresses: Iterable<string>): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (const address of addresses) statuses.push((await ask(local, address)).status);
  return statuses;
}

const times = (count: number, addressOf: (at: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, at) => addressOf(at));

const fromOneNetwork = (count: number) =>
  times(count, (at) => `2001:db8:1:${at.toString(16).padStart(4, "0")}::1`);

const fromNetworks = (networks: number, each: number) =>
  times(
    networks * each,
    (at) => `10.${Math.floor((at % networks) / 256)}.${(at % networks) % 256}.1`,
  );

const keptOf = async (records: Records): Promise<ReadonlySet<string>> =>
  new Set((await records.list(clients, { limit: 10_000 })).map(({ key }) => key));

const PUBLIC = {
  redirect_uris: [CALLBACK],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
  scope: ALL_SCOPES,
};

describe("capacity for unclaimed agents", () => {
  it("is not exceeded by a flood from one /48 network, which does not affect other networks", async () => {
    const { server, records, clock } = await place();
    const before = await registered(server.local, "198.51.100.1");
    clock.aheadMs = ELEVEN_MINUTES_MS;
    const statuses = await flood(server.local, fromOneNetwork(4 * CAPACITY));
    expect(new Set(statuses)).toEqual(new Set([201]));
    const after = await registered(server.local, "203.0.113.1");
    const kept = await keptOf(records);
    expect(kept.size).toBeLessThanOrEqual(CAPACITY);
    expect(kept).toContain(before.client_id);
    expect(kept).toContain(after.client_id);
  });

  it("is not exceeded by a flood from many /24 networks, and a part remains for new networks", async () => {
    const { server, records } = await place();
    await flood(server.local, fromNetworks(60, 5));
    const newcomers: RegisteredAgent[] = [];
    for (let network = 0; network < 20; network += 1) {
      newcomers.push(await registered(server.local, `203.0.${network}.1`));
    }
    const kept = await keptOf(records);
    expect(kept.size).toBeLessThanOrEqual(1.25 * CAPACITY);
    for (const { client_id } of newcomers) expect(kept).toContain(client_id);
    for (const client of newcomers) await tokenOf(server.local, client);
  });

  it("is denied, with the time to retry, to a network that has used its share while all agents are active", async () => {
    const { server } = await place();
    const statuses = await flood(server.local, fromNetworks(60, 5));
    expect(statuses).toContain(429);
    const refused = await ask(server.local, "10.0.1.1");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await refused.json()).toMatchObject({ error: "temporarily_unavailable" });
  });

  it("is reclaimed from idle agents, but not from active agents", async () => {
    const { server, records, clock } = await place();
    const { local } = server;
    const idle = await registered(local, "198.51.100.1");
    const asking = await registered(local, "198.51.101.1", PUBLIC);
    const working = await registered(local, "198.51.102.1");
    clock.aheadMs = ELEVEN_MINUTES_MS;
    await tokenOf(local, working);
    const { url } = authorizationRequest(local, { client_id: asking.client_id });
    expect((await fetch(url, { redirect: "manual" })).status).toBe(303);

    await flood(local, fromNetworks(CAPACITY, 1));
    const kept = await keptOf(records);
    expect(kept).not.toContain(idle.client_id);
    expect(kept).toContain(asking.client_id);
    expect(kept).toContain(working.client_id);
  });

  it("has metrics that count evictions and rejections", async () => {
    const { server, records } = await place();
    const statuses = await flood(server.local, fromNetworks(60, 5));
    const accepted = statuses.filter((status) => status === 201).length;
    const kept = (await keptOf(records)).size;
    const refused = statuses.filter((status) => status === 429).length;
    expect(server.capacityTally()).toEqual({ evicted: accepted - kept, refused });
    await flood(server.local, fromOneNetwork(10));
    expect(server.capacityTally().evicted + server.capacityTally().refused).toBeGreaterThan(0);
  });

  it("is used in proportion to the size of large registrations", async () => {
    const { server, records } = await place();
    const redirect_uris = times(10, (at) => `https://agent.example/${at}${"a".repeat(450)}`);
    for (const address of fromOneNetwork(CAPACITY)) {
      await registered(server.local, address, { redirect_uris });
    }
    expect((await keptOf(records)).size).toBeLessThanOrEqual(CAPACITY / 3);
  });

  it("can be used by growing client metadata only up to the network's share", async () => {
    const { server, records, clock } = await place();
    const others = await registeredAt(
      server.local,
      times(5, (at) => `198.51.${at}.1`),
    );
    clock.aheadMs = ELEVEN_MINUTES_MS;
    for (const address of fromOneNetwork(CAPACITY - 5)) {
      const client = await registered(server.local, address, PUBLIC);
      expect([200, 401]).toContain((await grow(client, address)).status);
    }
    const kept = await records.list(clients, { limit: 10_000 });
    expect(sizeOf(kept)).toBeLessThanOrEqual(CAPACITY);
    for (const id of others) expect(kept.map(({ key }) => key)).toContain(id);
  });

  it("is not used by agents that act for people, however many and however large they are", async () => {
    const { server, records, clock } = await place();
    const { local } = server;
    const others = await registeredAt(
      local,
      times(5, (at) => `198.51.${at}.1`),
    );
    const person = createVisitor(server);
    await person.signIn();
    const used = await giveConsent(server, person, {
      client: await registered(local, "192.0.2.1", PUBLIC),
    });
    expect((await exchange(server, used.form)).status).toBe(200);
    clock.aheadMs = ELEVEN_MINUTES_MS;
    const attacker = createVisitor(server);
    await attacker.signIn("attacker@example.com");
    const agents: RegisteredAgent[] = [];
    for (let at = 0; at < CAPACITY - 10; at += 1) {
      const client = await registered(local, "203.0.113.1", PUBLIC);
      const { form } = await giveConsent(server, attacker, { client });
      expect((await exchange(server, form)).status).toBe(200);
      agents.push(client);
    }
    for (const client of agents) await grow(client, "203.0.113.1");
    clock.aheadMs += A_MOMENT_MS;

    const [first, ...more] = times(20, (at) => `192.0.${at}.1`);
    expect(await flood(local, [first ?? ""])).toEqual([201]);
    const left = await keptOf(records);
    expect(new Set(await flood(local, more))).toEqual(new Set([201]));
    const kept = await records.list(clients, { limit: 10_000 });
    const ids = kept.map(({ key }) => key);
    for (const id of [...others, used.client.client_id, ...left]) expect(ids).toContain(id);
    expect(sizeOf(kept)).toBeLessThanOrEqual(2 * CAPACITY);
    expect(ids).toContain(agents[0]?.client_id);
    expect(ids).not.toContain(agents.at(-1)?.client_id);
    expect(await deletions(records)).toContain(agents.at(-1)?.client_id);
    for (const days of [1, 10, 28]) {
      clock.aheadMs = days * 86_400_000;
      expect(await flood(local, [`192.1.${days}.1`])).toEqual([201]);
    }
  });

  it("can be exceeded by a reserve: a network that has no agents is admitted even when the capacity is used up", async () => {
    const { server, records } = await place();
    await flood(server.local, fromNetworks(3 * CAPACITY, 1));
    const newcomers = await registeredAt(
      server.local,
      times(20, (at) => `203.0.${at}.1`),
    );
    const kept = await keptOf(records);
    expect(kept.size).toBeLessThanOrEqual(1.25 * CAPACITY);
    for (const id of newcomers) expect(kept).toContain(id);
  });

  it("is released when agents are deleted", async () => {
    const { server } = await place();
    for (const address of fromNetworks(CAPACITY, 3)) {
      const client = await registered(server.local, address);
      const answer = await fetch(client.registration_client_uri, {
        method: "DELETE",
        headers: { authorization: `Bearer ${client.registration_access_token}` },
      });
      expect(answer.status).toBe(204);
    }
  });
});

describeEngines("the capacity of several processes", (engine) => {
  it.skipIf(!engine.isShared)("is shared by all of them", async () => {
    const { server, records, clock, beside } = await place(engine);
    const other = await beside();
    for (const address of fromOneNetwork(4 * CAPACITY)) {
      clock.aheadMs += A_MOMENT_MS;
      const [one, another] = [server.local, other.local];
      const statuses = await Promise.all([flood(one, [address]), flood(another, [address])]);
      for (const status of statuses.flat()) expect([201, 429]).toContain(status);
    }
    expect((await keptOf(records)).size).toBeLessThanOrEqual(CAPACITY + 2);
  });
});
