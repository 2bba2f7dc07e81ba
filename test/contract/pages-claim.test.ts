import { beforeEach, describe, expect, it } from "vitest";
import { claimLink, getWith, postJson, registerClaimable, tokenOf } from "../support/agent.ts";
import { auditEntriesOf } from "../support/audit.ts";
import type { Person } from "../support/person.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;

beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

/** Maximum age of a sign-in for a claim, in milliseconds. */
const FRESH_MS = 5 * 60_000;

const later = (ms: number): Date => new Date(SANDBOX_NOW.getTime() + ms);

const newAgent = (changes: object = {}) =>
  registerClaimable(base, { client_name: "Night shift", ...changes });

const complete = (agentId: string, code: string, token: string) =>
  postJson(
    `${base}/oauth/claim`,
    { agent_id: agentId, claim_code: code },
    { authorization: `Bearer ${token}` },
  );

const valueIn = (page: WebPage, path: string, name: string) =>
  page.form(path).fields.find(([own]) => own === name)?.[1];

const askFor = async (person: Person, agentId: string, code: string): Promise<WebPage> => {
  const page = await person.web.get(`/claim?agent=${agentId}`);
  return person.web.submit(page.form("/claim"), { agent_id: agentId, code });
};

const isAtSignIn = ({ url }: WebPage) => url.pathname === "/sign-in";

describe("claiming with the agent's code", () => {
  it("leads from the id and code to a review of the agent, and then to the confirmation", async () => {
    const person = testService.person();
    await person.signIn();
    const agent = await newAgent();
    const asked = await person.web.get(`/claim?agent=${agent.client_id}`);
    expect(valueIn(asked, "/claim", "agent_id")).toBe(agent.client_id);
    expect(valueIn(asked, "/claim", "code")).toBe("");
    expect(textOf(asked.html)).toContain("Continue only if you started this agent yourself");

    const typed = agent.claim.code.toLowerCase().replace(/^(.{4})/, "$1-");
    const shown = await askFor(person, agent.client_id, typed);
    expect(shown.status).toBe(200);
    const said = textOf(shown.html);
    expect(said).toContain("Whoever sends you an agent’s id and code");
    expect(said).toContain("calls itself “Night shift” not verified");
    expect(said).toContain("Registered 21 November 2026, 05:00 UTC");
    expect(said).toMatch(
      /Access now Composite scores .* signals:read .* factor:read Further access after/,
    );
    expect(shown.form("/claim/confirm").fields.filter(([name]) => name === "scope")).toEqual([
      ["scope", "alerts:write"],
    ]);
    const before = await tokenOf(base, agent);

    const done = await person.web.submit(shown.form("/claim/confirm"), {
      scope: ["alerts:write", "nonsense"],
    });
    expect([done.status, textOf(done.html)]).toEqual([
      200,
      expect.stringMatching(
        /You have claimed this agent .*signals:read.*darkpool:read.*alerts:write/,
      ),
    ]);
    expect(textOf(done.html)).not.toContain("nonsense");
    expect(textOf(done.html)).toContain("on your account page, remove the agent");
    expect((await getWith(before, `${base}/api/signals?limit=1`)).status).toBe(401);
  });

  it("gives the same error for an unknown agent, a wrong code, an expired code and a claimed agent", async () => {
    const [person, other] = [testService.person(), testService.person()];
    await person.signIn();
    await other.signIn();
    const [agent, claimed, hinted] = [
      await newAgent(),
      await newAgent(),
      await newAgent({ type: "service_auth", login_hint: other.email }),
    ];
    await other.claim(claimed.client_id, claimed.claim.code);
    const tries = [
      ["agt_nobody", agent.claim.code],
      [agent.client_id, "00000000"],
      [agent.client_id, ""],
      [agent.client_id, "x".repeat(65)],
      ["<b>", agent.claim.code],
      ["", ""],
      [claimed.client_id, claimed.claim.code],
      [hinted.client_id, hinted.claim.code],
    ] as const;
    const said = new Set<string>();
    for (const [agentId, code] of tries) {
      const page = await askFor(person, agentId, code);
      expect(page.status, agentId).toBe(400);
      expect(valueIn(page, "/claim", "agent_id")).toBe(agentId);
      expect(valueIn(page, "/claim", "code")).toBe("");
      said.add(textOf(page.html));
    }
    testService.clock.now = later(10 * 60_000 + 1_000);
    await person.signIn();
    said.add(textOf((await askFor(person, agent.client_id, agent.claim.code)).html));
    expect([...said]).toEqual([expect.stringContaining("The id or the code is wrong")]);
  });

  it("leaves the agent's scopes unchanged when no additional scopes are selected", async () => {
    const person = testService.person();
    await person.signIn();
    const agent = await newAgent({ scope: "signals:read" });
    const shown = await askFor(person, agent.client_id, agent.claim.code);
    const done = await person.web.submit(shown.form("/claim/confirm"), { scope: [] });
    expect(textOf(done.html)).toMatch(/You have claimed this agent .*signals:read/);
    expect(textOf(done.html)).not.toMatch(/factor:read|alerts:write/);
  });

  it("shows the form again when no scope would be granted, and preserves the code", async () => {
    const person = testService.person();
    await person.signIn();
    const waits = { type: "service_auth", login_hint: person.email };
    const agent = await newAgent(waits);
    const shown = await askFor(person, agent.client_id, agent.claim.code);
    const again = await person.web.submit(shown.form("/claim/confirm"), { scope: [] });
    expect(again.status).toBe(400);
    expect(again.html).toContain('<a href="#scope">Select at least one permission.</a>');
    const done = await person.web.submit(again.form("/claim/confirm"), { scope: "signals:read" });
    expect(textOf(done.html)).toContain("You have claimed this agent");
  });

  it("ignores a code in the URL, and changes nothing on GET", async () => {
    const person = testService.person();
    await person.signIn();
    const agent = await newAgent();
    const query = `agent=${agent.client_id}&agent_id=${agent.client_id}&code=${agent.claim.code}`;
    const page = await person.web.get(`/claim?${query}`);
    expect(page.html).not.toContain(agent.claim.code);
    expect((await person.web.get(`/claim/confirm?${query}`)).status).toBe(405);
    expect((await person.web.get("/account")).html).not.toContain(agent.client_id);
  });
});

