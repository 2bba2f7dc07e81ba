import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { LimitOverrides } from "../../src/limits/classes.ts";
import { getWith, register } from "../support/agent.ts";
import { type AuthServer, startAuthServer } from "../support/auth-server.ts";
import { eachCaller } from "../support/limits.ts";
import { authorizationRequest, CALLBACK } from "../support/person.ts";
import { embedded } from "../support/stores.ts";
import { createVisitor, exchange, giveConsent, interactionOn } from "../support/visitor.ts";

const CLIENT_ID = "https://app.example/client.json";

const document = {
  client_id: CLIENT_ID,
  client_name: "App",
  redirect_uris: [CALLBACK],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
};

/** Simulated web: response bodies by URL. */
const web = new Map<string, unknown>();
const asked: string[] = [];

const fetchWeb: typeof fetch = async (input) => {
  const url = String(input);
  asked.push(url);
  return web.has(url) ? Response.json(web.get(url)) : new Response("", { status: 404 });
};

const { records } = await embedded.open({ now: () => Date.now() });
const start = (numbers: LimitOverrides = {}) =>
  startAuthServer({ records, now: () => new Date(), fetch: fetchWeb, numbers, proxyHops: 1 });

beforeEach(() => {
  web.clear();
  asked.length = 0;
});

const clientOf = (client_id: string) => ({
  client_id,
  client_secret: "",
  registration_client_uri: "",
  registration_access_token: "",
});

