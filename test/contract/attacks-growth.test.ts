// @module-tag full

import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { grantGroup, grants } from "../../src/principals/accounts/grants.ts";
import { accountRecordsGroup, clientGroup } from "../../src/principals/agents/agent.ts";
import { type AuditEntry, unsealedAudit } from "../../src/store/audit-entry.ts";
import { put } from "../../src/store/port/operations.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import { getWith, postForm, postJson, type RegisteredAgent, register } from "../support/agent.ts";
import { auditEntriesOf } from "../support/audit.ts";
import { startAuthServer } from "../support/auth-server.ts";
import { freePort } from "../support/free-port.ts";
import { startOpenIdProvider } from "../support/openid-provider.ts";
import {
  authorizationRequest,
  type Person,
  registerPublic,
  type UserTokens,
} from "../support/person.ts";
import {
  describeEngines,
  type Engine,
  embedded,
  openStore,
  slowRecords,
} from "../support/stores.ts";
import { LOOSE_LIMITS, startTestService, type TestService } from "../support/test-service.ts";
import { type ConsentResult, createVisitor, exchange, giveConsent } from "../support/visitor.ts";
import { createWeb, textOf } from "../support/web.ts";

/** A registration answer that includes the agent's claim code. */
type Claimable = RegisteredAgent & { readonly claim: { readonly code: string } };

const refreshTokens = collection<object>("oidc:RefreshToken");

const keptIn = async (records: Records): Promise<number> =>
  (await records.list(refreshTokens, { limit: 10_000 })).length;

/** Returns a person who has granted an application access. */
async function build(engine: Engine = embedded, seenAs = (records: Records) => records) {
  const { records, clock } = await openStore(engine);
  clock.now = Date.now();
  const server = await startAuthServer({ records: seenAs(records), now: () => new Date() });
  const person = createVisitor(server);
  await person.signIn();
  const { form, client } = await giveConsent(server, person);
  const { body } = await exchange(server, form);
  const { client_id } = client;
  const refresh = (refresh_token = "") =>
    exchange(server, { grant_type: "refresh_token", client_id, refresh_token });
  /**
   * Rotates a refresh token this many times.
   * @returns All token answers, beginning with that of the code exchange.
   */
  const rotate = async (times: number) => {
    const answers = [body];
    for (let at = 0; at < times; at += 1) {
      const { status, body: next } = await refresh(answers.at(-1)?.refresh_token);
      expect(status).toBe(200);
      answers.push(next);
    }
    return answers;
  };
  const probe = async (token = "") => (await getWith(token, `${server.local}/api/probe`)).status;
  return { records, server, person, client, refresh, rotate, probe };
}

describe("refresh tokens of one person", () => {
  it("take constant space, however often they are rotated", async () => {
    const { records, rotate } = await build();
    await rotate(12);
    expect(await keptIn(records)).toBeLessThanOrEqual(2);
  });

  it.each([0, 3, 10, 11])(
    "are all revoked when the token of rotation %i is replayed",
    async (used) => {
      const { records, rotate, refresh, probe } = await build();
      const answers = await rotate(12);
      const { access_token, refresh_token } = answers.at(-1) ?? {};
      expect(await probe(access_token)).toBe(200);
      const replayed = await refresh(answers[used]?.refresh_token);
      expect(replayed).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
      expect(await probe(access_token)).toBe(401);
      expect((await refresh(refresh_token)).status).toBe(400);
      expect(await keptIn(records)).toBe(0);
    },
  );

  it("are all revoked when an old token is revoked", async () => {
    const { server, rotate, refresh, probe, records } = await build();
    const [first, ...later] = await rotate(5);
    const { access_token, refresh_token } = later.at(-1) ?? {};
    const form = new URLSearchParams({ token: first?.refresh_token ?? "" });
    const url = `${server.local}/oauth/revoke`;
    expect((await fetch(url, { method: "POST", body: form })).status).toBe(200);
    expect(await probe(access_token)).toBe(401);
    expect((await refresh(refresh_token)).status).toBe(400);
    expect(await keptIn(records)).toBe(0);
  });

  it("stay valid when another client replays one of them", async () => {
    const { server, person, rotate, probe } = await build();
    const other = await giveConsent(server, person);
    const answers = await rotate(4);
    const { client_id } = other.client;
    const refresh_token = answers[0]?.refresh_token ?? "";
    const form = { grant_type: "refresh_token", client_id, refresh_token };
    expect(await exchange(server, form)).toMatchObject({ status: 400 });
    expect(await probe(answers.at(-1)?.access_token)).toBe(200);
  });
});

