// @module-tag full

import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import type { AuditEntry } from "../../src/store/audit-entry.ts";
import { unsealedAudit } from "../../src/store/audit-entry.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import { storeUnavailableProblem } from "../../src/store/port/unavailable.ts";
import { getWith, register } from "../support/agent.ts";
import { type AuthServer, startAuthServer } from "../support/auth-server.ts";
import { registerPublic } from "../support/person.ts";
import {
  describeEngines,
  dumpStore,
  type Engine,
  embedded,
  openStore,
  slowRecords,
} from "../support/stores.ts";
import { createVisitor, exchange, giveConsent, type VisitorAnswer } from "../support/visitor.ts";

const asIs = (records: Records): Records => records;

/** An authorization server with a new store, and a person who is signed in. */
async function build(engine: Engine = embedded, seenAs = asIs) {
  const kept = await openStore(engine);
  const { records, clock } = kept;
  clock.now = Date.now();
  const server = await startAuthServer({
    records: seenAs(records),
    now: () => new Date(clock.now),
  });
  const person = createVisitor(server);
  await person.signIn();
  return { ...kept, server, person };
}

/** Sends a request a hundred times concurrently. @returns The granted and the refused answers. */
async function hundred(request: () => Promise<VisitorAnswer>) {
  const answers = await Promise.all(Array.from({ length: 100 }, request));
  return {
    granted: answers.filter(({ status }) => status === 200).map(({ body }) => body),
    refused: answers.filter(({ status }) => status !== 200),
  };
}

const statusWith = async ({ local }: AuthServer, token = "") =>
  (await getWith(token, `${local}/api/probe`)).status;

async function replaysIn(records: Records): Promise<readonly AuditEntry[]> {
  const rows = await records.list(unsealedAudit, { limit: 1000 });
  const entries = rows.map(({ value }) => value.body as AuditEntry);
  return entries.filter(({ action }) => action === "grant.replayed");
}

/** Expects all tokens of the grant to be revoked and its records to be deleted. */
async function expectFamilyDead(
  { server, store }: Awaited<ReturnType<typeof build>>,
  { access_token, refresh_token = "" }: VisitorAnswer["body"] = {},
  clientId: string,
) {
  expect(await statusWith(server, access_token)).toBe(401);
  const form = { grant_type: "refresh_token", client_id: clientId, refresh_token };
  expect(await exchange(server, form)).toMatchObject({ status: 400 });
  const rows = JSON.stringify(await dumpStore(store));
  for (const model of ["AccessToken", "RefreshToken", "AuthorizationCode", "Grant"]) {
    expect(rows).not.toContain(`"oidc:${model}"`);
  }
}

