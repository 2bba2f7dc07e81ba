import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createVault } from "../../../../src/keys/vault.ts";
import { emailGroup } from "../../../../src/mail/email-address.ts";
import { createOutbox, queuedMails } from "../../../../src/mail/outbox.ts";
import { accounts as accountRecords } from "../../../../src/principals/accounts/accounts.ts";
import {
  BrowserSessions,
  browserSessionRecords,
} from "../../../../src/principals/accounts/browser-sessions.ts";
import {
  EmailCodeSignIn,
  signInCodes,
} from "../../../../src/principals/accounts/email-code-sign-in.ts";
import { forgetEmail } from "../../../../src/principals/accounts/forget.ts";
import { grantGroup, grants } from "../../../../src/principals/accounts/grants.ts";
import {
  accountRecordsGroup,
  clientGroup,
  clients,
} from "../../../../src/principals/agents/agent.ts";
import { ApiKeyService, apiKeys } from "../../../../src/principals/keys/api-keys.ts";
import { put } from "../../../../src/store/port/operations.ts";
import { collection, type Records } from "../../../../src/store/port/records.ts";
import { auditOf, claimedAgent, peopleOf, tokens } from "../../../support/account-parts.ts";
import { dumpStore, embedded, openStore, START, type TestStore } from "../../../support/stores.ts";

const ADA = "ada@people.example";
const BOB = "bob@people.example";
const inquiries = collection<{ readonly email: string }>("inquiries");
const counted = {
  accounts: accountRecords,
  ...{ sessions: browserSessionRecords, grants, inquiries, keys: apiKeys, messages: queuedMails },
};

/** Creates every kind of record that the service stores for a person. @returns The account id. */
async function live(store: TestStore, email: string): Promise<string> {
  const { records } = store;
  const { accounts, now, audit, lastUse, limits } = peopleOf(store, records);
  const { id } = await accounts.findOrCreateByEmail(email);
  const keys = new ApiKeyService({ records, mode: "sandbox", now, audit, lastUse });
  const own = await keys.createFor(id, { name: "Desk", scopes: ["signals:read"] });
  const given = { name: "Ada", scopes: ["signals:read"], actor: "operator" } as const;
  const other = await keys.create({ ...given, groups: [emailGroup(email)] });
  for (const key of [own?.key ?? "", other.key]) await keys.find(key);
  await expect.poll(async () => (await lastUse.of([own?.id ?? "", other.id])).size).toBe(2);
  await accounts.findOrCreateBySubject({
    issuer: "https://login.example",
    subject: email,
    label: email,
  });
  const keeper = new BrowserSessions({ records, now, secure: true, audit, limits });
  await keeper.open(await keeper.browserOf(undefined), id);
  const mailbox = createOutbox({ vault: createVault(randomBytes(32)), now });
  const signIn = new EmailCodeSignIn({
    hashAddress: String,
    ...{
      records,
      accounts,
      mailbox,
      audit,
      serviceName: "Market Signal and Verification Service",
      signUp: "open",
    },
    isAccepted: async () => false,
  });
  await signIn.sendCode(`browser of ${email}`, email, { isForNew: true, isForOwner: false });
  await claimedAgent(store, { accountId: id, agentId: `one of ${id}` });
  await claimedAgent(store, { accountId: id, agentId: `two of ${id}` });
  await records.commit([
    put(grants, { key: `g ${id}`, value: { accountId: id }, groups: [accountRecordsGroup(id)] }),
    put(tokens, { key: `granted ${id}`, value: {}, groups: [grantGroup(`g ${id}`)] }),
    put(tokens, { key: `user ${id}`, value: {}, groups: [accountRecordsGroup(id)] }),
    put(inquiries, { key: `i ${id}`, value: { email }, groups: [emailGroup(email)] }),
  ]);
  return id;
}

const forgetting = (store: TestStore, records: Records = store.records) =>
  forgetEmail({ records, counted, now: () => new Date(store.clock.now) }, ADA);

const ids = async ({ records }: TestStore) =>
  (await records.list(accountRecords, { limit: 10 })).map(({ key }) => key);

const keptOf = async (whom: readonly string[]) => {
  const store = await openStore(embedded);
  for (const email of whom) await live(store, email);
  return store;
};

