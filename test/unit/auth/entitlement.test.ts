import { describe, expect, it } from "vitest";
import { alertScopes, allScopes, type Scope } from "../../../src/access/scopes.ts";
import { currentScopesOf, isEntitledToEvents } from "../../../src/auth/entitlement.ts";
import { accounts } from "../../../src/principals/accounts/accounts.ts";
import { grants } from "../../../src/principals/accounts/grants.ts";
import { accountRecordsGroup, clients } from "../../../src/principals/agents/agent.ts";
import { apiKeyGroup, apiKeys } from "../../../src/principals/keys/api-keys.ts";
import { insert, put, removeGroup } from "../../../src/store/port/operations.ts";
import type { Operation, Records } from "../../../src/store/port/records.ts";
import { transact } from "../../../src/store/transact.ts";
import { embedded, openStore } from "../../support/stores.ts";

/** A client id that is the URL of a metadata document, so that the client has no registration. */
const clientId = "https://app.example/client.json";

const agent = { identityType: "anonymous", registeredAt: 0 } as const;
const owner = (scopes: readonly Scope[]) => ({ accountId: "acc", scopes, claimedAt: 0 });
const key = (scopes: readonly Scope[]) => ({
  ...{ id: "x", name: "x", hint: "", accountId: undefined, createdAt: 0, expiresAt: undefined },
  scopes,
});
const placed = { key: "x", groups: [apiKeyGroup("x"), accountRecordsGroup("x")] };

/** Inserts a grant of a person to a client. */
const granted = (clientId: string, scope: string, key = "grant") => {
  const value = { accountId: "x", clientId, resources: { "https://signals.test": scope } };
  return insert(grants, { key, value, groups: placed.groups });
};

const person = insert(accounts, { ...placed, value: { label: "x", createdAt: 0 } });

type Holder = Parameters<typeof currentScopesOf>[1];

const mayHave = async (records: Records, holder: Holder) =>
  isEntitledToEvents(await currentScopesOf(records, holder));

