// @module-tag full

import { beforeEach, describe, expect, it } from "vitest";
import { alerts } from "../../src/alerts/alert.ts";
import { clients } from "../../src/principals/agents/agent.ts";
import {
  EXAMPLE_REGISTRATION,
  getWith,
  postForm,
  postJson,
  type RegisteredAgent,
  register,
  registerClaimable,
  tokenOf,
} from "../support/agent.ts";
import { bearer, makeAlert } from "../support/alert-events.ts";
import { auditEntriesOf } from "../support/audit.ts";
import { operatorOf } from "../support/operator.ts";
import { authorizationRequest, CALLBACK, type Person, type UserTokens } from "../support/person.ts";
import { workOf } from "../support/store-work.ts";
import { LOOSE_LIMITS, SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { textOf } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;
const allScopes = ["signals:read", "factor:read", "darkpool:read", "alerts:write"];

beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

const wait = (ms: number) => {
  testService.clock.now = new Date(testService.clock.now.getTime() + ms);
};

const newAgent = (changes: object = {}) => registerClaimable(base, changes);

async function claim(agent: RegisteredAgent, code: string, bearer: string) {
  const answer = await postJson(
    `${base}/oauth/claim`,
    { agent_id: agent.client_id, claim_code: code },
    { authorization: `Bearer ${bearer}` },
  );
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
}

async function begin(agent: RegisteredAgent, bearer: string, body: object = {}) {
  const answer = await postJson(
    `${base}/oauth/claim/start`,
    { agent_id: agent.client_id, ...body },
    { authorization: `Bearer ${bearer}` },
  );
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
}

const userToken = async (scope?: string) =>
  (await testService.person().tokens(scope === undefined ? {} : { scope })).access_token;

const owned = async (agent: RegisteredAgent) => {
  const answer = await postForm(`${base}/oauth/token`, {
    grant_type: "client_credentials",
    client_id: agent.client_id,
    client_secret: agent.client_secret,
    scope: "alerts:write",
  });
  return answer.status === 200;
};

describe("an agent", () => {
  it("cannot be claimed with another agent's own token, even if that agent has an owner", async () => {
    const [claimed, other] = [await newAgent(), await newAgent()];
    await testService.person().claim(claimed.client_id, claimed.claim.code);
    const bearer = await tokenOf(base, claimed, { scope: allScopes.join(" ") });
    const { status } = await claim(other, other.claim.code, bearer);
    expect(status).toBe(403);
    expect(await owned(other)).toBe(false);
  });
});

it("neither the answer to a claim nor its work in the store tells whether an agent exists", async () => {
  const { client_id } = await newAgent();
  const token = await userToken();
  const { records } = testService.service.state.store;
  const guess = async (id: string) => {
    const [, , last] = await workOf(records, async () => {
      // A token is looked up once a second; this makes it each time.
      wait(1_000);
      const { status, body } = await claim({ client_id: id } as RegisteredAgent, "00000000", token);
      return [status, JSON.stringify(body).replaceAll(id, "<agent>")];
    });
    return { ...last, work: last?.work.map((step) => step.replace(/^commit .*/, "commit")) };
  };
  const known = await guess(client_id);
  expect(await guess(client_id.replace(/.$/, "_"))).toEqual(known);
  expect(known.work).toContain("get claims");
});

describe("a person's token", () => {
  it("has its age measured from the sign-in, even after a refresh", async () => {
    const { client, refresh_token } = await testService.person().tokens();
    wait(5 * 60_000 + 1_000);
    const answer = await postForm(`${base}/oauth/token`, {
      grant_type: "refresh_token",
      client_id: client.client_id,
      refresh_token,
    });
    const { access_token } = (await answer.json()) as Record<string, string>;
    const agent = await newAgent();
    expect((await claim(agent, agent.claim.code, access_token ?? "")).status).toBe(403);
  });
});

describe("an agent that shares its address with attackers", () => {
  it("completes its claim even after attackers have sent as many wrong codes as one address may send", async () => {
    const RATE_LIMITS = `${LOOSE_LIMITS} guesses=2/100000/1000000`;
    const { base: own, person } = await startTestService({ RATE_LIMITS });
    const agent = await registerClaimable(own);
    const token = await tokenOf(own, agent);
    const headers = bearer(token);
    const { client_id: agent_id } = agent;
    const started = await postJson(`${own}/oauth/claim/start`, { agent_id }, headers);
    const { verification_uri } = (await started.json()) as Record<string, string>;
    const owner = person();
    await owner.signIn();
    const shown = await owner.web.get(String(verification_uri));
    const revealed = await owner.web.submit(shown.form("/claim/approve"));
    const [, claim_code] = /<code id="claim-code">([^<]+)<\/code>/.exec(revealed.html) ?? [];

    const stranger = bearer((await person().tokens()).access_token);
    const other = (await register(own)).client_id;
    const wrong = { agent_id: other, claim_code: "00000000" };
    const guess = async () => (await postJson(`${own}/oauth/claim`, wrong, stranger)).status;
    expect([await guess(), await guess(), await guess()]).toEqual([400, 400, 429]);
    const claimed = await postJson(`${own}/oauth/claim`, { agent_id, claim_code }, headers);
    expect(await claimed.json()).toMatchObject({ status: "claimed" });
  });
});

/** Returns a person's application with an agent that it claimed with the person's token. */
async function claimedThrough(person: Person, tokens: UserTokens) {
  const agent = await newAgent();
  const { status, body } = await claim(agent, agent.claim.code, tokens.access_token);
  expect([status, body.claimed_through]).toEqual([200, tokens.client.client_id]);
  return { person, tokens, agent, own: await tokenOf(base, agent, { scope: "alerts:write" }) };
}

const secretOf = async (agent: RegisteredAgent) => {
  const { client_id, client_secret } = agent;
  const form = { grant_type: "client_credentials", client_id, client_secret };
  return (await postForm(`${base}/oauth/token`, form)).status;
};

/** Counts the alerts that a person's API key lists, page by page. */
async function countAlerts(key: string): Promise<number> {
  let count = 0;
  let cursor = "";
  do {
    const page = await fetch(`${base}/api/alerts?limit=100${cursor}`, {
      headers: { "x-api-key": key },
    });
    const { items, nextCursor } = (await page.json()) as AlertPage;
    count += items.length;
    cursor = nextCursor === null ? "" : `&cursor=${encodeURIComponent(nextCursor)}`;
  } while (cursor !== "");
  return count;
}

interface AlertPage {
  readonly items: readonly object[];
  readonly nextCursor: string | null;
}

const endsBy: Readonly<
  Record<string, (claimed: Awaited<ReturnType<typeof claimedThrough>>) => Promise<unknown>>
> = {
  async "the person removes the application"({ person }) {
    const { forms, html } = await person.web.get("/account");
    expect(textOf(html)).toContain("ends with its access");
    const remove = forms.find(({ action }) => action.includes("/applications/"));
    if (remove === undefined) throw new Error("no application to remove");
    await person.web.submit(remove);
  },
  "the application revokes its refresh token": ({ tokens }) =>
    postForm(`${base}/oauth/revoke`, { token: tokens.refresh_token }),
  async "its refresh token is replayed"({ tokens: { client, refresh_token } }) {
    const form = { grant_type: "refresh_token", client_id: client.client_id, refresh_token };
    expect((await postForm(`${base}/oauth/token`, form)).status).toBe(200);
    expect((await postForm(`${base}/oauth/token`, form)).status).toBe(400);
  },
  "the application is deleted": ({ tokens: { client } }) =>
    fetch(client.registration_client_uri, {
      method: "DELETE",
      headers: { authorization: `Bearer ${client.registration_access_token}` },
    }),
  async "the person's consent expires"() {
    wait(31 * 86_400_000);
  },
};

describe("an application that claims an agent on behalf of a person", () => {
  it.each(Object.entries(endsBy))("loses the agent when %s", async (_how, end) => {
    const person = testService.person();
    const claimed = await claimedThrough(person, await person.tokens());
    const other = await newAgent();
    await person.claim(other.client_id, other.claim.code);

    await end(claimed);
    expect((await getWith(claimed.own, `${base}/api/signals?limit=1`)).status).toBe(401);
    expect(await secretOf(claimed.agent)).toBe(401);
    expect(await secretOf(other)).toBe(200);
  });

  it.each(Object.entries(endsBy))(
    "keeps no access on behalf of the person when %s",
    async (_how, end) => {
      const person = testService.person();
      const claimed = await claimedThrough(person, await person.tokens());
      const { client_id } = claimed.agent;
      const own = await tokenOf(base, claimed.agent, { scope: "signals:read alerts:write" });
      // The application can use at most half of the quota; the person fills the rest.
      for (let made = 0; made < 50; made += 1) await makeAlert(testService, bearer(own));
      const key = await person.createKey(allScopes as never);
      const make = async () => {
        const headers = { "x-api-key": key };
        return (await postJson(`${base}/api/alerts`, { symbols: ["ALDER.SIM"] }, headers)).status;
      };
      for (let made = 0; made < 50; made += 1) expect(await make()).toBe(201);
      expect(await make()).toBe(409);
      await end(claimed);
      expect(await make()).toBe(201);
      expect(await countAlerts(key)).toBe(51);
      const { records } = testService.service.state.store;
      const kept = await records.list(alerts, { limit: 10_000 });
      expect(kept.filter(({ value }) => value.owner.id === client_id)).toEqual([]);
    },
  );

  it("also loses an agent that the claimed agent has claimed with the person's token", async () => {
    const person = testService.person();
    const first = await person.tokens();
    const middle = await newAgent({
      grant_types: ["client_credentials", "authorization_code", "refresh_token"],
      response_types: ["code"],
      redirect_uris: [CALLBACK],
      scope: allScopes.join(" "),
    });
    expect((await claim(middle, middle.claim.code, first.access_token)).status).toBe(200);
    const { url, verifier } = authorizationRequest(base, { client_id: middle.client_id });
    const code = (await person.authorize(url)).searchParams.get("code") ?? "";
    const { client_id, client_secret } = middle;
    const answer = await postForm(`${base}/oauth/token`, {
      ...{ grant_type: "authorization_code", client_id, client_secret, code },
      ...{ redirect_uri: CALLBACK, code_verifier: verifier },
    });
    const { access_token = "" } = (await answer.json()) as Record<string, string>;
    const last = await newAgent();
    expect((await claim(last, last.claim.code, access_token)).status).toBe(200);

    await postForm(`${base}/oauth/revoke`, { token: first.refresh_token });
    expect(await secretOf(middle)).toBe(401);
    expect(await secretOf(last)).toBe(401);
  });

  it("cannot use the agent to keep a scope that the person withdraws from the application", async () => {
    const person = testService.person();
    const { tokens, agent, own } = await claimedThrough(person, await person.tokens());
    const alert = () => postJson(`${base}/api/alerts`, { symbols: ["ALDER.SIM"] }, bearer(own));
    await makeAlert(testService, bearer(await tokenOf(base, agent)));
    const page = await person.web.get(
      authorizationRequest(base, { client_id: tokens.client.client_id, prompt: "consent" }).url,
    );
    const scope = ["signals:read", "factor:read"];
    await person.web.submit(page.form(page.url.pathname), { decision: "allow", scope });

    expect((await alert()).status).toBe(403);
    const { client_id, client_secret } = agent;
    const form = { grant_type: "client_credentials", client_id, client_secret };
    const answer = await postForm(`${base}/oauth/token`, form);
    expect(((await answer.json()) as { scope: string }).scope).toBe(scope.join(" "));
    const another = await newAgent({ scope: "signals:read" });
    const { body } = await claim(another, another.claim.code, tokens.access_token);
    expect(body.scope).toBe(scope.join(" "));
  });

  it("keeps neither a withdrawn scope nor alerts of an agent that the operator had disabled meanwhile", async () => {
    const person = testService.person();
    const operator = operatorOf(testService);
    const { tokens, agent, own } = await claimedThrough(person, await person.tokens());
    const id = agent.client_id;
    const alertId = await makeAlert(testService, bearer(await tokenOf(base, agent)));
    await operator("admin agents disable", { id });
    const page = await person.web.get(
      authorizationRequest(base, { client_id: tokens.client.client_id, prompt: "consent" }).url,
    );
    const scope = ["signals:read", "factor:read"];
    await person.web.submit(page.form(page.url.pathname), { decision: "allow", scope });
    await operator("admin agents enable", { id });
    const alert = { symbols: ["ALDER.SIM"] };
    expect((await postJson(`${base}/api/alerts`, alert, bearer(own))).status).toBe(403);

    await operator("admin agents disable", { id });
    await postForm(`${base}/oauth/revoke`, { token: tokens.refresh_token });
    await expect(operator("admin agents enable", { id })).rejects.toThrow("There is no agent");
    expect(await testService.service.state.store.records.get(alerts, alertId)).toBeUndefined();
  });

  it("cannot claim another agent once its access has ended", async () => {
    const tokens = await testService.person().tokens();
    const agent = await newAgent();
    await postForm(`${base}/oauth/revoke`, { token: tokens.refresh_token });
    expect((await claim(agent, agent.claim.code, tokens.access_token)).status).toBe(401);
    expect(await owned(agent)).toBe(false);
  });
});

describe("the holder of an agent's registration access token", () => {
  const manage = async (agent: RegisteredAgent, token: string, method = "GET", body?: object) => {
    const answer = await fetch(agent.registration_client_uri, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return answer.status;
  };
  const isWorthless = async (agent: RegisteredAgent) => {
    const token = agent.registration_access_token;
    const { client_id } = agent;
    expect(await manage(agent, token)).toBe(401);
    expect(await manage(agent, token, "PUT", { ...EXAMPLE_REGISTRATION, client_id })).toBe(401);
    expect(await manage(agent, token, "DELETE")).toBe(401);
    expect((await begin(agent, token)).status).toBe(401);
    expect(await owned(agent)).toBe(true);
  };

  it("can no longer manage the agent after a person has claimed it on the page", async () => {
    const agent = await newAgent();
    await testService.person().claim(agent.client_id, agent.claim.code);
    await isWorthless(agent);
  });

  it("can no longer manage the agent after an application has claimed it, but the application can", async () => {
    const agent = await newAgent();
    const person = await userToken();
    const { body } = await claim(agent, agent.claim.code, person);
    await isWorthless(agent);
    expect(body.registration_client_uri).toBe(agent.registration_client_uri);
    const token = String(body.registration_access_token);
    expect(token).toMatch(/^rat_[\w-]{43}$/);
    expect(await manage(agent, token)).toBe(200);

    const again = await claim(agent, agent.claim.code, person);
    expect(again.status).toBe(200);
    expect(again.body).not.toHaveProperty("registration_access_token");
    expect(await manage(agent, token, "DELETE")).toBe(204);
  });

  it("can no longer manage the agent after a claim with the code shown to the person, because that claim issues a new token", async () => {
    const agent = await newAgent();
    const { body: started } = await begin(agent, agent.registration_access_token);
    const person = testService.person();
    await person.signIn();
    const page = await person.web.get(String(started.verification_uri));
    const { html } = await person.web.submit(page.form("/claim/approve"));
    const [code = ""] = /\b[0-9A-HJKMNP-TV-Z]{8}\b/.exec(textOf(html)) ?? [];
    const { status, body } = await claim(agent, code, agent.registration_access_token);

    expect(status).toBe(200);
    await isWorthless(agent);
    expect(await manage(agent, String(body.registration_access_token))).toBe(200);
  });
});

describe("the claim page", () => {
  it("cannot be completed for an agent other than the one the code belongs to", async () => {
    const [mine, other] = [await newAgent(), await newAgent()];
    const person = testService.person();
    await person.signIn();
    const page = await person.web.get(`/claim?agent=${mine.client_id}`);
    const shown = await person.web.submit(page.form("/claim"), {
      agent_id: mine.client_id,
      code: mine.claim.code,
    });
    await person.web.submit(shown.form("/claim/confirm"), { agent_id: other.client_id });
    expect(await owned(other)).toBe(false);
  });

  it("grants nothing before a person approves, and then grants access only to the agent itself", async () => {
    const agent = await newAgent();
    const token = await tokenOf(base, agent);
    const { body } = await begin(agent, token);
    expect((await claim(agent, "00000000", token)).body.error).toBe("claim_not_confirmed");
    const person = testService.person();
    await person.signIn();
    const page = await person.web.get(String(body.verification_uri));
    const revealed = await person.web.submit(page.form("/claim/approve"));
    const [code = ""] = /\b[0-9A-HJKMNP-TV-Z]{4}[\s-]?[0-9A-HJKMNP-TV-Z]{4}\b/.exec(
      textOf(revealed.html),
    ) ?? [""];
    expect(code).not.toBe("");

    const other = await newAgent();
    expect((await claim(agent, code, await tokenOf(base, other))).status).toBe(403);
    const stolen = await claim(agent, code, (await testService.person().tokens()).access_token);
    expect(stolen.body.error).toBe("invalid_claim_code");
    const answers = await Promise.all(Array.from({ length: 100 }, () => claim(agent, code, token)));
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect((await getWith(token, `${base}/api/signals?limit=1`)).status).toBe(401);
    expect(await owned(agent)).toBe(true);
  });
});

describe("an agent that updates itself while its claim page is open", () => {
  const widened = async (agent: RegisteredAgent) => {
    const { client_id } = agent;
    const answer = await fetch(agent.registration_client_uri, {
      method: "PUT",
      headers: {
        authorization: `Bearer ${agent.registration_access_token}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        ...EXAMPLE_REGISTRATION,
        client_id,
        scope: "signals:read factor:read darkpool:read",
      }),
    });
    expect(answer.status).toBe(200);
    return { ...agent, ...((await answer.json()) as object) };
  };
  const scopesOf = async ({ client_id }: RegisteredAgent) => {
    const { records } = testService.service.state.store;
    return (await records.get(clients, client_id))?.value.agent.owner?.scopes;
  };
  const narrow = () => newAgent({ scope: "signals:read" });

  it("gets no scope from the update when the person enters the agent's code", async () => {
    const agent = await narrow();
    const person = testService.person();
    await person.signIn();
    const page = await person.web.get(`/claim?agent=${agent.client_id}`);
    const { client_id: agent_id, claim } = agent;
    const shown = await person.web.submit(page.form("/claim"), { agent_id, code: claim.code });
    await widened(agent);
    await person.web.submit(shown.form("/claim/confirm"), { scope: ["alerts:write"] });
    expect(await scopesOf(agent)).toEqual(["signals:read", "alerts:write"]);
  });

  it.each(["before", "after"])(
    "gets no scope from the update when the person approves the claim %s the update",
    async (when) => {
      const agent = await narrow();
      const { body: started } = await begin(agent, agent.registration_access_token);
      const person = testService.person();
      await person.signIn();
      const page = await person.web.get(String(started.verification_uri));
      const agree = () => person.web.submit(page.form("/claim/approve"), { scope: [] });
      const early = when === "before" ? await agree() : undefined;
      const changed = await widened(agent);
      const { html } = early ?? (await agree());
      const [code = ""] = /\b[0-9A-HJKMNP-TV-Z]{8}\b/.exec(textOf(html)) ?? [];
      const { status } = await claim(agent, code, changed.registration_access_token);
      expect(status).toBe(200);
      expect(await scopesOf(agent)).toEqual(["signals:read"]);
    },
  );
});

describe("an unclaimed agent", () => {
  it("adds nothing to the audit log when it requests claim codes or sends wrong ones", async () => {
    const agent = await newAgent();
    const token = agent.registration_access_token;
    const { body: started } = await begin(agent, token);
    const person = testService.person();
    await person.signIn();
    const page = await person.web.get(String(started.verification_uri));
    await person.web.submit(page.form("/claim/approve"));
    for (let times = 0; times < 3; times += 1) {
      expect((await claim(agent, "00000000", token)).body.error).toBe("invalid_claim_code");
    }
    const entries = await auditEntriesOf(testService.service.state.store);
    const own = entries.filter(({ actor }) => actor === agent.client_id);
    expect(own.map(({ action }) => action)).toEqual([]);
  });

  it("shares a limit on new claim codes with all agents in the same network", async () => {
    const strict = await startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} claims=9/3/1000`,
    });
    const ask = async (address: string) => {
      const from = { "x-forwarded-for": address };
      const agent = await register(strict.base);
      const authorization = `Bearer ${agent.registration_access_token}`;
      const body = { agent_id: agent.client_id };
      const url = `${strict.base}/oauth/claim/start`;
      return (await postJson(url, body, { ...from, authorization })).status;
    };
    const statuses = async (addresses: readonly string[]) => {
      const answers: number[] = [];
      for (const address of addresses) answers.push(await ask(address));
      return answers;
    };
    const one = "192.0.2.7";
    expect(await statuses([one, one, "192.0.2.8", "192.0.2.9"])).toEqual([200, 200, 200, 429]);
    expect(await statuses(["198.51.100.1"])).toEqual([200]);
  });
});

describe("an agent that registers for a person", () => {
  it("gets no token until that person has claimed it", async () => {
    const agent = await newAgent({
      type: "service_auth",
      login_hint: "boss@example.com",
    });
    const ask = () =>
      postForm(`${base}/oauth/token`, {
        grant_type: "client_credentials",
        client_id: agent.client_id,
        client_secret: agent.client_secret,
      });
    expect((await ask()).status).toBe(400);
    const stranger = await claim(agent, agent.claim?.code ?? "00000000", await userToken());
    expect(stranger.status).toBe(400);
    expect((await ask()).status).toBe(400);
  });
});

it("no attack makes the service log an internal error", () => {
  expect(testService.logged).toEqual([]);
});
