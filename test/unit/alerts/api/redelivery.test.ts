import { describe, expect, it } from "vitest";
import { type Alert, alerts } from "../../../../src/alerts/alert.ts";
import {
  deliveries,
  enqueueDelivery,
  newMessageId,
} from "../../../../src/alerts/delivery/delivery.ts";
import type { Archive } from "../../../../src/store/port/archive.ts";
import { remove, replace } from "../../../../src/store/port/operations.ts";
import {
  alertServiceOn,
  archiveTestAttempt,
  auditEntriesIn,
  createTestAlert,
  newAgent,
  storedEvent,
} from "../../../support/alert-service.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { embedded, openStore, START } from "../../../support/stores.ts";

const DAY_MS = 86_400_000;

/** Opens a service with an alert whose webhook is active, and whose challenge is complete. */
async function openService(choice: Parameters<typeof alertServiceOn>[1] = {}) {
  const store = await openStore(embedded);
  const { records } = store;
  const agent = await newAgent(records, "agent-1");
  const service = alertServiceOn(store, choice);
  const { id } = await createTestAlert(service, agent);
  const [challenge] = await records.list(deliveries, { limit: 1 });
  await records.commit([remove(deliveries, challenge?.key ?? "")]);
  const change = async (edit: (alert: Alert) => Alert) => {
    const stored = await records.get(alerts, id);
    if (stored === undefined) throw new Error("no alert");
    await records.commit([replace(alerts, stored, { value: edit(stored.value) })]);
  };
  const setState = (is: "active" | "disabled" | "pending") =>
    change((alert) => {
      const { way } = alert;
      if (way.by !== "webhook") throw new Error("no webhook");
      const states = {
        active: { is: "active", since: 0 },
        disabled: { is: "disabled", since: 0, reason: "failing" },
        pending: { is: "pending", since: 0, challenge: "c" },
      } as const;
      return { ...alert, way: { ...way, state: states[is] } };
    });
  await setState("active");
  const tell = (at: number, alertId = id) => storedEvent(store, { owner: agent, alertId, at });
  const waiting = async () =>
    (await records.list(deliveries, { limit: 5_000 })).map(({ key }) => key);
  const wanted = { caller: agent, alertId: id };
  return { ...store, agent, service, id, wanted, change, setState, tell, waiting };
}

describe("redelivery of one event", () => {
  it("enqueues the event's body again under the same message id, due immediately", async () => {
    const { service, wanted, records, tell, clock, id } = await openService();
    const eventId = await tell(clock.now - DAY_MS);
    await tell(clock.now - 5);
    const told = await service.events(wanted.caller, { cursor: undefined, limit: 10 });
    await service.redeliver(wanted, eventId);
    const [delivery, ...more] = await records.list(deliveries, { limit: 10 });
    expect(more).toEqual([]);
    expect(delivery).toMatchObject({
      key: eventId,
      dueAt: clock.now,
      value: { alertId: id, attempts: 0, body: told.events[0]?.body },
    });
    expect((await auditEntriesIn(records)).at(-1)).toMatchObject({ action: "alert.redelivered" });
  });

  it("makes a queued delivery due immediately", async () => {
    const { service, wanted, records, tell, clock } = await openService();
    const eventId = await tell(clock.now);
    await service.redeliver(wanted, eventId);
    const [before] = await records.list(deliveries, { limit: 1 });
    if (before === undefined) throw new Error("nothing waits");
    const value = { ...before.value, attempts: 4 };
    await records.commit([replace(deliveries, before, { value, dueInMs: DAY_MS })]);
    await service.redeliver(wanted, eventId);
    const [after] = await records.list(deliveries, { limit: 1 });
    expect(after).toMatchObject({ dueAt: clock.now, value: { attempts: 4 } });
  });

  it("finds no event of another alert or owner, and no event older than 30 days", async () => {
    const store = await openService();
    const { service, wanted, agent, tell, clock, records } = store;
    const other = await createTestAlert(service, agent);
    const stranger = await newAgent(records, "agent-2");
    const ids = [
      await tell(clock.now, other.id),
      await storedEvent(store, { owner: stranger, alertId: wanted.alertId, at: clock.now }),
      "msg_unknown",
      await tell(clock.now - 30 * DAY_MS - 1),
    ];
    for (const eventId of ids) {
      await expect(service.redeliver(wanted, eventId)).rejects.toMatchObject({ code: "not_found" });
    }
  });

  it("is rejected while the webhook is disabled, and held back while the alert is paused", async () => {
    const { service, wanted, tell, clock, setState, change, waiting } = await openService();
    const eventId = await tell(clock.now);
    await setState("disabled");
    await expect(service.redeliver(wanted, eventId)).rejects.toMatchObject({
      code: "wrong_state",
      next: expect.stringContaining("enable"),
    });
    expect(await waiting()).toEqual([]);
    await setState("active");
    await change((alert) => ({ ...alert, isPaused: true }));
    await service.redeliver(wanted, eventId);
    expect(await waiting()).toEqual([eventId]);
  });
});

