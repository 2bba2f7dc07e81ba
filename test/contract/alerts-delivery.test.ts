import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { alerts } from "../../src/alerts/alert.ts";
import { ATTEMPT_ARCHIVE_KIND, deliveries } from "../../src/alerts/delivery/delivery.ts";
import {
  createNextSecret,
  type SignatureHeaders,
  verifySignatures,
} from "../../src/alerts/delivery/signing.ts";
import { createSteadyClock } from "../../src/process/steady-clock.ts";
import { unsealedAudit } from "../../src/store/audit-entry.ts";
import { replace } from "../../src/store/port/operations.ts";
import type { Store } from "../../src/store/port/store.ts";
import { receiver, startWorker } from "../support/delivery-worker.ts";
import type { ReceivedRequest, Receiver } from "../support/receivers.ts";
import { embedded, openStore, START, type TestStore } from "../support/stores.ts";
import {
  newKey,
  OWNER,
  queuedEvent,
  storeWebhookAlert,
  vault,
  type WebhookAlert,
  webhookAlert,
} from "../support/webhook-alerts.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Deterministic pseudorandom numbers in (0, 1) from the Park-Miller generator (1988). */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const attemptsIn = async ({ archive }: TestStore) =>
  (await archive.read(ATTEMPT_ARCHIVE_KIND, { order: "oldest", limit: 10_000 })).map(
    ({ body }) => body,
  );

const auditedIn = async ({ records }: TestStore) =>
  (await records.list(unsealedAudit, { limit: 10_000 })).map(({ value }) => value.body);

/**
 * Advances the clock to an instant. Each step ends at the next due time, but after 30 minutes at
 * the latest, since a circuit breaker can postpone due deliveries.
 */
async function pass(
  { records, clock }: TestStore,
  until: number,
  step: () => Promise<void>,
): Promise<void> {
  while (clock.now < until) {
    await step();
    const waiting = await records.list(deliveries, { limit: 1_000 });
    const next = waiting.map(({ dueAt }) => dueAt ?? until).filter((dueAt) => dueAt > clock.now);
    clock.now = Math.min(until, clock.now + 30 * MINUTE, ...next);
  }
}

/** Scheduled pauses between the attempts of a delivery, in seconds. */
const PLANNED = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

