// @module-tag full

import { expect, it } from "vitest";
import type { Operation, Records } from "../../src/store/port/records.ts";
import {
  getWith,
  manageClient,
  postForm,
  type RegisteredAgent,
  register,
} from "../support/agent.ts";
import { startAuthServer } from "../support/auth-server.ts";
import { authorizationRequest, registerPublic } from "../support/person.ts";
import { describeEngines, type Engine, openStore, slowRecords } from "../support/stores.ts";
import { createVisitor, exchange, giveConsent } from "../support/visitor.ts";

type Agent = RegisteredAgent & { readonly claim: { readonly code: string } };

/** What a commit stores: an issued token, or a person's consent decision. */
type Kind = "token" | "decision";

const collectionsOf = { token: /Token|Credentials/, decision: /^oidc:Grant$/ };

/**
 * Starts an authorization server whose next commit of one kind waits until another action is done.
 */
async function build(engine: Engine, seenAs = (records: Records) => records) {
  const { records, clock } = await openStore(engine);
  clock.now = Date.now();
  let meanwhile: { readonly kind: Kind; readonly act: () => Promise<unknown> } | undefined;
  const writes = (operations: readonly Operation[], kind: Kind) =>
    operations.some(
      (each) =>
        ["put", "insert", "replace"].includes(each.kind) &&
        "collection" in each &&
        collectionsOf[kind].test(each.collection),
    );
  const observed: Records = {
    ...records,
    async commit(operations) {
      if (meanwhile !== undefined && writes(operations, meanwhile.kind)) {
        const { act } = meanwhile;
        meanwhile = undefined;
        await act();
      }
      return records.commit(operations);
    },
  };
  const server = await startAuthServer({
    records: seenAs(observed),
    now: () => new Date(clock.now),
  });
  return {
    server,
    base: server.local,
    /**
     * Performs an action between the decision to issue a token and the commit that stores the
     * token.
     */
    beforeIssuance(act: () => Promise<unknown>): void {
      meanwhile = { kind: "token", act };
    },
    /** Performs an action between a person's decision and the commit that stores the decision. */
    beforeDecision(act: () => Promise<unknown>): void {
      meanwhile = { kind: "decision", act };
    },
  };
}

type Built = Awaited<ReturnType<typeof build>>;

const newAgent = async ({ base }: Built) => (await register(base)) as Agent;

function ask({ server }: Built, { client_id, client_secret }: RegisteredAgent, more = {}) {
  const form = { grant_type: "client_credentials", client_id, client_secret, ...more };
  return exchange(server, form);
}

const whoIs = async ({ base }: Built, token = "") => {
  const response = await getWith(token, `${base}/api/probe`);
  return { status: response.status, ...((await response.json()) as { accountId?: string }) };
};

async function claim({ server }: Built, agent: Agent): Promise<string> {
  const { id: accountId } = await server.accounts.findOrCreateByEmail("owner@example.com");
  const scopes = ["signals:read", "alerts:write"] as const;
  const { client_id: agentId, claim } = agent;
  await server.claims.completeByPerson({ agentId, code: claim.code }, { accountId, scopes });
  return accountId;
}

const UNAVAILABLE = { status: 503, body: { error: "temporarily_unavailable" } };

describeEngines("while an agent token is being issued", (engine) => {
  it("if the agent is claimed, the token is not issued, and the next token is bound to the owner", async () => {
    const built = await build(engine);
    const agent = await newAgent(built);
    built.beforeIssuance(() => claim(built, agent));
    expect(await ask(built, agent)).toMatchObject(UNAVAILABLE);
    const { body } = await ask(built, agent);
    expect(await whoIs(built, body.access_token)).toMatchObject({
      accountId: expect.stringMatching(/^acc_/),
      scopes: ["signals:read", "factor:read", "darkpool:read", "alerts:write"],
    });
  });

  it("if the agent is deleted, the token is not issued", async () => {
    const built = await build(engine);
    const agent = await newAgent(built);
    built.beforeIssuance(() => manageClient(agent, "DELETE"));
    expect(await ask(built, agent)).toMatchObject({
      status: 401,
      body: { error: "invalid_client" },
    });
  });

  it("if the agent drops scopes, the token is not issued, and the next token lacks them", async () => {
    const built = await build(engine);
    const agent = await newAgent(built);
    built.beforeIssuance(() => manageClient(agent, "PUT", { scope: "factor:read" }));
    expect(await ask(built, agent)).toMatchObject(UNAVAILABLE);
    expect((await ask(built, agent)).body.scope).toBe("factor:read");
  });

  it("if another token is issued to the agent, both tokens are issued", async () => {
    const built = await build(engine);
    const agent = await newAgent(built);
    built.beforeIssuance(() => ask(built, agent));
    expect((await ask(built, agent)).status).toBe(200);
  });
});

