import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { LastUseTracker } from "../../src/access/last-use.ts";
import { fingerprint } from "../../src/lib/fingerprint.ts";
import { forgetEmail } from "../../src/principals/accounts/forget.ts";
import { ApiKeyService } from "../../src/principals/keys/api-keys.ts";
import { remove } from "../../src/store/port/operations.ts";
import { collection } from "../../src/store/port/records.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { newToken, postForm, register, registerClaimable, tokenOf } from "../support/agent.ts";
import { operatorOf, rowsOf } from "../support/operator.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

type Headers = Readonly<Record<string, string>>;

/** A valid credential, and an action that ends it. */
interface Ending {
  readonly headers: Headers;
  readonly end: () => Promise<unknown>;
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

const statusAt = async ({ base }: TestService, headers: Headers): Promise<number> =>
  (await fetch(`${base}/api/signals?limit=1`, { headers })).status;

function keysOf({ service, clock }: TestService) {
  const { records } = service.state.store;
  const now = () => clock.now;
  const lastUse = new LastUseTracker({ records, now, onError: () => {} });
  return new ApiKeyService({ records, mode: "sandbox", now, audit: () => [], lastUse });
}

/** Disables the account of a person as an operator does, who knows the email address. */
async function disableAccountOf(testService: TestService, email: string): Promise<void> {
  const operator = operatorOf(testService);
  const list = rowsOf(await operator("admin accounts list", { email }), "accounts");
  expect(list.length).toBe(1);
  await operator("admin accounts disable", { id: list[0]?.id });
}

/** The ways in which a credential can end before it expires. */
const endings: Readonly<Record<string, (testService: TestService) => Promise<Ending>>> = {
  async "a revoked token"({ base }) {
    const token = await newToken(base);
    return { headers: bearer(token), end: () => postForm(`${base}/oauth/revoke`, { token }) };
  },
  async "a person's token whose refresh token was revoked"({ base, person }) {
    const { access_token, refresh_token: token } = await person().tokens();
    return {
      headers: bearer(access_token),
      end: () => postForm(`${base}/oauth/revoke`, { token }),
    };
  },
  async "a token of a deleted agent"({ base }) {
    const agent = await register(base);
    const end = () =>
      fetch(agent.registration_client_uri, {
        method: "DELETE",
        headers: bearer(agent.registration_access_token),
      });
    return { headers: bearer(await tokenOf(base, agent)), end };
  },
  async "a token issued to an agent before a person claimed it"({ base, person }) {
    const agent = await registerClaimable(base);
    const owner = person();
    await owner.signIn();
    const end = () => owner.claim(agent.client_id, agent.claim.code);
    return { headers: bearer(await tokenOf(base, agent)), end };
  },
  async "a token of a person whose data was deleted"({ person, service, clock }) {
    const someone = person();
    const { access_token } = await someone.tokens();
    const { records } = service.state.store;
    const options = { records, now: () => clock.now, counted: {} };
    return { headers: bearer(access_token), end: () => forgetEmail(options, someone.email) };
  },
  async "a token of an agent that the operator disabled"(testService) {
    const agent = await register(testService.base);
    const end = () => operatorOf(testService)("admin agents disable", { id: agent.client_id });
    return { headers: bearer(await tokenOf(testService.base, agent)), end };
  },
  async "a token of a person whose account the operator disabled"(testService) {
    const someone = testService.person();
    const { access_token } = await someone.tokens();
    return {
      headers: bearer(access_token),
      end: () => disableAccountOf(testService, someone.email),
    };
  },
  async "an API key of a person whose account the operator disabled"(testService) {
    const someone = testService.person();
    const key = await someone.createKey(["signals:read"]);
    return {
      headers: { "x-api-key": key },
      end: () => disableAccountOf(testService, someone.email),
    };
  },
  async "a revoked API key"(testService) {
    const keys = keysOf(testService);
    const made = await keys.create({ name: "Desk", scopes: ["signals:read"], actor: "operator" });
    return { headers: { "x-api-key": made.key }, end: () => keys.revoke(made.id, "operator") };
  },
};

/**
 * Timeout and interval of polls in milliseconds, with slack for a busy machine and lost
 * notifications.
 */
const SOON = { timeout: 5_000, interval: 20 };

describe("a single process", async () => {
  const testService = await startTestService();

  it.each(Object.keys(endings))("immediately rejects %s", async (name) => {
    const { headers, end } = await (endings[name] as (testService: TestService) => Promise<Ending>)(
      testService,
    );
    expect(await statusAt(testService, headers)).toBe(200);
    await end();
    expect(await statusAt(testService, headers)).toBe(401);
  });
});

const onPostgres = describe.skipIf(!postgresAvailable);
onPostgres("two processes on PostgreSQL", { tags: ["full"] }, () => {
  let url: string;
  // Two services in this process that act as two processes of one service.
  let one: TestService;
  let other: TestService;
  beforeAll(async () => {
    url = await createDatabase();
    const env = { MASTER_KEY: randomBytes(32).toString("base64"), DATABASE_URL: url };
    one = await startTestService(env);
    other = await startTestService({ ...env, BASE_URL: one.base });
  });

  it.each(Object.keys(endings))("each of two processes rejects %s", async (name) => {
    const { headers, end } = await (endings[name] as (testService: TestService) => Promise<Ending>)(
      one,
    );
    expect([await statusAt(one, headers), await statusAt(other, headers)]).toEqual([200, 200]);
    await end();
    expect(await statusAt(one, headers)).toBe(401);
    await expect.poll(() => statusAt(other, headers), SOON).toBe(401);
  });

  it("each of two processes rejects a token that was deleted without a notification", async () => {
    const token = await newToken(one.base);
    const headers = bearer(token);
    expect([await statusAt(one, headers), await statusAt(other, headers)]).toEqual([200, 200]);
    // Deletes the token directly in the database, as a database administrator would.
    const store = await openPostgres({ url: url, mode: "sandbox" });
    await store.records.commit([remove(collection("oidc:ClientCredentials"), fingerprint(token))]);
    await store.close();
    await expect.poll(() => statusAt(one, headers), SOON).toBe(401);
    await expect.poll(() => statusAt(other, headers), SOON).toBe(401);
  });

  it("each of two processes rejects a token that was revoked while no connection was listening", async () => {
    const [token, kept] = [await newToken(one.base), await newToken(one.base)];
    expect(await statusAt(other, bearer(token))).toBe(200);
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rowCount } = await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and (query ilike 'listen %' or query = 'select 1')`,
    );
    await client.end();
    expect(rowCount).toBeGreaterThanOrEqual(2);
    await postForm(`${one.base}/oauth/revoke`, { token });
    expect(await statusAt(one, bearer(token))).toBe(401);
    await expect.poll(() => statusAt(other, bearer(token)), SOON).toBe(401);
    expect(await statusAt(other, bearer(kept))).toBe(200);
  });
});