describe("a receiver with an outage", () => {
  it("receives the event with the last retry of the schedule after a three-day outage", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver({ behavior: "reset" });
    const alert = webhookAlert({ url: inbox.url });
    await store.records.commit([storeWebhookAlert(alert)]);
    const { look, errors } = startWorker(store, { random: chance(11) });
    const start = store.clock.now;
    const tried: number[] = [];
    const step = async (): Promise<void> => {
      await look();
      // The worker is notified of new events, so the first attempt may precede the first step.
      while (tried.length < inbox.received.length) tried.push(store.clock.now);
    };
    await store.records.commit(queuedEvent(alert, "msg_1"));
    await pass(store, start + 3 * DAY, step);
    inbox.behavior = "healthy";
    await pass(store, start + 4 * DAY, step);
    const shares = tried
      .slice(1)
      .map((at, index) => (at - (tried[index] ?? 0)) / SECOND / (PLANNED[index] ?? 0));
    expect(shares).toHaveLength(PLANNED.length);
    for (const share of shares) expect(Math.abs(share - 1)).toBeLessThanOrEqual(0.1);
    expect(new Set(shares.map((share) => share.toFixed(4))).size).toBe(PLANNED.length);
    expect(new Set(inbox.received.map(({ id }) => id))).toEqual(new Set(["msg_1"]));
    expect(await store.records.list(deliveries, { limit: 10 })).toEqual([]);
    const attempts = await attemptsIn(store);
    expect(attempts).toHaveLength(10);
    expect(attempts.at(-1)).toMatchObject({ number: 10, status: 200, error: "none" });
    expect(errors).toEqual([]);
  });

  it("has its webhook disabled on day five of a six-day outage, and the owner is notified exactly once", async () => {
    const store = await openStore(embedded);
    const [inbox, other] = [await receiver({ behavior: "reset" }), await receiver()];
    const alert = webhookAlert({ url: inbox.url });
    await store.records.commit([
      storeWebhookAlert(alert),
      storeWebhookAlert(webhookAlert({ url: other.url })),
    ]);
    const random = chance(12);
    const workers = [startWorker(store, { random }), startWorker(store, { random })];
    const start = store.clock.now;
    const told: number[] = [];
    const step = async (): Promise<void> => {
      for (const { look } of workers) await look();
      if (noticesIn(other).size > told.length) told.push(store.clock.now);
    };
    for (let event = 1; event <= 24; event++) {
      await store.records.commit(queuedEvent(alert));
      await pass(store, start + event * 6 * HOUR, step);
    }
    const way = (await store.records.get(alerts, alert.key))?.value.way;
    expect(way).toMatchObject({ state: { is: "disabled", reason: "failing" } });
    const since = way?.by === "webhook" ? way.state.since : 0;
    expect(since).toBeGreaterThanOrEqual(start + 5 * DAY);
    expect(since).toBeLessThan(start + 5 * DAY + HOUR);
    // The notice to the owner is a separate delivery, so it arrives some time after the webhook was
    // disabled.
    expect(told).toHaveLength(1);
    expect(told[0]).toBeGreaterThanOrEqual(since);
    expect(new Set(other.received.map(({ type }) => type))).toEqual(new Set(["endpoint.disabled"]));
    const audits = await auditedIn(store);
    expect(audits).toEqual([{ action: "alert.disabled", actor: "system", target: alert.key }]);
    // Events decided after the webhook was disabled stay queued until the owner enables it.
    for (const { dueAt } of await store.records.list(deliveries, { limit: 100 })) {
      expect(dueAt).toBeUndefined();
    }
  });
});

/** Distinct notices by id: a notice can arrive twice while the test clock outruns the network. */
const noticesIn = ({ received }: Receiver) => new Set(received.map(({ id }) => id));

describe("a signing secret that is rotated under load", () => {
  it("yields signatures that receivers can verify with the old secret, the new secret or the service's key", async () => {
    const store = await openStore(embedded);
    store.clock.now = Date.now();
    const [oldKey, newerKey] = [newKey(), newKey()];
    let keys = [oldKey];
    const verified =
      (secret: () => string) =>
      ({ body, headers }: ReceivedRequest) =>
        new Webhook(secret()).verify(body, headers as Record<string, string>);
    const byKey = ({ body, headers }: ReceivedRequest) => {
      const trusted = { secrets: [], keys: [oldKey] };
      const signed = headers as unknown as SignatureHeaders;
      if (verifySignatures(signed, Buffer.from(body), trusted).length === 0)
        throw new Error("forged");
    };
    const secrets = { before: "", after: "", moving: "" };
    const inboxes = {
      before: await receiver({ verify: verified(() => secrets.before) }),
      moving: await receiver({ verify: verified(() => secrets.moving) }),
      byKey: await receiver({ verify: byKey }),
    };
    const made = Object.values(inboxes).map(({ url }, at) =>
      webhookAlert({ url, owner: { ...OWNER, id: `agent-${at}` } }),
    ) as [WebhookAlert, WebhookAlert, WebhookAlert];
    await store.records.commit(made.map(storeWebhookAlert));
    [secrets.before, secrets.moving] = [made[0].secret, made[1].secret];
    const { look, errors } = startWorker(store, { keys: () => keys });
    let queued = 0;
    const load = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++, queued++) {
        await store.records.commit(made.flatMap((alert) => [...queuedEvent(alert)]));
      }
    };

    const loading = load(60);
    await inboxes.before.arrived(5);
    for (const [at, alert] of made.entries()) {
      const secret = await rotated(store, alert);
      if (at === 1) secrets.after = secret;
    }
    keys = [newerKey, oldKey];
    await loading;
    await look();
    // From here on the receiver verifies only with the new secret.
    secrets.moving = secrets.after;
    await load(60);
    await look();
    for (const inbox of Object.values(inboxes)) {
      expect(inbox.received).toHaveLength(queued);
      expect(inbox.forged).toEqual([]);
    }
    expect(errors).toEqual([]);
  });

  it("stays valid for one day after its replacement, and no longer", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver();
    const alert = webhookAlert({ url: inbox.url });
    await store.records.commit([storeWebhookAlert(alert)]);
    const secret = await rotated(store, alert);
    const { look } = startWorker(store);
    const byWhich = async () => {
      await store.records.commit(queuedEvent(alert));
      await look();
      const last = inbox.received.at(-1);
      const signed = last?.headers as unknown as SignatureHeaders;
      const isBy = (one: string) =>
        verifySignatures(signed, Buffer.from(last?.body ?? ""), { secrets: [one], keys: [] })
          .length > 0;
      return { old: isBy(alert.secret), new: isBy(secret) };
    };
    expect(await byWhich()).toEqual({ old: true, new: true });
    store.clock.now += DAY - 1;
    expect(await byWhich()).toEqual({ old: true, new: true });
    store.clock.now += 1;
    expect(await byWhich()).toEqual({ old: false, new: true });
  });
});

