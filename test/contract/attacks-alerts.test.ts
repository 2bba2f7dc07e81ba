// @module-tag full

import { describe, expect, it, onTestFinished } from "vitest";
import {
  alerts,
  type DeliveryMethod,
  eventSubject,
  type StoredAlert,
} from "../../src/alerts/alert.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  EVENT_ARCHIVE_KIND,
  EVENTS_TOPIC,
  type EventRowBody,
  enqueueDelivery,
  newMessageId,
  queuedDeliveriesGroup,
} from "../../src/alerts/delivery/delivery.ts";
import { type GrantRecord, grants } from "../../src/principals/accounts/grants.ts";
import { accountRecordsGroup, clients } from "../../src/principals/agents/agent.ts";
import {
  announce,
  appendToArchive,
  put,
  remove,
  replace,
} from "../../src/store/port/operations.ts";
import { postForm } from "../support/agent.ts";
import {
  asking,
  bearer,
  claimedAgent,
  type Headers,
  makeAlert,
  writeEvents,
} from "../support/alert-events.ts";
import { receiver } from "../support/delivery-worker.ts";
import { openStream } from "../support/event-stream.ts";
import { connectMcp, textOf } from "../support/mcp.ts";
import type { Person, UserTokens } from "../support/person.ts";
import { stepsOf } from "../support/steps-of.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";

/** Daily limit on delivery retries per account, beyond the first attempt for each event. */
const REPEATS = 6;

const testService = await startTestService({
  ALLOW_INSECURE_WEBHOOKS: "1",
  RATE_LIMITS: `${LOOSE_LIMITS} events=${REPEATS}/100000/1000000`,
});
const { base } = testService;
const { records } = testService.service.state.store;

const ALERTS = "alerts:write signals:read";
const WITH_FACTORS = `${ALERTS} factor:read`;

type Body = Record<string, unknown>;

const ask = asking(testService);

async function kept(alertId: string): Promise<StoredAlert> {
  const alert = await records.get(alerts, alertId);
  if (alert === undefined) throw new Error("the alert is not kept");
  return alert;
}

/** Creates an alert whose webhook has already answered its challenge. @returns The alert's id. */
async function hook(headers: Headers, url: string): Promise<string> {
  const id = await makeAlert(testService, headers, { delivery: { type: "webhook", url } });
  const alert = await kept(id);
  const way = { ...alert.value.way, state: { is: "active", since: 0 } } as DeliveryMethod;
  await records.commit([replace(alerts, alert, { value: { ...alert.value, way } })]);
  return id;
}

let lastAt = Date.now();

/** Stores a shift event for an alert, as the leader does. @returns The id of the event. */
async function tell(alertId: string): Promise<string> {
  const alert = await kept(alertId);
  const { owner } = alert.value;
  lastAt += 1;
  const eventId = newMessageId(lastAt);
  const contributions = { momentum: 12.5, valuation: 0, social: 0, darkpool: 0 };
  const before = { score: 50, contributions };
  const data = { alertId, eventId, sequence: 1, score: 71, before, after: before };
  const type = "signal.shift";
  const body = JSON.stringify({ type, timestamp: new Date(lastAt).toISOString(), data });
  const { clientId } = owner;
  const row: EventRowBody = { alertId, ...(clientId && { clientId }), type, body };
  const subject = eventSubject(owner);
  await records.commit([
    appendToArchive({ kind: EVENT_ARCHIVE_KIND, at: lastAt, id: eventId, subject, body: row }),
    announce(EVENTS_TOPIC),
    ...stepsOf(enqueueDelivery, alert, { eventId, type, body }),
  ]);
  return eventId;
}

/** A person's application, with its tokens and request headers. */
interface Application {
  readonly person: Person;
  readonly tokens: UserTokens;
  readonly headers: Headers;
}

async function application(
  person = testService.person(),
  scope = WITH_FACTORS,
): Promise<Application> {
  const tokens = await person.tokens({ scope });
  return { person, tokens, headers: bearer(tokens.access_token) };
}

/** Changes the scopes that a person granted to a client. */
async function regrant(clientId: string, scope: string): Promise<void> {
  const all = await records.list(grants, { limit: 1_000 });
  const steps = all
    .filter(({ value }) => value.clientId === clientId)
    .map((grant) => {
      const value: GrantRecord = { ...grant.value, resources: { [base]: scope }, openid: {} };
      return replace(grants, grant, { value });
    });
  if (steps.length === 0 || !(await records.commit(steps))) throw new Error("no grant");
}