describe("entitlement to alerts", () => {
  const cases: readonly (readonly [string, "agent" | "user" | "service", Operation[], boolean])[] =
    [
      ["an agent that does not exist", "agent", [], false],
      [
        "an unclaimed agent",
        "agent",
        [insert(clients, { ...placed, value: { metadata: {}, agent } })],
        false,
      ],
      [
        "an agent whose owner granted only signals:read",
        "agent",
        [
          insert(clients, {
            ...placed,
            value: {
              metadata: { scope: allScopes.join(" ") },
              agent: { ...agent, owner: owner(["signals:read"]) },
            },
          }),
        ],
        false,
      ],
      [
        "an agent whose owner granted signals:read and alerts:write",
        "agent",
        [
          insert(clients, {
            ...placed,
            value: {
              metadata: { scope: allScopes.join(" ") },
              agent: { ...agent, owner: owner(alertScopes) },
            },
          }),
        ],
        true,
      ],
      [
        "an agent whose owner granted only alerts:write",
        "agent",
        [
          insert(clients, {
            ...placed,
            value: {
              metadata: { scope: allScopes.join(" ") },
              agent: { ...agent, owner: owner(["alerts:write"]) },
            },
          }),
        ],
        false,
      ],
      ["a person who does not exist", "user", [granted(clientId, alertScopes.join(" "))], false],
      ["a person who granted no scopes", "user", [person], false],
      [
        "a person who granted the scopes to another application",
        "user",
        [person, granted("other", alertScopes.join(" "))],
        false,
      ],
      [
        "a person who granted the application alerts:write but not signals:read",
        "user",
        [person, granted(clientId, "alerts:write factor:read")],
        false,
      ],
      [
        "a person who granted the application signals:read and alerts:write",
        "user",
        [person, granted(clientId, alertScopes.join(" "))],
        true,
      ],
      ["an API key that does not exist", "service", [], false],
      [
        "an API key with only signals:read",
        "service",
        [insert(apiKeys, { ...placed, value: key(["signals:read"]) })],
        false,
      ],
      [
        "an API key with only alerts:write",
        "service",
        [insert(apiKeys, { ...placed, value: key(["alerts:write"]) })],
        false,
      ],
      [
        "an API key with signals:read and alerts:write",
        "service",
        [insert(apiKeys, { ...placed, value: key(alertScopes) })],
        true,
      ],
    ];

  it.each(cases)("is decided correctly for %s", async (_, kind, steps, expected) => {
    const { records } = await openStore(embedded);
    await records.commit(steps);
    expect(await mayHave(records, { kind, id: "x", clientId })).toBe(expected);
    expect(await mayHave(records, { kind, id: "y", clientId })).toBe(false);
    for (const other of (["agent", "user", "service"] as const).filter((each) => each !== kind)) {
      expect(await mayHave(records, { kind: other, id: "x", clientId })).toBe(false);
    }
  });

  it.each(cases.filter(([, , , expected]) => expected))(
    "of %s is decided again by a transaction during which it ends",
    async (_, kind, kept) => {
      const { records } = await openStore(embedded);
      await records.commit(kept);
      const decided: boolean[] = [];
      await transact(records, async (tx) => {
        decided.push(isEntitledToEvents(await currentScopesOf(tx, { kind, id: "x", clientId })));
        await records.commit([removeGroup(apiKeyGroup("x"))]);
        tx.announce("decided");
      });
      expect(decided).toEqual([true, false]);
    },
  );

  it("ends for an API key when the key expires", async () => {
    const { records, clock } = await openStore(embedded);
    const value = key(alertScopes);
    await records.commit([insert(apiKeys, { ...placed, value, ttlMs: 1_000 })]);
    clock.now += 999;
    expect(await mayHave(records, { kind: "service", id: "x" })).toBe(true);
    clock.now += 1;
    expect(await mayHave(records, { kind: "service", id: "x" })).toBe(false);
  });

  it("lasts for a client as long as the client is registered, and is limited to its registered scopes", async () => {
    const { records } = await openStore(embedded);
    const register = (scope: string) =>
      put(clients, { key: "app", value: { metadata: { scope }, agent } });
    await records.commit([person, granted("app", allScopes.join(" "))]);
    const held = () => currentScopesOf(records, { kind: "user", id: "x", clientId: "app" });
    expect(await held()).toEqual(new Set());
    await records.commit([register(alertScopes.join(" "))]);
    expect(await held()).toEqual(new Set(alertScopes));
    await records.commit([register("signals:read")]);
    expect(await held()).toEqual(new Set(["signals:read"]));
  });

  it("is limited for an agent to its registered scopes, whatever its owner grants", async () => {
    const { records } = await openStore(embedded);
    const value = {
      metadata: { scope: "signals:read" },
      agent: { ...agent, owner: owner(allScopes) },
    };
    await records.commit([insert(clients, { ...placed, value })]);
    expect(await currentScopesOf(records, { kind: "agent", id: "x" })).toEqual(
      new Set(["signals:read"]),
    );
  });

  it("covers all scopes that a person allowed in any grant, for as long as each grant lasts", async () => {
    const { records, clock } = await openStore(embedded);
    const rejected = { resources: { "https://signals.test": "darkpool:read" } };
    const resources = { "https://signals.test": "signals:read darkpool:read" };
    const narrow = { accountId: "x", clientId, resources, rejected };
    await records.commit([
      person,
      insert(grants, { key: "narrow", value: narrow, groups: placed.groups }),
      insert(grants, {
        ...{ key: "short", value: { ...narrow, resources: { a: "alerts:write" } } },
        ...{ groups: placed.groups, ttlMs: 1_000 },
      }),
      granted("other", allScopes.join(" ")),
    ]);
    const held = () => currentScopesOf(records, { kind: "user", id: "x", clientId });
    expect(await held()).toEqual(new Set(alertScopes));
    clock.now += 1_000;
    expect(await held()).toEqual(new Set(["signals:read"]));
  });

  it("covers every scope when the person acts without an application, for as long as the account exists", async () => {
    const { records } = await openStore(embedded);
    const themselves = { kind: "user", id: "x" } as const;
    expect(await currentScopesOf(records, themselves)).toEqual(new Set());
    await records.commit([person]);
    expect(await currentScopesOf(records, themselves)).toEqual(new Set(allScopes));
    await records.commit([removeGroup(accountRecordsGroup("x"))]);
    expect(await currentScopesOf(records, themselves)).toEqual(new Set());
  });
});
