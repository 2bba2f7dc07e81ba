import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { createAuditor, withCallerAddress } from "../../../../src/access/auditor.ts";
import type { Scope } from "../../../../src/access/scopes.ts";
import { createVault } from "../../../../src/keys/vault.ts";
import { fingerprint } from "../../../../src/lib/fingerprint.ts";
import { emailGroup } from "../../../../src/mail/email-address.ts";
import { createOutbox, decryptEmail, queuedMails } from "../../../../src/mail/outbox.ts";
import { accounts } from "../../../../src/principals/accounts/accounts.ts";
import {
  type Agent,
  accountRecordsGroup,
  clientGroup,
  clients,
  ownedAgentsGroup,
} from "../../../../src/principals/agents/agent.ts";
import type { Claimer } from "../../../../src/principals/agents/claim-records.ts";
import { agentClaims as claimRecords } from "../../../../src/principals/agents/claim-records.ts";
import { ClaimService } from "../../../../src/principals/agents/claims.ts";
import type { ClaimOutcome } from "../../../../src/principals/agents/complete-claim.ts";
import { createRegistrationTokenLookup } from "../../../../src/principals/agents/registration-access-token.ts";
import { type AuditEntry, unsealedAudit } from "../../../../src/store/audit-entry.ts";
import { put, remove, removeGroup, replace } from "../../../../src/store/port/operations.ts";
import { collection, type Records } from "../../../../src/store/port/records.ts";
import { transact } from "../../../../src/store/transact.ts";
import { describeEngines, type Engine, openStore, slowRecords } from "../../../support/stores.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const ALL: readonly Scope[] = ["signals:read", "factor:read", "darkpool:read", "alerts:write"];
const READS = ALL.slice(0, 3);
const WRONG = { status: "invalid_claim_code" };
const tokens = collection<object>("oidc:ClientCredentials");

/** Creates claims on a new store whose clock only the test advances. */
async function build(engine: Engine, seenAs = (records: Records) => records) {
  const { records, clock } = await openStore(engine);
  const now = () => new Date(clock.now);
  const vault = createVault(randomBytes(32));
  const withKey = (codeKey: Uint8Array) =>
    new ClaimService({
      records: seenAs(records),
      now,
      audit: createAuditor({ hashAddress: (address) => `hash of ${address}`, now }),
      mailbox: createOutbox({ vault, now }),
      baseUrl: "https://signals.example",
      anonymousScopes: READS,
      signUp: "open",
      codeKey,
    });
  const claims = withKey(randomBytes(32));

  /** Registers an agent with a claim code. */
  async function register(agent: Partial<Agent> = {}, metadata: object = {}, agentId = "agt_1") {
    const value = {
      metadata: {
        client_name: "Helper",
        grant_types: ["client_credentials"],
        scope: READS.join(" "),
        ...metadata,
      },
      agent: { identityType: "anonymous" as const, registeredAt: clock.now, ...agent },
    };
    const groups = ["registration:r"];
    const start = await transact(records, (tx) => {
      tx.insert(clients, { key: agentId, value, groups, ttlMs: DAY_MS });
      return claims.begin(tx, agentId);
    });
    return { agentId, ...start };
  }
  async function person(accountId: string, scopes: readonly Scope[] = ALL): Promise<Claimer> {
    const email = `${accountId}@people.example`;
    const value = { email, label: email, createdAt: clock.now };
    await records.commit([
      put(accounts, { key: accountId, value, groups: [accountRecordsGroup(accountId)] }),
    ]);
    return { accountId, scopes };
  }
  const agentNow = async (agentId = "agt_1") => (await records.get(clients, agentId))?.value;
  const audit = async () => {
    const rows = await records.list(unsealedAudit, { limit: 1000 });
    return rows.map(({ value }) => value.body as AuditEntry);
  };
  const letters = async () =>
    (await records.list(queuedMails, { limit: 1000 })).map((mail) => decryptEmail(vault, mail));
  return { records, clock, claims, withKey, register, person, agentNow, audit, letters };
}

