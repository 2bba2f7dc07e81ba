import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { alerts, ownerKey } from "../../../../src/alerts/alert.ts";
import { type EventQuery, readLatestEventCursor } from "../../../../src/alerts/api/event-log.ts";
import { channels } from "../../../../src/alerts/channels/channel.ts";
import { waitForDigest } from "../../../../src/alerts/channels/digest.ts";
import {
  deliveries,
  enqueueDelivery,
  queuedDeliveriesGroup,
} from "../../../../src/alerts/delivery/delivery.ts";
import { endpointHealthRecords } from "../../../../src/alerts/delivery/endpoint-health.ts";
import { put } from "../../../../src/store/port/operations.ts";
import { transact } from "../../../../src/store/transact.ts";
import {
  ALERT_WITH_POLLING,
  ALERT_WITH_WEBHOOK,
  alertServiceOn,
  archiveTestAttempt,
  createTestAlert,
  newAgent,
  storedEvent,
} from "../../../support/alert-service.ts";
import { channelAlert, queuedShift } from "../../../support/channels.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { embedded, openStore } from "../../../support/stores.ts";
import { vault } from "../../../support/webhook-alerts.ts";

const DAY_MS = 86_400_000;

async function openService() {
  const store = await openStore(embedded);
  const agent = await newAgent(store.records, "agent-1");
  const service = alertServiceOn(store);
  const { id } = await createTestAlert(service, agent, ALERT_WITH_WEBHOOK);
  const tell = (at: number, alertId = id) => storedEvent(store, { owner: agent, alertId, at });
  return { ...store, agent, service, id, tell };
}

describe("the list of alerts", () => {
  it("is sorted by creation time, oldest first", async () => {
    const { service, agent, clock, id } = await openService();
    clock.now += 5;
    const second = await createTestAlert(service, agent, ALERT_WITH_POLLING);
    clock.now += 5;
    const third = await createTestAlert(service, agent, ALERT_WITH_POLLING);
    await service.update({ caller: agent, alertId: id }, { label: "changed last" });
    const { alerts: listed } = await service.list(agent);
    expect(listed.map((alert) => alert.id)).toEqual([id, second.id, third.id]);
  });
});

describe("the details of an alert", () => {
  it("include the health of its webhook and the number of queued deliveries", async () => {
    const { service, agent, id, records, clock } = await openService();
    expect(await service.find(agent, id)).toMatchObject({
      status: "pending",
      health: undefined,
      waiting: { count: 1, nextAt: clock.now + 5_000 },
    });
    const alert = await records.get(alerts, id);
    if (alert === undefined) throw new Error("no alert");
    const message = { eventId: "msg_1", type: "signal.shift", body: "{}" };
    const health = { failingSince: clock.now, failures: 3 };
    await records.commit([
      ...stepsOf(enqueueDelivery, alert, message),
      put(endpointHealthRecords, { key: id, value: health }),
    ]);
    expect(await service.find(agent, id)).toMatchObject({
      health,
      waiting: { count: 2, nextAt: clock.now },
    });
  });

  it("include the time of the digest for which an event waits", async () => {
    const { service, agent, records, clock } = await openService();
    const target = { kind: "email", to: "ann@mail.example" } as const;
    const made = channelAlert({ target, vault, schedule: { digestAt: "12:30" } });
    await records.commit([...made.steps, ...queuedShift(made.alert, "AAPL", clock.now)]);
    const group = queuedDeliveriesGroup(made.alert.key);
    const [event] = await records.list(deliveries, { group, limit: 1 });
    const channel = await records.get(channels, made.channel.key);
    if (event === undefined || channel === undefined) throw new Error("nothing is queued");
    const until = clock.now + 60_000;
    await transact(records, waitForDigest(event, channel, { until, now: clock.now }));
    const caller = { ...agent, ...made.alert.value.owner };
    expect(await service.find(caller, made.alert.key)).toMatchObject({
      waiting: { count: 1, nextAt: until },
    });
  });

  it("count at most 100 queued deliveries", async () => {
    const { service, agent, id, records } = await openService();
    const alert = await records.get(alerts, id);
    if (alert === undefined) throw new Error("no alert");
    const message = { type: "signal.shift", body: "{}" };
    for (let count = 0; count < 120; count += 1) {
      await records.commit(
        stepsOf(enqueueDelivery, alert, { ...message, eventId: `msg_${count}` }),
      );
    }
    expect((await service.find(agent, id)).waiting.count).toBe(100);
  });
});

describe("events of an alert", () => {
  it("are paged without duplicates or gaps while new ones arrive", async () => {
    const { service, agent, clock, tell } = await openService();
    const told: string[] = [];
    let cursor: string | undefined;
    const read: string[] = [];
    for (let round = 0; round < 8; round += 1) {
      for (let count = 0; count < 3; count += 1) told.push(await tell(clock.now + told.length));
      const page = await service.events(agent, { cursor, limit: 2 });
      read.push(...page.events.map(({ id }) => id));
      cursor = page.cursor;
      expect(page.hasMore).toBe(true);
    }
    for (let hasMore = true; hasMore && read.length <= told.length; ) {
      const page = await service.events(agent, { cursor, limit: 5 });
      read.push(...page.events.map(({ id }) => id));
      ({ cursor, hasMore } = page);
    }
    expect(read).toEqual(told);
    expect(await service.events(agent, { cursor, limit: 5 })).toEqual({
      events: [],
      cursor,
      hasMore: false,
    });
  });
});