describe("redelivery of an unknown event", () => {
  it.each([
    ["an id that contains its time", newMessageId(START), 0],
    ["a text that is not an event id", "msg_x", 0],
  ])("reads at most one page of events for %s", async (_, eventId, most) => {
    const store = await openStore(embedded);
    const agent = await newAgent(store.records, "agent-1");
    let rows = 0;
    const archive: Archive = {
      ...store.archive,
      async read(kind, selection) {
        const page = await store.archive.read(kind, selection);
        rows += page.length;
        return page;
      },
    };
    const service = alertServiceOn({ ...store, archive });
    const { id: alertId } = await createTestAlert(service, agent);
    for (let at = START - 600; at < START; at += 1) {
      await storedEvent(store, { owner: agent, alertId, at });
    }
    await expect(service.redeliver({ caller: agent, alertId }, eventId)).rejects.toMatchObject({
      code: "not_found",
    });
    expect(rows).toBeLessThanOrEqual(most);
  });
});

describe("redelivery of failed events", () => {
  it("skips events that were accepted, are queued, are too old, or belong to another alert", async () => {
    const store = await openService();
    const { service, wanted, agent, tell, clock, records, id, waiting } = store;
    const since = clock.now - 10_000;
    const older = await tell(since - 1);
    const taken = await tell(since);
    const failed = await tell(since + 1);
    const never = await tell(since + 2);
    const under = await tell(since + 3);
    const other = await createTestAlert(service, agent);
    await tell(since + 4, other.id);
    const at = clock.now;
    await archiveTestAttempt(store, { alertId: id, eventId: taken, at, error: "http_status" });
    await archiveTestAttempt(store, { alertId: id, eventId: taken, at: at + 1 });
    await archiveTestAttempt(store, { alertId: id, eventId: failed, at, error: "unreachable" });
    const alert = await records.get(alerts, id);
    if (alert === undefined) throw new Error("no alert");
    const message = { eventId: under, type: "signal.shift", body: "{}" };
    await records.commit(stepsOf(enqueueDelivery, alert, message));

    const before = await waiting();
    const { queued, next } = await service.redeliverSince(wanted, since);
    expect({ queued, next }).toEqual({ queued: 2, next: undefined });
    const added = (await waiting()).filter((key) => !before.includes(key));
    expect(added.sort()).toEqual([failed, never].sort());
    expect(added).not.toContain(older);
    expect(await service.redeliverSince(wanted, since)).toMatchObject({ queued: 0 });
  });

  it("redelivers at most 1,000 events and returns the position from which to continue", async () => {
    const store = await openService();
    const { service, wanted, tell, clock, waiting } = store;
    const start = clock.now - 2_000;
    const ids: string[] = [];
    for (let at = start; at < start + 1_203; at += 1) ids.push(await tell(at));
    const first = await service.redeliverSince(wanted, 0);
    expect(first).toMatchObject({ queued: 1_000, next: start + 1_000 });
    const second = await service.redeliverSince(wanted, first.next ?? 0);
    expect(second).toMatchObject({ queued: 203, next: undefined });
    expect((await waiting()).toSorted()).toEqual(ids.toSorted());
    const rows = (await auditEntriesIn(store.records)).filter(
      ({ action }) => action === "alert.redelivered",
    );
    expect(rows).toHaveLength(2);
  });
});

describe("a test event of an alert", () => {
  it("is enqueued immediately under its own id", async () => {
    const { service, wanted, records, clock, id } = await openService();
    const { eventId } = await service.test(wanted);
    const [delivery] = await records.list(deliveries, { limit: 1 });
    expect(delivery).toMatchObject({ key: eventId, dueAt: clock.now });
    expect(JSON.parse(delivery?.value.body ?? "")).toEqual({
      type: "webhook.test",
      timestamp: "2026-11-21T12:00:00.000Z",
      data: { alertId: id, eventId },
    });
    expect((await auditEntriesIn(records)).at(-1)).toMatchObject({ action: "alert.tested" });
  });

  it("is not recorded as an event", async () => {
    const { service, wanted } = await openService();
    await service.test(wanted);
    const { events } = await service.events(wanted.caller, { cursor: undefined, limit: 10 });
    expect(events).toEqual([]);
  });

  it("is rejected with a suggested next step when it could not be sent immediately", async () => {
    const { service, wanted, change, setState, waiting, clock } = await openService();
    const refused = async (next: string) => {
      await expect(service.test(wanted)).rejects.toMatchObject({
        code: "wrong_state",
        next: expect.stringContaining(next),
      });
    };
    await change((alert) => ({ ...alert, isPaused: true }));
    await refused("resume");
    await change((alert) => ({ ...alert, isPaused: false }));
    await setState("pending");
    await refused("enable");
    await setState("disabled");
    await refused("enable");
    await setState("active");
    await change((alert) => ({ ...alert, expiresAt: clock.now }));
    await refused("expiresAt");
    expect(await waiting()).toEqual([]);
  });
});
