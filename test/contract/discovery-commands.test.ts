import { describe, expect, it } from "vitest";
import { nextAttemptDelayMs } from "../../src/alerts/delivery/retry-schedule.ts";
import {
  createSignatureHeaders,
  generateSigningSecret,
} from "../../src/alerts/delivery/signing.ts";
import { ID_JAG_TOKEN_TYPE } from "../../src/auth/assertions/oauth-urns.ts";
import {
  getWith,
  postForm,
  postJson,
  type RegisteredAgent,
  register,
  tokenOf,
} from "../support/agent.ts";
import { registerPublic } from "../support/person.ts";
import { sharedTestService, startTestService, type TestService } from "../support/test-service.ts";
import { textOf as wordsOf } from "../support/web.ts";
import { type Outcome, run, stepsOf, type Variables } from "../unit/wellknown/commands.ts";

const testService = await sharedTestService();
const { base } = testService;

const read = async (path: string, from = base) => (await fetch(from + path)).text();
const skill = (name: string, from = base) =>
  read(`/.well-known/agent-skills/${name}/SKILL.md`, from);

const THE_PERSONS = "The person gets the agent's code";
const THE_AGENTS = "The agent gets the person's code";

const scopeIn = ({ body }: Outcome) => String((body as { scope?: string }).scope);

/** Runs steps, and expects the status that the document states for each. */
async function follow(steps: ReturnType<typeof stepsOf>, variables: Variables) {
  const outcomes = await run(steps, variables);
  for (const { step, status, body } of outcomes) {
    expect(status, `${step.command}\n${JSON.stringify(body)}`).toBe(step.status);
  }
  return outcomes;
}

/**
 * Runs auth.md from top to bottom with one of the two claim methods.
 * @returns The scopes of the agent after the claim.
 */
async function followAuthMd(
  { base, person: newPerson }: TestService,
  way: string,
): Promise<string> {
  const steps = stepsOf(await read("/auth.md", base));
  const under = (heading: string) => steps.filter((step) => step.under === heading);
  const person = newPerson();
  const variables: Variables = {
    PERSON_TOKEN: async () => (await person.tokens()).access_token,
    SHOWN_CODE: () => codeShownTo(person, String(variables.VERIFICATION_URI)),
  };
  const other = way === THE_PERSONS ? THE_AGENTS : THE_PERSONS;
  const end = steps.findIndex((step) => step.under === "Revoke");
  const until = steps.slice(0, end).filter((step) => step.under !== other);
  const done = await follow(until, variables);

  const [refused] = done;
  expect(refused?.headers.get("www-authenticate")).toContain("resource_metadata=");
  expect(done.at(-1)?.body).toMatchObject({
    agent_id: variables.CLIENT_ID,
    status: "claimed",
    scope: expect.stringContaining("alerts:write"),
  });

  const before = String(variables.ACCESS_TOKEN);
  expect((await getWith(before, `${base}/api/signals?limit=1`)).status).toBe(401);
  const [granted] = await follow(under("Get a token"), variables);
  expect(granted?.body).not.toHaveProperty("refresh_token");

  await follow(steps.slice(end), variables);
  const after = String(variables.ACCESS_TOKEN);
  expect((await getWith(after, `${base}/api/signals?limit=1`)).status).toBe(401);
  const [gone] = await run(under("Get a token"), variables);
  expect([gone?.status, gone?.body]).toEqual([
    401,
    expect.objectContaining({ error: "invalid_client" }),
  ]);
  return granted === undefined ? "" : scopeIn(granted);
}

/** Opens the claim page from an agent's link as a person does. @returns The displayed code. */
async function codeShownTo(
  person: ReturnType<TestService["person"]>,
  page: string,
): Promise<string> {
  await person.signIn();
  const approving = await person.web.get(page);
  const { html } = await person.web.submit(approving.form("/claim/approve"));
  return /\b[0-9A-HJKMNP-TV-Z]{8}\b/.exec(wordsOf(html))?.[0] ?? "";
}