describe("a page of events", () => {
  it("contains the right events for any stored events, filter and page size", async () => {
    const store = await openService();
    const { service, agent, id, clock } = store;
    const other = await createTestAlert(service, agent, ALERT_WITH_POLLING);
    const stranger = await newAgent(store.records, "agent-2");
    const mine: { readonly id: string; readonly alertId: string; readonly at: number }[] = [];
    let at = clock.now - 20 * DAY_MS;

    const tellOne = async (alertId: string) => {
      at += 1 + (at % 3);
      const isMine = alertId !== "foreign";
      const owner = isMine ? agent : stranger;
      const toldId = await storedEvent(store, { owner, alertId, at });
      if (isMine) mine.push({ id: toldId, alertId, at });
    };
    const readAll = async (asked: Omit<EventQuery, "cursor">) => {
      const read: string[] = [];
      let cursor: string | undefined;
      while (read.length <= mine.length) {
        const page = await service.events(agent, { ...asked, cursor });
        expect(page.events.length).toBeLessThanOrEqual(asked.limit);
        read.push(...page.events.map((event) => event.id));
        if (!page.hasMore) break;
        cursor = page.cursor;
      }
      return read;
    };
    const rounds = fc.asyncProperty(
      fc.array(fc.constantFrom(id, other.id, "foreign"), { maxLength: 6 }),
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(undefined, id, other.id),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (added, limit, alertId, share) => {
        for (const to of added) await tellOne(to);
        const since = mine[Math.floor(mine.length * share)]?.at ?? 0;
        const expected = mine.filter((event) => [undefined, event.alertId].includes(alertId));
        const ids = expected.filter((event) => event.at >= since).map((event) => event.id);
        expect(await readAll({ since, alertId, limit })).toEqual(ids);
      },
    );
    await fc.assert(rounds, { seed: 6, numRuns: 40 });
  });

  it("may be empty although more pages follow, if every row that was read belongs to another alert", async () => {
    const { service, agent, id, tell, clock } = await openService();
    const other = await createTestAlert(service, agent, ALERT_WITH_POLLING);
    const start = clock.now - 10_000;
    for (let count = 0; count < 2_001; count += 1) await tell(start + count, other.id);
    const wanted = await tell(start + 3_000);
    const asked = { alertId: id, limit: 10 };
    const first = await service.events(agent, { ...asked, cursor: undefined });
    expect(first).toMatchObject({ events: [], hasMore: true, cursor: String(start + 1_999) });
    const second = await service.events(agent, { ...asked, cursor: first.cursor });
    expect(second.events.map((event) => event.id)).toEqual([wanted]);
    expect(second.hasMore).toBe(false);
  });

  it("goes back at most 30 days", async () => {
    const { service, agent, tell, clock } = await openService();
    await tell(clock.now - 30 * DAY_MS - 1);
    const kept = await tell(clock.now - 30 * DAY_MS);
    for (const cursor of [undefined, "0"]) {
      const { events } = await service.events(agent, { cursor, limit: 10 });
      expect(events.map((event) => event.id)).toEqual([kept]);
    }
  });

  it("has a cursor to continue from when no event is stored", async () => {
    const { service, agent, tell, clock } = await openService();
    const { events, cursor } = await service.events(agent, { cursor: undefined, limit: 10 });
    expect(events).toEqual([]);
    const told = await tell(clock.now);
    const next = await service.events(agent, { cursor, limit: 10 });
    expect(next.events.map(({ id }) => id)).toEqual([told]);
  });

  it("contains only later events when the cursor points to the current end of the events", async () => {
    const store = await openService();
    const { service, agent, tell, clock } = store;
    const options = {
      archive: store.archive,
      records: store.records,
      vault,
      now: () => new Date(clock.now),
    };
    expect(await readLatestEventCursor(options, agent)).toBe("0");
    await tell(clock.now - 2);
    await tell(clock.now - 1);
    const cursor = await readLatestEventCursor(options, agent);
    const next = await tell(clock.now);
    const { events } = await service.events(agent, { cursor, limit: 10 });
    expect(events.map((event) => event.id)).toEqual([next]);
  });

  it("contains the events after a cursor that version 1.0.0 encrypted for the reader", async () => {
    const { service, agent, tell, clock } = await openService();
    await tell(clock.now - 1);
    const next = await tell(clock.now);
    const position = String(clock.now - 1).padStart(15, "0");
    const cursor = vault.seal(position, `event-cursor:${ownerKey(agent)}`);
    const { events } = await service.events(agent, { cursor, limit: 10 });
    expect(events.map((event) => event.id)).toEqual([next]);
  });
});

describe("delivery attempts", () => {
  it("are listed for the last 30 days, newest first and page by page, even if several have the same timestamp", async () => {
    const store = await openService();
    const { service, agent, id, clock } = store;
    const at = (index: number) => clock.now - 10_000 + Math.floor(index / 3);
    for (let index = 0; index < 12; index += 1) {
      await archiveTestAttempt(store, { alertId: id, eventId: `msg_${index}`, at: at(index) });
    }
    await archiveTestAttempt(store, {
      alertId: id,
      eventId: "old",
      at: clock.now - 30 * DAY_MS - 1,
    });
    await archiveTestAttempt(store, { alertId: "another", eventId: "another", at: clock.now });
    const read: number[] = [];
    const ids = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await service.attempts({ caller: agent, alertId: id }, { cursor, limit: 2 });
      read.push(...page.attempts.map((attempt) => attempt.at));
      for (const { eventId } of page.attempts) ids.add(eventId);
      expect(page.attempts).toHaveLength(2);
      cursor = page.cursor;
    } while (cursor !== undefined && read.length < 13);
    expect(read).toEqual(Array.from({ length: 12 }, (_, index) => at(11 - index)));
    expect(ids).toEqual(new Set(Array.from({ length: 12 }, (_, index) => `msg_${index}`)));
  });
});
