import { describe, expect, it } from "vitest";
import { accounts } from "../../../src/auth/accounts/account-records.ts";
import { belongingTo, clients } from "../../../src/auth/agents/agent.ts";
import { isEntitled, whileEntitled } from "../../../src/auth/entitled.ts";
import { apiKeys, ofKey } from "../../../src/auth/keys/api-keys.ts";
import type { Scope } from "../../../src/auth/scopes.ts";
import { insert, removeGroup } from "../../../src/store/operations.ts";
import type { Operation } from "../../../src/store/records.ts";
import { embedded, openStore } from "../../support/stores.ts";

const agent = { identityType: "anonymous", registeredAt: 0 } as const;
const owner = (scopes: readonly Scope[]) => ({ accountId: "acc", scopes, claimedAt: 0 });
const key = (scopes: readonly Scope[]) => ({
  ...{ id: "x", name: "x", hint: "", accountId: undefined, createdAt: 0, expiresAt: undefined },
  scopes,
});
const placed = { key: "x", groups: [ofKey("x"), belongingTo("x")] };

describe("who may have alerts", () => {
  const cases: readonly (readonly [string, "agent" | "user" | "service", Operation[], boolean])[] =
    [
      ["an agent that is not there", "agent", [], false],
      [
        "an agent that nobody answers for",
        "agent",
        [insert(clients, { ...placed, value: { metadata: {}, agent } })],
        false,
      ],
      [
        "an agent that may read only",
        "agent",
        [
          insert(clients, {
            ...placed,
            value: { metadata: {}, agent: { ...agent, owner: owner(["signals:read"]) } },
          }),
        ],
        false,
      ],
      [
        "an agent that may",
        "agent",
        [
          insert(clients, {
            ...placed,
            value: { metadata: {}, agent: { ...agent, owner: owner(["alerts:write"]) } },
          }),
        ],
        true,
      ],
      ["a person who is not there", "user", [], false],
      [
        "a person",
        "user",
        [insert(accounts, { ...placed, value: { label: "x", createdAt: 0 } })],
        true,
      ],
      ["a key that is not there", "service", [], false],
      [
        "a key that may read only",
        "service",
        [insert(apiKeys, { ...placed, value: key(["signals:read"]) })],
        false,
      ],
      ["a key", "service", [insert(apiKeys, { ...placed, value: key(["alerts:write"]) })], true],
    ];

  it.each(cases)("%s", async (_, kind, steps, expected) => {
    const { records } = await openStore(embedded);
    await records.commit(steps);
    expect(await isEntitled(records, { kind, id: "x" })).toBe(expected);
    expect(await isEntitled(records, { kind, id: "y" })).toBe(false);
    for (const other of (["agent", "user", "service"] as const).filter((each) => each !== kind)) {
      expect(await isEntitled(records, { kind: other, id: "x" })).toBe(false);
    }
  });

  it.each(cases.filter(([, , , expected]) => expected))(
    "%s no longer, in a commit that comes after the end",
    async (_, kind, steps) => {
      const { records } = await openStore(embedded);
      await records.commit(steps);
      const step = await whileEntitled(records, { kind, id: "x" });
      if (step === undefined) throw new Error("not entitled");
      expect(await records.commit([step])).toBe(true);
      await records.commit([removeGroup(ofKey("x"))]);
      expect(await records.commit([step])).toBe(false);
    },
  );

  it("not a key that has expired", async () => {
    const { records, clock } = await openStore(embedded);
    const value = key(["alerts:write"]);
    await records.commit([insert(apiKeys, { ...placed, value, ttlMs: 1_000 })]);
    clock.now += 999;
    expect(await isEntitled(records, { kind: "service", id: "x" })).toBe(true);
    clock.now += 1;
    expect(await isEntitled(records, { kind: "service", id: "x" })).toBe(false);
  });
});