describe("auth.md", async () => {
  const authMd = await read("/auth.md");
  const steps = stepsOf(authMd);
  const under = (heading: string) => steps.filter((step) => step.under === heading);

  it("has at least one command under each heading", () => {
    expect([...new Set(steps.map((step) => step.under))]).toEqual([
      ...["Discover", "Register", "Get a token", "Call"],
      ...[THE_PERSONS, THE_AGENTS, "Revoke"],
    ]);
  });

  it.each([THE_PERSONS, THE_AGENTS])(
    "has commands that succeed when run from top to bottom: %s",
    async (way) => {
      expect(await followAuthMd(testService, way)).toContain("alerts:write");
    },
  );

  it("states correctly which scopes an unclaimed agent gets", async () => {
    const [registered] = await follow(under("Register"), {});
    const rows = Array.from(authMd.matchAll(/^\| `(\w+:\w+)` \| .* \| (yes|no) \|$/gm));
    const open = rows.filter(([, , answer]) => answer === "yes").map(([, scope]) => scope);
    expect(rows).toHaveLength(4);
    expect(registered && scopeIn(registered).split(" ")).toEqual(open);
  });

  it("states correctly who can register", async () => {
    const ask = async (body: object) => {
      const asked = { grant_types: ["client_credentials"], ...body };
      const response = await postJson(`${base}/oauth/register`, asked);
      return { status: response.status, body: (await response.json()) as RegisteredAgent };
    };
    for (const type of [undefined, "anonymous", "agent"]) {
      expect((await ask({ type })).body).toMatchObject({ claim: { status: "unclaimed" } });
    }
    for (const type of ["user", "service"]) {
      expect((await ask({ type })).body).toMatchObject({ error: "invalid_client_metadata" });
    }
    const waiting = await ask({ type: "service_auth", login_hint: "someone@example.com" });
    expect(waiting.status).toBe(201);
    await expect(tokenOf(base, waiting.body)).rejects.toThrow("unauthorized_client");
    const begun = await postJson(
      `${base}/oauth/claim/start`,
      { agent_id: waiting.body.client_id },
      { authorization: `Bearer ${waiting.body.registration_access_token}` },
    );
    expect(begun.status).toBe(200);
    const issuer = Buffer.from('{"iss":"https://unknown.example"}').toString("base64url");
    const assertion = { assertion_type: ID_JAG_TOKEN_TYPE, assertion: `e30.${issuer}.x` };
    expect((await ask({ type: "identity_assertion", ...assertion })).body).toMatchObject({
      error: "issuer_not_enabled",
    });
    const redirect_uris = ["https://agent.example/callback"];
    const people = { grant_types: ["authorization_code"], redirect_uris, ...assertion };
    for (const type of ["agent", "service_auth", "identity_assertion"]) {
      expect((await ask({ ...people, type })).body).toMatchObject({
        error: "invalid_client_metadata",
      });
    }
    expect((await ask(people)).status).toBe(201);
  });

  it("states correctly how to request a token with fewer scopes", async () => {
    const agent = await register(base);
    const narrow = await tokenOf(base, agent, { scope: "signals:read" });
    expect((await getWith(narrow, `${base}/api/signals?limit=1`)).status).toBe(200);
    expect((await getWith(narrow, `${base}/api/factors?symbol=x`)).status).toBe(403);
    const [, indicator = ""] = /`resource=([^`]+)`/.exec(authMd) ?? [];
    const mcpOnly = await tokenOf(base, agent, { resource: indicator });
    expect((await getWith(mcpOnly, `${base}/api/signals?limit=1`)).status).toBe(401);
    const [call] = under("Call").filter(({ command }) => command.includes("/mcp"));
    expect(call && (await run([call], { ACCESS_TOKEN: mcpOnly }))[0]?.status).toBe(200);
  });

  it("states correctly where to send a credential", async () => {
    const key = await testService.person().createKey(["signals:read"]);
    const path = `${base}/api/signals?limit=1`;
    expect((await getWith(key, path)).status).toBe(200);
    expect((await fetch(path, { headers: { "x-api-key": key } })).status).toBe(200);
    expect((await fetch(`${path}&api_key=${key}`)).status).toBe(401);
  });
});

it("a registration expires as auth.md states", async () => {
  const DAY_MS = 86_400_000;
  const other = await startTestService();
  const [unused, used] = [await register(other.base), await register(other.base)];
  await tokenOf(other.base, used);
  const start = other.clock.now.getTime();
  const statusAt = async (agent: RegisteredAgent, ms: number) => {
    other.clock.now = new Date(start + ms);
    const { registration_access_token: token, registration_client_uri: uri } = agent;
    return (await getWith(token, uri)).status;
  };
  expect(await statusAt(unused, DAY_MS - 60_000)).toBe(200);
  expect(await statusAt(unused, DAY_MS + 60_000)).toBe(401);
  expect(await statusAt(used, 30 * DAY_MS - 60_000)).toBe(200);
  expect(await statusAt(used, 30 * DAY_MS + 60_000)).toBe(401);
});

describe("the table of errors in auth.md", async () => {
  const authMd = await read("/auth.md");
  const rows = Array.from(authMd.matchAll(/^\| (\d{3}) \| (.*?) \| /gm)).flatMap(
    ([, status = "", names = ""]) =>
      Array.from(names.matchAll(/`(\w+)`/g), ([, name = ""]) => [name, Number(status)] as const),
  );

  const registering = (body: object) => postJson(`${base}/oauth/register`, body);
  const askToken = async (changes: Readonly<Record<string, string>>) => {
    const { client_id, client_secret } = await register(base);
    const grant_type = "client_credentials";
    return postForm(`${base}/oauth/token`, { grant_type, client_id, client_secret, ...changes });
  };
  const claiming = async (token: string, agent_id: string) =>
    postJson(
      `${base}/oauth/claim`,
      { agent_id, claim_code: "00000000" },
      { authorization: `Bearer ${token}` },
    );
  /** A service whose limits on registrations and messages are 0. */
  const strict = await startTestService({ RATE_LIMITS: "registrations=0/0/0 submissions=0/0/0" });
  /** Requests that cause each error, by status and name. Store errors have their own tests. */
  const causes: Readonly<Record<string, () => Promise<Response>>> = {
    "400 invalid_client_metadata": () =>
      registering({ grant_types: ["client_credentials"], client_name: 7 }),
    "400 invalid_redirect_uri": () => registering({ grant_types: ["authorization_code"] }),
    "400 invalid_scope": () =>
      registering({ grant_types: ["client_credentials"], scope: "alerts:write" }),
    "400 invalid_target": () => askToken({ resource: "https://elsewhere.example" }),
    "400 invalid_claim_code": async () =>
      claiming(
        (await testService.person().tokens()).access_token,
        (await register(base)).client_id,
      ),
    "401 invalid_client": () => askToken({ client_secret: "wrong" }),
    "401 invalid_token": () => claiming("unknown", "agt_1"),
    "401 unauthenticated": () => fetch(`${base}/api/signals`),
    "403 insufficient_scope": async () =>
      getWith(
        await tokenOf(base, await register(base), { scope: "signals:read" }),
        `${base}/api/factors?symbol=x`,
      ),
    "403 access_denied": async () => claiming(await tokenOf(base, await register(base)), "agt_1"),
    "409 claim_not_confirmed": async () => {
      const agent = await register(base);
      return claiming(await tokenOf(base, agent), agent.client_id);
    },
    "409 already_claimed": async () => {
      const agent = await register(base);
      const { claim, client_id } = agent as typeof agent & { claim: { code: string } };
      await testService.person().claim(client_id, claim.code);
      const authorization = `Bearer ${await tokenOf(base, agent)}`;
      return postJson(`${base}/oauth/claim/start`, { agent_id: client_id }, { authorization });
    },
    "429 temporarily_unavailable": () => postJson(`${strict.base}/oauth/register`, {}),
    "429 rate_limited": () =>
      postJson(`${strict.base}/api/contact`, { email: "someone@example.com", message: "Hello" }),
  };

  const elsewhere = ["temporarily_unavailable 503", "store_unavailable 503"];

  it("has a test for each row", () => {
    const listed = rows.map(([name, status]) => `${status} ${name}`);
    const tried = [...Object.keys(causes), "503 temporarily_unavailable", "503 store_unavailable"];
    expect(listed.toSorted()).toEqual(tried.toSorted());
  });

  it.each(rows.filter(([name, status]) => !elsewhere.includes(`${name} ${status}`)))(
    "%s has the status %i",
    async (name, status) => {
      const response = await causes[`${status} ${name}`]?.();
      const body = (await response?.json()) as Readonly<Record<string, string>>;
      expect(response?.status).toBe(status);
      expect(body.error ?? body.code).toBe(name);
      expect(response?.headers.has("retry-after")).toBe(status === 429);
    },
  );
});

/** Matches documents that state that agents register themselves. */
const SELF_SERVICE = /without a human|agents register themselves|an agent registers itself/i;

/** Documents that explain how agents get access. */
const inviting = [
  ...["/", "/llms.txt", "/auth.md", "/docs/api.md", "/.well-known/agent-skills/index.json"],
  "/.well-known/agent-skills/register-agent/SKILL.md",
];

/** Documents for unclaimed agents, by the scopes that the instance grants them. */
describe.each([
  ["signals:read factor:read darkpool:read"],
  ["signals:read"],
  ["factor:read"],
  ["darkpool:read"],
])("an instance that grants unclaimed agents only %s", async (given) => {
  const some = await startTestService({ ANONYMOUS_SCOPES: given });
  const claimed = "signals:read factor:read darkpool:read alerts:write";

  it.each([THE_PERSONS, THE_AGENTS])("has an auth.md whose commands work: %s", async (way) => {
    expect(await followAuthMd(some, way)).toBe(claimed);
  });

  it("has skill documents whose commands work unchanged", async () => {
    const variables: Variables = {};
    await follow(stepsOf(await skill("register-agent", some.base)), variables);
    expect(await skill("register-agent", some.base)).toContain(`gets \`${given}\``);
    variables.SYMBOL = "ALDER.SIM";
    const reading = await skill("market-signals", some.base);
    expect((await follow(stepsOf(reading), variables)).length).toBeGreaterThan(0);
    const lacking = claimed.split(" ").filter((scope) => !`${given} alerts:write`.includes(scope));
    const [, said] = /which then gets `(.*)` as well/.exec(reading) ?? [];
    expect(said ?? "").toBe(lacking.join(" "));
  });

  it("states that agents can register themselves", async () => {
    for (const path of inviting.filter((one) => !one.endsWith("auth.md"))) {
      expect(SELF_SERVICE.test(await read(path, some.base)), path).toBe(true);
    }
  });
});