describe("claiming with the agent's link", () => {
  it("shows the agent, and then a code with which the agent completes the claim", async () => {
    const person = testService.person();
    await person.signIn();
    const agent = await newAgent();
    const token = await tokenOf(base, agent);
    const link = await claimLink(base, { agent, token });
    const early = await complete(agent.client_id, "00000000", token);
    expect(early.status).toBe(409);
    const page = await person.web.get(link);
    expect(textOf(page.html)).toContain("calls itself “Night shift” not verified");
    expect(textOf(page.html)).toMatch(
      /Continue only if you started this agent yourself Whoever sends you a link to this page/,
    );
    const shown = await person.web.submit(page.form("/claim/approve"), { scope: "alerts:write" });
    expect(textOf(shown.html)).toContain("remove the agent");
    const [, code = ""] = /<code id="claim-code">([0-9A-Z]{8})<\/code>/.exec(shown.html) ?? [];
    const done = await complete(agent.client_id, code, token);
    expect(await done.json()).toMatchObject({
      status: "claimed",
      scope: "signals:read factor:read darkpool:read alerts:write",
    });
    const late = await person.web.get(link);
    expect([late.status, textOf(late.html)]).toEqual([
      400,
      expect.stringContaining("This link is no longer valid"),
    ]);
  });

  it("shows the form again when no scope would be granted", async () => {
    const person = testService.person();
    await person.signIn();
    const agent = await newAgent({ type: "service_auth", login_hint: person.email });
    const link = await claimLink(base, { agent, token: agent.registration_access_token });
    const page = await person.web.get(link);
    const again = await person.web.submit(page.form("/claim/approve"), { scope: [] });
    expect(again.status).toBe(400);
    expect(again.html).not.toMatch(/<code id="claim-code">[0-9A-Z]{8}<\/code>/);
    const done = await person.web.submit(again.form("/claim/approve"), { scope: "signals:read" });
    expect(done.html).toMatch(/<code id="claim-code">[0-9A-Z]{8}<\/code>/);
  });

  it.each(["", "x", "x".repeat(43), "%00", "../x", "x".repeat(400)])(
    "is rejected with the same error for an invalid link: %j",
    async (attempt) => {
      const person = testService.person();
      await person.signIn();
      const page = await person.web.get(`/claim?attempt=${attempt}`);
      expect([page.status, textOf(page.html)]).toEqual([
        400,
        expect.stringContaining("This link is no longer valid"),
      ]);
    },
  );

  it("tells a person whom the agent did not specify only that the agent waits for another person", async () => {
    const [person, named] = [testService.person(), testService.person()];
    await person.signIn();
    const agent = await newAgent();
    const token = await tokenOf(base, agent);
    const link = await claimLink(base, { agent, token, login_hint: named.email });
    const refused = await person.web.get(link);
    expect(refused.status).toBe(403);
    expect(textOf(refused.html)).toContain("This agent is waiting for another person");
    for (const secret of [named.email, "Night shift", agent.client_id]) {
      expect(refused.html).not.toContain(secret);
    }
    await named.signIn();
    expect((await named.web.get(link)).status).toBe(200);
  });
});

