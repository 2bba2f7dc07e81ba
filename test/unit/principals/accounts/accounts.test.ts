import { describe, expect, it } from "vitest";
import { accounts as accountRecords } from "../../../../src/principals/accounts/accounts.ts";
import {
  type GrantRecord,
  grantGroup,
  grants,
} from "../../../../src/principals/accounts/grants.ts";
import { accountRecordsGroup, clients } from "../../../../src/principals/agents/agent.ts";
import { put } from "../../../../src/store/port/operations.ts";
import { auditOf, claimedAgent, peopleOf, tokens } from "../../../support/account-parts.ts";
import { embedded, openStore, START, slowRecords } from "../../../support/stores.ts";

const ADA = "ada@people.example";
const BOB = "bob@people.example";
const subject = { issuer: "https://login.example", subject: "248289", label: ADA };

describe("user accounts", () => {
  it("are created at the first sign-in and found at later sign-ins", async () => {
    const store = await openStore(embedded);
    const { accounts } = peopleOf(store, store.records);
    expect(await accounts.hasEmail(ADA)).toBe(false);
    const ada = await accounts.findOrCreateByEmail(ADA);
    expect(ada).toEqual({
      id: expect.stringMatching(/^acc_[\w-]{22}$/),
      ...{ email: ADA, label: ADA, createdAt: START },
    });
    expect(await accounts.hasEmail(ADA)).toBe(true);
    expect(await accounts.findOrCreateByEmail(ADA)).toEqual(ada);
    expect(await accounts.find(ada.id)).toEqual(ada);
    expect(await accounts.find("acc_none")).toBeUndefined();
    expect((await accounts.findOrCreateByEmail(BOB)).id).not.toBe(ada.id);
    expect(await auditOf(store)).toContainEqual({
      ...{ action: "account.created", actor: ada.id, target: ada.id },
    });
  });

  it("are created once for 100 concurrent first sign-ins, by email and by provider", async () => {
    const store = await openStore(embedded);
    const { accounts } = peopleOf(store, slowRecords(store.records));
    const hundred = Array.from({ length: 100 });
    const byEmail = await Promise.all(hundred.map(() => accounts.findOrCreateByEmail(ADA)));
    const bySubject = await Promise.all(hundred.map(() => accounts.findOrCreateBySubject(subject)));
    expect(new Set(byEmail.map(({ id }) => id)).size).toBe(1);
    expect(new Set(bySubject.map(({ id }) => id)).size).toBe(1);
    expect(await store.records.list(accountRecords, { limit: 10 })).toHaveLength(2);
    expect(await auditOf(store)).toHaveLength(2);
  });

  it("are identified by issuer and subject if they come from a provider, and are never linked by email address", async () => {
    const store = await openStore(embedded);
    const { accounts } = peopleOf(store, store.records);
    const ids = await Promise.all([
      accounts.findOrCreateByEmail(ADA),
      accounts.findOrCreateBySubject(subject),
      accounts.findOrCreateBySubject({ ...subject, issuer: "https://other.example" }),
      accounts.findOrCreateBySubject({ ...subject, subject: "248290" }),
      accounts.findOrCreateBySubject({
        ...subject,
        issuer: 'https://login.example","',
        subject: "",
      }),
    ]);
    expect(new Set(ids.map(({ id }) => id)).size).toBe(5);
    expect(await accounts.findOrCreateBySubject({ ...subject, label: "another name" })).toEqual(
      ids[1],
    );
    expect(ids[1]).toMatchObject({ email: undefined, label: ADA });
    expect(await accounts.hasSubject(subject)).toBe(true);
    expect(await accounts.hasSubject({ ...subject, subject: "none" })).toBe(false);
  });

  it("show the name given by the provider on one line of bounded length", async () => {
    const store = await openStore(embedded);
    const { accounts } = peopleOf(store, store.records);
    const label = ` A\u0308da\r\n\0\u202E<b>${"x".repeat(1_000)}`;
    const { label: shown } = await accounts.findOrCreateBySubject({ ...subject, label });
    expect(shown).toMatch(/^Äda <b>x+$/);
    expect(shown).toHaveLength(254);
  });

  it("list their claimed agents, with the last use of each", async () => {
    const store = await openStore(embedded);
    const { accounts, lastUse } = peopleOf(store, store.records);
    const { id } = await accounts.findOrCreateByEmail(ADA);
    await claimedAgent(store, { accountId: id, agentId: "second" });
    store.clock.now -= 1_000;
    await claimedAgent(store, { accountId: id, agentId: "first" });
    store.clock.now += 3_600_000;
    await claimedAgent(store, {
      accountId: (await accounts.findOrCreateByEmail(BOB)).id,
      agentId: "other",
    });
    lastUse.record("first");
    await expect.poll(() => lastUse.of(["first"])).toHaveProperty("size", 1);
    expect(await accounts.agentsOf(id)).toEqual([
      {
        ...{ agentId: "first", name: "agent first", identityType: "anonymous" },
        ...{ scopes: ["signals:read"], claimedAt: START - 1_000, lastUsedAt: START },
      },
      expect.objectContaining({ agentId: "second", lastUsedAt: undefined }),
    ]);
  });

  it("remove only their own agents, with every token issued to those agents", async () => {
    const store = await openStore(embedded);
    const { accounts } = peopleOf(store, store.records);
    const [ada, bob] = [
      await accounts.findOrCreateByEmail(ADA),
      await accounts.findOrCreateByEmail(BOB),
    ];
    await claimedAgent(store, { accountId: ada.id, agentId: "agent" });
    for (const [account, agent] of [
      [bob.id, "agent"],
      [ada.id, "none"],
      ["", "agent"],
    ] as const) {
      expect(await accounts.removeAgent(account, agent)).toBe(false);
    }
    expect(await store.records.get(tokens, "token of agent")).toBeDefined();
    expect(await accounts.removeAgent(ada.id, "agent")).toBe(true);
    expect(await store.records.get(clients, "agent")).toBeUndefined();
    expect(await store.records.get(tokens, "token of agent")).toBeUndefined();
    expect(await accounts.removeAgent(ada.id, "agent")).toBe(false);
    const deleted = { action: "client.deleted", actor: ada.id, target: "agent" };
    expect((await auditOf(store)).filter(({ action }) => action === "client.deleted")).toEqual([
      deleted,
    ]);
  });

  it("list the authorized applications, with the scopes that each still has", async () => {
    const store = await openStore(embedded);
    const { accounts } = peopleOf(store, store.records);
    const { id } = await accounts.findOrCreateByEmail(ADA);
    await claimedAgent(store, { accountId: "acc_other", agentId: "app" });
    const value: GrantRecord = {
      ...{ accountId: id, clientId: "app", iat: START / 1000 },
      resources: {
        "https://x.example": "signals:read factor:read",
        "https://x.example/mcp": "signals:read",
      },
      openid: { scope: "openid" },
      rejected: {
        resources: { "https://x.example": "factor:read", "https://y.example": "signals:read" },
      },
    };
    await store.records.commit([
      put(grants, { key: "grant", value, groups: [accountRecordsGroup(id)] }),
      put(grants, {
        ...{ key: "document", value: { ...value, clientId: "https://app.example/client", iat: 1 } },
        groups: [accountRecordsGroup(id)],
      }),
    ]);
    expect(await accounts.applicationsOf(id)).toEqual([
      expect.objectContaining({ clientId: "https://app.example/client", name: undefined }),
      {
        ...{ grantId: "grant", clientId: "app", name: "agent app", grantedAt: START },
        scopes: ["openid", "signals:read"],
      },
    ]);
  });

  it("revoke only their own grants, together with the tokens of each grant", async () => {
    const store = await openStore(embedded);
    const { accounts } = peopleOf(store, store.records);
    const [ada, bob] = [
      await accounts.findOrCreateByEmail(ADA),
      await accounts.findOrCreateByEmail(BOB),
    ];
    await store.records.commit([
      put(grants, {
        key: "g",
        value: { accountId: ada.id },
        groups: [accountRecordsGroup(ada.id)],
      }),
      put(tokens, { key: "t", value: {}, groups: [grantGroup("g")] }),
      put(tokens, { key: "other", value: {}, groups: [grantGroup("h")] }),
    ]);
    expect(await accounts.removeApplication(bob.id, "g")).toBe(false);
    expect(await accounts.removeApplication(ada.id, "h")).toBe(false);
    expect(await store.records.get(tokens, "t")).toBeDefined();
    expect(await accounts.removeApplication(ada.id, "g")).toBe(true);
    expect(await store.records.get(tokens, "t")).toBeUndefined();
    expect(await store.records.get(tokens, "other")).toBeDefined();
    expect(await accounts.applicationsOf(ada.id)).toEqual([]);
    expect(await auditOf(store)).toContainEqual({
      ...{ action: "grant.revoked", actor: ada.id, target: "g" },
    });
  });
});