describe("an instance that is open to people only", async () => {
  const closed = await startTestService({ ANONYMOUS_SCOPES: " " });

  it("states that agents must be claimed, and accepts applications that people use", async () => {
    const authMd = await read("/auth.md", closed.base);
    expect(authMd).toContain("its `scope` is empty until a person has claimed it");
    const waiting = await postJson(`${closed.base}/oauth/register`, {
      grant_types: ["client_credentials"],
    });
    expect(waiting.status).toBe(201);
    expect(await waiting.json()).toMatchObject({ scope: "" });

    const client = await registerPublic(closed.base);
    const { access_token } = await closed.person().tokens({ client });
    await follow(stepsOf(authMd), {
      ACCESS_TOKEN: access_token,
      CLIENT_ID: client.client_id,
      REGISTRATION_ACCESS_TOKEN: client.registration_access_token,
    });
  });

  it("has skill documents that work with a person's token", async () => {
    const ACCESS_TOKEN = (await closed.person().tokens()).access_token;
    const variables: Variables = { ACCESS_TOKEN, WEBHOOK_URL: "https://hooks.example.com/in" };
    await follow(stepsOf(await skill("market-signals", closed.base)), variables);
    await follow(stepsOf(await skill("alert-webhooks", closed.base)), variables);
    expect(stepsOf(await skill("register-agent", closed.base))).toEqual([]);
  });

  it("promises no access to unclaimed agents", async () => {
    for (const path of inviting) {
      expect(SELF_SERVICE.test(await read(path, closed.base)), path).toBe(false);
    }
    const page = await fetch(closed.base, { headers: { accept: "text/html" } });
    expect(await page.text()).toContain("for the people who answer for them");
    const metadata = JSON.parse(await read("/.well-known/oauth-authorization-server", closed.base));
    expect(metadata.agent_auth.identity_types_supported).toContain("anonymous");
  });
});

