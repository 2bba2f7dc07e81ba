import {
  Client,
  ClientCredentialsProvider,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { ClientCredentialsProvider as OldCredentials } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { postJson, type RegisteredAgent, register, tokenOf } from "../support/agent.ts";
import { atFileEnd } from "../support/file-end.ts";
import { connectMcp, textOf } from "../support/mcp.ts";
import { messageIn, messageOf } from "../support/mcp-messages.ts";
import { startTestService } from "../support/test-service.ts";
import { createWeb, textOf as pageText } from "../support/web.ts";

const MINUTE_MS = 60_000;
const ALERT = { symbols: ["ALDER.SIM"] };

const testService = await startTestService();
const { base, clock, logged, person } = testService;
const endpoint = new URL(`${base}/mcp`);

/** The parts of a tool answer that these tests read. */
interface Answer {
  readonly isError?: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly content?: unknown;
}

/** The tool-calling interface that all MCP clients share. */
interface Caller {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>;
}

/** The answer to an agent registration, with its first claim code. */
interface Claimable extends RegisteredAgent {
  readonly claim: Readonly<Record<"code" | "page" | "start_url" | "who_can_claim", string>>;
}

const registerAnonymous = (method = "client_secret_basic"): Promise<Claimable> =>
  register(base, { scope: "", token_endpoint_auth_method: method }) as Promise<Claimable>;

const registerAlert = (client: Caller, name = "register_alert") =>
  client.callTool({ name, arguments: name === "register_alert" ? ALERT : {} }) as Promise<Answer>;

/** Extracts the claim page and the code from the text alone, as a model would. */
function readInstructions(answer: Answer) {
  const text = textOf(answer);
  const [, page = ""] = /open (\S+),/.exec(text) ?? [];
  const [, code = ""] = /code (\w{8})\b/.exec(text) ?? [];
  return { text, page, code };
}

/** Completes the claim in a new browser, as the instructions tell the person. */
async function followInstructions({
  page,
  code,
}: {
  readonly page: string;
  readonly code: string;
}) {
  const { web, signIn } = person();
  await signIn();
  const opened = await web.get(page);
  const shown = await web.submit(opened.form("/claim"), { code });
  await web.submit(shown.form("/claim/confirm"));
}

const credentialsOf = ({ client_id, client_secret }: RegisteredAgent) => ({
  clientId: client_id,
  clientSecret: client_secret,
  expectedIssuer: base,
});

type Capabilities = NonNullable<ConstructorParameters<typeof Client>[1]>["capabilities"];

/** Connects a client that requests its own tokens. */
async function connect(
  agent: RegisteredAgent,
  mode: "auto" | "legacy" = "auto",
  capabilities: Capabilities = {},
): Promise<Client> {
  const authProvider = new ClientCredentialsProvider(credentialsOf(agent));
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode }, capabilities },
  );
  await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider }));
  atFileEnd(() => client.close());
  return client;
}

async function connectOld(agent: RegisteredAgent): Promise<Caller> {
  const client = new OldClient({ name: "test", version: "1" });
  const authProvider = new OldCredentials(credentialsOf(agent));
  await client.connect(new OldTransport(endpoint, { authProvider }) as never);
  atFileEnd(() => client.close());
  return client as Caller;
}

const generations: readonly (readonly [string, (agent: RegisteredAgent) => Promise<Caller>])[] = [
  ["1.x", connectOld],
  ["2.x in legacy mode", (agent) => connect(agent, "legacy")],
  ["2.x in auto mode", (agent) => connect(agent)],
];

describe.each(generations)("an unclaimed agent with the MCP client %s", (_name, connectAs) => {
  it("can register a rejected alert after following the instructions in the results", async () => {
    const client = await connectAs(await registerAnonymous());
    const refused = await registerAlert(client);
    expect(refused.isError).toBe(true);
    await followInstructions(readInstructions(refused));
    const made = await registerAlert(client);
    expect(made.isError).not.toBe(true);
    expect(made.structuredContent).toMatchObject({ status: "active", ...ALERT });
  });

  it("gets the same claim instructions from every tool that requires a claim", async () => {
    const client = await connectAs(await registerAnonymous());
    const codes = [];
    for (const name of ["register_alert", "manage_alert", "get_alert_events"]) {
      const { text, code } = readInstructions(await registerAlert(client, name));
      expect(text).toContain(`claim_required: ${name} needs alerts:write`);
      codes.push(code);
    }
    expect(new Set(codes).size).toBe(1);
  });
});