describeEngines("refresh tokens that are rotated during a request", (engine) => {
  it("are all revoked on the replay of a token that was rotated twice during its lookup", async () => {
    let before = async (): Promise<unknown> => undefined;
    const { records, rotate, refresh, probe } = await build(engine, (kept) => ({
      ...kept,
      async commit(operations) {
        const first = before;
        before = async () => undefined;
        await first();
        return kept.commit(operations);
      },
    }));
    const [{ refresh_token } = {}] = await rotate(0);
    let latest: Readonly<Record<string, string>> = {};
    before = async () => {
      const { body } = await refresh(refresh_token);
      latest = (await refresh(body.refresh_token)).body;
      expect(await probe(latest.access_token)).toBe(200);
    };
    const late = await refresh(refresh_token);
    expect(late).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    expect(await probe(latest.access_token)).toBe(401);
    expect(await keptIn(records)).toBe(0);
  });
});

/** Counts audit rows by action. */
async function audited(records: Records): Promise<Readonly<Record<string, number>>> {
  const rows = await records.list(unsealedAudit, { limit: 10_000 });
  const counts: Record<string, number> = {};
  for (const { action } of rows.map(({ value }) => value.body as AuditEntry)) {
    counts[action] = (counts[action] ?? 0) + 1;
  }
  return counts;
}

describe("audit rows of replays", () => {
  const sent = 20;
  const often = async (send: () => Promise<{ readonly status: number }>) => {
    const answers: number[] = [];
    for (let at = 0; at < sent; at += 1) answers.push((await send()).status);
    return answers;
  };

  it("are not written when another client sends a used refresh token, which revokes nothing", async () => {
    const { records, server, rotate, probe } = await build();
    const [first, second] = await rotate(1);
    const { client_id } = await registerPublic(server.local);
    const { refresh_token = "" } = first ?? {};
    const form = { grant_type: "refresh_token", client_id, refresh_token };
    expect(new Set(await often(() => exchange(server, form)))).toEqual(new Set([400]));
    expect(await audited(records)).not.toHaveProperty(["grant.replayed"]);
    expect(await probe(second?.access_token)).toBe(200);
  });

  it("are written once when the client replays its own refresh token, which revokes all tokens", async () => {
    const { records, server, client, rotate, probe } = await build();
    const [first, second] = await rotate(1);
    const { client_id } = client;
    const { refresh_token = "" } = first ?? {};
    const form = { grant_type: "refresh_token", client_id, refresh_token, scope: "openid" };
    expect(await exchange(server, form)).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
    expect(await probe(second?.access_token)).toBe(401);
    expect(new Set(await often(() => exchange(server, form)))).toEqual(new Set([400]));
    expect(await audited(records)).toMatchObject({ "grant.replayed": 1 });
  });

  it("are written once for replays of a used code with its verifier, and never for replays without the verifier, which revoke nothing", async () => {
    const { records, server, person, probe } = await build();
    const { form } = await giveConsent(server, person);
    const { body } = await exchange(server, form);
    const stolen = { ...form, code_verifier: "another-verifier".padEnd(43, "0") };
    expect(new Set(await often(() => exchange(server, stolen)))).toEqual(new Set([400]));
    expect(await audited(records)).not.toHaveProperty(["grant.replayed"]);
    expect(await probe(body.access_token)).toBe(200);

    const answers = await Promise.all(Array.from({ length: sent }, () => exchange(server, form)));
    expect(answers.every(({ status }) => status === 400)).toBe(true);
    expect(await audited(records)).toMatchObject({ "grant.replayed": 1 });
    expect(await probe(body.access_token)).toBe(401);
  });
});

