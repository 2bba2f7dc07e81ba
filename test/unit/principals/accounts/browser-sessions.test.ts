import { describe, expect, it } from "vitest";
import { createLimits } from "../../../../src/limits/limits.ts";
import { accounts as accountRecords } from "../../../../src/principals/accounts/accounts.ts";
import { BrowserSessions } from "../../../../src/principals/accounts/browser-sessions.ts";
import { accountRecordsGroup } from "../../../../src/principals/agents/agent.ts";
import { remove, removeGroup } from "../../../../src/store/port/operations.ts";
import { auditOf, peopleOf } from "../../../support/account-parts.ts";
import { eachCaller } from "../../../support/limits.ts";
import { dumpStore, embedded, openStore, START, type TestStore } from "../../../support/stores.ts";

const DAY = 24 * 3_600_000;

async function begin(secure = true) {
  const store = await openStore(embedded);
  const { accounts, ...people } = peopleOf(store, store.records);
  const sessions = new BrowserSessions({ ...people, records: store.records, secure });
  const { id } = await accounts.findOrCreateByEmail("ada@people.example");
  return { store, sessions, people, id, secretsOf: sessionsIn(store) };
}

const sessionsIn = (store: TestStore) => async () => JSON.stringify(await dumpStore(store.store));

/** Returns the Cookie header that a browser sends after it received this Set-Cookie header. */
const sent = (setCookie: string | undefined): string => setCookie?.split(";")[0] ?? expect.fail();