describeEngines("while a person's token is being issued", (engine) => {
  async function codeOf(built: Built) {
    const person = createVisitor(built.server);
    const accountId = await person.signIn();
    const client = await registerPublic(built.base);
    const given = await giveConsent(built.server, person, { client, scope: "signals:read" });
    return { ...given, accountId, person };
  }

  it("if another request exchanges the same code, neither token is valid", async () => {
    const built = await build(engine);
    const { form } = await codeOf(built);
    const others: string[] = [];
    built.beforeIssuance(async () => {
      const { body } = await exchange(built.server, form);
      others.push(String(body.access_token));
      expect(await whoIs(built, others[0])).toMatchObject({ status: 200 });
    });
    expect((await exchange(built.server, form)).body.error).toBe("invalid_grant");
    expect(await whoIs(built, others[0])).toMatchObject({ status: 401 });
  });

  it("if the person revokes the grant, the token is not issued", async () => {
    const built = await build(engine);
    const { form, accountId } = await codeOf(built);
    const { accounts } = built.server;
    const [application] = await accounts.applicationsOf(accountId);
    built.beforeIssuance(() => accounts.removeApplication(accountId, String(application?.grantId)));
    expect(await exchange(built.server, form)).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
  });

  it("if the person changes the consent, the token is not issued, and the code then yields only the newly granted scopes", async () => {
    const built = await build(engine);
    const { form, client, person } = await codeOf(built);
    const { client_id } = client;
    const { url } = authorizationRequest(built.base, { client_id, scope: "openid signals:read" });
    built.beforeIssuance(() => person.authorize(url, []));
    expect(await exchange(built.server, form)).toMatchObject(UNAVAILABLE);
    const { status, body } = await exchange(built.server, form);
    expect({ status, scope: body.scope }).toEqual({ status: 200, scope: "" });
  });

  it("if the refresh token is revoked, the token is not issued", async () => {
    const built = await build(engine);
    const { form, client } = await codeOf(built);
    const { body } = await exchange(built.server, form);
    const { refresh_token = "" } = body;
    const { client_id } = client;
    const revoke = { token: refresh_token, client_id };
    built.beforeIssuance(() => postForm(`${built.base}/oauth/revoke`, revoke));
    const again = { grant_type: "refresh_token", client_id, refresh_token };
    expect((await exchange(built.server, again)).body.error).toBe("invalid_grant");
    expect(await whoIs(built, body.access_token)).toMatchObject({ status: 401 });
  });
});

describeEngines("while a person's consent is being stored", (engine) => {
  /** A person with two open consent requests of an application that already has a grant. */
  async function asked(built: Built) {
    const person = createVisitor(built.server);
    const accountId = await person.signIn();
    const { client_id } = await registerPublic(built.base);
    const page = async (scope: string) =>
      (await person.open(authorizationRequest(built.base, { client_id, scope }).url)).url;
    await person.authorize(await page("signals:read"));
    const applications = () => built.server.accounts.applicationsOf(accountId);
    const pages = [await page("factor:read"), await page("darkpool:read")] as const;
    return { person, accountId, applications, page, pages };
  }

  it("if the person revokes the grant in another request, the grant stays revoked", async () => {
    const built = await build(engine);
    const { person, accountId, applications, page, pages } = await asked(built);
    const [application] = await applications();
    const { accounts } = built.server;
    built.beforeDecision(() => accounts.removeApplication(accountId, String(application?.grantId)));
    await expect(person.authorize(pages[0])).rejects.toThrow("invalid_request");
    expect(await applications()).toEqual([]);

    await person.authorize(await page("factor:read"));
    expect(await applications()).toMatchObject([{ scopes: ["factor:read"] }]);
  });

  it("if the person consents to other scopes in another request, the consent from the other request is kept", async () => {
    const built = await build(engine);
    const { person, applications, page, pages } = await asked(built);
    built.beforeDecision(() => person.authorize(pages[1]));
    await expect(person.authorize(pages[0])).rejects.toThrow("invalid_request");
    expect(await applications()).toMatchObject([{ scopes: ["signals:read", "darkpool:read"] }]);

    await person.authorize(await page("factor:read"));
    expect((await applications())[0]?.scopes).toContain("factor:read");
  });
});

describeEngines("tokens that are issued in many concurrent requests", (engine) => {
  it("are invalid, or are bound to the owner, if the agent is claimed meanwhile", async () => {
    const built = await build(engine, slowRecords);
    const agent = await newAgent(built);
    const [answers, owner] = await Promise.all([
      Promise.all(Array.from({ length: 30 }, () => ask(built, agent))),
      claim(built, agent),
    ]);
    for (const { body } of answers) {
      const caller = await whoIs(built, body.access_token);
      expect([401, 200]).toContain(caller.status);
      if (caller.status === 200) expect(caller.accountId).toBe(owner);
    }
  });

  it("are invalid if the agent is deleted meanwhile", async () => {
    const built = await build(engine, slowRecords);
    const agent = await newAgent(built);
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 30 }, () => ask(built, agent))),
      manageClient(agent, "DELETE"),
    ]);
    for (const { body } of answers) {
      expect(await whoIs(built, body.access_token)).toMatchObject({ status: 401 });
    }
  });
});