describe("the result that asks for a claim", () => {
  it("has the problem code, the claim page, the claim code and the next step, as members and as text", async () => {
    const agent = await registerAnonymous();
    const answer = await registerAlert(await connect(agent));
    const { text, page, code } = readInstructions(answer);
    expect(answer.structuredContent).toEqual({
      code: "claim_required",
      detail: expect.stringContaining("register_alert needs alerts:write"),
      next: expect.stringContaining("call register_alert again"),
      claim: {
        page,
        code,
        expiresAt: new Date(clock.now.getTime() + 10 * MINUTE_MS)
          .toISOString()
          .replace(".000Z", "Z"),
        scope: "alerts:write signals:read",
      },
    });
    const { detail, next } = answer.structuredContent as { detail: string; next: string };
    expect(text).toBe(`claim_required: ${detail} ${next}`);
    expect(page).toBe(`${base}/claim?agent=${agent.client_id}`);
  });

  it("repeats the claim code of the registration while that code is valid", async () => {
    const agent = await registerAnonymous();
    const { code } = readInstructions(await registerAlert(await connect(agent)));
    expect(code).toBe(agent.claim.code);
  });

  it("has the same code for concurrent calls when no code was issued before", async () => {
    const agent = await registerAnonymous();
    clock.now = new Date(clock.now.getTime() + 11 * MINUTE_MS);
    const client = await connect(agent);
    const answers = await Promise.all(Array.from({ length: 5 }, () => registerAlert(client)));
    const codes = new Set(answers.map((answer) => readInstructions(answer).code));
    expect(codes.size).toBe(1);
    expect(codes).not.toContain(agent.claim.code);
    await followInstructions(readInstructions(answers[4] as Answer));
    expect((await registerAlert(client)).isError).not.toBe(true);
  });

  it("has a new code when the previous one is about to expire", async () => {
    const client = await connect(await registerAnonymous());
    const { code } = readInstructions(await registerAlert(client));
    clock.now = new Date(clock.now.getTime() + 8 * MINUTE_MS);
    expect(readInstructions(await registerAlert(client)).code).toBe(code);
    clock.now = new Date(clock.now.getTime() + 1_000);
    const later = readInstructions(await registerAlert(client));
    expect(later.code).not.toBe(code);
    await followInstructions(later);
    expect((await registerAlert(client)).isError).not.toBe(true);
  });

  it("tells a client that cannot register itself how to request its next token", async () => {
    const agent = await registerAnonymous("client_secret_post");
    const refused = await registerAlert(await connectMcp(base, await tokenOf(base, agent)));
    const { text, ...instructions } = readInstructions(refused);
    await followInstructions(instructions);
    expect(text).toContain(
      `POST ${base}/oauth/token with the same client_id and client_secret and without scope`,
    );
    const client = await connectMcp(base, await tokenOf(base, agent));
    expect((await registerAlert(client)).isError).not.toBe(true);
  });

  it("is subject to the limit on new claim codes", async () => {
    const limited = await startTestService({ RATE_LIMITS: "claims=1/100000/1000000" });
    const agent = await register(limited.base, { scope: "" });
    const client = await connectMcp(limited.base, await tokenOf(limited.base, agent));
    const later = async () => {
      limited.clock.now = new Date(limited.clock.now.getTime() + 11 * MINUTE_MS);
      return textOf(await registerAlert(client));
    };
    expect(await later()).toMatch(/^claim_required: /);
    expect(await later()).toMatch(/^rate_limited: The limit claims allows 1 /);
  });
});

describe("the ways of a person without an account", () => {
  /** What a person can do who cannot sign in, with each value of SIGN_UP. */
  const ways = [
    ["open", /^Anyone with an email address can sign in there\.$/, undefined],
    [
      "applications",
      /application the operator accepted.* tell me, and I give you a new code\.$/,
      "/apply",
    ],
    ["closed", /no new accounts are created/, "/contact"],
  ] as const;

  it.each(ways)(
    "are told to the agent in every answer about its claim, with SIGN_UP=%s",
    async (SIGN_UP, words, way) => {
      const own = await startTestService({ SIGN_UP });
      const agent = (await register(own.base, { scope: "" })) as Claimable;
      const { who_can_claim: note, start_url } = agent.claim;
      expect(note).toMatch(words);
      if (way !== undefined) {
        expect(note).toContain(own.base + way);
        expect((await fetch(own.base + way)).status).toBe(200);
      }
      const token = await tokenOf(own.base, agent);
      const asked = await registerAlert(await connectMcp(own.base, token));
      expect(asked.structuredContent?.next).toContain(note);
      expect(asked.structuredContent?.next).toContain("new code once this one has expired");
      const advice = /" When .+ To the operator: .+ SIGN_UP/.test(
        `${asked.structuredContent?.next}`,
      );
      expect(advice).toBe(SIGN_UP !== "open");
      const bearer = { authorization: `Bearer ${token}` };
      const byRest = await postJson(`${own.base}/api/alerts`, ALERT, bearer);
      expect(((await byRest.json()) as { next: string }).next).toContain(note);
      const begun = await postJson(start_url, { agent_id: agent.client_id }, bearer);
      expect(await begun.json()).toMatchObject({
        who_can_claim: note,
        note: "This code ends the one before it.",
      });
      const wrong = { agent_id: agent.client_id, claim_code: "00000000" };
      const refused = await postJson(`${own.base}/oauth/claim`, wrong, bearer);
      expect(((await refused.json()) as { next: string }).next).toContain(note);
    },
  );

  it.each(ways.slice(1))(
    "are shown to the person who opens the claim page, with SIGN_UP=%s",
    async (SIGN_UP, _words, way) => {
      const own = await startTestService({ SIGN_UP });
      const agent = (await register(own.base, { scope: "" })) as Claimable;
      const page = await createWeb(own.base).get(agent.claim.page);
      expect(page.html).toContain(`href="${way}"`);
      expect(pageText(page.html)).toMatch(/cannot claim an agent yet.* new code/);
      expect(pageText(page.html)).toContain("If you operate this service, SIGN_UP decides");
    },
  );
});

