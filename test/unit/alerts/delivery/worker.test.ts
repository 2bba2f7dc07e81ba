import { EventEmitter, once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Alert, alertGroup, alerts, type WebhookState } from "../../../../src/alerts/alert.ts";
import {
  ATTEMPT_ARCHIVE_KIND,
  type DeliveryAttempt,
  deliveries,
  enqueueChallenge,
  newMessageId,
} from "../../../../src/alerts/delivery/delivery.ts";
import { endpointHealthRecords } from "../../../../src/alerts/delivery/endpoint-health.ts";
import { releaseHeldDeliveries } from "../../../../src/alerts/delivery/held-deliveries.ts";
import type { WebhookResponse, WebhookSender } from "../../../../src/alerts/delivery/sender.ts";
import {
  createNextSecret,
  type SignatureHeaders,
  verifySignatures,
} from "../../../../src/alerts/delivery/signing.ts";
import type { DeliveryWorkerOptions } from "../../../../src/alerts/delivery/worker.ts";
import { createLimits } from "../../../../src/limits/limits.ts";
import { OutboundError } from "../../../../src/outbound/guarded-fetch.ts";
import { createSteadyClock } from "../../../../src/process/steady-clock.ts";
import { removeGroup, replace } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import { auditEntriesIn } from "../../../support/alert-service.ts";
import { queuedIn, receiver, startWorker } from "../../../support/delivery-worker.ts";
import type { ReceivedRequest, ReceiverOptions } from "../../../support/receivers.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import {
  describeEngines,
  dumpStore,
  embedded,
  openStore,
  START,
  type TestStore,
} from "../../../support/stores.ts";
import {
  newKey,
  OWNER,
  queuedEvent,
  storeWebhookAlert,
  vault,
  type WebhookAlert,
  type WebhookAlertOptions,
  webhookAlert,
} from "../../../support/webhook-alerts.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The URL of another webhook, as it is stored. */
const OTHER_URL = { sealedUrl: "sealed", endpoint: "other" };

const CHALLENGE = "m4Fh0qY2LtVw9sXaBzKe";
const pending: WebhookState = { is: "pending", since: 0, challenge: CHALLENGE };

/** Stores alerts. */
const keep = ({ records }: TestStore, ...made: readonly WebhookAlert[]) =>
  records.commit(made.map(storeWebhookAlert));

/** Returns the recorded attempts in the order in which they were made. */
async function attempts({ store }: TestStore): Promise<readonly DeliveryAttempt[]> {
  // Several attempts have the same timestamp, and a dump returns rows in insertion order.
  const rows = await dumpStore(store);
  return rows.flatMap((row) =>
    row.table === "archive" && row.kind === ATTEMPT_ARCHIVE_KIND
      ? [JSON.parse(row.text) as DeliveryAttempt]
      : [],
  );
}

const alertNow = async (
  { records }: TestStore,
  { key }: WebhookAlert,
): Promise<Alert | undefined> => (await records.get(alerts, key))?.value;

async function change(
  store: TestStore,
  { key }: WebhookAlert,
  changed: Partial<Alert>,
): Promise<void> {
  const alert = await store.records.get(alerts, key);
  if (alert === undefined) throw new Error("The alert is gone.");
  const isDone = await store.records.commit([
    replace(alerts, alert, { value: { ...alert.value, ...changed } }),
    ...stepsOf(releaseHeldDeliveries, alert),
  ]);
  expect(isDone).toBe(true);
}

/** Response of a webhook that accepts a delivery. */
const OK: WebhookResponse = { status: 200, retryAfterMs: undefined, latencyMs: 1, body: "" };

/** A sender whose responses are given by the test. */
function slowSender() {
  const events = new EventEmitter();
  const answered = Promise.withResolvers<WebhookResponse>();
  answered.promise.catch(() => undefined);
  let count = 0;
  const send = (): Promise<WebhookResponse> => {
    count += 1;
    events.emit("sent");
    return answered.promise;
  };
  const underway = async (wanted: number): Promise<void> => {
    while (count < wanted) await once(events, "sent");
  };
  const breakOff = () => answered.reject(new OutboundError(new Error("closed")));
  return { sender: { send }, underway, answer: answered.resolve, breakOff };
}

