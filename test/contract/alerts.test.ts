import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import Papa from "papaparse";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { ownerGroup } from "../../src/alerts/alert.ts";
import { removeGroup } from "../../src/store/port/operations.ts";
import { tools } from "../../tools/index.ts";
import { registerAlert } from "../../tools/register-alert.ts";
import { startAlertApp } from "../support/alert-app.ts";
import { archiveTestAttempt, auditEntriesIn, storedEvent } from "../support/alert-service.ts";
import { connectMcp, textOf } from "../support/mcp.ts";
import { verifies } from "../support/verifies.ts";

const { as, base, callers, records, archive, clock, failures } = await startAlertApp();

/** Removes all alerts after each test, since a caller can have only 20 webhooks. */
afterEach(() =>
  records.commit(Object.values(callers).map((caller) => removeGroup(ownerGroup(caller)))),
);

const SYMBOLS = { symbols: ["ALDER.SIM"] };
const HOOK = { type: "webhook", url: "https://hooks.example.com/in" };
const HOOKED = { ...SYMBOLS, delivery: HOOK };

/** Time of the service during these tests. */
const NOW = new Date(clock.now).toISOString();

type Body = Record<string, unknown> & { readonly id: string };

/** Expects a status, 200 by default. @returns The body. */
async function answered(sent: Promise<Response>, status = 200): Promise<Body> {
  const response = await sent;
  const body = await response.json();
  expect(response.status, JSON.stringify(body)).toBe(status);
  return body as Body;
}

async function problem(sent: Promise<Response>, status: number, code: string) {
  const response = await sent;
  const body = await response.json();
  expect(body).toMatchObject({ status, code });
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toContain("application/problem+json");
  return body as { readonly detail: string; readonly next?: string };
}

/** Request options that ask for CSV. */
const CSV = { headers: { accept: "text/csv" } };

/** Reads the rows of a CSV answer and the URL of its next page. */
async function table(sent: Promise<Response>) {
  const response = await sent;
  const text = await response.text();
  expect([response.status, response.headers.get("cache-control"), text]).toEqual([
    ...[200, "no-store", expect.any(String)],
  ]);
  const options = { header: true, delimiter: ",", newline: "\r\n", skipEmptyLines: true } as const;
  const { data: rows } = Papa.parse<Readonly<Record<string, string>>>(text, options);
  const [, next = null] = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "") ?? [];
  return { rows, link: next };
}

const post = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
  as("agent", path, { method: "POST", body, headers });

const register = (body: unknown = HOOKED) => answered(post("/api/alerts", body), 201);

const parses = (name: string, body: unknown) =>
  expect(tools.find((tool) => tool.name === name)?.output.safeParse(body).error).toBeUndefined();