describe("active refresh tokens", () => {
  it("are limited to 100 per application, and the oldest is revoked", async () => {
    const { records, server, person, client, rotate, refresh, probe } = await build();
    const [first] = await rotate(0);
    const tokens: string[] = [];
    for (let at = 0; at < 101; at += 1) {
      const { form } = await giveConsent(server, person, { client });
      const { status, body } = await exchange(server, form);
      expect(status).toBe(200);
      tokens.push(body.refresh_token ?? "");
    }
    expect(await keptIn(records)).toBeLessThanOrEqual(100);
    expect((await refresh(first?.refresh_token)).status).toBe(400);
    expect(await probe(first?.access_token)).toBe(200);
    expect((await refresh(tokens.at(-1))).status).toBe(200);
  });
});

describeEngines("refresh tokens issued concurrently", (engine) => {
  it("are limited to 100 per application", async () => {
    const { records, server, person, client } = await build(engine, slowRecords);
    const [grant] = await records.list(grants, { limit: 1 });
    const copies = Array.from({ length: 97 }, (_, at) => {
      const groups = [grantGroup(grant?.key ?? ""), `refresh-chain:${at}`];
      return put(refreshTokens, { key: `copy-${at}`, value: {}, groups });
    });
    expect(await records.commit(copies)).toBe(true);
    const forms: ConsentResult["form"][] = [];
    for (let at = 0; at < 8; at += 1) {
      forms.push((await giveConsent(server, person, { client })).form);
    }
    const answers = await Promise.all(forms.map((form) => exchange(server, form)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await keptIn(records)).toBe(100);
  });
});

const expiring = { ttlMs: 86_400_000 };

/** Stores grants of this many applications for a person. @returns The keys of the grants. */
async function letAct(records: Records, accountId: string, count: number) {
  const keys = Array.from({ length: count }, (_, at) => `grant-${at}`);
  const steps = keys.map((key) => {
    const clientId = `client-${key}`;
    const groups = [accountRecordsGroup(accountId), clientGroup(clientId), grantGroup(key)];
    const value = { accountId, clientId, redirectOrigins: ["https://app.example"], iat: 1 };
    return put(grants, { key, value, groups, ...expiring });
  });
  expect(await records.commit(steps)).toBe(true);
  return keys;
}

const ofAccount = async (records: Records, accountId: string) =>
  (await records.list(grants, { group: accountRecordsGroup(accountId), limit: 1_000 })).map(
    ({ key }) => key,
  );

describeEngines("applications that a person approves concurrently", (engine) => {
  it("are limited to 100", async () => {
    const { records, clock } = await openStore(engine);
    clock.now = Date.now();
    const server = await startAuthServer({ records: slowRecords(records), now: () => new Date() });
    const person = createVisitor(server);
    const accountId = await person.signIn();
    await letAct(records, accountId, 98);
    const pages: URL[] = [];
    for (let at = 0; at < 8; at += 1) {
      const { client_id } = await registerPublic(server.local);
      const { url } = authorizationRequest(server.local, { client_id });
      pages.push((await person.open(url)).url);
    }
    const answers = await Promise.allSettled(pages.map((page) => person.authorize(page)));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect(await ofAccount(records, accountId)).toHaveLength(100);
  });
});

describe("applications that a person has approved", () => {
  it("are limited to 100, and a repeated approval does not count twice", async () => {
    const { records } = await openStore(embedded);
    const server = await startAuthServer({ records, now: () => new Date() });
    const person = createVisitor(server);
    const accountId = await person.signIn();
    await letAct(records, accountId, 99);
    const { client } = await giveConsent(server, person);
    expect(await ofAccount(records, accountId)).toHaveLength(100);

    await expect(giveConsent(server, person)).rejects.toThrow("consent led nowhere");
    const before = await ofAccount(records, accountId);
    expect(before).toHaveLength(100);
    const elsewhere = createVisitor(server);
    await elsewhere.signIn();
    await giveConsent(server, elsewhere, { client });
    const after = await ofAccount(records, accountId);
    expect(after).toHaveLength(100);
    expect(after.filter((key) => !before.includes(key))).toHaveLength(1);
  });

  it("lead, at the limit, to an error page with a link to the list where the person can remove an application", async () => {
    const testService = await startTestService();
    const { records } = testService.service.state.store;
    const person = testService.person();
    const { client } = await person.tokens();
    const [first] = await records.list(grants, { limit: 1 });
    await letAct(records, first?.value.accountId ?? "", 99);

    const { client_id } = await registerPublic(testService.base);
    const { url } = authorizationRequest(testService.base, { client_id });
    const refused = await person.web.get(url);
    expect(refused.status).toBe(409);
    expect(textOf(refused.html)).toContain("You have let 100 applications act for you");
    const [, way = ""] = /<a href="([^"]+)">End the access/.exec(refused.html) ?? [];
    const account = await person.web.get(way);
    expect(account.html).toContain('id="applications"');
    await person.web.submit(account.form("/account/applications/grant-0/remove"));

    const asked = await person.web.get(refused.url);
    expect(asked.status).toBe(200);
    const done = await person.web.submit(asked.form(asked.url.pathname), { decision: "allow" });
    expect(done.leavesFor?.searchParams.get("code")).toBeTruthy();
    const again = authorizationRequest(testService.base, { client_id: client.client_id });
    expect((await person.authorize(again.url)).searchParams.get("code")).toBeTruthy();
  });
});