const eventsOf = async (headers: Headers, query = "") =>
  (await ask(headers, `/api/alerts/events${query}`)).body.events as Body[];

/** Calls a tool over MCP and returns the answer. */
async function overMcp(token: string, name: string, args: Record<string, unknown>) {
  const client = await connectMcp(base, token);
  onTestFinished(() => client.close());
  return client.callTool({ name, arguments: args });
}

describe("a credential without factor:read", () => {
  it("receives signal shifts without factor contributions by polling, MCP, streams and webhooks", async () => {
    const inbox = await receiver();
    const { headers, tokens } = await application(undefined, ALERTS);
    const id = await hook(headers, inbox.url);
    const stream = await openStream(`${base}/api/alerts/stream`, headers);
    await stream.untilBlock((block) => block.id !== undefined);
    await tell(id);
    await stream.until(1);
    const [sent] = await inbox.arrived(1);
    const polled = JSON.stringify(await eventsOf(headers));
    const called = textOf(await overMcp(tokens.access_token, "get_alert_events", {}));
    for (const seen of [polled, called, stream.text(), String(sent?.body)]) {
      expect(seen).toContain('"score":71');
      expect(seen).not.toContain("contributions");
      expect(seen).not.toContain("12.5");
    }
    stream.leave();
  });

  it("receives no factor contributions from an alert that its client created with broader scopes", async () => {
    const inbox = await receiver();
    const person = testService.person();
    const wide = await application(person);
    const id = await hook(wide.headers, inbox.url);
    const narrow = await postForm(`${base}/oauth/token`, {
      grant_type: "refresh_token",
      client_id: wide.tokens.client.client_id,
      refresh_token: wide.tokens.refresh_token,
      scope: ALERTS,
    });
    const { access_token } = (await narrow.json()) as UserTokens;
    await tell(id);
    expect(JSON.stringify(await eventsOf(wide.headers))).toContain("12.5");
    expect(JSON.stringify(await eventsOf(bearer(access_token)))).not.toContain("12.5");
    // What the webhook receives depends on the credential with which the webhook URL was set.
    expect((await inbox.arrived(1))[0]?.body).toContain("12.5");
    const path = `/api/alerts/${id}`;
    const moved = await ask(bearer(access_token), path, "PATCH", { url: `${inbox.url}?mine` });
    expect(moved.status).toBe(200);
    const alert = await kept(id);
    const way = { ...alert.value.way, state: { is: "active", since: 0 } } as DeliveryMethod;
    await records.commit([replace(alerts, alert, { value: { ...alert.value, way } })]);
    await tell(id);
    expect((await inbox.arrived(2))[1]?.body).not.toContain("12.5");
  });

  it("receives no factor contributions once the grant is narrowed, not even for earlier events", async () => {
    const inbox = await receiver({ inTurn: [500, "healthy"] });
    const { headers, tokens } = await application();
    const id = await hook(headers, inbox.url);
    const eventId = await tell(id);
    expect((await inbox.arrived(1))[0]?.body).toContain("12.5");
    await regrant(tokens.client.client_id, ALERTS);
    await ask(headers, `/api/alerts/${id}/deliveries/${eventId}/redeliver`, "POST");
    const [, again] = await inbox.arrived(2);
    expect(again?.id).toBe(eventId);
    expect(again?.body).toContain('"score":71');
    expect(again?.body).not.toContain("12.5");
  });

  it("receives no more events when the grant loses signals:read", async () => {
    const inbox = await receiver();
    const { headers, tokens } = await application();
    const [id, other] = [await hook(headers, inbox.url), await application()];
    await regrant(tokens.client.client_id, "alerts:write");
    await tell(id);
    // A later event has arrived, so the earlier event was processed.
    const theirs = await tell(await hook(other.headers, inbox.url));
    expect((await inbox.arrived(1)).map((each) => each.id)).toEqual([theirs]);
  });
});