describe("a client with a client ID metadata document", () => {
  it("needs no registration: the person consents to a client that is identified by the host of its metadata document", async () => {
    web.set(CLIENT_ID, document);
    const server = await start();
    const person = createVisitor(server);
    await person.signIn();
    const { url } = authorizationRequest(server.local, { client_id: CLIENT_ID });
    expect(interactionOn(await person.open(url))).toMatchObject({
      client: { clientId: CLIENT_ID, name: "App", documentHost: "app.example" },
      scopes: ["signals:read", "factor:read", "darkpool:read", "alerts:write"],
    });
    const client = clientOf(CLIENT_ID);
    const { form } = await giveConsent(server, person, { client, scope: "openid signals:read" });
    const { body } = await exchange(server, form);
    expect(body).toMatchObject({ scope: "signals:read", id_token: expect.any(String) });

    asked.length = 0;
    const probe = await getWith(String(body.access_token), `${server.local}/api/probe`);
    expect(await probe.json()).toMatchObject({ kind: "user", clientId: CLIENT_ID });
    expect(asked).toEqual([]);
    const { refresh_token = "" } = body;
    const again = { grant_type: "refresh_token", client_id: CLIENT_ID, refresh_token };
    expect((await exchange(server, again)).status).toBe(200);
  });

  it("gets no client_credentials tokens, whatever its metadata document says", async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    web.set(CLIENT_ID, {
      ...document,
      grant_types: ["client_credentials", "authorization_code"],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "1" }] },
    });
    const server = await start();
    const client_assertion = await new SignJWT({ jti: "1" })
      .setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(CLIENT_ID)
      .setSubject(CLIENT_ID)
      .setAudience(server.local)
      .setExpirationTime("1m")
      .sign(privateKey);
    const { status, body } = await exchange(server, {
      grant_type: "client_credentials",
      client_assertion,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: "unauthorized_client",
      error_description:
        "this client may use authorization_code; for another grant, register a client with POST /oauth/register",
    });
  });

  it("is instructed to change its metadata document when the document lacks the requested grant type", async () => {
    web.set(CLIENT_ID, { ...document, grant_types: ["authorization_code"] });
    const server = await start();
    const { status, body } = await exchange(server, {
      grant_type: "refresh_token",
      client_id: CLIENT_ID,
      refresh_token: "unknown",
    });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: "unauthorized_client",
      error_description:
        "this client may use authorization_code; change grant_types in its metadata document",
    });
  });

  it.each([
    ["a client_id other than its URL", { client_id: "https://other.example/client.json" }],
    [
      "a redirect URI with plain HTTP to another host",
      { redirect_uris: ["http://app.example/callback"] },
    ],
    ["a redirect URI with the javascript scheme", { redirect_uris: ["javascript:alert(1)"] }],
    ["a name with a right-to-left override", { client_name: "a\u202eb" }],
    [
      "a client secret",
      { client_secret: "known", token_endpoint_auth_method: "client_secret_post" },
    ],
    ["the client_credentials grant only", { grant_types: ["client_credentials"] }],
    ["an error status", undefined],
  ])("is rejected when the metadata document has %s", async (_title, changes) => {
    if (changes !== undefined) web.set(CLIENT_ID, { ...document, ...changes });
    const server = await start();
    const { url } = authorizationRequest(server.local, { client_id: CLIENT_ID });
    const page = await createVisitor(server).open(url);
    expect(page).toMatchObject({ status: 400, leavesFor: undefined });
  });

  it.each([
    "http://app.example/client.json",
    "https://app.example/../client.json",
    "https://user@app.example/client.json",
    "https://app.example/client.json#x",
  ])("is rejected without a fetch when its client_id is %s", async (client_id) => {
    const server = await start();
    const { url } = authorizationRequest(server.local, { client_id });
    expect((await createVisitor(server).open(url)).status).toBe(400);
    expect(asked).toEqual([]);
  });

  /**
   * Sends an authorization request from an IP address, for a client whose id is the URL of a
   * metadata document.
   */
  const askFor = (server: AuthServer, client_id: string, from = "198.51.100.1") =>
    fetch(authorizationRequest(server.local, { client_id }).url, {
      redirect: "manual",
      headers: { "x-forwarded-for": from },
    });

  async function expectLimited(answer: Response, name: string) {
    expect([answer.status, answer.headers.get("location")]).toEqual([429, null]);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(590);
    expect(await answer.json()).toEqual({
      error: "temporarily_unavailable",
      error_description: expect.stringContaining(`The limit ${name} allows 2 in 3600 seconds`),
    });
  }

  it.each([
    ["document-fetches", (number: number) => `https://app-${number}.example/client.json`],
    ["host-requests", (number: number) => `https://app.example/${number}.json`],
    [
      "host-requests",
      (number: number) => `https://app.example${".".repeat(number)}:${8443 + number}/client.json`,
    ],
  ])(
    "causes only as many fetches by this server as the limit %s allows",
    async (name, addressOf) => {
      const server = await start({ [name]: eachCaller(2) });
      for (let number = 0; number < 2; number += 1) {
        expect((await askFor(server, addressOf(number))).status).toBe(400);
      }
      await expectLimited(await askFor(server, addressOf(2)), name);
      expect(asked).toHaveLength(2);
    },
  );

  it("stays available to others while one /24 network sends many requests for the client's host", async () => {
    web.set(CLIENT_ID, document);
    const server = await start({ "host-requests": { caller: 9, network: 2, total: 99 } });
    for (const number of [0, 1]) {
      await askFor(server, `https://app.example/${number}.json`, `203.0.113.${number}`);
    }
    const refused = await askFor(server, CLIENT_ID, "203.0.113.9");
    await expectLimited(refused, "host-requests-network");
    expect((await askFor(server, CLIENT_ID)).status).toBe(303);
  });

  it("stays available to others while some networks use up the limit of the client's host", async () => {
    web.set(CLIENT_ID, document);
    const server = await start({ "host-requests": { caller: 100, network: 100, total: 100 } });
    for (let at = 0; at < 200; at += 1) {
      const address = `2001:db${at % 4}:${(at % 20).toString(16)}::1`;
      await askFor(server, `https://app.example/${at}.json`, address);
    }
    expect(asked).toHaveLength(80);
    expect((await askFor(server, CLIENT_ID)).status).toBe(303);
  });

  it("stays available to others while one network requests many hosts that do not answer", async () => {
    web.set(CLIENT_ID, document);
    const { promise: end, resolve: answer } = Promise.withResolvers<void>();
    const fetchSlowly: typeof fetch = async (input) => {
      if (String(input) !== CLIENT_ID) await end;
      return fetchWeb(input);
    };
    const options = { now: () => new Date(), proxyHops: 1 };
    const server = await startAuthServer({ records, fetch: fetchSlowly, ...options });
    const statuses: number[] = [];
    const asking = Array.from({ length: 30 }, async (_, at) => {
      const from = `2001:db8:1:${at}::1`;
      const { status } = await askFor(server, `https://app-${at}.example/client.json`, from);
      statuses.push(status);
    });
    await expect.poll(() => statuses).toEqual(Array(22).fill(429));
    expect((await askFor(server, CLIENT_ID)).status).toBe(303);
    answer();
    await Promise.all(asking);
    expect(statuses.filter((status) => status === 400)).toHaveLength(8);
  });

  it.each(["document-fetches", "host-requests"])(
    "is served from the cache for an hour while the limit %s prevents a fetch",
    async (name) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      onTestFinished(() => void vi.useRealTimers());
      web.set(CLIENT_ID, document);
      const server = await start({ [name]: eachCaller(1) });
      expect((await askFor(server, CLIENT_ID)).status).toBe(303);
      vi.setSystemTime(Date.now() + 59 * 60_000);
      expect((await askFor(server, CLIENT_ID)).status).toBe(303);
      expect(asked).toEqual([CLIENT_ID]);
      expect((await askFor(server, "https://app.example/other.json")).status).toBe(429);
      vi.setSystemTime(Date.now() + 2 * 60_000);
      expect((await askFor(server, CLIENT_ID)).status).toBe(429);
    },
  );

  it("is rejected as soon as its metadata document is removed, even if the document was cached", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    web.set(CLIENT_ID, document);
    const server = await start({ "document-fetches": eachCaller(2) });
    expect((await askFor(server, CLIENT_ID)).status).toBe(303);
    web.delete(CLIENT_ID);
    for (const status of [400, 429]) {
      vi.setSystemTime(Date.now() + 31_000);
      expect((await askFor(server, CLIENT_ID)).status).toBe(status);
    }
  });

  it("stays available to others while a caller requests missing documents", async () => {
    web.set(CLIENT_ID, document);
    const server = await start({ "host-requests": eachCaller(2) });
    for (const number of [0, 1, 2]) {
      await askFor(server, `https://app.example/${number}.json`, "203.0.113.1");
    }
    await expectLimited(await askFor(server, CLIENT_ID, "203.0.113.1"), "host-requests");
    expect((await askFor(server, CLIENT_ID)).status).toBe(303);
  });

  it("has its metadata document fetched again after a short time when the document was missing", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await start();
    for (const from of ["198.51.100.1", "198.51.100.2"]) {
      expect((await askFor(server, CLIENT_ID, from)).status).toBe(400);
    }
    expect(asked).toEqual([CLIENT_ID]);
    web.set(CLIENT_ID, document);
    vi.setSystemTime(Date.now() + 30_000);
    expect((await askFor(server, CLIENT_ID)).status).toBe(303);
  });
});