function webhookOf({ value }: WebhookAlert): Extract<Alert["way"], { by: "webhook" }> {
  if (value.way.by !== "webhook") throw new Error("It has no webhook.");
  return value.way;
}

/** Options of an alert with a webhook, and of the worker that delivers to it. */
interface Hooked extends Omit<WebhookAlertOptions, "url"> {
  readonly worker?: Partial<DeliveryWorkerOptions>;
}

/** An alert whose webhook is a receiver, and a worker that delivers to it. */
async function hooked(options: ReceiverOptions = {}, { worker, ...more }: Hooked = {}) {
  const store = await openStore(embedded);
  const inbox = await receiver(options);
  const alert = webhookAlert({ url: inbox.url, ...more });
  await keep(store, alert);
  return { store, inbox, alert, ...startWorker(store, worker) };
}

const sentAt = ({ headers }: ReceivedRequest): number =>
  Number(headers["webhook-timestamp"]) * SECOND;

describe("the delivery worker", () => {
  it("delivers a signed event, and then keeps only the record of the attempt", async () => {
    const store = await openStore(embedded);
    const [inbox, key] = [await receiver(), newKey()];
    const alert = webhookAlert({ url: inbox.url });
    await keep(store, alert);
    const { look, errors } = startWorker(store, { keys: () => [key] });
    await store.records.commit(queuedEvent(alert, "msg_1"));
    const [came] = await inbox.arrived(1);
    await look();
    expect(came?.id).toBe("msg_1");
    expect(came?.headers).toMatchObject({ "content-type": "application/json" });
    const headers = came?.headers as unknown as SignatureHeaders;
    const trusted = { secrets: [alert.secret], keys: [key] };
    expect(verifySignatures(headers, Buffer.from(came?.body ?? ""), trusted)).toEqual([
      "v1",
      "v1a",
    ]);
    expect(came && sentAt(came)).toBe(store.clock.now);
    expect(await queuedIn(store)).toEqual([]);
    expect(await attempts(store)).toMatchObject([
      { eventId: "msg_1", number: 1, status: 200, error: "none", response: "{}", nextInMs: null },
    ]);
    expect(errors).toEqual([]);
  });

  it("signs with the replaced secret for one more day after its rotation", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver();
    const alert = webhookAlert({ url: inbox.url });
    const webhook = webhookOf(alert);
    const context = { alertId: alert.key, vault };
    const next = createNextSecret(webhook.secrets, context, store.clock.now);
    await keep(store, alert);
    await change(store, alert, { way: { ...webhook, secrets: next.sealed } });
    const { look } = startWorker(store);
    const verifying = async () => {
      await store.records.commit(queuedEvent(alert));
      await look();
      const { headers, body } = inbox.received.at(-1) ?? expect.fail();
      const signed = headers as unknown as SignatureHeaders;
      return [alert.secret, next.secret].map(
        (secret) =>
          verifySignatures(signed, Buffer.from(body), { secrets: [secret], keys: [] }).length,
      );
    };
    expect(await verifying()).toEqual([1, 1]);
    store.clock.now += DAY - 1;
    expect(await verifying()).toEqual([1, 1]);
    store.clock.now += 1;
    expect(await verifying()).toEqual([0, 1]);
  });

  it("retries on schedule with the same id and body, then gives up", async () => {
    const { store, inbox, alert, look } = await hooked({ behavior: 500 });
    const start = store.clock.now;
    await store.records.commit(queuedEvent(alert, "msg_1"));
    await look();
    for (;;) {
      const [delivery] = await queuedIn(store);
      if (delivery?.dueAt === undefined) break;
      store.clock.now = delivery.dueAt - 1;
      const before = inbox.received.length;
      await look();
      expect(inbox.received).toHaveLength(before);
      store.clock.now = delivery.dueAt;
      await look();
    }
    const seconds = [0, 5, 305, 2_105, 9_305, 27_305, 63_305, 113_705, 185_705, 272_105];
    expect(inbox.received.map((each) => (sentAt(each) - start) / SECOND)).toEqual(seconds);
    expect(new Set(inbox.received.map(({ id, body }) => `${id} ${body}`)).size).toBe(1);
    const made = await attempts(store);
    expect(made.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(made.map(({ nextInMs }) => nextInMs && nextInMs / SECOND)).toEqual([
      ...seconds.slice(1).map((each, at) => each - (seconds[at] ?? 0)),
      null,
    ]);
    expect(made.every(({ error, status }) => error === "http_status" && status === 500)).toBe(true);
    expect(await queuedIn(store)).toEqual([]);
  });

  it("honors the Retry-After header of 429 and 503, and otherwise jitters the schedule by chance", async () => {
    const { store, inbox, alert, look } = await hooked(
      { behavior: 429, answers: { "retry-after": "120" } },
      { worker: { random: () => 0 } },
    );
    const dueIn = async () => ((await queuedIn(store))[0]?.dueAt ?? 0) - store.clock.now;
    await store.records.commit(queuedEvent(alert));
    await look();
    expect(await dueIn()).toBe(120 * SECOND);
    inbox.answers = { "retry-after": "99999999" };
    inbox.behavior = 503;
    store.clock.now += 120 * SECOND;
    await look();
    expect(await dueIn()).toBe(DAY);
    inbox.behavior = 500;
    store.clock.now += DAY;
    await look();
    expect(await dueIn()).toBe(27 * MINUTE);
  });

  it.each([
    ["reset", { status: null, error: "unreachable", latencyMs: null }],
    [302, { status: 302, error: "http_status", latencyMs: expect.any(Number) }],
  ] as const)("counts the response %j as a failure", async (behavior, logged) => {
    const { store, inbox, alert, look } = await hooked({ behavior });
    await store.records.commit(queuedEvent(alert));
    await look();
    expect(await attempts(store)).toMatchObject([{ ...logged, nextInMs: 5 * SECOND }]);
    inbox.behavior = "healthy";
    store.clock.now += 5 * SECOND;
    await look();
    expect(await queuedIn(store)).toEqual([]);
  });

  it.each(["paused", "pending"] as const)(
    "holds back deliveries for a %s webhook, and sends them once the webhook is active",
    async (state) => {
      const more = state === "paused" ? { isPaused: true } : { state: pending };
      const { store, inbox, alert, look } = await hooked({}, more);
      const ids = Array.from({ length: 12 }, (_, at) => newMessageId(at));
      for (const id of ids) await store.records.commit(queuedEvent(alert, id));
      await look();
      store.clock.now += DAY;
      await look();
      expect(inbox.received).toEqual([]);
      expect((await queuedIn(store)).map(({ dueAt }) => dueAt)).toEqual(ids.map(() => undefined));

      await change(store, alert, {
        isPaused: false,
        way: { ...webhookOf(alert), state: { is: "active", since: 0 } },
      });
      const came = await inbox.arrived(ids.length);
      expect(came.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    },
  );

  it("does not hold back a delivery when its alert becomes active at the same moment", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver();
    const alert = webhookAlert({ url: inbox.url, isPaused: true });
    await keep(store, alert);
    // The alert is resumed after the worker has read it and before the worker holds the delivery
    // back.
    let isResumed = false;
    const records: Records = {
      ...store.records,
      async get(from, key) {
        const found = await store.records.get(from, key);
        if (from.name === alerts.name && !isResumed) {
          isResumed = true;
          await change(store, alert, { isPaused: false });
        }
        return found;
      },
    };
    const { look } = startWorker({ ...store, records });
    await store.records.commit(queuedEvent(alert));
    await look();
    store.clock.now += MINUTE;
    await look();
    expect(inbox.received).toHaveLength(1);
  });

  it("deletes deliveries of a deleted alert, and of an owner who is no longer entitled", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver();
    const [gone, barred] = [webhookAlert({ url: inbox.url }), webhookAlert({ url: inbox.url })];
    await keep(store, gone, barred);
    for (const each of [gone, barred]) await store.records.commit(queuedEvent(each));
    const elsewhere = {
      ...gone,
      groups: gone.groups.filter((each) => each !== alertGroup(gone.key)),
    };
    await store.records.commit(queuedEvent(elsewhere));
    await store.records.commit([removeGroup(alertGroup(gone.key))]);
    expect(await queuedIn(store)).toHaveLength(2);
    await startWorker(store, { scopesOf: async () => new Set() }).look();
    expect(await queuedIn(store)).toEqual([]);
    expect(inbox.connections).toBe(0);
    expect(await attempts(store)).toEqual([]);
  });

  it("disables a webhook at once after status 410 and notifies the owner's other webhooks", async () => {
    const store = await openStore(embedded);
    const [inbox, other, pausedInbox] = [await receiver(), await receiver(), await receiver()];
    inbox.behavior = 410;
    const alert = webhookAlert({ url: inbox.url });
    const stranger = webhookAlert({ url: pausedInbox.url, owner: { ...OWNER, id: "agent-2" } });
    const paused = webhookAlert({ url: pausedInbox.url, isPaused: true });
    await keep(store, alert, webhookAlert({ url: other.url }), paused, stranger);
    const { look } = startWorker(store);
    await store.records.commit([
      ...queuedEvent(alert, "msg_1"),
      ...queuedEvent(alert, "msg_2").map((step) =>
        step.kind === "insert" ? { ...step, placing: { ...step.placing, dueInMs: HOUR } } : step,
      ),
    ]);
    await look();
    expect((await alertNow(store, alert))?.way).toMatchObject({
      state: { is: "disabled", reason: "gone", since: store.clock.now },
    });
    expect(await queuedIn(store)).toEqual([]);
    const [told] = await other.arrived(1);
    expect(JSON.parse(told?.body ?? "")).toMatchObject({
      type: "endpoint.disabled",
      data: { alertId: alert.key, label: "test", reason: "gone" },
    });
    expect(pausedInbox.received).toEqual([]);
    expect(await attempts(store)).toMatchObject([
      { eventId: "msg_1", status: 410, nextInMs: null },
      { type: "endpoint.disabled", status: 200 },
    ]);

    await store.records.commit(queuedEvent(alert));
    await look();
    expect(inbox.received).toHaveLength(1);
    expect((await queuedIn(store)).map(({ dueAt }) => dueAt)).toEqual([undefined]);
  });

  it("disables a webhook only after at least five days of failures and at least twenty failures", async () => {
    const store = await openStore(embedded);
    const [inbox, other] = [await receiver({ behavior: 500 }), await receiver()];
    const alert = webhookAlert({ url: inbox.url });
    await keep(store, alert, webhookAlert({ url: other.url }));
    const { look } = startWorker(store);
    const fail = async (): Promise<void> => {
      await store.records.commit(queuedEvent(alert));
      await look();
    };
    const state = async () => {
      const way = (await alertNow(store, alert))?.way;
      return way?.by === "webhook" ? way.state.is : undefined;
    };
    await fail();
    const start = store.clock.now;
    store.clock.now = start + 5 * DAY;
    // Nineteen failures after more than five days are not yet enough.
    while (inbox.received.length < 19) {
      store.clock.now += HOUR;
      await look();
      if (inbox.received.length < 19) await fail();
    }
    expect(await state()).toBe("active");
    expect((await store.records.get(endpointHealthRecords, alert.key))?.value).toEqual({
      failingSince: start,
      failures: 19,
    });
    store.clock.now += HOUR;
    await Promise.all([fail(), fail(), fail()]);
    expect(await state()).toBe("disabled");
    expect(await store.records.get(endpointHealthRecords, alert.key)).toBeUndefined();
    expect((await other.arrived(1)).map(({ type }) => type)).toEqual(["endpoint.disabled"]);
    await look();
    expect(other.received).toHaveLength(1);
    expect(await auditEntriesIn(store.records)).toEqual([
      { action: "alert.disabled", actor: "system", target: alert.key },
    ]);
  });

  it("resets the failure count after a success", async () => {
    const { store, inbox, alert, look } = await hooked({ behavior: 500 });
    await store.records.commit(queuedEvent(alert));
    await look();
    expect((await store.records.get(endpointHealthRecords, alert.key))?.value.failures).toBe(1);
    inbox.behavior = "healthy";
    store.clock.now += 5 * SECOND;
    await look();
    expect(await store.records.get(endpointHealthRecords, alert.key)).toBeUndefined();
  });

  it("sends a pending webhook only its challenge until the challenge is answered, and then its events", async () => {
    const { store, inbox, alert, look } = await hooked({}, { state: pending });
    await store.records.commit([
      ...stepsOf(enqueueChallenge, alert, store.clock.now),
      ...queuedEvent(alert, "msg_1"),
    ]);
    store.clock.now += 5 * SECOND - 1;
    await look();
    expect(inbox.connections).toBe(0);
    store.clock.now += 1;
    await look();
    const [asked, event] = await inbox.arrived(2);
    expect(JSON.parse(asked?.body ?? "")).toMatchObject({
      type: "endpoint.verify",
      data: { alertId: alert.key, challenge: CHALLENGE },
    });
    expect(event?.id).toBe("msg_1");
    expect((await alertNow(store, alert))?.way).toMatchObject({
      state: { is: "active", since: store.clock.now },
    });
  });

  it("sends a challenge four times within half an hour, then disables the webhook", async () => {
    const { store, inbox, alert, look } = await hooked({ behavior: "silent" }, { state: pending });
    const start = store.clock.now;
    await store.records.commit([
      ...stepsOf(enqueueChallenge, alert, start),
      ...queuedEvent(alert, "msg_1"),
    ]);
    for (let minute = 0; minute <= 31; minute++) {
      store.clock.now = start + minute * MINUTE + 5 * SECOND;
      await look();
      expect(await store.records.get(endpointHealthRecords, alert.key)).toBeUndefined();
    }
    expect(inbox.received.map((each) => (sentAt(each) - start) / SECOND)).toEqual([
      5, 65, 305, 1_805,
    ]);
    expect((await alertNow(store, alert))?.way).toMatchObject({
      state: { is: "disabled", reason: "unverified" },
    });
    expect(await attempts(store)).toMatchObject([
      { error: "bad_challenge", status: 204 },
      {},
      {},
      { nextInMs: null },
    ]);
    expect(await queuedIn(store)).toEqual([]);
  });

  it("deletes a challenge that was replaced by a newer challenge", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver();
    const alert = webhookAlert({
      url: inbox.url,
      state: { ...pending, challenge: "the next one" },
    });
    await keep(store, alert);
    const way = { ...webhookOf(alert), state: pending };
    const old = { ...alert, value: { ...alert.value, way } };
    await store.records.commit(stepsOf(enqueueChallenge, old, store.clock.now));
    store.clock.now += 5 * SECOND;
    await startWorker(store).look();
    expect(inbox.connections).toBe(0);
    expect(await queuedIn(store)).toEqual([]);
  });

  it("challenges a host at most ten times per hour for one account", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver({ behavior: "silent" });
    const askedBy = (accountId: string, id: string) =>
      webhookAlert({ url: inbox.url, state: pending, owner: { ...OWNER, id, accountId } });
    const made = Array.from({ length: 14 }, (_, at) => askedBy("acc_1", `agent-${at}`));
    const other = askedBy("acc_2", "another");
    await keep(store, ...made, other);
    for (const each of made)
      await store.records.commit(stepsOf(enqueueChallenge, each, store.clock.now));
    store.clock.now += 5 * SECOND;
    const { look } = startWorker(store);
    await look();
    expect(inbox.received).toHaveLength(10);
    await store.records.commit(stepsOf(enqueueChallenge, other, store.clock.now - 5 * SECOND));
    store.clock.now += 5 * SECOND;
    await look();
    expect(JSON.parse(inbox.received[10]?.body ?? "")).toMatchObject({
      data: { alertId: other.key },
    });
    const late = (await queuedIn(store)).filter(({ value }) => value.attempts === 0);
    expect(late).toHaveLength(4);
    for (const { dueAt } of late) expect(dueAt).toBeGreaterThan(store.clock.now + 58 * MINUTE);
  });

  it("limits how many challenges a host receives from all accounts together", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver({ behavior: "silent" });
    const made = [1, 2, 3].map((at) =>
      webhookAlert({ url: inbox.url, state: pending, owner: { ...OWNER, id: `agent-${at}` } }),
    );
    await keep(store, ...made);
    for (const each of made)
      await store.records.commit(stepsOf(enqueueChallenge, each, store.clock.now));
    store.clock.now += 5 * SECOND;
    const overrides = { "host-requests": { caller: 2, network: 2, total: 2 } };
    await startWorker(store, { limits: createLimits({ overrides }) }).look();
    expect(inbox.received).toHaveLength(2);
  });

  it("challenges a host for a new account after others have used up all but the reserve", async () => {
    const store = await openStore(embedded);
    const challenged: string[] = [];
    const sender: Pick<WebhookSender, "send"> = {
      async send({ body }) {
        challenged.push(JSON.parse(body).data.alertId);
        return { ...OK, status: 404 };
      },
    };
    const overrides = { "host-requests": { caller: 10, network: 10, total: 500 } };
    const limits = createLimits({ overrides, now: () => store.clock.now });
    const { look } = startWorker(store, { sender, limits });
    const ask = async (accountId: string, count: number) => {
      const made = Array.from({ length: count }, (_, at) => {
        const url = `https://hooks.example/${accountId}/${at}`;
        return webhookAlert({ url, state: pending, owner: { ...OWNER, id: accountId, accountId } });
      });
      await keep(store, ...made);
      const steps = made.map((each) => stepsOf(enqueueChallenge, each, store.clock.now));
      await store.records.commit(steps.flat());
      return made;
    };
    for (let account = 0; account < 100; account++) await ask(`acc_${account}`, 10);
    store.clock.now += 5 * SECOND;
    await look();
    const asked = challenged.length;
    const [late] = await ask("acc_late", 1);
    store.clock.now += 5 * SECOND;
    await look();
    expect(challenged.slice(asked)).toEqual([late?.key]);
  });

  it("delivers to other endpoints while one endpoint hangs", async () => {
    const store = await openStore(embedded);
    const [hole, inbox] = [await receiver({ behavior: "black-hole" }), await receiver()];
    const [swallowed, alert] = [webhookAlert({ url: hole.url }), webhookAlert({ url: inbox.url })];
    await keep(store, swallowed, alert);
    for (let event = 0; event < 300; event++) {
      await store.records.commit(queuedEvent(swallowed));
    }
    startWorker(store);
    await hole.arrived(5);
    for (let event = 0; event < 30; event++) await store.records.commit(queuedEvent(alert));
    await inbox.arrived(30);
    expect(hole.received).toHaveLength(5);
  });

  it("delivers for another owner while five owners use their full share of attempts", async () => {
    const store = await openStore(embedded);
    const [started, busy] = [new Set<string>(), Promise.withResolvers<void>()];
    const events = new EventEmitter();
    const answered = Promise.withResolvers<WebhookResponse>();
    const send: WebhookSender["send"] = ({ body }) => {
      started.add(JSON.parse(body).data.eventId);
      events.emit("started");
      if (started.size === 200) busy.resolve();
      return answered.promise;
    };
    const records: Records = {
      ...store.records,
      async claimDue(from, selection) {
        const due = await store.records.claimDue(from, selection);
        if (from.name === deliveries.name && due.length === 0) busy.resolve();
        return due;
      },
    };
    const ownedBy = (accountId: string, url: string) =>
      webhookAlert({ url, owner: { ...OWNER, id: accountId, accountId } });
    for (const owner of [1, 2, 3, 4, 5]) {
      const made = Array.from({ length: 8 }, (_, at) =>
        ownedBy(`acc_${owner}`, `https://slow-${owner}-${at}.example/`),
      );
      await keep(store, ...made);
      const steps = made.flatMap((alert) => Array.from({ length: 6 }, () => queuedEvent(alert)));
      await store.records.commit(steps.flat());
    }
    startWorker({ ...store, records }, { sender: { send } });
    await busy.promise;
    expect(started.size).toBeLessThan(150);
    store.clock.now += SECOND;
    const late = ownedBy("acc_late", "https://late.example/");
    await keep(store, late);
    await store.records.commit(queuedEvent(late, "msg_late"));
    while (!started.has("msg_late")) await once(events, "started");
    expect(started.size).toBeLessThan(150);
    answered.resolve(OK);
  });

  it("sends one delivery at a time, as a trial, to an endpoint that has failed five times", async () => {
    const { store, inbox, alert, look } = await hooked({ behavior: 500 });
    const ids = Array.from({ length: 40 }, (_, at) => newMessageId(at));
    for (const id of ids) await store.records.commit(queuedEvent(alert, id));
    await look();
    // Attempts that were under way when the breaker opened still arrived.
    const first = inbox.received.length;
    expect(first).toBeLessThanOrEqual(9);
    store.clock.now += 60 * SECOND;
    await look();
    expect(inbox.received).toHaveLength(first + 1);
    store.clock.now += 5 * MINUTE;
    await look();
    expect(inbox.received).toHaveLength(first + 2);
    store.clock.now += 30 * MINUTE - 1;
    await look();
    expect(inbox.received).toHaveLength(first + 2);
    inbox.behavior = "healthy";
    store.clock.now += 1;
    await look();
    store.clock.now += 2 * MINUTE;
    await look();
    expect(new Set(inbox.received.map(({ id }) => id)).size).toBe(ids.length);
  });

  it("delivers a message again when the first attempt could not be recorded", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver();
    const alert = webhookAlert({ url: inbox.url });
    await keep(store, alert);
    let refusals = 0;
    const records: Records = {
      ...store.records,
      commit(operations) {
        const isOutcome = operations.some(({ kind }) => kind === "remove");
        if (!isOutcome || refusals > 0) return store.records.commit(operations);
        refusals += 1;
        return Promise.reject(new Error("The store is down."));
      },
    };
    const { look, errors } = startWorker({ ...store, records });
    await store.records.commit(queuedEvent(alert, "msg_1"));
    await look();
    expect(errors).toHaveLength(1);
    expect(await queuedIn(store)).toHaveLength(1);
    store.clock.now += MINUTE;
    await look();
    expect(inbox.received.map(({ id }) => id)).toEqual(["msg_1", "msg_1"]);
    expect(await queuedIn(store)).toEqual([]);
  });

  it("returns unsent deliveries to the queue when it stops", async () => {
    const store = await openStore(embedded);
    const inbox = await receiver();
    const alert = webhookAlert({ url: inbox.url });
    await keep(store, alert);
    const { sender, underway, answer } = slowSender();
    const { stop } = startWorker(store, { sender });
    const queue = async (count: number): Promise<void> => {
      const steps = Array.from({ length: count }, () => queuedEvent(alert));
      await store.records.commit(steps.flat());
    };
    await queue(4);
    await underway(4);
    // Only one of the three deliveries has a free slot, but they are claimed together.
    await queue(3);
    await underway(5);
    const stopped = stop();
    answer(OK);
    await stopped;
    const left = await queuedIn(store);
    expect(left).toHaveLength(2);
    for (const { dueAt } of left) expect(dueAt).toBe(store.clock.now);
  });

  it("does not record an attempt that was aborted when the worker stopped", {
    tags: ["full"],
  }, async () => {
    const store = await openStore(embedded);
    const alert = webhookAlert({ url: "https://inbox.example/hook" });
    await keep(store, alert);
    await store.records.commit(queuedEvent(alert));
    const { sender, underway, breakOff } = slowSender();
    const { stop, quiet } = startWorker(store, { sender });
    await underway(1);
    await stop();
    breakOff();
    await quiet();
    expect(await attempts(store)).toEqual([]);
    expect(await queuedIn(store)).toMatchObject([{ value: { attempts: 0 } }]);
  });

  it("does not verify a webhook whose URL changed during the challenge", async () => {
    const store = await openStore(embedded);
    const alert = webhookAlert({ url: "https://inbox.example/hook", state: pending });
    await keep(store, alert);
    await store.records.commit(stepsOf(enqueueChallenge, alert, store.clock.now));
    store.clock.now += 5 * SECOND;
    const { sender, underway, answer } = slowSender();
    const { look } = startWorker(store, { sender });
    await underway(1);
    const state = { ...pending, challenge: "the next one" };
    const way = { ...webhookOf(alert), ...OTHER_URL, state };
    await change(store, alert, { way });
    answer({ ...OK, body: CHALLENGE });
    await look();
    expect((await alertNow(store, alert))?.way).toEqual(way);
    expect(await queuedIn(store)).toEqual([]);
  });

  it.each([
    ["got another URL", OTHER_URL],
    ["been enabled again", { state: { is: "active", since: 1 } }],
  ] as const)("does not disable a webhook that has %s during an attempt", async (_, changed) => {
    const store = await openStore(embedded);
    const alert = webhookAlert({ url: "https://inbox.example/hook" });
    await keep(store, alert);
    await store.records.commit(queuedEvent(alert));
    const { sender, underway, answer } = slowSender();
    const { look } = startWorker(store, { sender });
    await underway(1);
    const way = { ...webhookOf(alert), ...changed };
    await change(store, alert, { way });
    answer({ ...OK, status: 410 });
    await look();
    expect((await alertNow(store, alert))?.way).toEqual(way);
    expect(await queuedIn(store)).toMatchObject([{ dueAt: store.clock.now + 5 * SECOND }]);
  });
});

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
    const opened = await embedded.open({ now: steady });
    onTestFinished(() => embedded.discard(opened));
    const { records } = opened;
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
    await records.commit(queuedEvent(alert, "msg_1"));
    await look();
    wait(5 * SECOND);
    await look();
    expect(inbox.received).toHaveLength(2);

    clocks.wall += jumpMs;
    await look();
    expect(inbox.received).toHaveLength(2);
    inbox.behavior = "healthy";
    await records.commit(queuedEvent(alert, "msg_2"));
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

describeEngines("the delivery workers of several processes", (engine) => {
  it("delivers exactly once every message that was queued before the worker started", async () => {
    const store = await openStore(engine);
    const inbox = await receiver();
    const made = Array.from({ length: 4 }, () => webhookAlert({ url: inbox.url }));
    await keep(store, ...made);
    const ids = Array.from({ length: 60 }, (_, at) => newMessageId(at));
    for (const [at, id] of ids.entries()) {
      await store.records.commit(queuedEvent(made[at % 4] as WebhookAlert, id));
    }
    for (let process = 0; process < 3; process++) startWorker(store);
    const came = await inbox.arrived(ids.length);
    await startWorker(store).look();
    expect(came.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });
});