describe("another application of the same person", () => {
  it("can see that the first application's alert exists, but none of the alert's details", async () => {
    const person = testService.person();
    const [mine, theirs] = [await application(person), await application(person)];
    const url = "https://hooks.example.com/a-secret-path";
    const id = await hook(mine.headers, url);
    const before = await kept(id);
    const eventId = await tell(id);

    const list = await ask(theirs.headers, "/api/alerts");
    expect(list.body).toMatchObject({ items: [], others: 1 });
    expect((await ask(mine.headers, "/api/alerts")).body).toMatchObject({
      items: [{ id, delivery: { url } }],
      others: 0,
    });
    const mcp = await overMcp(theirs.tokens.access_token, "list_alerts", { id });
    expect(textOf(mcp)).toContain("not_found");
    const managed = { id, action: "rotate_secret" };
    expect(textOf(await overMcp(theirs.tokens.access_token, "manage_alert", managed))).toContain(
      "not_found",
    );
    expect((await ask(theirs.headers, `/api/alerts/events?alertId=${id}`)).status).toBe(404);
    expect(await eventsOf(theirs.headers)).toEqual([]);
    expect(await eventsOf(mine.headers)).toMatchObject([{ id: eventId }]);
    expect(await kept(id)).toEqual(before);
  });

  it("cannot infer the first application's events from a cursor, and misses none of its own events", async () => {
    const person = testService.person();
    const [first, second] = [await person.tokens({ scope: ALERTS }), await person.tokens()];
    const [theirs, own] = [bearer(first.access_token), bearer(second.access_token)];
    const [theirAlert, ownAlert] = [
      await makeAlert(testService, theirs),
      await makeAlert(testService, own),
    ];
    const poll = async (cursor?: unknown) => {
      const query = cursor === undefined ? "" : `?cursor=${cursor}`;
      return (await ask(own, `/api/alerts/events${query}`)).body;
    };
    const none = await poll();
    await tell(theirAlert);
    const some = await poll();
    for (const { nextCursor } of [some, await poll(some.nextCursor)]) {
      expect(nextCursor).toBe(none.nextCursor);
    }
    const stream = await openStream(`${base}/api/alerts/stream`, own);
    const { id = "" } = await stream.untilBlock((block) => block.id !== undefined);
    expect(id).not.toContain(String(lastAt));

    await tell(theirAlert);
    const eventId = await tell(ownAlert);
    for (const cursor of [none.nextCursor, some.nextCursor, id, lastAt - 1]) {
      expect(await poll(cursor)).toMatchObject({ events: [{ id: eventId }], hasMore: false });
    }
    await stream.until(1);
    const resumed = await openStream(`${base}/api/alerts/stream`, { ...own, "last-event-id": id });
    await resumed.until(1);
    const after = await poll(some.nextCursor);
    expect(await poll(after.nextCursor)).toMatchObject({ events: [], hasMore: false });
  });

  it("cannot tell from a page whether the first application has later events", async () => {
    const person = testService.person();
    const [first, second] = [await person.tokens({ scope: ALERTS }), await person.tokens()];
    const [theirs, own] = [bearer(first.access_token), bearer(second.access_token)];
    const [theirAlert, ownAlert] = [
      await makeAlert(testService, theirs),
      await makeAlert(testService, own),
    ];
    const page = async () => (await ask(own, "/api/alerts/events?limit=1")).body;
    const eventId = await tell(ownAlert);
    await tell(theirAlert);
    const only = await page();
    expect(only).toMatchObject({ events: [{ id: eventId }], hasMore: false });
    const next = await tell(ownAlert);
    const { nextCursor, hasMore } = await page();
    expect(hasMore).toBe(true);
    const rest = await ask(own, `/api/alerts/events?limit=1&cursor=${nextCursor}`);
    expect(rest.body).toMatchObject({ events: [{ id: next }], hasMore: false });
  });

  it("cannot tell from a page how many events the first application has", async () => {
    const person = testService.person();
    const [theirs, own] = [await application(person), await application(person)];
    const alertId = await makeAlert(testService, theirs.headers);
    const ownAlert = await makeAlert(testService, own.headers);
    const { owner } = (await kept(alertId)).value;
    const ats = Array.from({ length: 2_001 }, (_, nth) => lastAt + 1 + nth);
    await writeEvents(testService, { alertId, owner }, ats);
    lastAt += ats.length;
    const page = async () => (await ask(own.headers, "/api/alerts/events")).body;
    expect(await page()).toMatchObject({ events: [], hasMore: false });
    const eventId = await tell(ownAlert);
    expect(await page()).toMatchObject({ events: [{ id: eventId }], hasMore: false });
  });

  it("is not notified that a webhook of the first application was disabled", async () => {
    const person = testService.person();
    const [gone, inbox] = [await receiver({ behavior: 410 }), await receiver()];
    const [mine, theirs] = [await application(person), await application(person)];
    const id = await hook(mine.headers, gone.url);
    await hook(mine.headers, inbox.url);
    const foreign = await receiver();
    const other = await hook(theirs.headers, foreign.url);
    await tell(id);
    expect((await inbox.arrived(1))[0]?.type).toBe("endpoint.disabled");
    const event = await tell(other);
    expect((await foreign.arrived(1)).map((each) => each.id)).toEqual([event]);
  });
});