const hundred = <T>(act: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: 100 }, (_, index) => act(index)));
const claimedOf = (outcomes: readonly ClaimOutcome[]) =>
  outcomes.flatMap((outcome) => (outcome.status === "claimed" ? [outcome] : []));

type Claim = Parameters<ClaimService["preview"]>[0];

/**
 * A hook into a record store. The function assigned to `next` runs once, immediately before the
 * following commit to the store that `records` wraps.
 */
function interruptible() {
  const interrupted = {
    next: undefined as (() => Promise<void>) | undefined,
    records: (records: Records): Records => ({
      ...records,
      async commit(operations) {
        const { next } = interrupted;
        interrupted.next = undefined;
        await next?.();
        return records.commit(operations);
      },
    }),
  };
  return interrupted;
}

/**
 * A hook like `interruptible`, but before the following read of one collection. Concurrent reads of
 * other collections have finished by then.
 */
function beforeRead(name: string) {
  const before = {
    next: undefined as (() => Promise<void>) | undefined,
    records: (records: Records): Records => ({
      ...records,
      async get(from, key) {
        const { next } = before;
        if (from.name !== name || next === undefined) return records.get(from, key);
        before.next = undefined;
        await next();
        return records.get(from, key);
      },
    }),
  };
  return before;
}

describeEngines("a claim of an agent by a person", (engine) => {
  it("binds the agent permanently to the person, and widens its scopes", async () => {
    const { claims, clock, records, register, person, agentNow } = await build(engine);
    const { agentId, code } = await register();
    const ann = await person("acc_ann");

    expect(await claims.completeByPerson({ agentId, code }, ann)).toEqual({
      status: "claimed",
      agentId,
      identityType: "anonymous",
      accountId: "acc_ann",
      scopes: ALL,
      claimedAt: clock.now,
    });
    expect(await agentNow()).toMatchObject({
      metadata: { client_name: "Helper", scope: ALL.join(" ") },
      agent: { owner: { accountId: "acc_ann", scopes: ALL, claimedAt: clock.now } },
    });
    const [mine] = await records.list(clients, { group: ownedAgentsGroup("acc_ann"), limit: 9 });
    expect(mine).toMatchObject({ key: agentId, expiresAt: undefined });
    expect(mine?.groups).toEqual([ownedAgentsGroup("acc_ann")]);
    expect(await records.list(claimRecords, { limit: 9 })).toEqual([]);
  });

  it("grants the agent no more scopes than the person's token has, and keeps the scopes the agent already has", async () => {
    const { claims, register, person, agentNow } = await build(engine);
    const ann = await person("acc_ann", ["alerts:write", "signals:read"]);
    const cases = [
      [{}, { scope: "signals:read" }, "signals:read alerts:write"],
      [{}, {}, ALL.join(" ")],
      [{}, { scope: "factor:read alerts:write" }, "signals:read factor:read alerts:write"],
      [{ identityType: "service_auth" }, { scope: ALL.join(" ") }, "signals:read alerts:write"],
    ] as const;
    for (const [index, [agent, metadata, scope]] of cases.entries()) {
      const { agentId, code } = await register(agent, metadata, `agt_${index}`);
      expect(await claims.completeByPerson({ agentId, code }, ann)).toMatchObject({
        scopes: scope.split(" "),
      });
      expect((await agentNow(agentId))?.metadata.scope).toBe(scope);
    }
  });

  it("keeps the scopes that an agent with the authorization code grant may request from people", async () => {
    const { claims, register, person, agentNow } = await build(engine);
    const grant_types = ["authorization_code", "client_credentials"];
    const { agentId, code } = await register({}, { grant_types, scope: "factor:read" });
    await claims.completeByPerson({ agentId, code }, await person("acc_ann", ["signals:read"]));

    expect(await agentNow()).toMatchObject({
      metadata: { scope: "signals:read factor:read" },
      agent: { owner: { scopes: ["signals:read", "factor:read"] } },
    });
  });

  it("revokes everything issued to the agent, and nothing else", async () => {
    const { claims, records, register, person } = await build(engine);
    const { agentId, code } = await register();
    const grants = collection<object>("oidc:Grant");
    await records.commit([
      put(tokens, { key: "t", value: {}, groups: [clientGroup(agentId)] }),
      put(grants, { key: "g", value: {}, groups: [clientGroup(agentId)] }),
      put(tokens, { key: "other", value: {}, groups: [clientGroup("agt_2")] }),
    ]);
    await claims.completeByPerson({ agentId, code }, await person("acc_ann"));

    expect(await records.get(tokens, "t")).toBeUndefined();
    expect(await records.get(grants, "g")).toBeUndefined();
    expect(await records.get(tokens, "other")).toBeDefined();
  });

  it("returns the same result again to the owner, but not to any other caller", async () => {
    const { claims, clock, register, person } = await build(engine);
    const { agentId, code } = await register();
    const ann = await person("acc_ann");
    const first = await claims.completeByPerson({ agentId, code }, ann);
    clock.now += 20 * MINUTE_MS;

    expect(await claims.completeByPerson({ agentId, code }, ann)).toEqual(first);
    expect(await claims.completeByPerson({ agentId, code }, await person("acc_bob"))).toEqual(
      WRONG,
    );
  });

  it("succeeds once under concurrent requests", async () => {
    const { claims, register, person, agentNow, audit, letters } = await build(engine, slowRecords);
    const { agentId, code } = await register();
    const people = await hundred((index) => person(`acc_${index}`));
    const outcomes = await hundred((index) =>
      claims.completeByPerson({ agentId, code }, people[index] as Claimer),
    );

    const [winner, ...others] = claimedOf(outcomes);
    expect(others).toEqual([]);
    expect((await agentNow())?.agent.owner?.accountId).toBe(winner?.accountId);
    expect((await audit()).filter(({ action }) => action === "client.claimed")).toHaveLength(1);
    expect(await letters()).toHaveLength(1);
  });

  it("gives the same result to concurrent requests of the same person", async () => {
    const { claims, register, person, letters } = await build(engine, slowRecords);
    const { agentId, code } = await register();
    const ann = await person("acc_ann");
    const outcomes = await hundred(() => claims.completeByPerson({ agentId, code }, ann));

    expect(claimedOf(outcomes)).toHaveLength(100);
    expect(await letters()).toHaveLength(1);
  });

  it("is reported as complete to its owner when it is completed during another request", async () => {
    for (const name of [clients.name, claimRecords.name]) {
      const before = beforeRead(name);
      const { claims, register, person } = await build(engine, before.records);
      const { agentId, code } = await register();
      const ann = await person("acc_ann");
      const complete = () => claims.completeByPerson({ agentId, code }, ann);
      before.next = async () => expect((await complete()).status).toBe("claimed");

      expect((await complete()).status).toBe("claimed");
      expect(before.next).toBeUndefined();
    }
  });

  it("expires after ten minutes", async () => {
    const { claims, clock, register, person } = await build(engine);
    const late = await register({}, {}, "agt_late");
    const early = await register({}, {}, "agt_early");
    const ann = await person("acc_ann");
    expect(early.expiresAt).toBe(clock.now + 10 * MINUTE_MS);

    clock.now += 10 * MINUTE_MS - 1;
    expect(await claims.completeByPerson(early, ann)).toMatchObject({ status: "claimed" });
    clock.now += 1;
    expect(await claims.completeByPerson(late, ann)).toEqual(WRONG);
  });

  it("expires at the same time however many attempts are made", async () => {
    const { claims, clock, register, person } = await build(engine);
    const { agentId, code } = await register();
    const ann = await person("acc_ann");
    clock.now += 9 * MINUTE_MS;
    await claims.completeByPerson({ agentId, code: "00000000" }, ann);
    clock.now += MINUTE_MS;

    expect(await claims.completeByPerson({ agentId, code }, ann)).toEqual(WRONG);
  });

  it("is still possible after four failed attempts but not after five, whoever makes the attempts and however they are made", async () => {
    const { claims, register, person } = await build(engine);
    const [four, five] = [await register(), await register({}, {}, "agt_2")];
    const [ann, bob] = [await person("acc_ann"), await person("acc_bob")];
    const wrong = "00000000";
    for (const { agentId } of [four, five]) {
      await claims.completeByPerson({ agentId, code: wrong }, bob);
      await claims.preview({ agentId, code: wrong }, "acc_bob");
      await claims.preview({ agentId, code: wrong }, "acc_ann");
      await claims.completeByPerson({ agentId, code: wrong }, ann);
    }
    await claims.preview({ agentId: five.agentId, code: wrong }, "acc_ann");

    expect(await claims.preview(five, "acc_ann")).toBeUndefined();
    expect(await claims.completeByPerson(five, ann)).toEqual(WRONG);
    expect(await claims.completeByPerson(four, ann)).toMatchObject({ status: "claimed" });
  });

  it("is rejected when the fifth wrong attempt arrives while the correct code is being checked", async () => {
    const interrupted = interruptible();
    const { claims, register, person } = await build(engine, interrupted.records);
    const ann = await person("acc_ann");
    const ways = {
      agt_look: (claim: Claim) => claims.preview(claim, "acc_ann"),
      agt_claim: (claim: Claim) => claims.completeByPerson(claim, ann),
    };
    for (const [agentId, way] of Object.entries(ways)) {
      const { code } = await register({}, {}, agentId);
      interrupted.next = async () => {
        for (let tries = 0; tries < 5; tries += 1) {
          await claims.preview({ agentId, code: "00000000" }, "acc_ann");
        }
      };
      expect((await way({ agentId, code })) ?? WRONG).toEqual(WRONG);
      expect(interrupted.next).toBeUndefined();
    }
  });

  it("requires the newest code", async () => {
    const { claims, register, person } = await build(engine);
    const { agentId, code, attempt } = await register();
    const ann = await person("acc_ann");
    const renewed = await claims.start(agentId);

    expect(await claims.findByAttempt(attempt, "acc_ann")).toBeUndefined();
    expect(await claims.completeByPerson({ agentId, code }, ann)).toEqual(WRONG);
    expect(
      await claims.completeByPerson({ agentId, code: renewed?.code ?? "" }, ann),
    ).toMatchObject({ status: "claimed" });
  });

  it("is rejected for agents that are unknown, deleted, changed or already claimed", async () => {
    const { claims, records, clock, register, person } = await build(engine);
    const ann = await person("acc_ann");
    const gone = await register({}, {}, "agt_gone");
    await records.commit([remove(clients, gone.agentId)]);
    const changed = await register({}, { grant_types: ["authorization_code"] }, "agt_code");
    const owner = { accountId: "acc_bob", scopes: ALL, claimedAt: clock.now };
    const claimed = await register({ owner }, {}, "agt_claimed");

    for (const claim of [{ agentId: "agt_none", code: "00000000" }, gone, changed, claimed]) {
      expect(await claims.completeByPerson(claim, ann)).toEqual(WRONG);
      expect(await claims.preview(claim, "acc_ann")).toBeUndefined();
      expect(await claims.findByAttempt(gone.attempt, "acc_ann")).toBeUndefined();
      expect(await claims.confirm(gone.attempt, ann)).toBeUndefined();
    }
  });

  it("requires the person whom the agent specified at registration, even if the agent specified another person later", async () => {
    const { claims, register, person } = await build(engine);
    const [ann, bob] = [await person("acc_ann"), await person("acc_bob")];
    const named = await register({
      identityType: "service_auth",
      loginHint: "acc_ann@people.example",
    });
    expect(await claims.preview(named, "acc_bob")).toBeUndefined();
    expect(await claims.completeByPerson(named, bob)).toEqual(WRONG);

    const { agentId } = named;
    const renewed = await claims.start(agentId, "acc_bob@people.example");
    const code = renewed?.code ?? "";
    expect(await claims.completeByPerson({ agentId, code }, bob)).toEqual(WRONG);
    expect(await claims.findByAttempt(renewed?.attempt ?? "", "acc_bob")).toBe("wrong_account");
    expect(await claims.confirm(renewed?.attempt ?? "", bob)).toBeUndefined();
    expect(await claims.completeByPerson({ agentId, code }, ann)).toMatchObject({
      status: "claimed",
      identityType: "service_auth",
    });
  });

  it("requires the person whom the agent specified when it restarted the claim, if it had specified no person before", async () => {
    const { claims, register, person } = await build(engine);
    const { agentId } = await register();
    const [ann, bob] = [await person("acc_ann"), await person("acc_bob")];
    const { code = "", attempt = "" } =
      (await claims.start(agentId, "acc_ann@people.example")) ?? {};

    expect(await claims.findByAttempt(attempt, "acc_bob")).toBe("wrong_account");
    expect(await claims.completeByPerson({ agentId, code }, bob)).toEqual(WRONG);
    expect(await claims.completeByPerson({ agentId, code }, ann)).toMatchObject({
      status: "claimed",
    });
  });

  it("fails for an account that is deleted, even if it is deleted during the request", async () => {
    const interrupted = interruptible();
    const { claims, records, register, person, agentNow } = await build(
      engine,
      interrupted.records,
    );
    const { agentId, code } = await register();

    const ann = await person("acc_ann");
    interrupted.next = async () =>
      void (await records.commit([removeGroup(accountRecordsGroup("acc_ann"))]));

    expect(await claims.completeByPerson({ agentId, code }, ann)).toEqual(WRONG);
    expect((await agentNow())?.agent.owner).toBeUndefined();
  });

  it("can be previewed without consuming the code", async () => {
    const { claims, clock, register, person } = await build(engine);
    const claim = await register({}, { scope: "signals:read" });
    await person("acc_ann");
    const shown = {
      agentId: "agt_1",
      name: "Helper",
      registeredAt: clock.now,
      scopesNow: ["signals:read"],
      scopesAfter: ALL,
    };
    for (let times = 0; times < 7; times += 1) {
      expect(await claims.preview(claim, "acc_ann")).toEqual(shown);
    }
    const waiting = await register({ identityType: "service_auth" }, {}, "agt_2");
    expect(await claims.preview(waiting, "acc_ann")).toMatchObject({ scopesNow: [] });
  });

  it("is audited with the caller's IP address as a hash, and notifies the person without any text from the agent", async () => {
    const { claims, register, person, audit, letters, clock } = await build(engine);
    const detail = { registeredAt: clock.now, identityType: "anonymous" };
    const { agentId, code } = await register({}, { client_name: "Visit evil.example" });
    const ann = await person("acc_ann", ["signals:read"]);
    await withCallerAddress("192.0.2.1", async () => {
      await claims.completeByPerson({ agentId, code: "00000000" }, ann);
      await claims.completeByPerson({ agentId: "agt_none", code }, ann);
      await claims.completeByPerson({ agentId, code }, ann);
    });

    const origin = { actor: "acc_ann", addressHash: "hash of 192.0.2.1" };
    expect(await audit()).toEqual([
      { action: "claim.refused", target: agentId, ...origin },
      { action: "claim.refused", target: "agt_none", ...origin },
      { action: "client.claimed", target: agentId, ...origin, detail },
    ]);
    const [letter, ...others] = await letters();
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ to: "acc_ann@people.example" });
    expect(letter?.text).toContain(agentId);
    expect(letter?.text).toContain("https://signals.example/account");
    expect(letter?.text).not.toContain("evil");
  });
});