/** Rotates the signing secret of an alert as the service does. @returns The new secret. */
async function rotated({ records, clock }: TestStore, { key }: WebhookAlert): Promise<string> {
  const alert = await records.get(alerts, key);
  const way = alert?.value.way;
  if (alert === undefined || way?.by !== "webhook") throw new Error("There is no webhook.");
  const { secret, sealed: next } = createNextSecret(
    way.secrets,
    { alertId: key, vault },
    clock.now,
  );
  const value = { ...alert.value, way: { ...way, secrets: next } };
  expect(await records.commit([replace(alerts, alert, { value })])).toBe(true);
  return secret;
}

/** Opens a store with its own clock for one test. */
async function opened(now: () => number): Promise<Store> {
  const store = await embedded.open({ now });
  onTestFinished(() => embedded.discard(store));
  return store;
}

describe("deliveries when the wall clock jumps", () => {
  it.each([
    ["ahead", HOUR],
    ["back", -HOUR],
  ])("arrive neither in bursts nor late when the clock jumps an hour %s", async (_, jumpMs) => {
    const clocks = { wall: START, monotonic: 0 };
    const wait = (ms: number): void => {
      clocks.wall += ms;
      clocks.monotonic += ms;
    };
    const steady = createSteadyClock({
      wall: () => clocks.wall,
      monotonic: () => clocks.monotonic,
    });
    const { records } = await opened(steady);
    const store = {
      records,
      clock: {
        get now() {
          return clocks.wall;
        },
      },
    };
    const inbox = await receiver({ behavior: 500 });
    const alert = webhookAlert({ url: inbox.url });
    await records.commit([storeWebhookAlert(alert)]);
    const { look } = startWorker(store, {
      monotonic: () => clocks.monotonic,
    });
    await store.records.commit(queuedEvent(alert, "msg_1"));
    await look();
    wait(5 * SECOND);
    await look();
    expect(inbox.received).toHaveLength(2);

    clocks.wall += jumpMs;
    await look();
    expect(inbox.received).toHaveLength(2);
    inbox.behavior = "healthy";
    await store.records.commit(queuedEvent(alert, "msg_2"));
    await look();
    expect(inbox.received.map(({ id }) => id)).toEqual(["msg_1", "msg_1", "msg_2"]);
    wait(5 * MINUTE - 1);
    await look();
    expect(inbox.received).toHaveLength(3);
    wait(1);
    await look();
    expect(inbox.received.at(-1)?.id).toBe("msg_1");
    const sentAt = Number(inbox.received.at(-1)?.headers["webhook-timestamp"]);
    expect(sentAt).toBe(Math.floor(clocks.wall / SECOND));
  });
});