/** Sends a token request from an address. @returns The status. */
async function postToken(base: string, from: string, form: Readonly<Record<string, string>>) {
  const body = new URLSearchParams({ grant_type: "client_credentials", ...form });
  const headers = { "x-forwarded-for": from };
  return (await fetch(`${base}/oauth/token`, { method: "POST", headers, body })).status;
}

describe("an attacker with many addresses", () => {
  const startWith = (limits: string) =>
    startTestService({ TRUST_PROXY: "1", RATE_LIMITS: `${LOOSE_LIMITS} ${limits}` });
  const countIn = async ({ service }: TestService, name: string) =>
    (await service.state.store.records.list(collection(name), { limit: 10_000 })).length;

  it("causes a bounded number of lockout records, and is still limited at each address", async () => {
    const testService = await startWith("guesses=2/1000/10000 audit-rows=3/3/1000");
    const guess = (site: number) =>
      postToken(testService.base, `2001:db8:1:${site}00::1`, {
        client_id: "a",
        client_secret: "b",
      });
    for (const site of [1, 2, 3, 4, 5]) {
      expect([await guess(site), await guess(site), await guess(site)]).toEqual([401, 401, 429]);
    }
    // Refused requests are rows too.
    expect(await countIn(testService, "lockouts")).toBe(1);
  });

  it("causes a bounded number of stored client assertions", async () => {
    const testService = await startWith("token-requests=10/14/1000 tokens-unclaimed=2/1000/10000");
    const { base } = testService;
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const { client_id } = await register(base, {
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "ES256" }] },
    });
    let asked = 0;
    const ask = async (from: string) => {
      asked += 1;
      const client_assertion = await new SignJWT({ jti: String(asked) })
        .setProtectedHeader({ alg: "ES256", kid: "1" })
        .setIssuer(client_id)
        .setSubject(client_id)
        .setAudience(base)
        .setExpirationTime("50m")
        .sign(privateKey);
      const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
      return postToken(base, from, { client_id, client_assertion, client_assertion_type });
    };
    for (const site of [1, 2, 3]) {
      for (let time = 0; time < 6; time += 1) await ask(`2001:db8:1:${site}00::1`);
    }
    expect(await countIn(testService, "oidc:ReplayDetection")).toBe(7);
    expect(await ask("2001:db9::1")).toBe(429);
    expect(await countIn(testService, "oidc:ReplayDetection")).toBe(8);
  });

  /**
   * Sends one request from each network.
   * @returns The number of accepted requests and the last status.
   */
  async function fromEach(ask: (ip: string) => Promise<number>, ips: readonly string[]) {
    const statuses = [];
    for (const ip of ips) statuses.push(await ask(ip));
    return { taken: statuses.filter((status) => status === 200).length, last: statuses.at(-1) };
  }

  it("can submit only a limited number of early-access applications", async () => {
    const testService = await startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} submissions=10/3/1000`,
    });
    const body = { name: "Eve", email: "eve@example.com" };
    const ask = async (ip: string) =>
      (await postJson(`${testService.base}/api/apply`, body, { "x-forwarded-for": ip })).status;
    const homes = ["100", "200", "300", "400"].map((home) => `2001:db8:1:${home}::1`);
    expect(await fromEach(ask, homes)).toEqual({ taken: 3, last: 429 });
    expect(await ask("192.0.2.1")).toBe(200);
  });
});

describe("audit rows of one person", () => {
  const rowsOf = async ({ service }: TestService, action: string) =>
    (await auditEntriesOf(service.state.store)).filter((entry) => entry.action === action).length;

  it("are limited when access tokens are revoked, but every revoked token becomes invalid, and each application has its own limit", async () => {
    const testService = await startTestService({
      RATE_LIMITS: `${LOOSE_LIMITS} audit-rows=3/1000/10000`,
    });
    const { base } = testService;
    const revokeAll = async (person: Person, times: number) => {
      let { refresh_token, client, access_token } = await person.tokens();
      for (let nth = 0; nth < times; nth += 1) {
        await postForm(`${base}/oauth/revoke`, { token: access_token });
        expect((await getWith(access_token, `${base}/api/signals`)).status).toBe(401);
        const { client_id } = client;
        const form = { grant_type: "refresh_token", client_id, refresh_token };
        const answer = await postForm(`${base}/oauth/token`, form);
        ({ refresh_token, access_token } = (await answer.json()) as UserTokens);
      }
    };
    const person = testService.person();
    await revokeAll(person, 10);
    expect(await rowsOf(testService, "token.revoked")).toBe(3);
    await revokeAll(person, 1);
    expect(await rowsOf(testService, "token.revoked")).toBe(4);
  });

  const sessionRows = async (service: TestService) =>
    (await rowsOf(service, "session.opened")) + (await rowsOf(service, "session.closed"));

  it("are limited for sign-ins and sign-outs, which then happen unrecorded", async () => {
    const RATE_LIMITS = `${LOOSE_LIMITS} audit-rows=3/1000/10000`;
    const testService = await startTestService({ RATE_LIMITS });
    const person = testService.person();
    for (let nth = 0; nth < 4; nth += 1) {
      await person.signIn();
      const account = await person.web.get("/account");
      await person.web.submit(account.form("/sign-out"));
      expect((await person.web.get("/account")).url.pathname).toBe("/sign-in");
    }
    expect(await sessionRows(testService)).toBe(6);
    await testService.person().signIn();
    expect(await sessionRows(testService)).toBe(7);
  });

  it("are an account's own for sign-ins: nobody else, of its network or not, can hide one", async () => {
    const testService = await startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} audit-rows=2/2/5`,
    });
    const secret = { client_id: "a", client_secret: "b" };
    for (const from of ["127.0.0.1", "127.0.0.2", "198.51.100.1", "203.0.113.1"]) {
      for (let nth = 0; nth < 3; nth += 1) await postToken(testService.base, from, secret);
    }
    expect(await rowsOf(testService, "token.refused")).toBe(5);
    await testService.person().signIn();
    expect(await sessionRows(testService)).toBe(1);
  });

  it("are limited for sign-ins with an identity provider", async () => {
    const port = await freePort();
    const testService = await startTestService({
      ...{ OIDC_ISSUER: `http://127.0.0.1:${port}`, OIDC_CLIENT_ID: "market-signal" },
      OIDC_CLIENT_SECRET: "secret of the client",
      RATE_LIMITS: `${LOOSE_LIMITS} audit-rows=3/1000/10000`,
    });
    // The provider uses the system clock.
    testService.clock.now = new Date();
    const redirectUri = `${testService.base}/sign-in/callback`;
    const provider = await startOpenIdProvider({ redirectUri, port: Number(port) });
    const web = createWeb(testService.base);
    for (let nth = 0; nth < 4; nth += 1) {
      const page = await web.get("/sign-in");
      const { leavesFor } = await web.submit(page.form("/sign-in/provider"));
      const back = await web.get(await provider.visit(leavesFor ?? new URL("missing:")));
      expect(back.url.pathname).toBe("/account");
      await web.submit(back.form("/sign-out"));
    }
    expect(await sessionRows(testService)).toBe(6);
  });

  it("are limited for consents, and further consents are rejected", async () => {
    const testService = await startTestService({
      RATE_LIMITS: `${LOOSE_LIMITS} changes=3/100000/1000000`,
    });
    const { base } = testService;
    const { client_id } = await registerPublic(base);
    const consent = (person: Person) =>
      person.authorize(authorizationRequest(base, { client_id, prompt: "consent" }).url);
    const person = testService.person();
    for (let nth = 0; nth < 3; nth += 1) await consent(person);
    await expect(consent(person)).rejects.toThrow("consent led nowhere");
    expect(await rowsOf(testService, "grant.given")).toBe(3);
    expect((await consent(testService.person())).searchParams.get("code")).toBeTruthy();
  });
});