describe("the person", () => {
  it("can use their own API key to see and delete every alert, and learns who made each", async () => {
    const person = testService.person();
    const key = { "x-api-key": await person.createKey(["alerts:write", "signals:read"]) };
    const { agent, token } = await claimedAgent(testService, person);
    const app = await application(person);
    const url = "https://hooks.example.com/in";
    const ofApp = await hook(app.headers, url);
    testService.clock.now = new Date(testService.clock.now.getTime() + 1);
    const ids = [ofApp, await makeAlert(testService, bearer(token))] as const;
    const { items, others } = (await ask(key, "/api/alerts")).body;
    expect(others).toBe(0);
    expect(items).toMatchObject([
      {
        id: ids[0],
        delivery: { url },
        madeBy: { type: "application", id: app.tokens.client.client_id },
      },
      { id: ids[1], madeBy: { type: "agent", id: agent.client_id } },
    ]);
    expect((await ask(key, `/api/alerts/${ids[0]}`)).body).toMatchObject({ id: ids[0] });
    for (const id of ids) expect((await ask(key, `/api/alerts/${id}`, "DELETE")).status).toBe(200);
    expect((await ask(app.headers, "/api/alerts")).body).toMatchObject({ items: [], others: 0 });
  });
});

/** Path of the form that removes the first application on an account page. */
const pathIn = ({ html }: { readonly html: string }) =>
  /\/account\/applications\/[^"/]+\/remove/.exec(html)?.[0] ?? "";

describe("an application whose access has ended", () => {
  it.each([
    [
      "the person removes the application",
      async ({ person }: Application) => {
        const page = await person.web.get("/account");
        await person.web.submit(page.form(pathIn(page)));
      },
    ],
    [
      "its refresh token is revoked",
      async ({ tokens }: Application) => {
        const { client_id } = tokens.client;
        const token = tokens.refresh_token;
        expect((await postForm(`${base}/oauth/revoke`, { client_id, token })).status).toBe(200);
      },
    ],
    [
      "its refresh token is replayed",
      async ({ tokens }: Application) => {
        const { client_id } = tokens.client;
        const { refresh_token } = tokens;
        const form = { grant_type: "refresh_token", client_id, refresh_token };
        for (const status of [200, 400]) {
          expect((await postForm(`${base}/oauth/token`, form)).status).toBe(status);
        }
      },
    ],
  ])("receives no more events, and its alerts are removed, when %s", async (_, end) => {
    const inbox = await receiver();
    const [app, other] = [await application(), await application()];
    const id = await hook(app.headers, inbox.url);
    await tell(id);
    await inbox.arrived(1);
    const alert = await kept(id);
    await end(app);
    expect(await records.get(alerts, id)).toBeUndefined();
    // The alert is stored again, to show that nothing is sent even if the record exists.
    await records.commit([put(alerts, { key: id, value: alert.value })]);
    await tell(id);
    const theirs = await tell(await hook(other.headers, inbox.url));
    expect((await inbox.arrived(2))[1]?.id).toBe(theirs);
  });

  it("receives nothing more after its client is removed", async () => {
    const inbox = await receiver();
    const [app, other] = [await application(), await application()];
    const id = await hook(app.headers, inbox.url);
    // Removes the client, as happens to an agent when the grant under which it was claimed ends.
    await records.commit([remove(clients, app.tokens.client.client_id)]);
    await tell(id);
    const theirs = await tell(await hook(other.headers, inbox.url));
    expect((await inbox.arrived(1))[0]?.id).toBe(theirs);
  });

  it("keeps its alerts if its access ended on only one of two devices", async () => {
    const person = testService.person();
    const { tokens, headers } = await application(person);
    const id = await makeAlert(testService, headers);
    const account = (await kept(id)).value.owner.id;
    const { client_id } = tokens.client;
    const groups = [accountRecordsGroup(account)];
    const value = { accountId: account, clientId: client_id, resources: { [base]: WITH_FACTORS } };
    await records.commit([put(grants, { key: "on-another-device", value, groups })]);
    const token = tokens.refresh_token;
    await postForm(`${base}/oauth/revoke`, { client_id, token });
    expect((await kept(id)).key).toBe(id);
  });
});

describe("the delivery log of an account", () => {
  it("records a limited number of retries a day, and further retries wait", async () => {
    const inbox = await receiver();
    const { headers } = await application();
    const [id, other] = [await hook(headers, inbox.url), await hook(headers, inbox.url)];
    const eventId = await tell(id);
    const logged = async () =>
      ((await ask(headers, `/api/alerts/${id}/deliveries`)).body.deliveries as Body[]).length;
    const again = `/api/alerts/${id}/deliveries/${eventId}/redeliver`;
    for (let attempts = 1; attempts <= 1 + REPEATS; attempts += 1) {
      await expect.poll(logged).toBe(attempts);
      expect((await ask(headers, again, "POST")).status).toBe(200);
    }
    expect((await ask(headers, `/api/alerts/${other}/test`, "POST")).status).toBe(200);
    const { owner } = (await kept(other)).value;
    await writeEvents(testService, { alertId: other, owner }, [lastAt]);
    const since = new Date(lastAt).toISOString();
    const failed = await ask(headers, `/api/alerts/${other}/redeliver`, "POST", { since });
    expect(failed.body).toMatchObject({ queued: 1 });
    const first = await tell(other);
    const arrived = await inbox.arrived(2 + REPEATS);
    expect(arrived.map((each) => each.id)).toEqual([
      ...Array.from({ length: 1 + REPEATS }, () => eventId),
      first,
    ]);
    expect(await logged()).toBe(1 + REPEATS);
    expect((await records.get(deliveries, eventId))?.value.attempts).toBe(0);
  });
});

/**
 * Makes a challenge due now. Normally it waits, to give the client that created the alert time to
 * receive the secret.
 */
async function challengeNow(alertId: string): Promise<string> {
  const [waiting] = await records.list(deliveries, {
    group: queuedDeliveriesGroup(alertId),
    limit: 1,
  });
  if (waiting === undefined) throw new Error("no challenge is queued");
  const due = replace(deliveries, waiting, { value: waiting.value, dueInMs: 0 });
  await records.commit([due, announce(DELIVERIES_TOPIC)]);
  return waiting.key;
}

describe("webhook challenges", () => {
  it("count as delivery attempts, however many hosts they target, and wait once the limit on attempts is reached", async () => {
    const inbox = await receiver();
    const { headers } = await application();
    const asked: string[] = [];
    for (let nth = 0; nth <= REPEATS; nth += 1) {
      const url = inbox.url.replace("127.0.0.1", nth % 2 === 0 ? "localhost" : "127.0.0.1");
      const delivery = { type: "webhook", url: `${url}?${nth}` };
      asked.push(await challengeNow(await makeAlert(testService, headers, { delivery })));
      if (nth < REPEATS) await inbox.arrived(nth + 1);
    }
    const last = asked.at(-1) ?? "";
    const now = testService.clock.now.getTime();
    const dueIn = async () => ((await records.get(deliveries, last))?.dueAt ?? 0) - now;
    await expect.poll(dueIn).toBeGreaterThan(3_600_000);
    expect(inbox.received).toHaveLength(REPEATS);
  });
});

describe("an alert stored by an earlier version", () => {
  it("belongs to its recorded client", async () => {
    const mine = await application(testService.person());
    const inbox = await receiver();
    const id = await hook(mine.headers, inbox.url);
    const alert = await kept(id);
    const { scopes: _, ...way } = alert.value.way as Extract<DeliveryMethod, { by: "webhook" }>;
    await records.commit([replace(alerts, alert, { value: { ...alert.value, way } })]);
    await tell(id);
    expect((await inbox.arrived(1))[0]?.body).toContain("12.5");
  });

  it("without a recorded client is visible only to the person, who can delete it", async () => {
    const person = testService.person();
    const key = { "x-api-key": await person.createKey(["alerts:write", "signals:read"]) };
    const { headers } = await application(person);
    const id = await makeAlert(testService, headers);
    const alert = await kept(id);
    const { clientId: _, ...owner } = alert.value.owner;
    await records.commit([replace(alerts, alert, { value: { ...alert.value, owner } })]);
    expect((await ask(headers, `/api/alerts/${id}`)).status).toBe(404);
    expect((await ask(headers, "/api/alerts")).body).toMatchObject({ items: [], others: 1 });
    expect((await ask(key, `/api/alerts/${id}`)).status).toBe(200);
    expect((await ask(key, `/api/alerts/${id}`, "DELETE")).status).toBe(200);
  });
});
