import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createAuditor } from "../../src/access/auditor.ts";
import { anonymousScopeCeiling } from "../../src/access/scopes.ts";
import { createStoreAdapter } from "../../src/auth/oidc/store-adapter.ts";
import { createLimits } from "../../src/limits/limits.ts";
import { clients } from "../../src/principals/agents/agent.ts";
import { UnclaimedCapacity } from "../../src/principals/agents/unclaimed-capacity.ts";
import type { AuditEntry } from "../../src/store/audit-entry.ts";
import { unsealedAudit } from "../../src/store/audit-entry.ts";
import { replace } from "../../src/store/port/operations.ts";
import type { Records } from "../../src/store/port/records.ts";
import { storeUnavailableProblem } from "../../src/store/port/unavailable.ts";
import {
  EXAMPLE_REGISTRATION,
  manageClient,
  postForm,
  postJson,
  register,
  tokenOf,
} from "../support/agent.ts";
import { newKeys, startAuthServer } from "../support/auth-server.ts";
import { dumpStore, embedded } from "../support/stores.ts";

type Registered = Awaited<ReturnType<typeof register>>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const codeClient = {
  redirect_uris: ["http://127.0.0.1/callback"],
  grant_types: ["authorization_code"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
};

const clock = { aheadMs: 0 };
const now = () => new Date(Date.now() + clock.aheadMs);
const kept = await embedded.open({ now: () => now().getTime() });
const { records } = kept;

/** A hook that runs before each store operation. */
const store = { before: async (_call: "get" | "list" | "commit"): Promise<void> => undefined };
const observed: Records = {
  ...records,
  get: async (from, key) => store.before("get").then(() => records.get(from, key)),
  list: async (from, selection) => store.before("list").then(() => records.list(from, selection)),
  commit: async (operations) => store.before("commit").then(() => records.commit(operations)),
};
const server = await startAuthServer({ records: observed, now });
const { local: base } = server;

beforeEach(() => {
  clock.aheadMs = 0;
  store.before = async () => undefined;
});
afterAll(() => expect(server.failures).toEqual([]));

const askToken = ({ client_id, client_secret }: Registered, changes = {}) =>
  postForm(`${base}/oauth/token`, {
    ...{ grant_type: "client_credentials", client_id, client_secret },
    ...changes,
  });

async function json(response: Response): Promise<Record<string, string>> {
  return (await response.json()) as Record<string, string>;
}

const statusWith = async (token: string): Promise<number> =>
  (await fetch(`${base}/api/probe`, { headers: { authorization: `Bearer ${token}` } })).status;

/** Starts an authorization request, of a new client by default. */
async function authorize(changes: Record<string, string> = {}): Promise<Response> {
  const { client_id } =
    changes.client_id === undefined ? await register(base, codeClient) : changes;
  const query = new URLSearchParams({
    ...{
      client_id: String(client_id),
      response_type: "code",
      redirect_uri: "http://127.0.0.1:8976/callback",
    },
    ...{ scope: "signals:read", code_challenge: CHALLENGE, code_challenge_method: "S256" },
    ...changes,
  });
  return fetch(`${base}/oauth/authorize?${query}`, { redirect: "manual" });
}

/** Follows a redirect, or requests another URL, with the cookies that the answer sets. */
function next(answer: Response, place = String(answer.headers.get("location"))): Promise<Response> {
  const cookie = answer.headers.getSetCookie().map((line) => line.split(";")[0]);
  const headers = { cookie: cookie.join("; ") };
  return fetch(new URL(place, base), { redirect: "manual", headers });
}

/** Resumes an authorization request after the interaction page. */
const goOn = (start: Response): Promise<Response> =>
  next(start, String(start.headers.get("location")).replace("/interaction/", "/authorize/"));

describe("a client secret", () => {
  it("is shown when it is issued and never again", async () => {
    const client = await register(base);
    expect(client.client_secret).toMatch(/^[\w-]{43,}$/);
    const read = await json(await manageClient(client, "GET"));
    expect(read).toMatchObject({ client_id: client.client_id, client_name: "Example Agent" });
    expect(read).not.toHaveProperty("client_secret");
    const updated = await json(await manageClient(client, "PUT", {}));
    expect(updated).toMatchObject({ client_id: client.client_id, client_name: "Example Agent" });
    expect(updated).not.toHaveProperty("client_secret");
  });

  it("may be repeated unchanged in an update", async () => {
    const client = await register(base);
    const { client_secret } = client;
    const response = await manageClient(client, "PUT", { client_secret, client_name: "Renamed" });
    expect(response.status).toBe(200);
    const updated = await json(response);
    expect(updated).toMatchObject({ client_name: "Renamed" });
    expect(updated).not.toHaveProperty("client_secret");
    expect((await askToken(client)).status).toBe(200);
  });

  it("is rejected in an update when it is wrong, or when it is the stored hash", async () => {
    const client = await register(base);
    const stored = await server.provider().Client.find(client.client_id);
    expect(stored?.clientSecret).toMatch(/^sha256:/);
    for (const client_secret of ["wrong", stored?.clientSecret, 7, null, ["a"]]) {
      const response = await manageClient(client, "PUT", { client_secret });
      expect(response.status).toBe(400);
      expect(await json(response)).toMatchObject({ error: "invalid_request" });
    }
    expect((await manageClient(client, "GET")).status).toBe(200);
  });

  it("is rejected when a character is missing or added, or when it is the stored hash", async () => {
    const client = await register(base);
    const stored = await server.provider().Client.find(client.client_id);
    const { client_secret } = client;
    for (const guess of [client_secret.slice(1), `${client_secret}x`, `${stored?.clientSecret}`]) {
      expect((await askToken(client, { client_secret: guess })).status).toBe(401);
    }
    const basic = `Basic ${btoa(`${client.client_id}:${client_secret}`)}`;
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    const headers = { authorization: basic };
    const response = await fetch(`${base}/oauth/token`, { method: "POST", headers, body });
    expect(response.status).toBe(200);
  });

  it("is issued to a public client that switches to secret authentication in an update", async () => {
    const client = await register(base, codeClient);
    const changes = { ...codeClient, token_endpoint_auth_method: "client_secret_post" };
    const updated = await json(await manageClient(client, "PUT", changes));
    expect(updated.client_secret).toMatch(/^[\w-]{43,}$/);

    const { client_id, client_secret = "" } = updated;
    const form = { token: "unknown", client_id: String(client_id) };
    const status = async (secret: string) =>
      (await postForm(`${base}/oauth/revoke`, { ...form, client_secret: secret })).status;
    expect(await status(client_secret)).toBe(200);
    expect(await status("wrong")).toBe(401);
  });
});

describe("an unclaimed client", () => {
  it("without a token is deleted after a day", async () => {
    const client = await register(base);
    clock.aheadMs = DAY_MS - 10_000;
    expect((await manageClient(client, "GET")).status).toBe(200);
    clock.aheadMs = DAY_MS + 10_000;
    expect((await askToken(client)).status).toBe(401);
    expect((await manageClient(client, "GET")).status).toBe(401);
  });

  it("with a token is deleted after thirty days, together with its last token", async () => {
    const client = await register(base);
    expect((await askToken(client)).status).toBe(200);
    clock.aheadMs = 30 * DAY_MS - 10_000;
    expect((await manageClient(client, "GET")).status).toBe(200);
    const last = await tokenOf(base, client);
    expect(await statusWith(last)).toBe(200);
    clock.aheadMs = 30 * DAY_MS + 10_000;
    expect(await statusWith(last)).toBe(401);
    expect((await askToken(client)).status).toBe(401);
    expect((await manageClient(client, "GET")).status).toBe(401);
  });

  it("is not restored by an update that arrives after its deletion", async () => {
    const client = await register(base);
    let reads = 0;
    store.before = async (call) => {
      if (call !== "get" || ++reads !== 3) return;
      const hashAddress = (address: string) => address;
      const audit = createAuditor({ now, hashAddress });
      const capacity = new UnclaimedCapacity({ records, now });
      const limits = createLimits();
      const context = { records, now, audit, hashAddress, capacity, limits };
      await createStoreAdapter(context)("Client").destroy(client.client_id);
    };
    expect((await manageClient(client, "PUT", {})).status).toBe(401);
    expect(reads).toBeGreaterThanOrEqual(3);
    expect(await server.provider().Client.find(client.client_id)).toBeUndefined();
  });
});

describe("a registration access token", () => {
  it("is valid until its replacement is stored, whichever write fails", async () => {
    const client = await register(base);
    for (let failing = 1; ; failing += 1) {
      let writes = 0;
      store.before = async (call) => {
        if (call === "commit" && ++writes === failing)
          throw storeUnavailableProblem("No space left.");
      };
      const response = await manageClient(client, "PUT", {});
      if (response.status === 200) {
        const updated = (await response.json()) as Registered;
        expect((await manageClient(client, "GET")).status).toBe(401);
        expect((await manageClient(updated, "GET")).status).toBe(200);
        break;
      }
      expect(response.status).toBe(503);
      expect((await manageClient(client, "GET")).status).toBe(200);
    }
  });

  it.each(["GET", "PUT", "DELETE"])(
    "is revoked when it is presented for another client with %s, and changes nothing there",
    async (method) => {
      const [mine, other] = [await register(base), await register(base)];
      const { registration_client_uri } = other;
      const foreign = { ...mine, registration_client_uri };
      const changes = method === "PUT" ? { client_id: other.client_id } : undefined;
      expect((await manageClient(foreign, method, changes)).status).toBe(401);
      expect((await manageClient(mine, "GET")).status).toBe(401);
      expect((await manageClient(other, "GET")).status).toBe(200);
      expect((await askToken(other)).status).toBe(200);
    },
  );
});

describe("an identifier that the store cannot contain", () => {
  it.each([
    ["of a NUL character alone", "%00"],
    ["with a NUL character inside", "a%00b"],
    ["of 1,000 characters", "a".repeat(1000)],
  ])("%s gets the same answer as an unknown identifier", async (_title, id) => {
    const decoded = decodeURIComponent(id);
    const client = await register(base);
    const { client_id, client_secret } = client;
    const revoke = (form: Record<string, string>) => postForm(`${base}/oauth/revoke`, form);

    expect((await askToken(client, { client_id: decoded })).status).toBe(401);
    expect((await askToken(client, { client_secret: decoded })).status).toBe(401);
    expect((await revoke({ token: decoded })).status).toBe(200);
    expect((await revoke({ token: decoded, client_id, client_secret })).status).toBe(200);
    expect((await authorize({ client_id: decoded })).status).toBe(400);
    const scope = "openid signals:read";
    expect((await authorize({ scope, state: decoded, nonce: decoded })).status).toBe(303);
    expect((await fetch(`${base}/oauth/authorize/${id}`)).status).toBe(400);
    for (const method of ["GET", "DELETE", "PUT"]) {
      const own = await register(base);
      const foreign = { ...own, registration_client_uri: `${base}/oauth/register/${id}` };
      const changes = method === "PUT" ? {} : undefined;
      expect((await manageClient(foreign, method, changes)).status).toBe(401);
      const strange = { ...own, registration_access_token: id };
      expect((await manageClient(strange, method, changes)).status).toBe(401);
    }
  });
});

describe("the store", () => {
  it("contains no issued token or secret in plain text", async () => {
    const client = await register(base);
    const token = await tokenOf(base, client);
    const updated = (await (await manageClient(client, "PUT", {})).json()) as Registered;
    const text = JSON.stringify(await dumpStore(kept));

    expect(text).toContain(client.client_id);
    expect(text).not.toContain(token);
    expect(text).not.toContain(client.client_secret);
    expect(text).not.toContain(client.registration_access_token);
    expect(text).not.toContain(updated.registration_access_token);
  });
});

describe("signing keys that rotate while the server runs", () => {
  it("are published together with the old keys, and sign new tokens", async () => {
    const before = server.keys();
    const keys = await newKeys(before);
    server.useKeys(keys);
    const published = await json(await fetch(`${base}/.well-known/jwks.json`));
    const known = keys.signing.map(({ kid, alg }) => ({ kid, alg, use: "sig" }));
    expect(published.keys).toMatchObject(known);

    const { Client, IdToken } = server.provider();
    const client = await Client.find((await register(base)).client_id);
    if (client === undefined) throw new Error("the client was not stored");
    const expiresAt = Math.floor(Date.now() / 1000) + 60;
    const idToken = new IdToken({ sub: "someone" }, { client });
    const token = await idToken.issue({ use: "idtoken", expiresAt });
    const [header = ""] = token.split(".");
    const newest = known.find(({ alg }) => alg === "RS256");
    expect(JSON.parse(atob(header))).toMatchObject({ kid: newest?.kid, alg: "RS256" });
  });

  it("leave clients, tokens and open requests unchanged", async () => {
    const client = await register(base);
    const token = await tokenOf(base, client);
    const start = await authorize();
    server.useKeys(await newKeys(server.keys()));

    expect(await statusWith(token)).toBe(200);
    expect((await askToken(client)).status).toBe(200);
    expect((await manageClient(client, "GET")).status).toBe(200);
    expect(await (await next(start)).json()).toMatchObject({ prompt: "login" });
    await postForm(`${base}/oauth/revoke`, { token });
    expect(await statusWith(token)).toBe(401);
  });

  it("invalidate everything signed with a removed key", async () => {
    const start = await authorize();
    server.useKeys(await newKeys());
    expect((await next(start)).status).toBe(400);
  });
});

describe("an unavailable store", () => {
  async function requests(client: Registered): Promise<Record<string, () => Promise<Response>>> {
    const { client_id, client_secret } = client;
    const start = await authorize();
    const query = new URL(start.url).search;
    const revoke = (form: Record<string, string>) => postForm(`${base}/oauth/revoke`, form);
    const token = await tokenOf(base, client);
    return {
      register: () => postJson(`${base}/oauth/register`, EXAMPLE_REGISTRATION),
      read: () => manageClient(client, "GET"),
      update: () => manageClient(client, "PUT", {}),
      remove: () => manageClient(client, "DELETE"),
      token: () => askToken(client),
      "revoke by possession": () => revoke({ token }),
      "revoke by client": () => revoke({ token, client_id, client_secret }),
      authorize: () => fetch(`${base}/oauth/authorize${query}`, { redirect: "manual" }),
      "go on": () => goOn(start),
    };
  }

  it.each(["everything", "writes"])(
    "causes 503 answers until the store recovers (failing: %s)",
    async (failing) => {
      const client = await register(base);
      const attempts = await requests(client);
      store.before = async (call) => {
        if (failing === "everything" || call === "commit")
          throw storeUnavailableProblem("No space left.");
      };
      for (const [name, attempt] of Object.entries(attempts)) {
        if (failing === "writes" && name === "read") continue;
        const response = await attempt();
        expect([name, response.status]).toEqual([name, 503]);
        expect(response.headers.get("retry-after")).toBe("1");
        expect(response.headers.get("location")).toBeNull();
        expect(await response.json()).toEqual({
          error: "temporarily_unavailable",
          error_description: "No space left. Try again in a moment.",
        });
      }
      store.before = async () => undefined;
      for (const name of ["read", "token", "update"]) {
        expect([name, (await attempts[name]?.())?.status]).toEqual([name, 200]);
      }
    },
  );

  it("causes a 503 answer even when it fails after the redirect was determined", async () => {
    server.useKeys(await newKeys(server.keys()));
    server.provider().use(async (ctx) => {
      ctx.redirect("https://agent.example/callback");
      throw storeUnavailableProblem("No space left.");
    });
    const response = await authorize({ client_id: "any" }).finally(async () =>
      server.useKeys(await newKeys(server.keys())),
    );
    expect(response.status).toBe(503);
    expect(response.headers.get("location")).toBeNull();
    expect(await response.json()).toMatchObject({ error: "temporarily_unavailable" });
  });

  it("causes a 503 answer for callers with a token", async () => {
    const token = await tokenOf(base, await register(base));
    store.before = async () => Promise.reject(storeUnavailableProblem("No space left."));
    expect(await statusWith(token)).toBe(503);
  });
});

describe("the audit log", () => {
  async function entriesAbout(clientId: string): Promise<readonly AuditEntry[]> {
    const entries: AuditEntry[] = [];
    let after = 0;
    for (;;) {
      const page = await records.list(unsealedAudit, { after, limit: 1000 });
      entries.push(...page.map(({ value }) => value.body as AuditEntry));
      if (page.length < 1000) break;
      after = page.at(-1)?.revision ?? after;
    }
    return entries.filter(({ actor, target }) => actor === clientId || target === clientId);
  }

  /** Makes an account the owner of an agent. */
  async function own(clientId: string): Promise<void> {
    const client = await records.get(clients, clientId);
    if (client === undefined) return expect.unreachable();
    const owner = { accountId: "acc_1", scopes: anonymousScopeCeiling, claimedAt: 0 };
    const agent = { ...client.value.agent, owner };
    await records.commit([replace(clients, client, { value: { ...client.value, agent } })]);
  }

  it("contains the actor, the action and the address, whatever headers a caller sends", async () => {
    const spoofed = { "x-forwarded-for": "198.51.100.1", "x-real-ip": "198.51.100.1" };
    const answer = await postJson(`${base}/oauth/register`, EXAMPLE_REGISTRATION, spoofed);
    const client = (await answer.json()) as Registered;
    const { client_id, client_secret } = client;
    await own(client_id);
    for (const form of [{}, { client_id, client_secret }]) {
      const token = await tokenOf(base, client);
      await postForm(`${base}/oauth/revoke`, { token, ...form });
      await postForm(`${base}/oauth/revoke`, { token, ...form });
    }
    const updated = (await (await manageClient(client, "PUT", {})).json()) as Registered;
    await manageClient(updated, "DELETE");

    const entries = await entriesAbout(client_id);
    expect(entries.map(({ action }) => action)).toEqual([
      "token.revoked",
      "token.revoked",
      "client.updated",
      "client.deleted",
    ]);
    expect(new Set(entries.map(({ addressHash }) => addressHash))).toEqual(
      new Set(["hash of 127.0.0.1"]),
    );
  });
});
