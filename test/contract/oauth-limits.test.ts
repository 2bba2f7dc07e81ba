// @module-tag full

import { describe, expect, it } from "vitest";
import { ID_JAG_TOKEN_TYPE } from "../../src/auth/assertions/oauth-urns.ts";
import type { LimitOverrides } from "../../src/limits/classes.ts";
import { clients } from "../../src/principals/agents/agent.ts";
import { type AuditEntry, unsealedAudit } from "../../src/store/audit-entry.ts";
import { remove } from "../../src/store/port/operations.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import {
  EXAMPLE_REGISTRATION,
  postForm,
  postJson,
  type RegisteredAgent,
  register,
  tokenOf,
} from "../support/agent.ts";
import { startAuthServer } from "../support/auth-server.ts";
import { claimsFor, startIdentityProvider } from "../support/identity-provider.ts";
import { eachCaller } from "../support/limits.ts";
import { ALL_SCOPES, authorizationRequest, registerPublic } from "../support/person.ts";
import { embedded, slowRecords } from "../support/stores.ts";
import { createVisitor } from "../support/visitor.ts";

const now = () => new Date();
const { records } = await embedded.open({ now: () => Date.now() });

const start = (numbers: LimitOverrides = {}) => startAuthServer({ records, now, numbers });

/**
 * Starts a server that trusts the client address from a proxy, so that a test can use many
 * addresses.
 */
const startForMany = (numbers: LimitOverrides) =>
  startAuthServer({ records, now, numbers, proxyHops: 1 });

/** IP addresses of the client and of another caller. */
const [OWN, STRANGER] = ["198.51.100.1", "203.0.113.1"];

const interactions = collection<object>("oidc:Interaction");

const TWO = eachCaller(2);

/** Two for each network. */
const OF_NETWORK = { caller: 100, network: 2, total: 1_000 };