describeEngines("among a hundred concurrent requests", (engine) => {
  const seen = [
    ["", asIs],
    [", on a slow store", slowRecords],
  ] as const;

  it.each(seen)(
    "exactly one gets tokens for an authorization code, and the replays revoke those tokens%s",
    async (_title, seenAs) => {
      const built = await build(engine, seenAs);
      const { server, person, records } = built;
      const { form, client } = await giveConsent(server, person);
      const { granted, refused } = await hundred(() => exchange(server, form));

      expect(granted).toMatchObject([{ token_type: "Bearer" }]);
      for (const { status, body } of refused) {
        expect({ status, body }).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
      }
      await expectFamilyDead(built, granted[0], client.client_id);
      expect((await replaysIn(records)).length).toBeGreaterThan(0);
      expect(server.failures).toEqual([]);
    },
  );

  it.each(seen)(
    "exactly one gets tokens for a refresh token, and the replays revoke those tokens%s",
    async (_title, seenAs) => {
      const built = await build(engine, seenAs);
      const { server, person, records } = built;
      const { form, client } = await giveConsent(server, person);
      const { body: first } = await exchange(server, form);
      const { client_id } = client;
      const { refresh_token = "" } = first;
      const again = { grant_type: "refresh_token", client_id, refresh_token };
      const { granted, refused } = await hundred(() => exchange(server, again));

      expect(granted).toMatchObject([{ token_type: "Bearer" }]);
      for (const { status, body } of refused) {
        expect({ status, body }).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
      }
      await expectFamilyDead(built, granted[0], client_id);
      expect(await statusWith(server, first.access_token)).toBe(401);
      expect((await replaysIn(records)).length).toBeGreaterThan(0);
      expect(server.failures).toEqual([]);
    },
  );

  it("none succeeds with a client assertion that expires more than a day in the future, and the assertion is not stored", async () => {
    const { server, records, clock } = await build(engine);
    const { local } = server;
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const { client_id } = await register(local, {
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "ES256" }] },
    });
    const client_assertion = await new SignJWT({ jti: "late" })
      .setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(client_id)
      .setSubject(client_id)
      .setAudience(local)
      .setExpirationTime(Math.floor(clock.now / 1000) + 86_400)
      .sign(privateKey);
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const form = { grant_type: "client_credentials", client_assertion, client_assertion_type };
    expect(await exchange(server, form)).toMatchObject({
      status: 401,
      body: { error: "invalid_client" },
    });
    const kept = collection<object>("oidc:ReplayDetection");
    expect(await records.list(kept, { limit: 1 })).toEqual([]);
  });

  it.each(seen)("exactly one gets a token for a client assertion%s", async (_title, seenAs) => {
    const { server, clock } = await build(engine, seenAs);
    const { local } = server;
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const { client_id } = await register(local, {
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "ES256" }] },
    });
    const seconds = Math.floor(clock.now / 1000);
    const client_assertion = await new SignJWT({ jti: "once" })
      .setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(client_id)
      .setSubject(client_id)
      .setAudience(local)
      .setExpirationTime(seconds + 60)
      .sign(privateKey);
    const form = {
      grant_type: "client_credentials",
      client_assertion,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    };
    const { granted, refused } = await hundred(() => exchange(server, form));
    expect(granted).toMatchObject([{ token_type: "Bearer" }]);
    for (const { status, body } of refused) {
      expect({ status, body }).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    }
    expect(await statusWith(server, granted[0]?.access_token)).toBe(200);
    expect(server.failures).toEqual([]);
  });
});

describe("an authorization code", () => {
  it("revokes its tokens when it is presented again, and the replay is recorded in the audit log", async () => {
    const built = await build();
    const { server, person, records } = built;
    const { form, client } = await giveConsent(server, person);
    const { body } = await exchange(server, form);
    expect(await statusWith(server, body.access_token)).toBe(200);
    expect(await replaysIn(records)).toEqual([]);

    expect((await exchange(server, form)).status).toBe(400);
    await expectFamilyDead(built, body, client.client_id);
    expect(await replaysIn(records)).toEqual([
      {
        action: "grant.replayed",
        actor: client.client_id,
        target: expect.stringMatching(/^AuthorizationCode:[\w-]{43}$/),
        addressHash: "hash of 127.0.0.1",
      },
    ]);
  });

  it("stays valid when the store fails to store its tokens", async () => {
    const store = { isFull: false };
    const { server, person } = await build(embedded, (records) => ({
      ...records,
      async commit(operations) {
        if (store.isFull) throw storeUnavailableProblem("No space left.");
        return records.commit(operations);
      },
    }));
    const { form } = await giveConsent(server, person);
    store.isFull = true;
    expect(await exchange(server, form)).toMatchObject({
      status: 503,
      body: { error: "temporarily_unavailable" },
    });
    store.isFull = false;
    expect((await exchange(server, form)).status).toBe(200);
  });

  it("revokes nothing when another client presents it", async () => {
    const { server, person } = await build();
    const { form } = await giveConsent(server, person);
    const { body } = await exchange(server, form);
    const { client_id } = await registerPublic(server.local);
    expect((await exchange(server, { ...form, client_id })).status).toBe(400);
    expect(await statusWith(server, body.access_token)).toBe(200);
  });
});
