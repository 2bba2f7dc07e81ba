import { describe, expect, it } from "vitest";
import { alertGroup, alerts, ownerGroup } from "../../../../src/alerts/alert.ts";
import { deliveries } from "../../../../src/alerts/delivery/delivery.ts";
import { signingSecrets } from "../../../../src/alerts/delivery/signing.ts";
import { accountRecordsGroup, clientGroup, clients } from "../../../../src/auth/agents/agent.ts";
import { apiKeyGroup, apiKeys } from "../../../../src/auth/keys/api-keys.ts";
import { remove, removeGroup } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import {
  alertServiceOn,
  auditedIn,
  HOOKED,
  made,
  newAgent,
  newKeyHolder,
  newPerson,
  POLLED,
} from "../../../support/alert-service.ts";
import { describeEngines, dumped, embedded, openStore, slowed } from "../../../support/stores.ts";
import { vault } from "../../../support/webhook-alerts.ts";

const HOUR_MS = 3_600_000;

async function openService(choice: Parameters<typeof alertServiceOn>[1] = {}) {
  const store = await openStore(embedded);
  const { records } = store;
  const agent = await newAgent(records, "agent-1", "acc_1");
  return { ...store, agent, service: alertServiceOn(store, choice) };
}

describe("a registration", () => {
  it("stores the alert, an audit row and a challenge that is due in five seconds", async () => {
    const { service, agent, records, clock } = await openService();
    const { id, secret, status } = await made(service, agent);
    expect(id).toMatch(/^alert_[0-9A-Za-z]{16}$/);
    expect(status).toBe("pending");

    const stored = await records.get(alerts, id);
    expect(stored?.groups.toSorted()).toEqual(
      [alertGroup(id), ownerGroup(agent), "alerts:account:acc_1", clientGroup("agent-1")].sort(),
    );
    const way = stored?.value.way;
    if (way?.by !== "webhook") throw new Error("no webhook");
    expect(signingSecrets(way.secrets, { alertId: id, vault }, clock.now)).toEqual([secret]);

    const [challenge, ...more] = await records.list(deliveries, { limit: 10 });
    expect(more).toEqual([]);
    expect(challenge?.dueAt).toBe(clock.now + 5_000);
    expect(challenge?.groups).toContain(alertGroup(id));
    expect(challenge?.value).toMatchObject({ alertId: id, type: "endpoint.verify" });
    expect(JSON.parse(challenge?.value.body ?? "").data.challenge).toBe(
      way.state.is === "pending" && way.state.challenge,
    );
    expect(await auditedIn(records)).toMatchObject([
      { action: "alert.registered", actor: "agent-1", target: id },
    ]);
  });

  it("stores no secret in plain text", async () => {
    const { service, agent, store } = await openService();
    const { secret = "" } = await made(service, agent);
    const text = JSON.stringify(await dumped(store));
    expect(secret).toMatch(/^whsec_.{44}$/);
    expect(text).not.toContain(secret.slice("whsec_".length));
  });

  it("of a polled alert has no secret, sends no challenge and is active", async () => {
    const { service, agent, records } = await openService();
    const alert = await made(service, agent, POLLED);
    expect(alert.status).toBe("active");
    expect(alert).not.toHaveProperty("secret");
    expect(await records.list(deliveries, { limit: 10 })).toEqual([]);
  });

  it("states that no event will come in a market with a stopped clock", async () => {
    const { service, agent } = await openService({ standsStill: () => true });
    expect((await made(service, agent)).nextSteps.join(" ")).toContain("no event will come");
    const { service: lively, agent: other } = await openService();
    expect((await made(lively, other)).nextSteps.join(" ")).not.toContain("no event");
  });

  it.each([
    "http://hooks.example.com/",
    "https://localhost/",
    "https://127.0.0.1/",
    "https://[::ffff:10.0.0.1]/",
    "https://user:secret@hooks.example.com/",
    "https://hooks.example.com/#part",
    "https://hooks.example.com:22/",
    "https://metadata.internal/",
    "hooks.example.com",
  ])("rejects %s, and stores nothing", async (url) => {
    const { service, agent, records } = await openService();
    await expect(made(service, agent, { ...HOOKED, url })).rejects.toMatchObject({
      code: "invalid_request",
      detail: expect.stringMatching(/^url: /),
    });
    expect(await records.list(alerts, { limit: 1 })).toEqual([]);
  });

  it("rejects instants in the past", async () => {
    const { service, agent, clock } = await openService();
    for (const name of ["expiresAt", "snoozedUntil"] as const) {
      for (const at of [0, clock.now]) {
        await expect(made(service, agent, { ...POLLED, [name]: at })).rejects.toMatchObject({
          code: "invalid_request",
          detail: expect.stringContaining(name),
        });
      }
      expect(await made(service, agent, { ...POLLED, [name]: clock.now + 1 })).toHaveProperty("id");
    }
  });

  it("counts against the limit of changes", async () => {
    const { service, agent } = await openService({
      limits: { "alert-change": { points: 1, windowSeconds: 60 } },
    });
    await made(service, agent, POLLED);
    await expect(made(service, agent, POLLED)).rejects.toMatchObject({ code: "rate_limited" });
  });

  it("is rejected for an owner that is deleted or no longer entitled", async () => {
    const { service, agent, records } = await openService();
    await records.commit([remove(clients, agent.id)]);
    await expect(made(service, agent)).rejects.toMatchObject({ code: "insufficient_scope" });
    expect(await records.list(alerts, { limit: 1 })).toEqual([]);
  });

  it("stores nothing when the owner is deleted concurrently", async () => {
    const store = await openService();
    const { agent, records } = store;
    const commit: Records["commit"] = async (steps) => {
      await records.commit([remove(clients, agent.id), removeGroup(clientGroup(agent.id))]);
      return records.commit(steps);
    };
    const service = alertServiceOn({ ...store, records: { ...records, commit } });
    await expect(made(service, agent)).rejects.toMatchObject({ code: "insufficient_scope" });
    for (const name of ["alerts", "deliveries", "optimistic-locks"]) {
      expect(await records.list({ name }, { limit: 1 }), name).toEqual([]);
    }
  });
});