describe("browser sessions", () => {
  it("start with a random secret when the browser sends no cookie", async () => {
    const { sessions } = await begin();
    const [one, other] = [await sessions.browserOf(undefined), await sessions.browserOf("")];
    expect(one).toMatchObject({ secret: expect.stringMatching(/^[\w-]{43}$/), session: undefined });
    expect(one.secret).not.toBe(other.secret);
    expect(one.setCookie).toBe(
      `__Host-market-signal=${one.secret}; Path=/; HttpOnly; Secure; SameSite=Lax`,
    );
    const again = await sessions.browserOf(`theme=dark; ${sent(one.setCookie)}`);
    expect(again).toEqual({ ...one, setCookie: undefined });
  });

  it("work over plain HTTP, with a cookie name without the __Host- prefix", async () => {
    const { sessions, id } = await begin(false);
    const browser = await sessions.browserOf(undefined);
    expect(browser.setCookie).toBe(
      `market-signal=${browser.secret}; Path=/; HttpOnly; SameSite=Lax`,
    );
    const cookie = sent(await sessions.open(browser, id));
    expect((await sessions.browserOf(cookie)).session?.accountId).toBe(id);
    expect((await sessions.browserOf(`__Host-${cookie}`)).session).toBeUndefined();
  });

  it("store the account and the sign-in time for fourteen days", async () => {
    const { store, sessions, id } = await begin();
    const setCookie = await sessions.open(await sessions.browserOf(undefined), id);
    expect(setCookie).toContain("; Max-Age=1209600;");
    const { session } = await sessions.browserOf(sent(setCookie));
    expect(session).toEqual({ accountId: id, signedInAt: START });
    store.clock.now += 14 * DAY - 1;
    expect((await sessions.browserOf(sent(setCookie))).session).toEqual(session);
    store.clock.now += 1;
    expect((await sessions.browserOf(sent(setCookie))).session).toBeUndefined();
    expect(await auditOf(store)).toContainEqual({
      action: "session.opened",
      actor: id,
      target: id,
    });
  });

  it("use the sign-in time given by an external provider, unless it is in the future", async () => {
    const { sessions, id } = await begin();
    for (const [signedInAt, kept] of [
      [START - 1_000, START - 1_000],
      [START + 1_000, START],
    ] as const) {
      const cookie = await sessions.open(await sessions.browserOf(undefined), id, signedInAt);
      const { session } = await sessions.browserOf(sent(cookie));
      expect(session).toEqual({ accountId: id, signedInAt: kept });
    }
  });

  it("replace the secret at sign-in, so that a planted cookie gives no access", async () => {
    const { sessions, id } = await begin();
    const planted = `__Host-market-signal=${"A".repeat(43)}`;
    const victim = await sessions.browserOf(planted);
    const own = await sessions.browserOf(sent(await sessions.open(victim, id)));
    expect(own.session?.accountId).toBe(id);
    expect(own.secret).not.toBe(victim.secret);
    expect(own.formToken).not.toBe(victim.formToken);
    expect((await sessions.browserOf(planted)).session).toBeUndefined();
  });

  it("replace the previous session when a person signs in again in the same browser", async () => {
    const { sessions, id } = await begin();
    const before = sent(await sessions.open(await sessions.browserOf(undefined), id));
    await sessions.open(await sessions.browserOf(before), id);
    expect((await sessions.browserOf(before)).session).toBeUndefined();
  });

  it.each([
    "__Host-market-signal=",
    "__Host-market-signal=short",
    `__Host-market-signal=${"A".repeat(44)}`,
    `__Host-market-signal=${"A".repeat(42)}!`,
    `__Host-market-signal=%41${"A".repeat(42)}%0d%0a`,
    `__host-market-signal=${"A".repeat(43)}`,
    `market-signal=${"A".repeat(43)}`,
    `__Host-market-signal=${"A".repeat(43)}; __Host-market-signal=${"B".repeat(43)}`,
    `__Host-market-signal=${"A".repeat(43)};__Host-market-signal=${"A".repeat(43)}`,
    "x".repeat(100_000),
    ";;;=;",
  ])("treat %s as a missing cookie", async (cookie) => {
    const { sessions } = await begin();
    const browser = await sessions.browserOf(cookie);
    expect(browser.setCookie).toContain(browser.secret);
    expect(browser.secret).not.toMatch(/^(A|B)+$/);
  });

  it("do not store the secret in plain text", async () => {
    const { sessions, id, secretsOf } = await begin();
    const cookie = sent(await sessions.open(await sessions.browserOf(undefined), id));
    const { secret } = await sessions.browserOf(cookie);
    const kept = await secretsOf();
    expect(kept).toContain('"collection":"sessions"');
    expect(kept).not.toContain(secret);
  });

  it("end when the person signs out", async () => {
    const { store, sessions, id } = await begin();
    const cookie = sent(await sessions.open(await sessions.browserOf(undefined), id));
    const setCookie = await sessions.close(await sessions.browserOf(cookie));
    expect(setCookie).toMatch(/^__Host-market-signal=; Max-Age=0; Path=\/;/);
    expect((await sessions.browserOf(cookie)).session).toBeUndefined();
    expect(await auditOf(store)).toContainEqual({
      action: "session.closed",
      actor: id,
      target: id,
    });
  });

  it("end once, and use up no row of another sign-in, when a person signs out many times at once", async () => {
    const { store, people, id } = await begin();
    const limits = createLimits({ overrides: { "audit-rows": eachCaller(2) } });
    const { records } = store;
    const sessions = new BrowserSessions({ ...people, records, limits, secure: true });
    const open = async () => sent(await sessions.open(await sessions.browserOf(undefined), id));
    const actions = async () => (await auditOf(store)).map(({ action }) => action).sort();
    const browser = await sessions.browserOf(await open());
    await Promise.all([1, 2, 3].map(() => sessions.close(browser)));
    const stolen = await sessions.browserOf(await open());
    await sessions.close(await sessions.browserOf(await open()));
    const recorded = ["account.created", "session.closed", "session.opened", "session.opened"];
    expect(await actions()).toEqual(recorded);
    await sessions.close(stolen);
    expect(await actions()).toEqual([...recorded, "session.closed"].sort());
  });

  it("end with the account, and cannot start for a deleted account", async () => {
    const { store, sessions, id } = await begin();
    const cookie = sent(await sessions.open(await sessions.browserOf(undefined), id));
    await store.records.commit([removeGroup(accountRecordsGroup(id))]);
    expect((await sessions.browserOf(cookie)).session).toBeUndefined();
    const late = await sessions.open(await sessions.browserOf(undefined), id);
    expect((await sessions.browserOf(sent(late))).session).toBeUndefined();
  });

  it("cannot start for an account that is deleted concurrently", async () => {
    const { store, id } = await begin();
    const people = peopleOf(store, store.records);
    const records: typeof store.records = {
      ...store.records,
      async get(from, key) {
        const found = await store.records.get(from, key);
        if (key === id) await store.records.commit([remove(accountRecords, id)]);
        return found;
      },
    };
    const sessions = new BrowserSessions({ ...people, records, secure: true });
    const cookie = sent(await sessions.open(await sessions.browserOf(undefined), id));
    expect((await sessions.browserOf(cookie)).session).toBeUndefined();
  });

  it("accept only form tokens of the same browser", async () => {
    const { sessions } = await begin();
    const [own, other] = [await sessions.browserOf(undefined), await sessions.browserOf(undefined)];
    expect(sessions.isFormTokenOf(own, own.formToken)).toBe(true);
    expect(own.formToken).not.toContain(own.secret);
    for (const token of [other.formToken, "", undefined, own.secret, [own.formToken], {}]) {
      expect(sessions.isFormTokenOf(own, token)).toBe(false);
    }
  });
});
