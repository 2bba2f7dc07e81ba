import { describe, expect, it } from "vitest";
import {
  alertGroup,
  alerts,
  networkRecordsGroup,
  ownerGroup,
} from "../../../../src/alerts/alert.ts";
import { channels } from "../../../../src/alerts/channels/channel.ts";
import { deliveries } from "../../../../src/alerts/delivery/delivery.ts";
import { decryptSigningSecrets } from "../../../../src/alerts/delivery/signing.ts";
import {
  accountRecordsGroup,
  clientGroup,
  clients,
} from "../../../../src/principals/agents/agent.ts";
import { apiKeyGroup, apiKeys } from "../../../../src/principals/keys/api-keys.ts";
import { insert, remove, removeGroup } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import {
  ALERT_WITH_POLLING,
  ALERT_WITH_WEBHOOK,
  alertServiceOn,
  auditEntriesIn,
  createTestAlert,
  newAgent,
  newKeyHolder,
  newPerson,
} from "../../../support/alert-service.ts";
import { channelAlert } from "../../../support/channels.ts";
import { dumpStore, embedded, openStore, slowRecords } from "../../../support/stores.ts";
import { vault } from "../../../support/webhook-alerts.ts";

const HOUR_MS = 3_600_000;

async function openService(choice: Parameters<typeof alertServiceOn>[1] = {}) {
  const store = await openStore(embedded);
  const { records } = store;
  const agent = await newAgent(records, "agent-1", "acc_1");
  return { ...store, agent, service: alertServiceOn(store, choice) };
}

describe("the registration of an alert", () => {
  it("stores the alert, an audit row and a challenge that is due in five seconds", async () => {
    const { service, agent, records, clock } = await openService();
    const { id, secret, status } = await createTestAlert(service, agent);
    expect(id).toMatch(/^alert_[0-9A-Za-z]{16}$/);
    expect(status).toBe("pending");

    const stored = await records.get(alerts, id);
    expect(stored?.groups.toSorted()).toEqual(
      [
        alertGroup(id),
        ownerGroup(agent),
        "alerts:account:acc_1",
        clientGroup("agent-1"),
        networkRecordsGroup("hash of unknown"),
      ].sort(),
    );
    const way = stored?.value.way;
    if (way?.by !== "webhook") throw new Error("no webhook");
    expect(decryptSigningSecrets(way.secrets, { alertId: id, vault }, clock.now)).toEqual([secret]);

    const [challenge, ...more] = await records.list(deliveries, { limit: 10 });
    expect(more).toEqual([]);
    expect(challenge?.dueAt).toBe(clock.now + 5_000);
    expect(challenge?.groups).toContain(alertGroup(id));
    expect(challenge?.value).toMatchObject({ alertId: id, type: "endpoint.verify" });
    expect(JSON.parse(challenge?.value.body ?? "").data.challenge).toBe(
      way.state.is === "pending" && way.state.challenge,
    );
    expect(await auditEntriesIn(records)).toMatchObject([
      { action: "alert.registered", actor: "agent-1", target: id },
    ]);
  });

  it("stores no secret in plain text", async () => {
    const { service, agent, store } = await openService();
    const { secret = "" } = await createTestAlert(service, agent);
    const text = JSON.stringify(await dumpStore(store));
    expect(secret).toMatch(/^whsec_.{44}$/);
    expect(text).not.toContain(secret.slice("whsec_".length));
  });

  it("creates an active alert without a secret or a challenge when events are polled", async () => {
    const { service, agent, records } = await openService();
    const alert = await createTestAlert(service, agent, ALERT_WITH_POLLING);
    expect(alert.status).toBe("active");
    expect(alert).not.toHaveProperty("secret");
    expect(await records.list(deliveries, { limit: 10 })).toEqual([]);
  });

  it("warns that no event will occur in a market whose clock is stopped", async () => {
    const { service, agent } = await openService({ standsStill: () => true });
    expect((await createTestAlert(service, agent)).nextSteps.join(" ")).toContain(
      "no event will come",
    );
    const { service: lively, agent: other } = await openService();
    expect((await createTestAlert(lively, other)).nextSteps.join(" ")).not.toContain("no event");
  });

  it("is rejected for an owner who is deleted or no longer entitled to alerts", async () => {
    const { service, agent, records } = await openService();
    await records.commit([remove(clients, agent.id)]);
    await expect(createTestAlert(service, agent)).rejects.toMatchObject({
      code: "insufficient_scope",
    });
    expect(await records.list(alerts, { limit: 1 })).toEqual([]);
  });

  it("is rejected for a channel that stopped being shared after its name was looked up", async () => {
    const { service, agent, records } = await openService();
    const target = { kind: "email", to: "ann@mail.example" } as const;
    const { channel } = channelAlert({ target, vault, accountId: "acc_1" });
    await records.commit([insert(channels, channel)]);
    const wanted = { ...ALERT_WITH_POLLING, channelId: channel.key };
    await expect(createTestAlert(service, agent, wanted)).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("stores nothing when the owner is deleted concurrently", async () => {
    const store = await openService();
    const { agent, records } = store;
    const commit: Records["commit"] = async (steps) => {
      await records.commit([remove(clients, agent.id), removeGroup(clientGroup(agent.id))]);
      return records.commit(steps);
    };
    const service = alertServiceOn({ ...store, records: { ...records, commit } });
    await expect(createTestAlert(service, agent)).rejects.toMatchObject({
      code: "insufficient_scope",
    });
    for (const name of ["alerts", "deliveries"]) {
      expect(await records.list({ name }, { limit: 1 }), name).toEqual([]);
    }
  });
});

describe("the quota of an owner", () => {
  it("allows 20 webhooks and 100 alerts, and an error beyond the limit suggests a next step", async () => {
    const { service, agent, records } = await openService();
    for (let count = 0; count < 20; count += 1) await createTestAlert(service, agent);
    await expect(createTestAlert(service, agent)).rejects.toMatchObject({
      code: "alert_limit",
      status: 409,
      next: expect.stringContaining("manage_alert"),
    });
    for (let count = 20; count < 100; count += 1)
      await createTestAlert(service, agent, ALERT_WITH_POLLING);
    await expect(createTestAlert(service, agent, ALERT_WITH_POLLING)).rejects.toMatchObject({
      code: "alert_limit",
    });
    const other = await newAgent(records, "agent-2", "acc_other");
    expect(await createTestAlert(service, other)).toHaveProperty("id");
  });

  it("is shared by a person, their agents and their keys", async () => {
    const { service, agent, records } = await openService();
    const key = await newKeyHolder(records, "key-1", agent.accountId);
    for (let count = 0; count < 50; count += 1) {
      await createTestAlert(service, agent, ALERT_WITH_POLLING);
      await createTestAlert(service, key, ALERT_WITH_POLLING);
    }
    for (const caller of [agent, key, await newAgent(records, "agent-2", agent.accountId)]) {
      await expect(createTestAlert(service, caller, ALERT_WITH_POLLING)).rejects.toMatchObject({
        code: "alert_limit",
      });
    }
  });
});

describe("the quota of alerts", () => {
  it("is not exceeded by concurrent registrations", async () => {
    const store = await openStore(embedded);
    const agent = await newAgent(store.records, "agent-1");
    const service = alertServiceOn({ ...store, records: slowRecords(store.records) });
    const quick = alertServiceOn(store);
    for (let count = 0; count < 17; count += 1) await createTestAlert(quick, agent);
    const attempts = Array.from({ length: 8 }, () => createTestAlert(service, agent));
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect((await service.list(agent)).alerts).toHaveLength(20);
  });

  it("counts one alert for concurrent requests with the same idempotency key", async () => {
    const store = await openStore(embedded);
    const agent = await newAgent(store.records, "agent-1");
    const service = alertServiceOn({ ...store, records: slowRecords(store.records) });
    const request = { wanted: ALERT_WITH_WEBHOOK, idempotencyKey: "once" };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => service.register(agent, request)),
    );
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(new Set(answers.map(({ secret }) => secret)).size).toBe(1);
    expect((await service.list(agent)).alerts).toHaveLength(1);
    expect(await store.records.list(deliveries, { limit: 10 })).toHaveLength(1);
    const rows = await auditEntriesIn(store.records);
    expect(rows.map(({ action }) => action)).toEqual(["alert.registered"]);
  });
});