describe("the quota of an owner", () => {
  it("allows 20 webhooks and 100 alerts, and is reported with a next step", async () => {
    const { service, agent, records } = await openService();
    for (let count = 0; count < 20; count += 1) await made(service, agent);
    await expect(made(service, agent)).rejects.toMatchObject({
      code: "alert_limit",
      status: 409,
      next: expect.stringContaining("manage_alert"),
    });
    for (let count = 20; count < 100; count += 1) await made(service, agent, POLLED);
    await expect(made(service, agent, POLLED)).rejects.toMatchObject({ code: "alert_limit" });
    const other = await newAgent(records, "agent-2", "acc_other");
    expect(await made(service, other)).toHaveProperty("id");
  });

  it("is shared by a person, their agents and their keys", async () => {
    const { service, agent, records } = await openService();
    const key = await newKeyHolder(records, "key-1", agent.accountId);
    for (let count = 0; count < 50; count += 1) {
      await made(service, agent, POLLED);
      await made(service, key, POLLED);
    }
    for (const caller of [agent, key, await newAgent(records, "agent-2", agent.accountId)]) {
      await expect(made(service, caller, POLLED)).rejects.toMatchObject({ code: "alert_limit" });
    }
  });
});

describeEngines("the quota of registrations", (engine) => {
  it("holds under concurrent requests", async () => {
    const store = await openStore(engine);
    const agent = await newAgent(store.records, "agent-1");
    const service = alertServiceOn({ ...store, records: slowed(store.records) });
    const quick = alertServiceOn(store);
    for (let count = 0; count < 17; count += 1) await made(quick, agent);
    const attempts = Array.from({ length: 8 }, () => made(service, agent));
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect((await service.list(agent)).alerts).toHaveLength(20);
  });

  it("counts one alert for concurrent requests with one key", async () => {
    const store = await openStore(engine);
    const agent = await newAgent(store.records, "agent-1");
    const service = alertServiceOn({ ...store, records: slowed(store.records) });
    const request = { wanted: HOOKED, idempotencyKey: "once" };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => service.register(agent, request)),
    );
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(new Set(answers.map(({ secret }) => secret)).size).toBe(1);
    expect((await service.list(agent)).alerts).toHaveLength(1);
    expect(await store.records.list(deliveries, { limit: 10 })).toHaveLength(1);
    const rows = await auditedIn(store.records);
    expect(rows.map(({ action }) => action)).toEqual(["alert.registered"]);
  });
});

describe("a request with an idempotency key", () => {
  const request = { wanted: HOOKED, idempotencyKey: "k" };

  it("returns the same answer with the secret for 24 hours", async () => {
    const { service, agent, clock } = await openService();
    const first = await service.register(agent, request);
    clock.now += 24 * HOUR_MS - 1;
    expect(await service.register(agent, request)).toEqual(first);
    clock.now += 1;
    expect((await service.register(agent, request)).id).not.toBe(first.id);
  });

  it("is rejected when its input differs", async () => {
    const { service, agent } = await openService();
    await service.register(agent, request);
    await expect(
      service.register(agent, { ...request, wanted: { ...HOOKED, label: "other" } }),
    ).rejects.toMatchObject({ code: "idempotency_key_reused", status: 422 });
  });

  it("is independent of the keys of other callers", async () => {
    const { service, agent, records } = await openService();
    const person = await newPerson(records, "acc_1");
    const first = await service.register(agent, request);
    const second = await service.register(person, request);
    expect(second.id).not.toBe(first.id);
    expect(second.secret).not.toBe(first.secret);
  });

  it("registers another alert when the first one was deleted", async () => {
    const { service, agent } = await openService();
    const first = await service.register(agent, request);
    await service.remove({ caller: agent, alertId: first.id });
    const second = await service.register(agent, request);
    expect(second.id).not.toBe(first.id);
    expect((await service.find(agent, second.id)).status).toBe("pending");
  });

  it("accepts any key that fits in a header", async () => {
    const { service, agent } = await openService();
    const long = { ...request, idempotencyKey: "~".repeat(255) };
    expect((await service.register(agent, long)).id).toBe((await service.register(agent, long)).id);
  });
});

describe("an alert is deleted with its owner:", () => {
  const client = [remove(clients, "x"), removeGroup(clientGroup("x"))];
  const key = [remove(apiKeys, "x"), removeGroup(apiKeyGroup("x"))];
  const account = [removeGroup(accountRecordsGroup("acc_1"))];
  it.each([
    ["an agent", newAgent, client],
    ["a person", newPerson, [removeGroup(accountRecordsGroup("x"))]],
    ["a key", newKeyHolder, key],
    ["a key of a person", newKeyHolder, account],
  ] as const)("%s", async (_, newOwner, ends) => {
    const { service, records } = await openService();
    const owner = await newOwner(records, "x", "acc_1");
    await service.register(owner, { wanted: HOOKED, idempotencyKey: "k" });
    await records.commit(ends);
    expect((await service.list(owner)).alerts).toEqual([]);
    for (const name of ["alerts", "deliveries", "alert-requests", "optimistic-locks"]) {
      expect(await records.list({ name }, { limit: 10 }), name).toEqual([]);
    }
  });
});