describe("the deletion of a person's data", () => {
  it("deletes and counts every record stored under the email address", async () => {
    const store = await keptOf([ADA]);
    expect(await forgetting(store)).toEqual({
      ...{ accounts: 2, sessions: 1, grants: 1, inquiries: 1, keys: 2, messages: 1, agents: 2 },
    });
    const rows = await dumpStore(store.store);
    const left = rows.flatMap((row) => (row.table === "record" ? [row.collection] : []));
    expect(new Set(left)).toEqual(new Set(["unsealed-audit"]));
    const text = JSON.stringify(rows);
    for (const name of [ADA, emailGroup(ADA)]) expect(text).not.toContain(name);
  });

  it("leaves other people's data unchanged", async () => {
    const store = await keptOf([BOB]);
    const before = (await dumpStore(store.store)).map((row) => JSON.stringify(row));
    await live(store, ADA);
    await forgetting(store);
    const after = (await dumpStore(store.store)).map((row) => JSON.stringify(row));
    expect(after).toEqual(expect.arrayContaining(before));
  });

  it.each([1, 2])(
    "is audited with the ids of accounts and agents, at %i calls at once",
    async (calls) => {
      const store = await keptOf([ADA]);
      const accounts = await ids(store);
      const counts = await Promise.all(Array.from({ length: calls }, () => forgetting(store)));
      expect(counts.reduce((sum, { agents = 0 }) => sum + agents, 0)).toBe(2);
      const done = (await auditOf(store)).filter(({ actor }) => actor === "operator");
      expect(done.filter(({ action }) => action === "client.deleted")).toHaveLength(2);
      const forgotten = done.filter(({ action }) => action === "account.forgotten");
      expect(forgotten.map(({ target }) => target).toSorted()).toEqual(accounts.toSorted());
    },
  );

  it("finds and writes nothing for an unknown address, and nothing when the deletion is repeated", async () => {
    const store = await openStore(embedded);
    const nothing = { accounts: 0, sessions: 0, grants: 0, inquiries: 0, keys: 0, messages: 0 };
    const none = { ...nothing, agents: 0 };
    expect(await forgetting(store)).toEqual(none);
    await live(store, ADA);
    await forgetting(store);
    const before = await dumpStore(store.store);
    expect(await forgetting(store)).toEqual(none);
    expect(await dumpStore(store.store)).toEqual(before);
  });

  it("removes agents that specified the address in a claim, and their tokens", async () => {
    const store = await openStore(embedded);
    const agent = { identityType: "service_auth", registeredAt: START, loginHint: ADA } as const;
    await store.records.commit([
      put(clients, { key: "named", value: { metadata: {}, agent }, groups: [emailGroup(ADA)] }),
      put(tokens, { key: "token", value: {}, groups: [clientGroup("named")] }),
    ]);
    expect(await forgetting(store)).toMatchObject({ agents: 1 });
    expect(await store.records.get(tokens, "token")).toBeUndefined();
  });

  it("resumes after an interruption", async () => {
    const store = await keptOf([ADA]);
    let left = 1;
    const dying: Records = {
      ...store.records,
      async commit(operations) {
        left -= 1;
        if (left < 0) throw new Error("killed");
        return store.records.commit(operations);
      },
    };
    await expect(forgetting(store, dying)).rejects.toThrow("killed");
    expect(await ids(store)).toHaveLength(2);
    expect(await forgetting(store)).toMatchObject({ accounts: 2, keys: 2, agents: 1 });
    expect(await ids(store)).toEqual([]);
    expect(await forgetting(store)).toMatchObject({ accounts: 0, keys: 0, agents: 0 });
  });

  it("removes an agent that is claimed during the deletion", async () => {
    const store = await keptOf([ADA]);
    const [accountId = ""] = await ids(store);
    let isClaimed = false;
    const raced: Records = {
      ...store.records,
      async commit(operations) {
        const isLast = operations.some(
          (step) => step.kind === "removeGroup" && step.group === emailGroup(ADA),
        );
        if (isLast && !isClaimed) await claimedAgent(store, { accountId, agentId: "late" });
        isClaimed ||= isLast;
        return store.records.commit(operations);
      },
    };
    expect(await forgetting(store, raced)).toMatchObject({ agents: 3 });
    expect(await store.records.get(clients, "late")).toBeUndefined();
  });

  it("invalidates a code that was sent to the address", async () => {
    const store = await keptOf([ADA]);
    expect(await store.records.list(signInCodes, { limit: 10 })).toHaveLength(1);
    await forgetting(store);
    expect(await store.records.list(signInCodes, { limit: 10 })).toEqual([]);
  });
});