describe("a claim", () => {
  /** Prepares every submission of the claim pages, from forms that are already open. */
  async function steps(person: Person) {
    const [agent, other] = [await newAgent(), await newAgent()];
    const link = await claimLink(base, { agent: other, token: await tokenOf(base, other) });
    const asked = await person.web.get(`/claim?agent=${agent.client_id}`);
    const given = { agent_id: agent.client_id, code: agent.claim.code };
    const shown = await person.web.submit(asked.form("/claim"), given);
    const page = await person.web.get(link);
    const back = `/claim?agent=${agent.client_id}`;
    const { pathname, search } = new URL(link);
    return [
      [back, () => person.web.get(back)],
      [pathname + search, () => person.web.get(link)],
      [back, () => person.web.submit(asked.form("/claim"), given)],
      [back, () => person.web.submit(shown.form("/claim/confirm"))],
      [pathname + search, () => person.web.submit(page.form("/claim/approve"))],
    ] as const;
  }

  it("is possible for five minutes after a sign-in", async () => {
    const person = testService.person();
    await person.signIn();
    const all = await steps(person);
    testService.clock.now = later(FRESH_MS);
    for (const [place, step] of all) expect((await step()).status, place).toBe(200);
  });

  it("requires a new sign-in five minutes after the last one, at every step, and then resumes at that step", async () => {
    const person = testService.person();
    await person.signIn();
    const all = await steps(person);
    testService.clock.now = later(FRESH_MS + 1);
    for (const [place, step] of all) {
      const page = await step();
      expect(isAtSignIn(page), place).toBe(true);
      expect(page.url.searchParams.get("return_to")).toBe(place);
      expect(textOf(page.html)).toContain("To claim an agent, sign in now");
    }
    const account = await person.web.get("/account");
    expect(account.url.pathname).toBe("/account");
    expect(account.forms.some(({ action }) => /\/agents\//.test(action))).toBe(false);
  });

  it("is recorded in the audit log with the person's IP address, like the preceding sign-in", async () => {
    const person = testService.person();
    await person.signIn();
    const agent = await newAgent();
    await person.claim(agent.client_id, agent.claim.code);
    const { store, keyring } = testService.service.state;
    const addressHash = keyring.hashAddress("127.0.0.1");
    const entries = await auditEntriesOf(store);
    const claimed = entries.find(({ target }) => target === agent.client_id);
    expect(entries.filter(({ actor }) => actor === claimed?.actor)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: "session.opened", addressHash }),
        expect.objectContaining({ action: "client.claimed", addressHash }),
      ]),
    );
  });

  it("requires a sign-in", async () => {
    const agent = await newAgent();
    const page = await testService.person().web.get(`/claim?agent=${agent.client_id}`);
    expect(isAtSignIn(page)).toBe(true);
    expect(page.url.searchParams.get("return_to")).toBe(`/claim?agent=${agent.client_id}`);
  });
});

it("claim attempts are limited for a person, whatever the agents, and for a network, whoever tries", {
  tags: ["full"],
}, async () => {
  const own = await startTestService({ RATE_LIMITS: "claims=2/3/1000" });
  const [one, two] = [own.person(), own.person()];
  await Promise.all([one.signIn(), two.signIn()]);
  const statuses = [];
  for (const [{ web }, agent_id] of [
    [one, "a"],
    [one, "b"],
    [one, "c"],
    [two, "a"],
    [two, "b"],
  ] as const) {
    const form = (await web.get("/claim")).form("/claim");
    statuses.push((await web.submit(form, { agent_id, code: "00000000" })).status);
  }
  expect(statuses).toEqual([400, 400, 429, 400, 429]);
});
