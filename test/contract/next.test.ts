import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProblemCode } from "../../src/lib/problem.ts";
import { tools } from "../../tools/index.ts";
import {
  getWith,
  newToken,
  postForm,
  postJson,
  type RegisteredAgent,
  register,
  tokenOf,
} from "../support/agent.ts";
import { CALLBACK } from "../support/person.ts";
import { startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const testService = await startTestService();
const { base } = testService;
const token = await newToken(base);
const openapi = await (await fetch(`${base}/docs/api/openapi.json`)).text();

/** The members of an error that guide the caller. */
interface Refusal {
  readonly code: string;
  readonly next: string;
}

const withToken = (bearer: string) => ({ authorization: `Bearer ${bearer}` });

/** Whether `next` may mention this name: a tool, or a member in the OpenAPI document. */
const isKnownName = (name: string): boolean =>
  tools.some((tool) => tool.name === name) || openapi.includes(name);

/** Finds the URLs in a text, each with the HTTP method that precedes it. */
function addressesIn(text: string) {
  const found = text.matchAll(
    /(?:\b(GET|POST|PUT|PATCH|DELETE) )?(?<![\w<])(https?:\/\/[\w.:]+[\w./?=%{}-]*|\/[\w./?=%{}-]+)/g,
  );
  return Array.from(found, ([, method, address = ""]) => ({
    method,
    url: new URL(address.replace(/[.?]+$/, ""), base),
  }));
}

/** Requests every URL in a `next` text, and expects each to exist. */
async function follow(next: string): Promise<void> {
  expect(next, "says what to do").toMatch(/\w.*[.?]$/s);
  // Names in URLs, such as ids, are not checked.
  const words = next.replace(/https?:\S+/g, "");
  for (const [name] of words.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g)) {
    expect(isKnownName(name), `${name} in: ${next}`).toBe(true);
  }
  for (const { method, url } of addressesIn(next)) {
    expect(url.origin, next).toBe(base);
    const { status } = await fetch(url, { method: method ?? "GET", redirect: "manual" });
    expect(status, `${method ?? "GET"} ${url}`).not.toBe(404);
    expect(status, `${method ?? "GET"} ${url}`).toBeLessThan(500);
    if (method !== undefined) expect(status, `${method} ${url}`).not.toBe(405);
  }
}

/**
 * Finds the `next` texts in a source file, except those that interpolate more than the base URL.
 */