describeEngines("a claim completed by the agent", (engine) => {
  it("requires a person's confirmation first, and then the code that was shown to the person", async () => {
    const { claims, clock, records, register, person, agentNow } = await build(engine);
    const { agentId, attempt } = await register();
    await records.commit([put(tokens, { key: "t", value: {}, groups: [clientGroup(agentId)] })]);
    expect(await claims.completeByAgent({ agentId, code: "00000000" })).toEqual({
      status: "claim_not_confirmed",
    });

    const ann = await person("acc_ann", ["signals:read", "alerts:write"]);
    expect(await claims.findByAttempt(attempt, "acc_ann")).toMatchObject({ agentId });
    const { code = "" } = (await claims.confirm(attempt, ann)) ?? {};
    expect(await claims.completeByAgent({ agentId, code })).toEqual({
      status: "claimed",
      agentId,
      identityType: "anonymous",
      accountId: "acc_ann",
      scopes: ALL,
      claimedAt: clock.now,
      registrationToken: expect.stringMatching(/^rat_[\w-]{43}$/),
    });
    expect((await agentNow())?.agent.owner?.accountId).toBe("acc_ann");
    expect(await records.get(tokens, "t")).toBeUndefined();
  });

  it("rejects the agent's own code, and a person's claim rejects the code shown to the person", async () => {
    const { claims, register, person, agentNow } = await build(engine);
    const own = await register();
    expect((await claims.completeByAgent(own)).status).toBe("claim_not_confirmed");

    const ann = await person("acc_ann");
    const shown = await claims.confirm(own.attempt, ann);
    expect(await claims.completeByAgent(own)).toEqual(WRONG);
    const { agentId } = own;
    expect(await claims.completeByPerson({ agentId, code: shown?.code ?? "" }, ann)).toEqual(WRONG);
    expect((await agentNow())?.agent.owner).toBeUndefined();
  });

  it("returns the same result again for the code that completed it, but not for another code", async () => {
    const { claims, clock, register, person } = await build(engine);
    const { agentId, attempt, code: own } = await register();
    const { code = "" } = (await claims.confirm(attempt, await person("acc_ann"))) ?? {};
    const [first] = claimedOf([await claims.completeByAgent({ agentId, code })]);
    const { registrationToken, ...again } = first ?? {};
    expect(registrationToken).toBeDefined();

    clock.now += MINUTE_MS;
    expect(await claims.completeByAgent({ agentId, code })).toEqual(again);
    expect(await claims.completeByAgent({ agentId, code: own })).toEqual(WRONG);
    const bob = await person("acc_bob");
    expect(await claims.completeByPerson({ agentId, code: own }, bob)).toEqual(WRONG);
    expect(await claims.findByAttempt(attempt, "acc_bob")).toBeUndefined();
    expect(await claims.confirm(attempt, bob)).toBeUndefined();
  });

  it("succeeds once under concurrent requests", async () => {
    const { claims, register, person, letters } = await build(engine, slowRecords);
    const { agentId, attempt } = await register();
    const { code = "" } = (await claims.confirm(attempt, await person("acc_ann"))) ?? {};
    const outcomes = await hundred(() => claims.completeByAgent({ agentId, code }));

    expect(new Set(claimedOf(outcomes).map(({ claimedAt }) => claimedAt)).size).toBe(1);
    expect(outcomes.every(({ status }) => status === "claimed")).toBe(true);
    expect(await letters()).toHaveLength(1);
  });

  it("succeeds only once when a person and the agent complete it concurrently", async () => {
    const { claims, register, person, agentNow, letters } = await build(engine, slowRecords);
    const { agentId, attempt, code: own } = await register();
    const ann = await person("acc_ann");
    const { code = "" } = (await claims.confirm(attempt, ann)) ?? {};
    const bob = await person("acc_bob");
    const [byAgent, byBob] = await Promise.all([
      claims.completeByAgent({ agentId, code }),
      claims.completeByPerson({ agentId, code: own }, bob),
    ]);

    const [winner, ...others] = claimedOf([byAgent, byBob]);
    expect(others).toEqual([]);
    expect((await agentNow())?.agent.owner?.accountId).toBe(winner?.accountId);
    expect(await letters()).toHaveLength(1);
  });

  it("counts 100 concurrent wrong attempts, and then rejects the correct code", async () => {
    const { claims, records, register, person } = await build(engine, slowRecords);
    const { agentId, attempt } = await register();
    const { code = "" } = (await claims.confirm(attempt, await person("acc_ann"))) ?? {};
    await hundred((index) => claims.completeByAgent({ agentId, code: `0000${index}` }));

    expect((await records.get(claimRecords, agentId))?.value.codes.shown?.tries).toBe(5);
    expect(await claims.completeByAgent({ agentId, code })).toEqual(WRONG);
  });

  it("accepts only the code of the newest confirmation, and no code after the agent restarts the claim", async () => {
    const { claims, register, person } = await build(engine);
    const { agentId, attempt } = await register();
    const ann = await person("acc_ann");
    const first = await claims.confirm(attempt, ann);
    const second = await claims.confirm(attempt, await person("acc_bob"));
    expect(await claims.completeByAgent({ agentId, code: first?.code ?? "" })).toEqual(WRONG);

    await claims.start(agentId);
    expect(await claims.completeByAgent({ agentId, code: second?.code ?? "" })).toEqual({
      status: "claim_not_confirmed",
    });
  });

  it("expires after ten minutes, or when the person's account or the agent is deleted", async () => {
    const { claims, clock, records, register, person } = await build(engine);
    const ann = await person("acc_ann");
    const late = await register({}, {}, "agt_late");
    const orphan = await register({}, {}, "agt_orphan");
    const lateCode = (await claims.confirm(late.attempt, ann))?.code ?? "";
    const bob = await person("acc_bob");
    const orphanCode = (await claims.confirm(orphan.attempt, bob))?.code ?? "";

    await records.commit([removeGroup(accountRecordsGroup("acc_bob"))]);
    expect(await claims.completeByAgent({ agentId: "agt_orphan", code: orphanCode })).toEqual(
      WRONG,
    );
    clock.now += 10 * MINUTE_MS;
    expect(await claims.completeByAgent({ agentId: "agt_late", code: lateCode })).toEqual(WRONG);
    expect(await claims.completeByAgent({ agentId: "agt_none", code: lateCode })).toEqual(WRONG);
  });

  it("rejects a confirmation by an account that is deleted concurrently, and accepts another person's confirmation", async () => {
    const interrupted = interruptible();
    const { claims, records, register, person, audit } = await build(engine, interrupted.records);
    const { agentId, attempt } = await register();
    const [ann, bob] = [await person("acc_ann"), await person("acc_bob")];
    interrupted.next = async () =>
      void (await records.commit([removeGroup(accountRecordsGroup("acc_ann"))]));

    expect(await claims.confirm(attempt, ann)).toBeUndefined();
    expect((await claims.completeByAgent({ agentId, code: "00000000" })).status).toBe(
      "claim_not_confirmed",
    );
    await claims.confirm(attempt, bob);
    expect(await audit()).toEqual([
      { action: "claim.confirmed", actor: "acc_bob", target: agentId },
    ]);
  });

  it("is deleted with the email address that the agent specified", async () => {
    const { claims, records, register } = await build(engine);
    await register();
    await claims.start("agt_1", "acc_ann@people.example");
    await records.commit([removeGroup(emailGroup("acc_ann@people.example"))]);

    expect(await records.list(claimRecords, { limit: 9 })).toEqual([]);
  });

  it("can be started only for registered agents that can still be claimed", async () => {
    const { claims, records, clock, register, audit } = await build(engine);
    const owner = { accountId: "acc_bob", scopes: ALL, claimedAt: clock.now };
    await register({ owner }, {}, "agt_claimed");
    await register({}, { grant_types: ["authorization_code"] }, "agt_code");
    await register();

    expect(await claims.start("agt_claimed")).toBeUndefined();
    expect(await claims.start("agt_code")).toBeUndefined();
    expect(await claims.start("agt_none")).toBeUndefined();
    const { attempt = "" } = (await claims.start("agt_1")) ?? {};
    expect(attempt).toMatch(/^[\w-]{43}$/);
    expect(await audit()).toEqual([]);
    await register({ identityType: "identity_assertion" }, {}, "agt_known");
    await claims.start("agt_known");
    const started = { action: "claim.started", actor: "agt_known", target: "agt_known" };
    expect(await audit()).toEqual([started]);
    const kept = JSON.stringify(await records.list(claimRecords, { limit: 9 }));
    expect(kept).not.toContain(attempt);
  });
});