describe("the skill", () => {
  it("register-agent works unchanged", async () => {
    await follow(stepsOf(await skill("register-agent")), {});
  });

  it("market-signals works unchanged, and reads signals of the instrument that it found", async () => {
    const ACCESS_TOKEN = await tokenOf(base, await register(base));
    const variables: Variables = { ACCESS_TOKEN };
    const [, signal, factors] = await follow(stepsOf(await skill("market-signals")), variables);
    expect(variables.SYMBOL).toMatch(/\.SIM$/);
    const common = { symbol: variables.SYMBOL, market: "sandbox", status: expect.any(String) };
    expect(signal?.body).toMatchObject({
      ...common,
      asOf: expect.any(String),
      score: expect.any(Number),
      confidence: expect.any(Number),
      coverage: expect.any(Number),
      evidence: { verdict: expect.any(String) },
      missingFactors: expect.any(Array),
    });
    expect(factors?.body).toMatchObject(common);
    const unknown = await getWith(ACCESS_TOKEN, `${base}/api/signals?symbol=ALDR.SIM`);
    expect(unknown.status).toBe(404);
    expect(JSON.stringify(await unknown.json())).toContain("ALDER.SIM");
  });

  it("alert-webhooks works unchanged", async () => {
    const ACCESS_TOKEN = (await testService.person().tokens()).access_token;
    const variables: Variables = { ACCESS_TOKEN, WEBHOOK_URL: "https://hooks.example.com/in" };
    const done = await follow(stepsOf(await skill("alert-webhooks")), variables);
    expect(done[1]?.body).toMatchObject({ events: [], nextCursor: expect.any(String) });
    expect(done[2]?.body).toMatchObject({ status: "pending", secret: expect.any(String) });
  });

  it("alert-webhooks states the retry schedule correctly", async () => {
    const asked = { random: () => 0.5, retryAfterMs: undefined };
    const pauses = Array.from({ length: 20 }, (_, at) =>
      nextAttemptDelayMs({ failures: at + 1, ...asked }),
    );
    const made = pauses.filter((pause) => pause !== undefined);
    const days = made.reduce((sum, pause) => sum + pause, 0) / 86_400_000;
    expect(await skill("alert-webhooks")).toContain("up to nine times over three days");
    expect([made.length, Math.round(days)]).toEqual([9, 3]);
  });
});