/** Expects the OAuth error for an exceeded rate limit. */
async function expectRefused(response: Response, name: string): Promise<void> {
  expect(response.status).toBe(429);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(50);
  expect(await response.json()).toEqual({
    error: "temporarily_unavailable",
    error_description: expect.stringContaining(`The limit ${name} allows 2 in `),
  });
}

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${btoa(`${id}:${secret}`)}`,
});

describe("registrations", () => {
  it.each([
    ["registrations", "one address", ["198.51.100.1", "198.51.100.1", "198.51.100.1"]],
    ["registrations", "one /56 network", ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1"]],
    ["registrations-network", "one /24 network", ["198.51.100.1", "198.51.100.2", "198.51.100.3"]],
    [
      "registrations-network",
      "one /48 network",
      ["2001:db8:1:100::1", "2001:db8:1:200::1", "2001:db8:1:300::1"],
    ],
  ])("are limited by %s for %s", async (policy, _what, addresses) => {
    const isNetwork = policy === "registrations-network";
    const { local } = await startForMany({ registrations: isNetwork ? OF_NETWORK : TWO });
    const ask = (address: string | undefined) =>
      postJson(`${local}/oauth/register`, EXAMPLE_REGISTRATION, {
        "x-forwarded-for": `${address}`,
      });
    expect((await ask(addresses[0])).status).toBe(201);
    expect((await ask(addresses[1])).status).toBe(201);
    await expectRefused(await ask(addresses[2]), policy);
    for (const elsewhere of ["203.0.113.1", "2001:db9::1"]) {
      expect((await ask(elsewhere)).status).toBe(201);
    }
  });

  it("are limited per address, not per client id", async () => {
    const { local } = await start({ registrations: TWO });
    const ask = (address: string) =>
      postJson(`${local}/oauth/register`, EXAMPLE_REGISTRATION, { "x-forwarded-for": address });
    expect((await ask("198.51.100.1")).status).toBe(201);
    expect((await ask("203.0.113.1")).status).toBe(201);
    await expectRefused(await ask("192.0.2.1"), "registrations");
  });

  it("from an address over its limit do not affect neighboring addresses", async () => {
    const { local } = await startForMany({
      registrations: { caller: 1, network: 2, total: 1_000 },
    });
    const ask = (address: string) =>
      postJson(`${local}/oauth/register`, EXAMPLE_REGISTRATION, { "x-forwarded-for": address });
    const statuses = [];
    for (const last of [1, 1, 1, 2]) statuses.push((await ask(`198.51.100.${last}`)).status);
    expect(statuses).toEqual([201, 429, 429, 201]);
  });
});

describe("registrations with identity assertions", () => {
  it("are limited per person, whatever their addresses", async () => {
    const idp = await startIdentityProvider();
    const issuers = await idp.trusted();
    const numbers = { registrations: TWO };
    const { local } = await startAuthServer({ records, now, numbers, issuers, proxyHops: 1 });
    const statuses: number[] = [];
    for (const [at, sub] of ["alice", "alice", "alice", "bob"].entries()) {
      const claims = { ...claimsFor(local, idp.issuer, Date.now()), sub };
      const body = {
        type: "identity_assertion",
        assertion_type: ID_JAG_TOKEN_TYPE,
        assertion: await idp.sign(claims),
      };
      const headers = { "x-forwarded-for": `198.51.100.${at}` };
      statuses.push((await postJson(`${local}/oauth/register`, body, headers)).status);
    }
    expect(statuses).toEqual([201, 201, 429, 201]);
  });
});

describe("a registration", () => {
  it("has a limit on updates and deletions", async () => {
    const { local } = await start({ changes: TWO });
    const client = await register(local);
    let token = client.registration_access_token;
    const manage = (method: string, body?: object) =>
      fetch(client.registration_client_uri, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: body ? JSON.stringify(body) : null,
      });
    for (let at = 0; at < 2; at += 1) {
      const answer = await manage("PUT", { ...EXAMPLE_REGISTRATION, client_id: client.client_id });
      expect(answer.status).toBe(200);
      token = ((await answer.json()) as RegisteredAgent).registration_access_token;
    }
    await expectRefused(await manage("PUT", {}), "changes");
    await expectRefused(await manage("DELETE"), "changes");
    expect((await manage("GET")).status).toBe(200);
  });

  it("has its own limit, which other clients cannot use up", async () => {
    const { local } = await startForMany({ changes: TWO });
    const client = await register(local);
    const remove = (token: string, address: string) =>
      fetch(client.registration_client_uri, {
        method: "DELETE",
        headers: { authorization: `Bearer ${token}`, "x-forwarded-for": address },
      });
    for (let at = 0; at < 3; at += 1) await remove("wrong", STRANGER);
    await expectRefused(await remove("wrong", STRANGER), "changes");
    expect((await remove(client.registration_access_token, OWN)).status).toBe(204);
  });
});

describe("authorization requests", () => {
  const open = (url: string | URL) => fetch(url, { redirect: "manual" });

  const from = (address: string) => ({ "x-forwarded-for": address });
  const ask = (url: string | URL, address: string) =>
    fetch(url, { redirect: "manual", headers: from(address) });

  it("that would be stored are limited", async () => {
    const server = await start({ authorizations: TWO });
    const { client_id } = await registerPublic(server.local);
    const kept = async () => (await records.list(interactions, { limit: 1000 })).length;
    const before = await kept();
    const request = () => open(authorizationRequest(server.local, { client_id }).url);
    for (let at = 0; at < 2; at += 1) expect((await request()).status).toBe(303);
    const refused = await request();
    await expectRefused(refused, "authorizations");
    expect(refused.headers.get("location")).toBeNull();
    expect(await kept()).toBe(before + 2);
  });

  it("do not count against the limit when they are rejected", async () => {
    const server = await start({ authorizations: { caller: 2, network: 2, total: 2 } });
    const { client_id } = await registerPublic(server.local);
    const request = (changes = {}) =>
      open(authorizationRequest(server.local, { client_id, ...changes }).url);
    const wrong = [{ client_id: "nobody" }, { redirect_uri: "https://other.example/" }];
    const refused = [...wrong, { response_type: "token" }, { prompt: "none" }];
    for (const changes of [...refused, ...refused]) {
      const answer = await request(changes);
      await answer.body?.cancel();
      expect(answer.headers.get("ratelimit")).toBeNull();
      expect(answer.status).not.toBe(429);
    }
    expect((await request()).status).toBe(303);
  });

  it.each([
    ["four IPv6 providers", (at: number) => `2001:db${at % 4}:${(at % 20).toString(16)}::1`],
    ["a hundred IPv4 networks", (at: number) => `10.0.${at % 100}.${at % 7}`],
  ])(
    "from %s leave the reserve to other networks, however many requests are sent",
    async (_who, addressOf) => {
      const server = await startForMany({
        authorizations: { caller: 300, network: 300, total: 300 },
      });
      const { client_id } = await registerPublic(server.local);
      const request = async (address: string) => {
        const { url } = authorizationRequest(server.local, { client_id });
        return (await ask(url, address)).status;
      };
      for (let at = 0; at < 600; at += 1) await request(addressOf(at));
      for (let newcomer = 0; newcomer < 60; newcomer += 1) {
        expect(await request(`10.1.${newcomer}.1`)).toBe(303);
      }
    },
  );

  it("can be resumed after the limit on new requests is used up", async () => {
    const server = await start({ authorizations: eachCaller(0) });
    const { status } = await open(`${server.local}/oauth/authorize/x`);
    expect(status).toBe(400);
  });

  it("are stored once, even when one request is resumed several times concurrently", async () => {
    const server = await startAuthServer({ records: slowRecords(records), now });
    const visitor = createVisitor(server);
    await visitor.signIn("resumes@example.com");
    const { client_id } = await registerPublic(server.local);
    const kept = async () => (await records.list(interactions, { limit: 1000 })).length;
    const before = await kept();
    let cookie = visitor.cookie();
    const step = async (url: string | URL) => {
      const answer = await fetch(url, { redirect: "manual", headers: { cookie } });
      const set = answer.headers.getSetCookie().map((each) => each.split(";", 1)[0]);
      cookie = [cookie, ...set].join("; ");
      return new URL(answer.headers.get("location") ?? "", server.local);
    };
    const resume = await step(await step(authorizationRequest(server.local, { client_id }).url));
    expect(resume.pathname).toMatch(/^\/oauth\/authorize\//);

    const resumed = await Promise.all(
      Array.from({ length: 20 }, () => fetch(resume, { redirect: "manual", headers: { cookie } })),
    );
    const statuses = resumed.map(({ status }) => status);
    expect(statuses.filter((status) => status === 303)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400)).toHaveLength(19);
    expect(await kept()).toBe(before + 1);
  });

  it.each([1, 2, 3])(
    "are not stored again if they are removed during the resumption (after read number %i)",
    async (most) => {
      let afterRead = async (_key: string): Promise<unknown> => undefined;
      const observed: Records = {
        ...records,
        async get(from, key) {
          const stored = await records.get(from, key);
          if (from.name === interactions.name) await afterRead(key);
          return stored;
        },
      };
      const server = await startAuthServer({ records: observed, now });
      const visitor = createVisitor(server);
      await visitor.signIn(`comes-back-${most}@example.com`);
      const { client_id } = await registerPublic(server.local);
      const { url } = await visitor.open(authorizationRequest(server.local, { client_id }).url);
      let reads = 0;
      afterRead = async (key) => {
        reads += 1;
        if (reads === most) await records.commit([remove(interactions, key)]);
      };
      await expect(visitor.authorize(url)).rejects.toThrow();
      expect(reads).toBeGreaterThanOrEqual(most);
      expect(await records.get(interactions, url.pathname.split("/").at(-1) ?? "")).toBeUndefined();
    },
  );

  it.each([
    ["the state", { state: "s".repeat(1025) }, "state has at most 1024 characters"],
    ["the nonce", { nonce: "n".repeat(1025) }, "nonce has at most 1024 characters"],
    [
      "the whole request",
      { login_hint: "h".repeat(4096) },
      "the request has at most 4096 characters",
    ],
  ])("that are too long are rejected without a redirect: %s", async (_what, long, reason) => {
    const server = await start();
    const { client_id } = await registerPublic(server.local);
    const answer = await open(authorizationRequest(server.local, { client_id, ...long }).url);
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
    expect(await answer.json()).toEqual({ error: "invalid_request", error_description: reason });
  });

  it("can have a long state and nonce", async () => {
    const server = await start();
    const { client_id } = await registerPublic(server.local);
    const scope = `openid ${ALL_SCOPES}`;
    const long = { scope, state: "s".repeat(1024), nonce: "n".repeat(1024) };
    const { url } = authorizationRequest(server.local, { client_id, ...long });
    expect((await open(url)).status).toBe(303);
  });
});

/** How a client authenticates, in the form or in the header, and its IP address. */
interface Way {
  readonly path?: string;
  readonly by?: string;
  readonly from?: string;
}

/** Requests or revokes a token. */
function ask(
  local: string,
  { client_id, client_secret }: RegisteredAgent,
  { by = "form", path = "token", from = OWN }: Way = {},
): Promise<Response> {
  const proof = by === "form" ? { client_id, client_secret } : {};
  return fetch(`${local}/oauth/${path}`, {
    method: "POST",
    headers: {
      "x-forwarded-for": from,
      ...(by === "header" && basic(client_id, client_secret)),
    },
    body: new URLSearchParams({ grant_type: "client_credentials", token: "x", ...proof }),
  });
}

/** Sends a form to the token endpoint. */
const askWith = (local: string, form: Record<string, string>, from = OWN) =>
  fetch(`${local}/oauth/token`, {
    method: "POST",
    headers: { "x-forwarded-for": from },
    body: new URLSearchParams(form),
  });

describe("requests for tokens", () => {
  it("are limited per client", async () => {
    const { local } = await start({ "token-requests": TWO });
    const [one, other] = [await register(local), await register(local)];
    await tokenOf(local, one);
    await tokenOf(local, one);
    await expectRefused(await ask(local, one), "token-requests");
    await expectRefused(await ask(local, one, { by: "header" }), "token-requests");
    await tokenOf(local, other);
  });

  it.each([
    ["a wrong secret", { client_secret: "wrong" }],
    ["no credential", {}],
    ["an unreadable credential", { client_assertion: "x" }],
    ["no grant type", { grant_type: "" }],
  ])("from other addresses with %s do not use up the client's limit", async (_what, form) => {
    const { local } = await startForMany({ "token-requests": TWO });
    const client = await register(local);
    const { client_id } = client;
    const strange = { grant_type: "client_credentials", client_id, ...form };
    for (let at = 0; at < 2; at += 1) await askWith(local, strange, STRANGER);
    await expectRefused(await askWith(local, strange, STRANGER), "token-requests");
    expect((await ask(local, client)).status).toBe(200);
  });

  it("of a public client are limited per address", async () => {
    const { local } = await startForMany({ "token-requests": TWO });
    const { client_id } = await registerPublic(local);
    const form = { grant_type: "refresh_token", refresh_token: "x", client_id };
    const statuses = [await askWith(local, form), await askWith(local, form)];
    expect(statuses.map(({ status }) => status)).toEqual([400, 400]);
    await expectRefused(await askWith(local, form), "token-requests");
    expect((await askWith(local, form, STRANGER)).status).toBe(400);
  });
});

describe("failed client authentication", () => {
  const wrong = (client: RegisteredAgent, guess: string) => ({ ...client, client_secret: guess });

  it.each([
    ["token", "form"],
    ["token", "header"],
    ["revoke", "header"],
    ["revoke", "form"],
  ])("at /oauth/%s, sent by %s, locks out even the correct credentials", async (path, by) => {
    const { local } = await start({ guesses: TWO });
    const client = await register(local);
    const guess = (secret: string) => ask(local, wrong(client, secret), { path, by });
    expect((await guess("wrong")).status).toBe(401);
    expect((await guess(client.client_secret)).status).toBe(200);
    expect((await guess("wrong too")).status).toBe(401);
    await expectRefused(await guess(client.client_secret), "guesses");
  });

  it("at other addresses never locks out the correct credentials", async () => {
    const { local } = await startForMany({ guesses: { caller: 2, network: 2, total: 4 } });
    const client = await register(local);
    for (const from of ["203.0.113.1", "203.0.113.2"]) {
      for (const guess of ["1", "2"]) await ask(local, wrong(client, guess), { from });
    }
    for (const by of ["form", "header"]) {
      expect((await ask(local, client, { by })).status).toBe(200);
    }
  });

  it.each([
    ["an unreadable assertion", { client_assertion: "x" }, {}, 400],
    ["an assertion without a type", { client_assertion: "e30.eyJzdWIiOiJ4In0.x" }, {}, 400],
    ["an unreadable header", {}, { authorization: "Basic !" }, 400],
    ["an unknown client", { client_id: "nobody" }, {}, 401],
  ])("counts every kind of failure: %s", async (_what, proof, headers, status) => {
    const { local } = await start({ guesses: TWO });
    const guess = () =>
      fetch(`${local}/oauth/token`, {
        method: "POST",
        headers,
        body: new URLSearchParams({ grant_type: "client_credentials", ...proof }),
      });
    expect([(await guess()).status, (await guess()).status]).toEqual([status, status]);
    await expectRefused(await guess(), "guesses");
  });

  it("is not counted when the request names no client, or when an authenticated client requests a scope that it cannot get", async () => {
    const { local } = await start({ guesses: eachCaller(1) });
    const { client_id, client_secret } = await register(local);
    const form = { grant_type: "client_credentials" };
    const tooMuch = { ...form, client_id, client_secret, scope: "alerts:write" };
    const statuses = [];
    for (const each of [form, form, tooMuch, tooMuch]) {
      statuses.push((await askWith(local, each)).status);
    }
    expect(statuses).toEqual([400, 400, 400, 400]);
  });

  it("of one client does not lock out other clients at the address", async () => {
    const { local } = await start({ guesses: TWO });
    const [one, other] = [await register(local), await register(local)];
    for (let guess = 0; guess < 3; guess += 1) await ask(local, wrong(one, "wrong"));
    await expectRefused(await ask(local, one), "guesses");
    for (const client_id of ["a", "b", "c"]) await ask(local, { ...one, client_id });
    await tokenOf(local, other);
    await tokenOf(local, await register(local));
  });

  it("cannot lock out a public client", async () => {
    const { local } = await start({ guesses: eachCaller(5) });
    const client = await registerPublic(local);
    for (let guess = 0; guess < 3; guess += 1) await ask(local, wrong(client, "wrong"));
    const { client_id } = client;
    const form = { grant_type: "refresh_token", refresh_token: "x", client_id };
    expect((await postForm(`${local}/oauth/token`, form)).status).toBe(400);
  });

  it("is answered with a challenge, even if the client is deleted while its token is being issued", async () => {
    let before = async (): Promise<unknown> => undefined;
    const raced: Records = {
      ...records,
      async commit(operations) {
        await before();
        return records.commit(operations);
      },
    };
    const { local } = await startAuthServer({ records: raced, now });
    const challenge = `Basic realm="${local}", error="invalid_client"`;
    const client = await register(local);
    for (const path of ["token", "revoke"]) {
      const { headers } = await ask(local, wrong(client, "wrong"), { path });
      expect(headers.get("www-authenticate")).toBe(challenge);
    }
    before = () => records.commit([remove(clients, client.client_id)]);
    const { status, headers } = await ask(local, client, { by: "header" });
    expect([status, headers.get("www-authenticate")]).toEqual([401, challenge]);
  });
});

describe("rejected token requests", () => {
  it("add a limited number of audit rows per network, for any number of addresses and clients", async () => {
    const server = await startForMany({
      "audit-rows": { caller: 2, network: 2, total: 100 },
    });
    const { client_id } = await registerPublic(server.local);
    const isOurs = ({ value }: { readonly value: { readonly body: unknown } }) => {
      const { action, target } = value.body as AuditEntry;
      return action === "token.refused" && target === client_id;
    };
    const recorded = async () =>
      (await records.list(unsealedAudit, { limit: 10_000 })).filter(isOurs).length;
    const refuse = async (address: string) => {
      const form = { grant_type: "refresh_token", client_id, refresh_token: "wrong" };
      const answer = await fetch(`${server.local}/oauth/token`, {
        method: "POST",
        headers: { "x-forwarded-for": address },
        body: new URLSearchParams(form),
      });
      expect(await answer.json()).toMatchObject({ error: "invalid_grant" });
    };
    for (const at of [1, 2, 3, 4]) await refuse(`2001:db8:1:${at}00::1`);
    expect(await recorded()).toBe(2);
    await refuse("203.0.113.1");
    expect(await recorded()).toBe(3);
  });
});