describe("POST /api/alerts", () => {
  it("creates an alert and returns 201 with its URL, its secret and the next step", async () => {
    const response = await post("/api/alerts", HOOKED);
    const body = (await response.json()) as Body;
    expect(response.status).toBe(201);
    expect(response.headers.get("location")).toBe(`/api/alerts/${body.id}`);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      id: expect.stringMatching(/^alert_[0-9A-Za-z]{16}$/),
      status: "pending",
      watchlist: null,
      label: null,
      symbols: ["ALDER.SIM"],
      assetClass: null,
      signal: null,
      kinds: ["signal_shift", "volatility"],
      scoreMove: 15,
      volatilityZ: 2.5,
      cooldownDays: null,
      cooldownDefault: "a session; 0.25 days for coins",
      reportSessions: 5,
      steadinessLevel: 20,
      delivery: { ...HOOK, state: "pending", stateSince: "2026-11-21T12:00:00.000Z" },
      createdAt: "2026-11-21T12:00:00.000Z",
      expiresAt: null,
      snoozedUntil: null,
      market: "sandbox",
      secret: expect.stringMatching(/^whsec_/),
      nextSteps: expect.arrayContaining([
        expect.stringContaining("/.well-known/webhook-keys.json"),
      ]),
    });
    parses("register_alert", body);
    const { secret: _, nextSteps: __, ...shown } = body;
    const found = await answered(as("agent", `/api/alerts/${body.id}`));
    expect(found).toMatchObject(shown);
    expect(found).not.toHaveProperty("secret");
    parses("list_alerts", found);
  });

  it("records the hashed IP address of the caller in the audit log", async () => {
    const { id } = await register();
    const entry = (await auditEntriesIn(records)).find(({ target }) => target === id);
    expect(entry).toMatchObject({ actor: "agent", addressHash: "hash of 127.0.0.1" });
  });

  it("defaults to polling, and accepts every documented member", async () => {
    expect(await register(SYMBOLS)).toMatchObject({ status: "active", delivery: { type: "poll" } });
    const full = await register({
      symbols: ["brine-sim", "ALDER.SIM", "Brine.Sim"],
      kinds: ["volatility", "volatility"],
      scoreMove: 5,
      volatilityZ: 4,
      cooldownDays: 30,
      delivery: { type: "poll" },
      label: "  Übung\u0041\u030a \t one ",
      expiresAt: "2026-12-01T00:00:00+01:00",
      snoozedUntil: "2026-11-21T12:00:00.001Z",
    });
    expect(full).toMatchObject({
      status: "snoozed",
      symbols: ["ALDER.SIM", "BRINE.SIM"],
      kinds: ["volatility"],
      label: "Übung\u00c5 one",
      expiresAt: "2026-11-30T23:00:00.000Z",
    });
    const stocks = { assetClass: "stock", signal: "LONG" };
    expect(await register(stocks)).toMatchObject({ ...stocks, symbols: null, scoreMove: null });
    expect(await register({ ...stocks, scoreMove: 15 })).toMatchObject({ scoreMove: 15 });
    expect(await register({ assetClass: "stock" })).toMatchObject({ scoreMove: 15 });
    const named = { symbols: ["ALDER.SIM"], signal: "LONG" };
    expect(await register(named)).toMatchObject({ ...named, assetClass: null });
    expect(await register({ signal: "SHORT" })).toMatchObject({ symbols: null, signal: "SHORT" });
  });

  it("states the expected frequency of range events", async () => {
    const { nextSteps } = await register({ assetClass: "stock", kinds: ["range"] });
    expect(nextSteps).toEqual([
      expect.stringContaining("get_alert_events"),
      expect.stringMatching(/1 in 17 ranges of stocks .* expect about 3 events a year for each/),
    ]);
  });

  it("rejects an alert with only range events for an asset class without forecasts, and suggests other event types", async () => {
    const refused = post("/api/alerts", { assetClass: "etf", kinds: ["range"] });
    const { detail, next } = await problem(refused, 400, "invalid_request");
    expect(detail).toBe("kinds: there is no range for funds: nothing of the class has a forecast.");
    expect(next).toContain("signal_shift or volatility");
    const { nextSteps } = await register({ assetClass: "etf", kinds: ["volatility", "range"] });
    expect(nextSteps).toContainEqual(expect.stringContaining("no event comes of funds"));
  });

  it("rejects an alert with only steadiness events that watches funds alone, and otherwise names what has none", async () => {
    const stocks = { assetClass: "stock", kinds: ["steadiness"], steadinessLevel: 30 };
    expect(await register(stocks)).toMatchObject(stocks);
    const refused = post("/api/alerts", { assetClass: "etf", kinds: ["steadiness"] });
    const { detail, next } = await problem(refused, 400, "invalid_request");
    expect(detail).toBe("kinds: there is no steadiness of funds: funds are not ranked.");
    expect(next).toContain("name a stock");
    const { nextSteps } = await register({
      assetClass: "etf",
      kinds: ["volatility", "steadiness"],
    });
    expect(nextSteps).toContain("steadiness: no event comes of funds: funds are not ranked.");
  });

  it.each([
    ["no symbols and no filters", {}, "symbols"],
    ["symbols together with a class", { ...SYMBOLS, assetClass: "stock" }, "symbols"],
    ["an empty list of symbols", { symbols: [] }, "symbols"],
    ["too many symbols", { symbols: Array(101).fill("ALDER.SIM") }, "symbols"],
    ["an empty list of kinds", { ...SYMBOLS, kinds: [] }, "kinds"],
    ["a score move below the minimum", { ...SYMBOLS, scoreMove: 4.9 }, "scoreMove"],
    ["a volatility threshold above the maximum", { ...SYMBOLS, volatilityZ: 4.1 }, "volatilityZ"],
    ["a cooldown above the maximum", { ...SYMBOLS, cooldownDays: 31 }, "cooldownDays"],
    ["a webhook without a URL", { ...SYMBOLS, delivery: { type: "webhook" } }, "url"],
    ["a URL for polling", { ...SYMBOLS, delivery: { ...HOOK, type: "poll" } }, "url"],
    ["an unknown delivery type", { ...SYMBOLS, delivery: { type: "mail" } }, "delivery"],
    [
      "a webhook URL with plain HTTP",
      { ...SYMBOLS, delivery: { ...HOOK, url: "http://a.example.com" } },
      "url",
    ],
    [
      "a webhook URL with a private address",
      { ...SYMBOLS, delivery: { ...HOOK, url: "https://10.1.2.3/" } },
      "url",
    ],
    ["a label with control characters", { ...SYMBOLS, label: "a\u0007b" }, "label"],
    ["a label with a right-to-left override", { ...SYMBOLS, label: "a\u202eb" }, "label"],
    ["a label of an invisible letter", { ...SYMBOLS, label: "\u3164" }, "label"],
    ["a label that is a script URL", { ...SYMBOLS, label: "javascript:alert(1)" }, "label"],
    ["a label that is too long", { ...SYMBOLS, label: "a".repeat(101) }, "label"],
    ["an expiry that is now", { ...SYMBOLS, expiresAt: NOW }, "expiresAt"],
    ["a snooze that is over", { ...SYMBOLS, snoozedUntil: NOW }, "snoozedUntil"],
    ["an instant without a time zone", { ...SYMBOLS, snoozedUntil: "2030-01-01" }, "snoozedUntil"],
    ["an idempotency key that is not ASCII", { ...SYMBOLS, idempotencyKey: "ü" }, "idempotencyKey"],
    ["an empty idempotency key", { ...SYMBOLS, idempotencyKey: "" }, "idempotencyKey"],
    ["an unknown member", { ...SYMBOLS, webhookUrl: HOOK.url }, "webhookUrl"],
    ["an array as the body", [HOOKED], "array"],
    ["a number as the body", "7", "JSON"],
    ["invalid JSON", "{", "JSON"],
    ["JSON that is nested too deeply", `{"symbols":${"[".repeat(50)}${"]".repeat(50)}}`, "deep"],
  ])("rejects %s with 400 and an error that names the cause", async (_, body, named) => {
    const { detail } = await problem(post("/api/alerts", body), 400, "invalid_request");
    expect(detail).toContain(named);
    expect(await answered(as("agent", "/api/alerts"))).toMatchObject({ items: [] });
  });

  it("rejects a request without a body with 400 invalid_request", async () => {
    await problem(post("/api/alerts"), 400, "invalid_request");
  });

  it("suggests similar symbols for an unknown symbol", async () => {
    const { next } = await problem(
      post("/api/alerts", { symbols: ["BRINE.SIM", "ALDE.SIM"] }),
      404,
      "unknown_symbol",
    );
    expect(next).toContain("ALDER.SIM");
  });

  it("answers 413 for a body that is too large and 415 for another content type", async () => {
    const large = { ...SYMBOLS, label: "x".repeat(17_000) };
    await problem(post("/api/alerts", large), 413, "content_too_large");
    const types = ["text/plain", "application/x-www-form-urlencoded", "application/problem+json"];
    for (const type of types) {
      const sent = post("/api/alerts", JSON.stringify(HOOKED), { "content-type": type });
      await problem(sent, 415, "unsupported_media_type");
    }
    const gzip = post("/api/alerts", "{}", { "content-encoding": "gzip" });
    await problem(gzip, 415, "unsupported_media_type");
  });

  verifies(
    ["5.3/alerts-write", "6/scope"],
    "checks the scope before it validates the body",
    async () => {
      for (const body of [HOOKED, "{"]) {
        await lacksScope(as("reader", "/api/alerts", { method: "POST", body }));
      }
    },
  );
});