describe("a registration with an idempotency key", () => {
  const request = { wanted: ALERT_WITH_WEBHOOK, idempotencyKey: "k" };

  it("returns the same response, including the secret, for 24 hours", async () => {
    const { service, agent, clock } = await openService();
    const first = await service.register(agent, request);
    clock.now += 24 * HOUR_MS - 1;
    expect(await service.register(agent, request)).toEqual(first);
    clock.now += 1;
    expect((await service.register(agent, request)).id).not.toBe(first.id);
  });

  it("registers a new alert when the first alert was deleted", async () => {
    const { service, agent } = await openService();
    const first = await service.register(agent, request);
    await service.remove({ caller: agent, alertId: first.id });
    const second = await service.register(agent, request);
    expect(second.id).not.toBe(first.id);
    expect((await service.find(agent, second.id)).status).toBe("pending");
  });
});

describe("an alert is deleted together with its owner", () => {
  const client = [remove(clients, "x"), removeGroup(clientGroup("x"))];
  const key = [remove(apiKeys, "x"), removeGroup(apiKeyGroup("x"))];
  const account = [removeGroup(accountRecordsGroup("acc_1"))];
  it.each([
    ["an agent", newAgent, client],
    ["a person", newPerson, [removeGroup(accountRecordsGroup("x"))]],
    ["an API key", newKeyHolder, key],
    ["an API key of a removed person", newKeyHolder, account],
  ] as const)("when the owner is %s", async (_, newOwner, ends) => {
    const { service, records } = await openService();
    const owner = await newOwner(records, "x", "acc_1");
    await service.register(owner, { wanted: ALERT_WITH_WEBHOOK, idempotencyKey: "k" });
    await records.commit(ends);
    expect((await service.list(owner)).alerts).toEqual([]);
    for (const name of ["alerts", "deliveries", "alert-requests"]) {
      expect(await records.list({ name }, { limit: 10 }), name).toEqual([]);
    }
  });
});