describe("a client with private_key_jwt and a jwks_uri", () => {
  const jwks_uri = "https://keys.example/jwks.json";

  /** Registers a client with `private_key_jwt`. @returns The client and its token request. */
  async function signing(limits: LimitOverrides = {}) {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const server = await start(limits);
    const { client_id } = await register(server.local, {
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "private_key_jwt",
      jwks_uri,
    });
    const ask = async () =>
      exchange(server, {
        grant_type: "client_credentials",
        client_assertion: await new SignJWT({ jti: crypto.randomUUID() })
          .setProtectedHeader({ alg: "ES256", kid: "1" })
          .setIssuer(client_id)
          .setSubject(client_id)
          .setAudience(`${server.local}/oauth/token`)
          .setExpirationTime("1m")
          .sign(privateKey),
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      });
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "ES256" }] };
    return { ask, keys };
  }

  it("gets tokens, and after a failed fetch of its jwks_uri the server waits a short time before the next fetch", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { ask, keys } = await signing();
    expect((await ask()).status).toBe(401);
    web.set(jwks_uri, keys);
    expect((await ask()).status).toBe(401);
    vi.setSystemTime(Date.now() + 30_000);
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
    expect(asked).toEqual([jwks_uri, jwks_uri]);
  });

  it("gets a rate limit error, not an authentication error, when it exceeds a limit", async () => {
    const { ask } = await signing({
      "document-fetches": eachCaller(0),
      guesses: eachCaller(1),
    });
    for (let at = 0; at < 2; at += 1) {
      const { status, body } = await ask();
      expect([status, body.error]).toEqual([429, "temporarily_unavailable"]);
      expect(body.error_description).toContain("The limit document-fetches allows 0");
    }
  });
});
