import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AuditEntry } from "../../src/store/audit.ts";
import { outbox } from "../../src/store/outbox.ts";
import type { Records } from "../../src/store/records.ts";
import { postForm, register } from "../support/agent.ts";
import { type AuthServer, startAuthServer } from "../support/auth-server.ts";
import { describeStores, openStore, slowed } from "../support/stores.ts";

/** The pair of RFC 7636 appendix B. */
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const redirectUri = "http://127.0.0.1/callback";

/** A code as a person's consent gives it to a public client. */
async function consentedCode({ local, provider }: AuthServer) {
  const { client_id } = await register(local, {
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
  const { AuthorizationCode, Client, Grant } = provider();
  const client = await Client.find(client_id);
  if (client === undefined) throw new Error("the client was not stored");
  const grant = new Grant({ clientId: client_id, accountId: "someone" });
  grant.addResourceScope(local, "signals:read");
  const code = new AuthorizationCode({
    client,
    accountId: "someone",
    gty: "authorization_code",
    grantId: await grant.save(),
    scope: "signals:read",
    resource: local,
    redirectUri,
    codeChallenge: CHALLENGE,
    codeChallengeMethod: "S256",
  });
  return { client_id, code: await code.save() };
}

function exchange(base: string, given: { client_id: string; code: string }): Promise<Response> {
  return postForm(`${base}/oauth/token`, {
    ...given,
    grant_type: "authorization_code",
    redirect_uri: redirectUri,
    code_verifier: VERIFIER,
  });
}

async function replaysIn(records: Records): Promise<readonly AuditEntry[]> {
  const rows = await records.list(outbox, { limit: 1000 });
  const entries = rows.map(({ value }) => value.body as AuditEntry);
  return entries.filter(({ action }) => action === "grant.replayed");
}

describeStores("an authorization code", (engine) => {
  it.each([
    ["presented a hundred times at once", (records: Records) => records],
    ["presented a hundred times at once to a slow store", slowed],
  ])("%s gives one token", async (_title, seenAs) => {
    const { records, clock } = await openStore(engine);
    const now = () => new Date(clock.now);
    const server = await startAuthServer({ records: seenAs(records), now });
    const given = await consentedCode(server);

    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const response = await exchange(server.local, given);
        return { status: response.status, body: (await response.json()) as object };
      }),
    );
    const granted = answers.filter(({ status }) => status === 200);
    expect(granted).toMatchObject([{ body: { token_type: "Bearer", scope: "signals:read" } }]);
    const refused = answers.filter(({ status }) => status === 400);
    expect(refused).toHaveLength(99);
    for (const { body } of refused) expect(body).toMatchObject({ error: "invalid_grant" });
    expect(server.failures).toEqual([]);
  });

  it("presented again takes back the token that it gave, and stands in the audit", async () => {
    const { records, clock } = await openStore(engine);
    const server = await startAuthServer({ records, now: () => new Date(clock.now) });
    const given = await consentedCode(server);
    const first = (await (await exchange(server.local, given)).json()) as { access_token: string };
    const { AccessToken } = server.provider();
    expect(await AccessToken.find(first.access_token)).toBeDefined();
    expect(await replaysIn(records)).toEqual([]);

    expect((await exchange(server.local, given)).status).toBe(400);
    expect(await AccessToken.find(first.access_token)).toBeUndefined();
    expect(await replaysIn(records)).toEqual([
      {
        action: "grant.replayed",
        actor: given.client_id,
        target: expect.stringMatching(/^AuthorizationCode:[\w-]{43}$/),
        addressHash: "hash of 127.0.0.1",
      },
    ]);
  });
});