/** Expects the refusal of a credential without one of the scopes for alerts. */
async function lacksScope(sent: Promise<Response>) {
  await problem(sent, 403, "insufficient_scope");
  const scopes = 'scope="alerts:write signals:read"';
  expect((await sent).headers.get("www-authenticate")).toContain(scopes);
}

it("a credential with only alerts:write can neither create an alert nor read events", async () => {
  await lacksScope(as("writer", "/api/alerts", { method: "POST", body: HOOKED }));
  await lacksScope(as("writer", "/api/alerts/events"));
  await lacksScope(as("writer", "/api/alerts/stream"));
  const client = await connectMcp(base, "writer");
  for (const name of ["register_alert", "get_alert_events"]) {
    await expect(client.callTool({ name, arguments: SYMBOLS })).rejects.toThrow();
  }
  await client.close();
});

describe("the Idempotency-Key header", () => {
  const under = (key: string, body: object = HOOKED) =>
    post("/api/alerts", body, { "idempotency-key": key });

  it("makes a repeated request return the first answer instead of creating a second alert", async () => {
    const first = await answered(under('"8e03978e-40d5"'), 201);
    expect(await answered(under('"8e03978e-40d5"'), 201)).toEqual(first);
    expect(await answered(under("8e03978e-40d5"), 201)).toEqual(first);
    const inBody = { ...HOOKED, idempotencyKey: "8e03978e-40d5" };
    expect(await answered(post("/api/alerts", inBody), 201)).toEqual(first);
    expect(await answered(under("8e03978e-40d5", inBody), 201)).toEqual(first);
    const alike = { ...HOOKED, symbols: ["alder/sim"], scoreMove: 15 };
    expect(await answered(under("8e03978e-40d5", alike), 201)).toEqual(first);
  });

  it("belongs to its caller: others of the same person create alerts under it too", async () => {
    const body = { ...HOOKED, idempotencyKey: "the-same" };
    const callers = ["agent", "sibling", "person", "application"];
    const made = await Promise.all(
      callers.map((name) => answered(as(name, "/api/alerts", { method: "POST", body }), 201)),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(callers.length);
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(callers.length);
  });

  it("may have 255 characters", async () => {
    const long = "~".repeat(255);
    expect(await answered(under(long), 201)).toEqual(await answered(under(long), 201));
  });

  it("is rejected with 422 when it was already used for a different body", async () => {
    await answered(under("reused"), 201);
    await problem(under("reused", SYMBOLS), 422, "idempotency_key_reused");
  });

  it("is rejected with 400 when the body contains a different key", async () => {
    const body = { ...HOOKED, idempotencyKey: "one" };
    const { detail } = await problem(under("two", body), 400, "invalid_request");
    expect(detail).toContain("Idempotency-Key");
  });

  it.each(['"open', '""', "a b", "x".repeat(256), '"a\\b"', "a, b"])(
    "is rejected when it is %j",
    async (key) => {
      const { detail } = await problem(under(key), 400, "invalid_request");
      expect(detail).toContain("Idempotency-Key");
    },
  );

  it('may be a quoted string in which \\" is an escaped quotation mark', async () => {
    const quoted = await answered(under('"a\\"b\\\\c"'), 201);
    const inBody = { ...HOOKED, idempotencyKey: 'a"b\\c' };
    expect(await answered(post("/api/alerts", inBody), 201)).toEqual(quoted);
  });
});

describe("GET /api/alerts", () => {
  it("returns the caller's own alerts page by page, optionally filtered by status", async () => {
    const { as, clock } = await startAlertApp();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const body = count === 3 ? HOOKED : SYMBOLS;
      const made = await answered(as("person", "/api/alerts", { method: "POST", body }), 201);
      ids.push(made.id);
      clock.now += 1;
    }
    await answered(as("agent", "/api/alerts", { method: "POST", body: SYMBOLS }), 201);
    const seen: string[] = [];
    let cursor: unknown = "";
    for (; cursor !== null; ) {
      const query = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = await answered(as("person", `/api/alerts?limit=2${query}`));
      parses("list_alerts", page);
      seen.push(...(page.items as Body[]).map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(ids);
    const first = await answered(as("person", "/api/alerts?limit=2"));
    await answered(as("person", `/api/alerts/${ids[1]}`, { method: "DELETE" }));
    const after = await answered(as("person", `/api/alerts?cursor=${first.nextCursor}`));
    expect((after.items as Body[]).map(({ id }) => id)).toEqual(ids.slice(2));
    const pending = await answered(as("person", "/api/alerts?status=pending"));
    expect((pending.items as Body[]).map(({ id }) => id)).toEqual([ids[3]]);
    await problem(as("person", "/api/alerts?status=gone"), 400, "invalid_request");
    await problem(as("person", `/api/alerts/${ids[0]}?status=active`), 400, "invalid_request");
  });

  it("tells the person's other callers only how many alerts there are", async () => {
    await register();
    for (const [caller, others] of [
      ["agent", 0],
      ["sibling", 1],
      ["person", 1],
      ["stranger", 0],
    ] as const) {
      const { items, others: untold } = await answered(as(caller, "/api/alerts"));
      expect([caller, untold]).toEqual([caller, others]);
      expect(items).toHaveLength(caller === "agent" ? 1 : 0);
    }
  });
});

describe("PATCH /api/alerts/{id}", () => {
  const patch = (id: string, body?: unknown) =>
    as("agent", `/api/alerts/${id}`, { method: "PATCH", body });

  it("updates the given members and clears those that are null", async () => {
    const { id } = await register({ ...HOOKED, label: "one", cooldownDays: 2 });
    const body = await answered(
      patch(id, {
        ...{ label: null, cooldownDays: null, scoreMove: 20, kinds: ["volatility"] },
        ...{ symbols: ["brine.sim"], expiresAt: "2027-01-01T00:00:00Z" },
      }),
    );
    parses("manage_alert", body);
    expect(body).toMatchObject({
      ...{ label: null, cooldownDays: null, scoreMove: 20, volatilityZ: 2.5 },
      ...{ kinds: ["volatility"], symbols: ["BRINE.SIM"], expiresAt: "2027-01-01T00:00:00.000Z" },
    });
    expect(await answered(patch(id, { expiresAt: null }))).toMatchObject({ expiresAt: null });
  });

  it("keeps the signal of an alert until it gets another or null", async () => {
    const { id } = await register({ ...SYMBOLS, signal: "LONG" });
    const symbols = ["BRINE.SIM"];
    expect(await answered(patch(id, { symbols }))).toMatchObject({ symbols, signal: "LONG" });
    expect(await answered(patch(id, { signal: "SHORT" }))).toMatchObject({ signal: "SHORT" });
    expect(await answered(patch(id, { signal: null }))).toMatchObject({ symbols, signal: null });
    const { id: other } = await register({ signal: "LONG" });
    const refused = await problem(patch(other, { signal: null }), 400, "invalid_request");
    expect(refused.detail).toBe("signal: without it the alert would watch everything.");
  });

  it("pauses, snoozes and resumes an alert through the action member", async () => {
    const { id } = await register(SYMBOLS);
    const status = async (body: object) => (await answered(patch(id, body))).status;
    expect(await status({ action: "pause" })).toBe("paused");
    expect(await status({ action: "resume" })).toBe("active");
    const until = { action: "snooze", snoozedUntil: "2026-11-22T00:00:00Z" };
    expect(await status(until)).toBe("snoozed");
    expect(await status({ action: "resume" })).toBe("active");
  });

  it.each([
    ["an empty object", {}, "update"],
    ["a request without a body", undefined, "update"],
    ["an id other than the one in the path", { id: "alert_0000000000000000", label: "x" }, "id"],
    ["a member that the action does not use", { action: "pause", label: "x" }, "label"],
    ["a snooze without an end time", { action: "snooze" }, "snoozedUntil"],
    ["a redelivery without an event id or a start time", { action: "redeliver" }, "eventId"],
    [
      "a redelivery with both an event id and a start time",
      { action: "redeliver", eventId: "x", since: "2026-11-21T00:00:00Z" },
      "one",
    ],
    ["an unknown action", { action: "stop" }, "action"],
    ["a webhook URL with a private address", { url: "https://localhost/" }, "url"],
    ["an expiry that is now", { expiresAt: NOW }, "expiresAt"],
    ["a snooze that is over", { snoozedUntil: NOW }, "snoozedUntil"],
  ])("rejects %s", async (_, body, named) => {
    const { id } = await register();
    const before = await answered(as("agent", `/api/alerts/${id}`));
    const { detail } = await problem(patch(id, body), 400, "invalid_request");
    expect(detail).toContain(named);
    expect(await answered(as("agent", `/api/alerts/${id}`))).toEqual(before);
  });

  it("accepts an id in the body that equals the id in the path", async () => {
    const { id } = await register();
    expect(await answered(patch(id, { id, label: "x" }))).toMatchObject({ label: "x" });
  });
});

describe("alert actions:", () => {
  it("DELETE removes the alert", async () => {
    const { id } = await register();
    const body = await answered(as("agent", `/api/alerts/${id}`, { method: "DELETE" }));
    expect(body).toEqual({ id, market: "sandbox", deleted: true });
    await problem(as("agent", `/api/alerts/${id}`), 404, "not_found");
    await problem(as("agent", `/api/alerts/${id}`, { method: "DELETE" }), 404, "not_found");
  });

  it("rotate returns a new secret, for a request without a body and for an empty JSON object", async () => {
    const { id, secret } = await register();
    const once = await answered(post(`/api/alerts/${id}/rotate`));
    const twice = await answered(post(`/api/alerts/${id}/rotate`, {}));
    expect(new Set([secret, once.secret, twice.secret]).size).toBe(3);
    parses("manage_alert", twice);
    expect(twice.delivery).toMatchObject({ previousSecretUntil: "2026-11-22T12:00:00.000Z" });
  });

  it("enable sends a new challenge to the webhook, and the test action is rejected until the challenge succeeds", async () => {
    const { id } = await register();
    expect(await answered(post(`/api/alerts/${id}/enable`))).toMatchObject({ status: "pending" });
    await problem(post(`/api/alerts/${id}/test`), 409, "wrong_state");
  });

  it("unknown actions and unexpected members are rejected", async () => {
    const { id } = await register();
    for (const body of [{ label: "x" }, { action: "delete" }]) {
      await problem(post(`/api/alerts/${id}/rotate`, body), 400, "invalid_request");
    }
    await answered(as("agent", `/api/alerts/${id}`));
  });

  it("redeliver resends either one event or every event whose delivery failed since a given instant", async () => {
    const { id } = await register();
    const owner = { kind: "agent", id: "agent" } as const;
    const at = clock.now - 60_000;
    const one = await storedEvent({ archive }, { owner, alertId: id, at });
    await storedEvent({ archive }, { owner, alertId: id, at: at + 1 });
    const sent = await answered(post(`/api/alerts/${id}/deliveries/${one}/redeliver`));
    expect(sent).toMatchObject({ id, eventId: one, queued: 1 });
    parses("manage_alert", sent);
    const since = { since: new Date(at).toISOString() };
    const all = await answered(post(`/api/alerts/${id}/redeliver`, since));
    expect(all).toMatchObject({ id, queued: 1, nextSince: null });
    parses("manage_alert", all);
    await problem(post(`/api/alerts/${id}/deliveries/msg_x/redeliver`), 404, "not_found");
  });
});

describe("the events of an alert", () => {
  it("are polled with a cursor that stays valid across pages", async () => {
    const { as, archive, clock } = await startAlertApp();
    const hook = await answered(as("key", "/api/alerts", { method: "POST", body: HOOKED }), 201);
    const poll = await answered(as("key", "/api/alerts", { method: "POST", body: SYMBOLS }), 201);
    const owner = { kind: "service", id: "key" } as const;
    const told: string[] = [];
    for (const [index, { id: alertId }] of [hook, poll, hook].entries()) {
      told.push(await storedEvent({ archive }, { owner, alertId, at: clock.now - 100 + index }));
    }
    const first = await answered(as("key", "/api/alerts/events?limit=2"));
    parses("get_alert_events", first);
    expect(first).toMatchObject({ market: "sandbox", hasMore: true });
    expect(first.events).toMatchObject([
      { id: told[0], type: "signal.shift", data: { alertId: hook.id, sequence: 1 } },
      { id: told[1], data: { alertId: poll.id } },
    ]);
    const rest = await answered(as("key", `/api/alerts/events?cursor=${first.nextCursor}`));
    expect((rest.events as Body[]).map(({ id }) => id)).toEqual([told[2]]);
    const empty = await answered(as("key", `/api/alerts/events?cursor=${rest.nextCursor}`));
    expect(empty).toMatchObject({ events: [], nextCursor: rest.nextCursor, hasMore: false });
    const ofOne = await answered(as("key", `/api/alerts/events?alertId=${poll.id}`));
    expect((ofOne.events as Body[]).map(({ id }) => id)).toEqual([told[1]]);
    const { rows: paged, link } = await table(as("key", "/api/alerts/events?limit=2", CSV));
    expect(paged.map(({ id }) => id)).toEqual(told.slice(0, 2));
    expect(link).toContain(`cursor=${first.nextCursor}`);
    const { rows, link: last } = await table(as("key", "/api/alerts/events", CSV));
    const [data] = (first.events as Body[]).map((event) => event.data);
    expect(rows.map(({ id }) => id)).toEqual(told);
    expect([JSON.parse(rows[0]?.data ?? ""), rows[0]?.sequence, last]).toEqual([data, "1", null]);
    expect((await table(as("person", "/api/alerts/events", CSV))).rows).toEqual([]);
    expect(await answered(as("person", "/api/alerts/events"))).toMatchObject({ events: [] });
    for (const query of ["cursor=x", "limit=101", "alertId="]) {
      const status = query === "alertId=" ? 404 : 400;
      const code = status === 404 ? "not_found" : "invalid_request";
      await problem(as("key", `/api/alerts/events?${query}`), status, code);
    }
  });

  it("have a delivery log that lists each attempt with its result, newest first", async () => {
    const { id } = await register();
    const at = clock.now;
    const failed = { status: 500, error: "http_status", response: "<b>no\u0000</b>" } as const;
    const one = { alertId: id, eventId: "msg_1" };
    await archiveTestAttempt({ archive }, { ...one, ...failed, at: at - 2, nextInMs: 5_000 });
    await archiveTestAttempt({ archive }, { ...one, at: at - 1, number: 2 });
    const log = await answered(as("agent", `/api/alerts/${id}/deliveries?limit=1`));
    parses("get_alert_events", log);
    expect(log).toMatchObject({
      deliveries: [{ attempt: 2, httpStatus: 200, error: "none", nextAttemptAt: null }],
      hasMore: true,
    });
    const path = `/api/alerts/${id}/deliveries?limit=1&cursor=${log.nextCursor}`;
    const rest = await answered(as("agent", path));
    expect(rest).toMatchObject({
      deliveries: [{ attempt: 1, httpStatus: 500, response: "<b>no\u0000</b>" }],
      nextCursor: null,
    });
    const { rows } = await table(as("agent", `/api/alerts/${id}/deliveries`, CSV));
    expect(rows.map(({ attempt, response }) => [attempt, response])).toEqual([
      ["2", ""],
      ["1", "<b>no\ufffd</b>"],
    ]);
    for (const bad of [
      "since=2026-11-21T00:00:00Z",
      "cursor=",
      "cursor=x",
      "cursor=1",
      "cursor=1-x",
    ]) {
      await problem(as("agent", `/api/alerts/${id}/deliveries?${bad}`), 400, "invalid_request");
    }
    await problem(as("agent", "/api/alerts/events?view=deliveries"), 400, "invalid_request");
  });
});

describe("alerts as CSV", () => {
  it("contain the same rows as JSON, and escape a label that a spreadsheet would run as a formula", async () => {
    const body = { ...SYMBOLS, label: "=1+1" };
    const { id } = await answered(as("agent", "/api/alerts", { method: "POST", body }), 201);
    const { items } = await answered(as("agent", "/api/alerts?limit=100"));
    const { rows } = await table(as("agent", "/api/alerts", CSV));
    expect(rows.map((row) => row.id)).toEqual((items as Body[]).map((item) => item.id));
    const [row] = (await table(as("agent", `/api/alerts/${id}`, CSV))).rows;
    expect([row?.label, row?.symbols, row?.delivery, row?.madeBy]).toEqual([
      ...["'=1+1", SYMBOLS.symbols.join(" "), "poll", ""],
    ]);
    expect((await table(as("person", "/api/alerts", CSV))).rows.map((one) => one.id)).not.toContain(
      id,
    );
  });
});

/** All requests that manage an alert, except reading and deleting it. */
const MANAGING: readonly (readonly [method: string, path: string, body?: object])[] = [
  ["PATCH", "", { label: "mine now" }],
  ["PATCH", "", { url: "https://evil.example/in" }],
  ["PATCH", "", { action: "pause" }],
  ["POST", "/test"],
  ["POST", "/rotate"],
  ["POST", "/enable"],
  ["POST", "/redeliver", { since: "2026-01-01T00:00:00Z" }],
  ["POST", "/deliveries/msg_x/redeliver"],
  ["GET", "/deliveries"],
];

describe("an alert URL", () => {
  it.each([
    ["PUT", "/api/alerts", "POST, GET, HEAD"],
    ["POST", "/api/alerts/events", "GET, HEAD"],
    ["POST", "/api/alerts/x", "GET, HEAD, PATCH, DELETE"],
    ["GET", "/api/alerts/x/test", "POST"],
    ["POST", "/api/alerts/x/deliveries", "GET, HEAD"],
  ])("rejects %s %s with 405 and an Allow header", async (method, path, allowed) => {
    const response = as("agent", path, { method });
    await problem(response, 405, "method_not_allowed");
    expect((await response).headers.get("allow")).toBe(allowed);
  });

  it("answers 404 for a malformed id", async () => {
    for (const id of [
      "x",
      "alert_",
      "alert_00000000000000000",
      "%00",
      "x".repeat(3_000),
      "..%2f",
    ]) {
      await problem(as("agent", `/api/alerts/${id}`), 404, "not_found");
      const body = { label: "x" };
      await problem(as("agent", `/api/alerts/${id}`, { method: "PATCH", body }), 404, "not_found");
    }
  });

  it.each([
    ["a stranger's agent", "stranger", "agent"],
    ["another agent of the person", "sibling", "agent"],
    ["the person of the agent", "person", "agent"],
    ["a person with the agent's id", "namesake", "agent"],
    ["an agent of the person", "agent", "person"],
    ["another application of the person", "application", "person"],
  ])("answers %s as if the alert did not exist", async (_, caller, owner) => {
    const made = as(owner, "/api/alerts", { method: "POST", body: HOOKED });
    const { id } = await answered(made, 201);
    const before = await answered(as(owner, `/api/alerts/${id}`));
    const requests = [...MANAGING, ["GET", ""], ["DELETE", ""]] as const;
    for (const [method, path, body] of requests) {
      const refusal = async (alertId: string) => {
        const sent = as(caller, `/api/alerts/${alertId}${path}`, { method, body });
        const { detail, next } = await problem(sent, 404, "not_found");
        return { detail, next };
      };
      expect(await refusal(id)).toEqual(await refusal("alert_0000000000000000"));
    }
    await problem(as(caller, `/api/alerts/events?alertId=${id}`), 404, "not_found");
    expect(await answered(as(owner, `/api/alerts/${id}`))).toEqual(before);
  });

  it("lets the person's API key read and delete the alert of an agent, but not manage it", async () => {
    const { id } = await register();
    for (const [method, path, body] of MANAGING) {
      const sent = as("key", `/api/alerts/${id}${path}`, { method, body });
      await problem(sent, 404, "not_found");
    }
    expect(await answered(as("key", `/api/alerts/${id}`))).toMatchObject({ id });
    await answered(as("key", `/api/alerts/${id}`, { method: "DELETE" }));
    await problem(as("agent", `/api/alerts/${id}`), 404, "not_found");
  });

  it.each([
    ["PATCH", "", { url: HOOK.url }],
    ["POST", "/enable", undefined],
    ["POST", "/rotate", undefined],
    ["POST", "/test", undefined],
    ["POST", "/deliveries/msg_x/redeliver", undefined],
    ["POST", "/redeliver", { since: "2026-11-21T00:00:00Z" }],
  ])("of polling rejects what needs a webhook: %s %s", async (method, path, body) => {
    const { id } = await register(SYMBOLS);
    const sent = as("agent", `/api/alerts/${id}${path}`, { method, body });
    await problem(sent, 409, "wrong_state");
  });
});

describe("alerts over MCP:", async () => {
  const client = await connectMcp(base, "agent");
  const call = async (name: string, args: Record<string, unknown>) => {
    const { structuredContent, ...answer } = await client.callTool({ name, arguments: args });
    if (answer.isError) return textOf(answer);
    expect(JSON.parse(textOf(answer))).toEqual(structuredContent);
    parses(name, structuredContent);
    return structuredContent as Body;
  };
  const done = async (name: string, args: Record<string, unknown>) => {
    const answer = await call(name, args);
    if (typeof answer === "string") throw new Error(answer);
    return answer;
  };

  it("an agent can create, list, change, redeliver and delete alerts through tools", async () => {
    const registration = { ...HOOKED, idempotencyKey: "over-mcp" };
    const made = await done("register_alert", registration);
    expect(await done("register_alert", registration)).toEqual(made);
    expect(await answered(post("/api/alerts", registration), 201)).toEqual(made);

    const { id } = made;
    expect(await done("list_alerts", { id })).toEqual(
      await answered(as("agent", `/api/alerts/${id}`)),
    );
    const { items } = await done("list_alerts", { limit: 100 });
    expect((items as Body[]).map((item) => item.id)).toContain(id);

    const manage = (args: object) => done("manage_alert", { id, ...args });
    expect(await manage({ label: "mine" })).toMatchObject({ label: "mine" });
    expect(await manage({ action: "pause" })).toMatchObject({ status: "paused" });
    expect(await manage({ action: "resume" })).toMatchObject({ status: "pending" });
    const rotated = await manage({ action: "rotate_secret" });
    expect(rotated.secret).not.toBe(made.secret);
    const event = { owner: callers.agent as NonNullable<typeof callers.agent>, alertId: id };
    const eventId = await storedEvent({ archive }, { ...event, at: clock.now });
    expect(await manage({ action: "redeliver", eventId })).toMatchObject({ queued: 1 });
    expect(await done("get_alert_events", { alertId: id })).toMatchObject({
      events: [{ id: eventId }],
    });
    expect(await done("get_alert_events", { view: "deliveries", alertId: id })).toMatchObject({
      deliveries: [],
      nextCursor: null,
    });
    expect(await manage({ action: "delete" })).toEqual({ id, market: "sandbox", deleted: true });
    expect(await call("list_alerts", { id })).toMatch(/^not_found: /);
  });

  it("tool errors have the same text as REST errors", async () => {
    const asked: readonly (readonly [string, string, object])[] = [
      ["register_alert", "/api/alerts", { symbols: ["ALDE.SIM"] }],
      ["register_alert", "/api/alerts", { ...SYMBOLS, assetClass: "stock" }],
      ["register_alert", "/api/alerts", { ...SYMBOLS, scoreMove: 1, extra: 1 }],
    ];
    for (const [name, path, input] of asked) {
      const said = (await (await post(path, input)).json()) as Record<string, string>;
      const next = said.next === undefined ? "" : ` ${said.next}`;
      expect(await call(name, { ...input })).toBe(`${said.code}: ${said.detail}${next}`);
    }
  });

  it("each of two concurrent callers sees only its own alerts", async () => {
    const [mine, theirs] = await Promise.all(
      ["agent", "stranger"].map(async (name) => {
        const one = await connectMcp(base, name);
        const made = await one.callTool({ name: "register_alert", arguments: SYMBOLS });
        const list = await one.callTool({ name: "list_alerts", arguments: { limit: 100 } });
        const { items } = list.structuredContent as { items: Body[] };
        return { id: (made.structuredContent as Body).id, ids: items.map(({ id }) => id) };
      }),
    );
    expect(mine?.ids).toContain(mine?.id);
    expect(mine?.ids).not.toContain(theirs?.id);
    expect(theirs?.ids).toEqual([theirs?.id]);
  });

  it("tools declare their effects in annotations", async () => {
    const { tools: listed } = await client.listTools();
    const hints = (name: string) => listed.find((tool) => tool.name === name)?.annotations;
    const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };
    for (const name of ["list_alerts", "get_alert_events"]) {
      expect(hints(name)).toMatchObject({ ...reads, openWorldHint: false });
    }
    const writes = { readOnlyHint: false, idempotentHint: false, openWorldHint: true };
    expect(hints("register_alert")).toMatchObject({ ...writes, destructiveHint: false });
    expect(hints("manage_alert")).toMatchObject({ ...writes, destructiveHint: true });
  });

  it("answers match the published output schemas, and inputs match the REST inputs", async () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    const { tools: listed } = await client.listTools();
    const made = await done("register_alert", HOOKED);
    const answers = {
      register_alert: [made],
      list_alerts: [await done("list_alerts", {}), await done("list_alerts", { id: made.id })],
      get_alert_events: [await done("get_alert_events", {})],
      manage_alert: [
        await done("manage_alert", { id: made.id, label: "x" }),
        await done("manage_alert", { id: made.id, action: "delete" }),
      ],
    };
    for (const [name, bodies] of Object.entries(answers)) {
      const { outputSchema } = listed.find((tool) => tool.name === name) ?? {};
      const validate = ajv.compile(outputSchema as object);
      for (const body of bodies) {
        expect(validate(body), `${name}: ${JSON.stringify(validate.errors)}`).toBe(true);
      }
    }
    const validate = ajv.compile(z.toJSONSchema(registerAlert.input, { io: "input" }));
    expect(validate(HOOKED)).toBe(true);
    expect(validate({ ...HOOKED, delivery: { type: "poll", url: "x" } })).toBe(false);
  });
});

describe("the service", () => {
  it("logs no internal failure during these tests", () => {
    expect(failures).toEqual([]);
  });
});