describeEngines("the claim code that an agent requests repeatedly", (engine) => {
  const admit = async () => {};

  it("is the same for all concurrent requests, both before and after the first code expires", async () => {
    const { claims, clock, records, register, person } = await build(engine, slowRecords);
    const { agentId, code } = await register();
    const given = () => hundred(() => claims.giveCode(agentId, admit));
    expect(new Set((await given()).map((each) => each?.code))).toEqual(new Set([code]));
    clock.now += 11 * MINUTE_MS;
    const [later, ...others] = new Set((await given()).map((each) => each?.code));
    expect(others).toEqual([]);
    expect(later).not.toBe(code);
    expect(JSON.stringify(await records.list(claimRecords, { limit: 9 }))).not.toContain(later);
    const claim = { agentId, code: later ?? "" };
    expect((await claims.completeByPerson(claim, await person("acc_ann"))).status).toBe("claimed");
    expect(await claims.giveCode(agentId, admit)).toBeUndefined();
  });

  it("changes after too many wrong attempts, or when the server uses another secret key", async () => {
    const { claims, withKey, register, person } = await build(engine);
    const { agentId, code } = await register();
    const ann = await person("acc_ann");
    for (let tries = 0; tries < 5; tries += 1) {
      await claims.completeByPerson({ agentId, code: "00000000" }, ann);
    }
    const second = (await claims.giveCode(agentId, admit))?.code ?? "";
    expect(second).not.toBe(code);
    const third = (await withKey(randomBytes(32)).giveCode(agentId, admit))?.code ?? "";
    expect(third).not.toBe(second);
    expect(await claims.completeByPerson({ agentId, code: second }, ann)).toEqual(WRONG);
    expect((await claims.completeByPerson({ agentId, code: third }, ann)).status).toBe("claimed");
  });

  it("counts toward the limit of new codes only when it changes", async () => {
    const { claims, register } = await build(engine);
    const { agentId, code } = await register();
    const refuse = async () => {
      throw new Error("too many");
    };
    expect((await claims.giveCode(agentId, refuse))?.code).toBe(code);
    await expect(claims.giveCode("agt_none", refuse)).rejects.toThrow("too many");
  });
});

describeEngines("a registration access token", (engine) => {
  it("identifies its client until the token is replaced", async () => {
    const { records, register } = await build(engine);
    await register();
    const client = await records.get(clients, "agt_1");
    if (client === undefined) throw new Error("no client");
    const groups = [`registration:${fingerprint("secret")}`];
    await records.commit([replace(clients, client, { value: client.value, groups })]);
    const agentOf = createRegistrationTokenLookup(records);

    expect(await agentOf("secret")).toBe("agt_1");
    expect(await agentOf("other")).toBeUndefined();
  });
});