function writtenIn(source: string): readonly string[] {
  const literals = source.matchAll(/\bnext(?::|\s=)\s*(?:\w+\s*\?\s*)?(["`])((?:(?!\1)[^\\])+)\1/g);
  return Array.from(literals, ([, , text = ""]) => text.replace(/\$\{baseUrl\}/g, base)).filter(
    (text) => !/\$\{/.test(text),
  );
}

const ROOT = join(import.meta.dirname, "../..");

const sources = ["src", "tools"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join(ROOT, folder, file), "utf8")),
);

const ALERT = { kinds: ["signal_shift"], symbols: ["ALDER.SIM"] };

const postAlert = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  postJson(`${base}/api/alerts`, body, { ...withToken(token), ...headers });

const read = (path: string) => getWith(token, base + path);

/** A person's access token, for failures of requests that require an alert scope. */
const personal = await (async () => {
  const person = testService.person();
  await person.signIn();
  return (await person.tokens()).access_token;
})();

const asPerson = (path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  body === undefined
    ? getWith(personal, base + path)
    : postJson(base + path, body, { ...withToken(personal), ...headers });

/**
 * Requests that cause each problem code. The missing codes need a service that is broken, busy or
 * starting.
 */
const provoked: Partial<Readonly<Record<ProblemCode, () => Promise<Response>>>> = {
  invalid_request: () => read("/api/signals?limit=none"),
  unauthenticated: () => fetch(`${base}/api/signals`),
  insufficient_scope: () => postAlert(ALERT),
  forbidden_origin: () => postJson(`${base}/mcp`, {}, { origin: "https://evil.example" }),
  not_found: () => fetch(`${base}/nothing`),
  unknown_symbol: () => read("/api/signals?symbol=AAPL"),
  method_not_allowed: () => fetch(`${base}/api/signals`, { method: "PUT" }),
  not_available_then: () => read("/api/signals?symbol=ALDER.SIM&asOf=2000-01-01T00:00:00Z"),
  content_too_large: () => asPerson("/api/alerts", { ...ALERT, name: "x".repeat(20_000) }),
  unsupported_media_type: () => fetch(`${base}/oauth/register`, { method: "POST", body: "hello" }),
  idempotency_key_reused: async () => {
    const key = { "idempotency-key": "8e03978e-40d5-43dd-bc93-6894a57f9324" };
    await asPerson("/api/alerts", ALERT, key);
    return asPerson("/api/alerts", { ...ALERT, symbols: ["BYTEN.SIM"] }, key);
  },
  wrong_state: async () => {
    const { id } = (await (await asPerson("/api/alerts", ALERT)).json()) as { id: string };
    return asPerson(`/api/alerts/${id}/test`, {});
  },
};

describe("the next member of an error", () => {
  it.each(Object.entries(provoked))(
    "contains only existing URLs, for the error code %s",
    async (code, provoke) => {
      const refusal = (await (await provoke()).json()) as Refusal;
      expect(refusal.code).toBe(code);
      await follow(refusal.next);
    },
  );

  it("contains only existing URLs in every example of the OpenAPI document", async () => {
    const nexts = Array.from(openapi.matchAll(/"next":("(?:[^"\\]|\\.)*")/g), ([, text = ""]) =>
      String(JSON.parse(text)),
    ).filter((next) => !next.startsWith("Did you mean: ACME"));
    expect(nexts.length).toBeGreaterThan(15);
    for (const next of new Set(nexts)) await follow(next);
  });

  it("contains only existing URLs at every place in the source code that sets it", async () => {
    const nexts = [...new Set(sources.flatMap(writtenIn))];
    expect(nexts.length).toBeGreaterThan(50);
    for (const next of nexts) await follow(next);
  });
});

describe("an agent that lacks alerts:write", () => {
  it("is led through its claim until it can register an alert", async () => {
    const agent = await register(base, { scope: "" });
    const own = await tokenOf(base, agent);
    const refused = await postJson(`${base}/api/alerts`, ALERT, withToken(own));
    const { next } = (await refused.json()) as Refusal;
    const [page, start, tokens] = addressesIn(next);
    expect(page?.url.href).toBe(`${base}/claim?agent=${agent.client_id}`);
    expect([start?.method, start?.url.pathname]).toEqual(["POST", "/oauth/claim/start"]);

    const begun = await postJson(String(start?.url), { agent_id: agent.client_id }, withToken(own));
    const { claim } = (await begun.json()) as { claim: { code: string } };
    const person = testService.person();
    await person.signIn();
    const asked = await person.web.get(`${page?.url.pathname}${page?.url.search}`);
    const fields = { agent_id: agent.client_id, code: claim.code };
    const shown = await person.web.submit(asked.form("/claim"), fields);
    await person.web.submit(shown.form("/claim/confirm"));

    const { client_id, client_secret } = agent;
    const form = { grant_type: "client_credentials", client_id, client_secret };
    const given = await postForm(String(tokens?.url), form);
    const { access_token } = (await given.json()) as { access_token: string };
    const made = await postJson(`${base}/api/alerts`, ALERT, withToken(access_token));
    expect(made.status).toBe(201);
  });

  it("is instructed to request another token when its current token has fewer scopes than the agent may have", async () => {
    const agent = await register(base);
    const narrow = await tokenOf(base, agent, { scope: "signals:read" });
    const refused = await getWith(narrow, `${base}/api/factors?symbol=ALDER.SIM`);
    expect(((await refused.json()) as Refusal).next).toContain(
      `get a token at ${base}/oauth/token that has factor:read`,
    );
    const wide = await tokenOf(base, agent, { scope: "factor:read" });
    const answered = await getWith(wide, `${base}/api/factors?symbol=ALDER.SIM`);
    expect(answered.status).toBe(200);
  });

  it("is referred to consent or a new API key, not to a claim, when it acts for a person", async () => {
    const person = testService.person();
    await person.signIn();
    const { access_token } = await person.tokens({ scope: "signals:read" });
    const key = await person.createKey(["signals:read"]);
    const nexts = await Promise.all(
      [access_token, key].map(async (credential) => {
        const refused = await postJson(`${base}/api/alerts`, ALERT, withToken(credential));
        expect(refused.status).toBe(403);
        return ((await refused.json()) as Refusal).next;
      }),
    );
    expect(nexts[0]).toContain(`${base}/oauth/authorize again with alerts:write`);
    expect(nexts[1]).toContain(`a person can create one at ${base}/account`);
    for (const next of nexts) await follow(next);
  });
});

interface Claimable extends RegisteredAgent {
  readonly claim: { readonly page: string; readonly start_url: string };
}

describe("a failed claim", () => {
  it("is answered with the same claim page and start URL as a registration", async () => {
    const agent = (await register(base)) as Claimable;
    const own = withToken(await tokenOf(base, agent));
    await postJson(agent.claim.start_url, { agent_id: agent.client_id }, own);
    const body = { agent_id: agent.client_id, claim_code: "00000000" };
    for (const [error, status] of [
      ["claim_not_confirmed", 409],
      ["invalid_claim_code", 400],
    ] as const) {
      const bearer = status === 409 ? own : withToken(personal);
      const refused = await postJson(`${base}/oauth/claim`, body, bearer);
      expect(refused.status).toBe(status);
      const { page, start_url } = agent.claim;
      const answer = (await refused.json()) as { readonly next: string };
      expect(answer).toMatchObject({ error, page, start_url });
      expect(answer.next).toMatch(status === 409 ? /page and the agent's own code/ : /new code/);
    }
  });
});

describe("a token for the MCP endpoint", () => {
  it("is rejected at other endpoints, with instructions for getting a valid token", async () => {
    const agent = await register(base);
    const bound = await tokenOf(base, agent, { resource: `${base}/mcp` });
    const refused = await getWith(bound, `${base}/api/signals?symbol=ALDER.SIM`);
    expect(refused.status).toBe(401);
    const { next } = (await refused.json()) as Refusal;
    expect(next).toContain(`Get a token at ${base}/oauth/token without the parameter resource`);
    await follow(next);
    const free = await getWith(await tokenOf(base, agent), `${base}/api/signals?symbol=ALDER.SIM`);
    expect(free.status).toBe(200);
  });

  it("is rejected by the claim endpoint with the same error", async () => {
    const agent = await register(base);
    const bound = await tokenOf(base, agent, { resource: `${base}/mcp` });
    const body = { agent_id: agent.client_id };
    const refused = await postJson(`${base}/oauth/claim/start`, body, withToken(bound));
    expect(await refused.json()).toMatchObject({
      error: "invalid_token",
      error_description: expect.stringContaining("request one without resource"),
    });
  });
});

describe("a grant type", () => {
  it("that a client did not register is rejected with unauthorized_client and instructions to register it", async () => {
    const metadata = {
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_post",
    };
    const client = await register(base, metadata);
    const { client_id, client_secret } = client;
    const form = { grant_type: "client_credentials", client_id, client_secret };
    const refused = await postForm(`${base}/oauth/token`, form);
    expect(refused.status).toBe(400);
    const { error, error_description } = (await refused.json()) as Readonly<Record<string, string>>;
    expect(error).toBe("unauthorized_client");
    expect(error_description).toContain("this client may use authorization_code;");
    const [change] = addressesIn(error_description ?? "");
    expect([change?.method, change?.url.href]).toEqual(["PUT", client.registration_client_uri]);

    const changed = await fetch(String(change?.url), {
      method: "PUT",
      headers: {
        ...withToken(client.registration_access_token),
        "content-type": "application/json",
      },
      body: JSON.stringify({
        ...metadata,
        client_id,
        client_secret,
        grant_types: ["authorization_code", "client_credentials"],
      }),
    });
    expect(changed.status).toBe(200);
    expect((await postForm(`${base}/oauth/token`, form)).status).toBe(200);
  });

  verifies(
    "2.4/grant-refresh-token-alone",
    "refresh_token alone is rejected, and the suggested alternative is accepted",
    async () => {
      const alone = { grant_types: ["refresh_token"], redirect_uris: [CALLBACK] };
      const refused = await postJson(`${base}/oauth/register`, alone);
      const { error, error_description = "" } = (await refused.json()) as Readonly<
        Record<string, string>
      >;
      expect(error).toBe("invalid_client_metadata");
      const [, named = ""] = /one of ([^;]+); /.exec(error_description) ?? [];
      for (const type of named.split(", ")) {
        await register(base, { ...alone, grant_types: [type], response_types: [], scope: "" });
      }
      expect(error_description).toContain("refresh_token requires authorization_code");
      await register(base, { ...alone, grant_types: ["authorization_code", "refresh_token"] });
    },
  );
});