describe("the verification function of the alert-webhooks skill", async () => {
  const [, code = ""] = /^```js\n(.*?)\n```$/ms.exec(await skill("alert-webhooks")) ?? [];
  const module = `data:text/javascript,${encodeURIComponent(`${code}\nexport { isGenuine };`)}`;
  const { isGenuine } = (await import(/* @vite-ignore */ module)) as {
    isGenuine(headers: object, body: string, secret: string): boolean;
  };
  const [secret, other] = [generateSigningSecret(), generateSigningSecret()];
  const body = JSON.stringify({ type: "signal.shift", text: "é" });
  const signed = (secrets: readonly string[], at = Date.now()) =>
    createSignatureHeaders({ id: "msg_1", at, body, secrets, keys: [] });

  it("accepts signed deliveries, even during a secret rotation", () => {
    expect(isGenuine(signed([secret]), body, secret)).toBe(true);
    expect(isGenuine(signed([other, secret]), body, secret)).toBe(true);
  });

  it("rejects deliveries with an invalid or missing signature", () => {
    const headers = signed([secret]);
    const HOUR_MS = 3_600_000;
    expect(isGenuine(headers, body.replace("é", "e"), secret)).toBe(false);
    expect(isGenuine(headers, body, other)).toBe(false);
    expect(isGenuine({ ...headers, "webhook-id": "msg_2" }, body, secret)).toBe(false);
    expect(isGenuine({ ...headers, "webhook-signature": "v1a,AAAA" }, body, secret)).toBe(false);
    expect(isGenuine({ ...headers, "webhook-signature": "v1," }, body, secret)).toBe(false);
    for (const ageMs of [HOUR_MS, -HOUR_MS, Number.NaN]) {
      const at = Date.now() - ageMs;
      expect(isGenuine(signed([secret], at), body, secret)).toBe(false);
    }
  });
});

it("security.txt links to the contact page and to the API for messages", async () => {
  const text = await read("/.well-known/security.txt");
  const contacts = Array.from(text.matchAll(/^Contact: (.*)$/gm), ([, contact = ""]) => contact);
  expect(contacts).toEqual([`${base}/contact`]);
  const page = await fetch(contacts[0] ?? "", { headers: { accept: "text/html" } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<form")]);
  const [, address = "", example = ""] = /^# .* JSON to (\S+) .*(\{.*\})$/m.exec(text) ?? [];
  const body = { ...JSON.parse(example), email: "someone@example.com" };
  expect((await postJson(address, body)).status).toBe(200);
});