describe("a client that supports elicitation", () => {
  /** Connects a client whose person acts when the client is asked to open a page. */
  async function connectAsking(
    agent: RegisteredAgent,
    open: (asked: { readonly page: string; readonly code: string }) => Promise<ElicitResult>,
    capabilities: Capabilities = { elicitation: { url: {} } },
  ) {
    const asked: object[] = [];
    const client = await connect(agent, "auto", capabilities);
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      asked.push(params);
      const { message, url } = params as { readonly message: string; readonly url: string };
      const [, code = ""] = /code (\w{8})\b/.exec(message) ?? [];
      return open({ page: url, code });
    });
    return { client, asked };
  }

  it("claims the agent and registers the alert in one call when the person completes the page opened in URL mode", async () => {
    const agent = await registerAnonymous();
    const { client, asked } = await connectAsking(agent, async (instructions) => {
      await followInstructions(instructions);
      return { action: "accept" };
    });
    const made = await registerAlert(client);
    expect(made.structuredContent).toMatchObject({ status: "active" });
    expect(asked).toEqual([
      {
        mode: "url",
        url: `${base}/claim?agent=${agent.client_id}`,
        message: expect.stringContaining(agent.claim.code),
      },
    ]);
  });

  it("leaves the next step to the model when nobody claims the agent, whether or not the person opened the page", async () => {
    for (const [action, said] of [
      ["accept", /Nobody has claimed this one yet\. Say to the person/],
      ["decline", /The person did not open the claim page: ask them/],
      ["cancel", /The person did not open the claim page: ask them/],
    ] as const) {
      const agent = await registerAnonymous();
      const { client, asked } = await connectAsking(agent, async () => ({ action }));
      const refused = await registerAlert(client);
      expect(refused.isError).toBe(true);
      expect(readInstructions(refused)).toMatchObject({ text: expect.stringMatching(said) });
      expect(asked).toHaveLength(1);
    }
  });

  it("is not asked to open a page when it supports only form mode", async () => {
    const { client, asked } = await connectAsking(
      await registerAnonymous(),
      async () => ({ action: "accept" }),
      { elicitation: { form: {} } },
    );
    expect((await registerAlert(client)).isError).toBe(true);
    expect(asked).toEqual([]);
  });
});

describe("an agent that can get the missing scope without a person", () => {
  const call = (id: number, name: string) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: { ...(name === "get_signal" ? { symbol: "ALDER.SIM" } : ALERT) } },
  });
  const send = (token: string, body: unknown) =>
    postJson(`${base}/mcp`, body, {
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "mcp-protocol-version": "2025-03-26",
    });

  it("gets a 403 challenge with the missing scope, both when it reads while unclaimed and when it registers an alert after its claim", async () => {
    const unclaimed = await registerAnonymous("client_secret_post");
    const narrow = await tokenOf(base, unclaimed, { scope: "factor:read" });
    const claimed = await registerAnonymous("client_secret_post");
    await person().claim(claimed.client_id, claimed.claim.code);
    const reading = await tokenOf(base, claimed, { scope: "signals:read" });
    for (const [token, name, scope] of [
      [narrow, "get_signal", "signals:read"],
      [reading, "register_alert", "alerts:write signals:read"],
    ] as const) {
      const refused = await send(token, call(1, name));
      expect(refused.status).toBe(403);
      expect(refused.headers.get("www-authenticate")).toContain(`scope="${scope}"`);
    }
  });

  it("gets the challenge for a whole batch when one message requires the missing scope", async () => {
    const agent = await registerAnonymous("client_secret_post");
    const batch = [call(1, "register_alert"), call(2, "get_signal")];
    const narrow = await tokenOf(base, agent, { scope: "factor:read" });
    const refused = await send(narrow, batch);
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toContain(`scope="signals:read"`);
    const text = await (await send(await tokenOf(base, agent), batch)).text();
    const results = text
      .split("\n\n")
      .filter((event) => event.includes("data: "))
      .map(messageIn);
    expect(results.map(({ result }) => result?.isError ?? false).sort()).toEqual([false, true]);
  });

  it("gets a claim_required tool result instead of the challenge when only a claim can give the missing scope", async () => {
    const token = await tokenOf(base, await registerAnonymous("client_secret_post"));
    const { result } = await messageOf(send(token, call(1, "register_alert")));
    expect(result).toMatchObject({ isError: true, structuredContent: { code: "claim_required" } });
  });
});

describe("after all of these tests", () => {
  it("the service has logged no internal failure", () => expect(logged).toEqual([]));
});