describe("records of one person", () => {
  const countOf = async ({ service }: TestService, name: string) =>
    (await service.state.store.records.list(collection(name), { limit: 10_000 })).length;

  it("include at most 100 sessions and 100 known browsers, and the oldest are removed first", async () => {
    const testService = await startTestService();
    const person = testService.person();
    await person.signIn();
    const { records } = testService.service.state.store;
    const [own] = await records.list(collection<{ accountId: string }>("sessions"), { limit: 1 });
    const accountId = own?.value.accountId ?? "";
    const groups = [accountRecordsGroup(accountId)];
    const more = ["sessions", "known-browsers"].flatMap((name) =>
      Array.from({ length: 120 }, (_, nth) =>
        put(collection(name), { key: `${nth}`, value: { accountId, signedInAt: 0 }, groups }),
      ),
    );
    await records.commit(more);
    const again = testService.person(person.email);
    await again.signIn();
    expect(await countOf(testService, "sessions")).toBe(100);
    expect(await countOf(testService, "known-browsers")).toBe(100);
    expect((await again.web.get("/account")).url.pathname).toBe("/account");
    expect((await person.web.get("/account")).url.pathname).toBe("/sign-in");
  });

  it("include at most ten agents claimed by one application, without limiting agents that the person claimed", async () => {
    const testService = await startTestService();
    const { base } = testService;
    const person = testService.person();
    const { access_token } = await person.tokens();
    const newAgent = () => register(base) as Promise<Claimable>;
    const own = await newAgent();
    await person.claim(own.client_id, own.claim.code);
    const agents: Claimable[] = [];
    for (let nth = 0; nth < 12; nth += 1) {
      const agent = await newAgent();
      const body = { agent_id: agent.client_id, claim_code: agent.claim.code };
      const headers = { authorization: `Bearer ${access_token}` };
      expect((await postJson(`${base}/oauth/claim`, body, headers)).status).toBe(200);
      agents.push(agent);
    }
    const statuses = [];
    for (const { client_id, client_secret } of [own, ...agents]) {
      const form = { grant_type: "client_credentials", client_id, client_secret };
      statuses.push((await postForm(`${base}/oauth/token`, form)).status);
    }
    expect(statuses).toEqual([200, 401, 401, ...Array.from({ length: 10 }, () => 200)]);
  });
});
