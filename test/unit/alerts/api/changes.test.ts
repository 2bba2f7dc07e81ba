import { describe, expect, it } from "vitest";
import { alerts, type WebhookState } from "../../../../src/alerts/alert.ts";
import { deliveries, enqueueDelivery } from "../../../../src/alerts/delivery/delivery.ts";
import { endpointHealthRecords } from "../../../../src/alerts/delivery/endpoint-health.ts";
import { decryptSigningSecrets } from "../../../../src/alerts/delivery/signing.ts";
import { put, replace } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import {
  ALERT_WITH_POLLING,
  alertServiceOn,
  auditEntriesIn,
  createTestAlert,
  newAgent,
  newKeyHolder,
  newPerson,
} from "../../../support/alert-service.ts";
import { eachCaller } from "../../../support/limits.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { embedded, openStore } from "../../../support/stores.ts";
import { vault } from "../../../support/webhook-alerts.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function openService(choice: Parameters<typeof alertServiceOn>[1] = {}) {
  const store = await openStore(embedded);
  const { records } = store;
  const agent = await newAgent(records, "agent-1", "acc_1");
  const service = alertServiceOn(store, choice);
  const { id } = await createTestAlert(service, agent);
  return { ...store, agent, service, id, wanted: { caller: agent, alertId: id } };
}

/** Sets the state of an alert's webhook, as the delivery worker does. */
async function setState(records: Records, id: string, state: WebhookState): Promise<void> {
  const alert = await storedIn(records, id);
  const { way } = alert.value;
  if (way.by !== "webhook") throw new Error("no webhook");
  await records.commit([
    replace(alerts, alert, { value: { ...alert.value, way: { ...way, state } } }),
  ]);
}

async function storedIn(records: Records, id: string) {
  const alert = await records.get(alerts, id);
  if (alert === undefined) throw new Error("no alert");
  return alert;
}

async function challengesIn(records: Records): Promise<readonly string[]> {
  const waiting = await records.list(deliveries, { limit: 100 });
  return waiting.map(({ value }) => JSON.parse(value.body).data.challenge);
}

const releasesIn = async (records: Records) =>
  (await records.list({ name: "alert-releases" }, { limit: 10 })).map(({ key }) => key);

const ACTIVE: WebhookState = { is: "active", since: 0 };

describe("an update of an alert", () => {
  it("may change the signal of a class, but not select every instrument", async () => {
    const { service, wanted } = await openService();
    const watched = { by: "filter", assetClass: "stock" } as const;
    await service.update(wanted, { watched, signal: "LONG" });
    const { alert } = await service.update(wanted, { signal: "SHORT" });
    expect(alert.watched).toEqual({ ...watched, signal: "SHORT" });
    await service.update(wanted, { watched: { by: "filter", assetClass: null } });
    await expect(service.update(wanted, { signal: null })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  it("changes only the given members and is recorded in the audit log", async () => {
    const { service, wanted, records, id } = await openService();
    const before = (await storedIn(records, id)).value;
    const seen = await service.update(wanted, {
      label: "mine",
      thresholds: { scoreMove: 20 },
      watched: { by: "symbols", symbols: ["BRINE.SIM"] },
    });
    const after = {
      ...before,
      label: "mine",
      thresholds: { ...before.thresholds, scoreMove: 20 },
      watched: { by: "symbols", symbols: ["BRINE.SIM"] },
    };
    expect(seen.alert).toEqual(after);
    expect((await storedIn(records, id)).value).toEqual(after);
    expect((await auditEntriesIn(records)).at(-1)).toMatchObject({
      action: "alert.changed",
      actor: "agent-1",
      target: id,
    });
  });

  it("is announced to every server process", async () => {
    const { service, wanted, records, id } = await openService();
    const told: string[] = [];
    const stop = records.onAnnounce("alerts", (text) => told.push(text));
    await service.update(wanted, { label: "mine" });
    await service.remove(wanted);
    stop();
    expect(told).toEqual([id, id]);
  });

  it("resets an active webhook to pending, with a new challenge, when the URL changes", async () => {
    const { service, wanted, records, id, clock } = await openService();
    await setState(records, id, ACTIVE);
    await records.commit([
      put(endpointHealthRecords, { key: id, value: { failingSince: 0, failures: 9 } }),
    ]);
    const [first] = await challengesIn(records);
    clock.now += 1_000;
    const seen = await service.update(wanted, { url: "https://other.example.com/in" });
    expect(seen.status).toBe("pending");
    expect(seen.nextSteps.join(" ")).toContain("endpoint.verify");
    const { way } = (await storedIn(records, id)).value;
    expect(seen.url).toBe("https://other.example.com/in");
    const challenge = way.by === "webhook" && way.state.is === "pending" && way.state.challenge;
    expect(challenge).not.toBe(first);
    expect(await challengesIn(records)).toContain(challenge);
    expect(await records.get(endpointHealthRecords, id)).toBeUndefined();
  });

  it("leaves the webhook active when the URL stays the same", async () => {
    const { service, wanted, records, id } = await openService();
    await setState(records, id, ACTIVE);
    const seen = await service.update(wanted, { url: "https://HOOKS.example.com:443/in" });
    expect(seen.status).toBe("active");
    expect(await challengesIn(records)).toHaveLength(1);
  });

  it("keeps the secrets when the URL changes", async () => {
    const { service, wanted, records, id } = await openService();
    const before = (await storedIn(records, id)).value.way;
    const seen = await service.update(wanted, { url: "https://other.example.com/in" });
    expect(seen).not.toHaveProperty("secret");
    const after = (await storedIn(records, id)).value.way;
    expect(after.by === "webhook" && after.secrets).toEqual(
      before.by === "webhook" && before.secrets,
    );
  });
});

describe("a pause of an alert", () => {
  it("releases the held deliveries when it ends", async () => {
    const { service, wanted, records, id } = await openService();
    await setState(records, id, ACTIVE);
    await service.update(wanted, { label: "mine" });
    expect((await service.update(wanted, { isPaused: true })).status).toBe("paused");
    expect(await releasesIn(records)).toEqual([]);
    expect((await service.update(wanted, { isPaused: false })).status).toBe("active");
    expect(await releasesIn(records)).toEqual([id]);
  });

  it("releases nothing while the webhook is pending", async () => {
    const { service, wanted, records } = await openService();
    await service.update(wanted, { isPaused: true });
    expect((await service.update(wanted, { isPaused: false })).status).toBe("pending");
    expect(await releasesIn(records)).toEqual([]);
  });

  it("is independent of a snooze, which ends automatically", async () => {
    const { service, wanted, records, id, clock } = await openService();
    await setState(records, id, ACTIVE);
    await service.update(wanted, { snoozedUntil: clock.now + HOUR_MS });
    const status = async () => (await service.find(wanted.caller, id)).status;
    expect(await status()).toBe("snoozed");
    clock.now += HOUR_MS;
    expect(await status()).toBe("active");
  });
});

describe("enabling a webhook", () => {
  it.each(["gone", "failing", "unverified"] as const)(
    "sends a new challenge to a webhook that was disabled (%s)",
    async (reason) => {
      const { service, wanted, records, id } = await openService();
      const [first] = await challengesIn(records);
      await setState(records, id, { is: "disabled", since: 1, reason });
      expect((await service.find(wanted.caller, id)).status).toBe("disabled");
      expect((await service.enable(wanted)).status).toBe("pending");
      const challenges = await challengesIn(records);
      expect(challenges).toHaveLength(2);
      expect(new Set(challenges).size).toBe(2);
      expect(challenges).toContain(first);
    },
  );

  it("leaves an active webhook unchanged", async () => {
    const { service, wanted, records, id } = await openService();
    await setState(records, id, ACTIVE);
    expect((await service.enable(wanted)).status).toBe("active");
    expect(await challengesIn(records)).toHaveLength(1);
  });
});

describe("a rotation of a signing secret", () => {
  it("returns a new secret, and keeps signing with the previous secret for a day", async () => {
    const store = await openStore(embedded);
    const service = alertServiceOn(store);
    const caller = await newAgent(store.records, "agent-1");
    const { id, secret: first } = await createTestAlert(service, caller);
    const { secret: second, nextSteps } = await service.rotateSecret({ caller, alertId: id });
    expect(second).toMatch(/^whsec_/);
    expect(second).not.toBe(first);
    expect(nextSteps.join(" ")).toContain("2026-11-22T12:00:00.000Z");
    const { way } = (await storedIn(store.records, id)).value;
    if (way.by !== "webhook") throw new Error("no webhook");
    const signing = (at: number) => decryptSigningSecrets(way.secrets, { alertId: id, vault }, at);
    expect(signing(store.clock.now + DAY_MS - 1)).toEqual([second, first]);
    expect(signing(store.clock.now + DAY_MS)).toEqual([second]);
  });

  it("leaves the state of the webhook unchanged", async () => {
    const { service, wanted, records, id } = await openService();
    await setState(records, id, ACTIVE);
    expect((await service.rotateSecret(wanted)).status).toBe("active");
  });
});

describe("the removal of an alert", () => {
  it("deletes everything that belongs to the alert and writes an audit row", async () => {
    const { service, wanted, records, id } = await openService();
    await service.update(wanted, { isPaused: true });
    const alert = await storedIn(records, id);
    const message = { eventId: "msg_1", type: "webhook.test", body: "{}" };
    await records.commit(stepsOf(enqueueDelivery, alert, message));
    await service.remove(wanted);
    for (const name of ["alerts", "deliveries", "endpoint-health", "alert-releases"]) {
      expect(await records.list({ name }, { limit: 10 }), name).toEqual([]);
    }
    const last = (await auditEntriesIn(records)).at(-1);
    expect(last).toMatchObject({ action: "alert.deleted", actor: "agent-1", target: id });
    await expect(service.remove(wanted)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("the account of an alert's owner", () => {
  it("can list and remove the alert, but no alert of another account", async () => {
    const { service, records, id } = await openService();
    const person = await newPerson(records, "acc_1");
    const key = await newKeyHolder(records, "key-1", "acc_1");
    const stranger = await newPerson(records, "acc_2");
    const own = await createTestAlert(service, person, ALERT_WITH_POLLING);
    const ofKey = await createTestAlert(service, key, ALERT_WITH_POLLING);
    const strange = await createTestAlert(service, stranger, ALERT_WITH_POLLING);
    const seen = await service.listForAccount("acc_1");
    expect(seen.map((alert) => alert.id).sort()).toEqual([id, own.id, ofKey.id].sort());

    const { alerts: byKey } = await service.list(key);
    expect(byKey.map((alert) => alert.id)).toEqual(seen.map((alert) => alert.id));

    expect(await service.removeForAccount("acc_1", strange.id)).toBe(false);
    expect(await service.removeForAccount("acc_1", "x")).toBe(false);
    expect(await service.removeForAccount("acc_1", id)).toBe(true);
    expect(await service.removeForAccount("acc_1", id)).toBe(false);
    expect(await service.listForAccount("acc_1")).toHaveLength(2);
    expect(await service.listForAccount("acc_2")).toHaveLength(1);
    expect((await auditEntriesIn(records)).at(-1)).toMatchObject({
      action: "alert.deleted",
      actor: "acc_1",
      target: id,
    });
  });
});

describe("changes to alerts", () => {
  it("are rate-limited per caller, registrations among them", async () => {
    const { service, wanted, records } = await openService({ limits: { changes: eachCaller(3) } });
    await service.update(wanted, { label: "one" });
    await service.enable(wanted);
    await expect(service.update(wanted, { label: "two" })).rejects.toMatchObject({
      code: "rate_limited",
      headers: { "Retry-After": expect.stringMatching(/^\d+$/) },
    });
    await expect(service.remove(wanted)).rejects.toMatchObject({ code: "rate_limited" });
    expect(await service.find(wanted.caller, wanted.alertId)).toMatchObject({
      alert: { label: "one" },
    });
    const other = await newAgent(records, "agent-2");
    expect(await createTestAlert(service, other)).toHaveProperty("id");
  });
});
