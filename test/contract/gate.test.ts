import { connect } from "node:net";
import { describe, expect, it } from "vitest";
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
import { startAuthServer } from "../support/auth-server.ts";
import { eachCaller } from "../support/limits.ts";
import { sendRaw } from "../support/raw.ts";
import { embedded } from "../support/stores.ts";
import { startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const running = await startTestService();
const { base } = running;
const token = await newToken(base);
const signals = `${base}/api/signals?symbol=ALDER.SIM`;

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Posts one MCP tool call as a client of protocol revision 2026-07-28. */
const callTool = (name: string, authorization?: string, args: object = { symbol: "ALDER.SIM" }) =>
  postJson(
    `${base}/mcp`,
    {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args, _meta: MODERN },
    },
    {
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
      ...(authorization && { authorization }),
    },
  );

const challengeOf = (response: Response) => response.headers.get("www-authenticate") ?? "";

async function expectUnauthenticated(response: Response, path: "" | "/mcp", hasToken: boolean) {
  expect(response.status).toBe(401);
  const challenge = challengeOf(response);
  expect(challenge).toContain(
    `resource_metadata="${base}/.well-known/oauth-protected-resource${path}"`,
  );
  expect(challenge).toContain('scope="signals:read factor:read darkpool:read"');
  expect(challenge.includes('error="invalid_token"')).toBe(hasToken);
  expect(response.headers.get("content-type")).toContain("application/problem+json");
  expect(await response.json()).toMatchObject({ status: 401, code: "unauthenticated" });
}

describe("a protected route", () => {
  verifies("4.4/protected", "answers a request without a token with a challenge", async () => {
    await expectUnauthenticated(await fetch(signals), "", false);
    await expectUnauthenticated(await callTool("get_signal"), "/mcp", false);
  });

  it.each([
    ["an invalid token", "Bearer nonsense", true],
    ["another scheme", "Basic dXNlcjpwYXNz", false],
    ["an empty bearer token", "Bearer ", false],
    ["two bearer tokens", "Bearer a b", false],
  ])("answers %s with a WWW-Authenticate challenge", async (_what, authorization, hasToken) => {
    await expectUnauthenticated(await fetch(signals, { headers: { authorization } }), "", hasToken);
    await expectUnauthenticated(await callTool("get_signal", authorization), "/mcp", hasToken);
  });

  it("accepts a token for the base URL at REST routes and at /mcp, but rejects a token for /mcp at REST routes", async () => {
    const agent = await register(base);
    const forMcp = await tokenOf(base, agent, { resource: `${base}/mcp` });
    const forBase = await tokenOf(base, agent, { resource: base });
    await expectUnauthenticated(await getWith(forMcp, signals), "", true);
    expect((await callTool("get_signal", `Bearer ${forMcp}`)).status).toBe(200);
    expect((await getWith(forBase, signals)).status).toBe(200);
    expect((await callTool("get_signal", `Bearer ${forBase}`)).status).toBe(200);
  });

  verifies("4.8/effect", "rejects a revoked token immediately, at REST and MCP", async () => {
    const revoked = await newToken(base);
    expect((await getWith(revoked, signals)).status).toBe(200);
    const form = { token: revoked, token_type_hint: "access_token" };
    expect((await postForm(`${base}/oauth/revoke`, form)).status).toBe(200);
    await expectUnauthenticated(await getWith(revoked, signals), "", true);
    await expectUnauthenticated(await callTool("get_signal", `Bearer ${revoked}`), "/mcp", true);
  });

  verifies(
    ["5.4/1-life", "8/token-life"],
    "rejects a token 3600 seconds after it was issued",
    async () => {
      const { now } = running.clock;
      try {
        const early = await newToken(base);
        running.clock.now = new Date(now.getTime() + 3_590_000);
        expect((await getWith(early, signals)).status).toBe(200);
        running.clock.now = new Date(now.getTime() + 3_601_000);
        await expectUnauthenticated(await getWith(early, signals), "", true);
      } finally {
        running.clock.now = now;
      }
    },
  );
});

describe("a credential", () => {
  /** The authentication gate alone, in front of two resources. */
  async function guarded(numbers = {}) {
    const now = () => new Date();
    const { records } = await embedded.open({ now: () => Date.now() });
    const { local, apiKeys, accounts, claims } = await startAuthServer({ records, now, numbers });
    const { key } = await apiKeys.create({
      name: "desk",
      scopes: ["signals:read"],
      actor: "operator",
    });
    const ask = (headers: Record<string, string>, path = "/api/probe") =>
      fetch(local + path, { headers });
    return { local, key, ask, accounts, claims };
  }

  it.each(["", "nonsense", "msv_test_nonsense", "a b"])(
    "consisting of the malformed API key %j gets the same challenge as an unknown token",
    async (key) => {
      const { ask } = await guarded();
      const response = await ask({ "x-api-key": key });
      expect(response.status).toBe(401);
      expect(challengeOf(response)).toMatch(/^Bearer .*resource_metadata="/);
      expect(challengeOf(response).includes('error="invalid_token"')).toBe(key !== "");
      expect(await response.json()).toMatchObject({ code: "unauthenticated" });
    },
  );

  it("is rejected when it is a token in X-API-Key", async () => {
    const { local, ask } = await guarded();
    const response = await ask({ "x-api-key": await newToken(local) });
    expect(response.status).toBe(401);
    expect(challengeOf(response)).toContain('error="invalid_token"');
  });

  it("is rejected with 400 when a second is sent with it, even if both are valid or equal", async () => {
    const { local, key } = await guarded();
    const bearer = `Bearer ${await newToken(local)}`;
    const both: readonly Readonly<Record<string, string | string[]>>[] = [
      { authorization: bearer, "x-api-key": key },
      { authorization: bearer, "x-api-key": "nonsense" },
      { authorization: `Bearer ${key}`, "x-api-key": key },
      { authorization: [bearer, bearer] },
      { authorization: [bearer, "Bearer other"] },
      { "x-api-key": [key, key] },
    ];
    for (const headers of both) {
      for (const path of ["/api/probe", "/mcp"]) {
        const host = new URL(local).host;
        const { status, body } = await sendRaw(local + path, { headers: { host, ...headers } });
        expect([status, JSON.parse(body).code]).toEqual([400, "invalid_request"]);
      }
    }
  });

  it.each(["access_token", "token", "api_key", "apikey", "x-api-key", "authorization"])(
    "is not read from the parameter %s of the URL",
    async (name) => {
      const person = running.person();
      for (const value of [token, await person.createKey(["signals:read"]), `Bearer ${token}`]) {
        const answer = await fetch(`${signals}&${new URLSearchParams({ [name]: value })}`);
        expect(await answer.clone().text()).not.toContain(value);
        await expectUnauthenticated(answer, "", false);
      }
    },
  );

  it.each(["access_token", "api_key", "x-api-key"])(
    "is rejected in the URL as %s, even if a header has a valid one",
    async (name) => {
      await expectUnauthenticated(await getWith(token, `${signals}&${name}=${token}`), "", false);
    },
  );

  it("is not read from the body of an MCP message", async () => {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list", access_token: token };
    await expectUnauthenticated(await postJson(`${base}/mcp`, message), "/mcp", false);
  });

  it("is rejected with 429 after too many wrong credentials, while valid credentials still work", async () => {
    const { ask, key } = await guarded({ visits: eachCaller(2) });
    const statuses: number[] = [];
    for (const wrong of ["1", "2", "3"]) statuses.push((await ask({ "x-api-key": wrong })).status);
    expect(statuses).toEqual([401, 401, 429]);
    const refused = await ask({ authorization: "Bearer 4" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(await refused.json()).toMatchObject({ code: "rate_limited" });
    expect((await ask({ "x-api-key": key })).status).toBe(200);
  });

  it("has a limit of calls per minute for each caller, shared by REST and /mcp", async () => {
    const { ask, key } = await guarded({ calls: eachCaller(2) });
    const headers = { "x-api-key": key };
    const first = await ask(headers);
    expect(first.headers.get("ratelimit")).toMatch(/^"calls";r=1;t=\d+$/);
    expect((await ask({ authorization: `Bearer ${key}` }, "/mcp")).status).toBe(200);
    const third = await ask(headers);
    expect(third.status).toBe(429);
    expect(third.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await third.json()).toMatchObject({ code: "rate_limited" });
  });

  it("has a lower call limit when it is the token of an unclaimed agent", async () => {
    const { ask, local, accounts, claims } = await guarded({
      calls: eachCaller(3),
      "calls-unclaimed": eachCaller(2),
    });
    const agent = (await register(local)) as RegisteredAgent & { claim: { code: string } };
    const statuses = async () => {
      const tokens = [await tokenOf(local, agent), await tokenOf(local, agent)];
      const answers = [];
      for (const each of [...tokens, ...tokens]) {
        answers.push((await ask({ authorization: `Bearer ${each}` })).status);
      }
      return answers;
    };
    expect(await statuses()).toEqual([200, 200, 429, 429]);
    const { id: accountId } = await accounts.findOrCreateByEmail("person@example.com");
    await claims.completeByPerson(
      { agentId: agent.client_id, code: agent.claim.code },
      { accountId, scopes: ["signals:read"] },
    );
    expect(await statuses()).toEqual([200, 200, 200, 429]);
  });
});

describe("a scope", () => {
  // Over MCP, tools that require a claim ask for the claim instead of answering with a 403
  // challenge; mcp-scopes.test.ts and matrix.test.ts test that.
  const paths = tools
    .filter(({ scopes }) => !scopes.includes("alerts:write"))
    .map(({ name, scopes, routes: [route] }) => ({ name, scopes, route }));

  verifies(
    ["5.3/signals-read", "5.3/factor-read", "5.3/darkpool-read"],
    "grants access only to its own tools, over REST and MCP",
    async () => {
      const held = ["signals:read", "factor:read", "darkpool:read"] as const;
      for (const scope of held) {
        const limited = await newToken(base, { scope });
        for (const path of paths) {
          await expectScope(
            limited,
            path,
            path.scopes.every((needed) => needed === scope),
          );
        }
      }
    },
  );

  async function expectScope(limited: string, path: (typeof paths)[number], isOpen: boolean) {
    const rest = await getWith(limited, `${base}${path.route?.path}?symbol=ALDER.SIM`);
    const mcp = await callTool(path.name, `Bearer ${limited}`);
    for (const response of [rest, mcp]) {
      expect(response.status === 403, path.name).toBe(!isOpen);
      if (isOpen) continue;
      expect(challengeOf(response)).toContain('error="insufficient_scope"');
      expect(challengeOf(response)).toContain(`scope="${path.scopes.join(" ")}"`);
      expect(await response.json()).toMatchObject({ code: "insufficient_scope" });
    }
  }

  it("is checked for every call in a batch", async () => {
    const limited = await newToken(base, { scope: "signals:read" });
    const call = (id: number, name: string) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name, arguments: { symbol: "ALDER.SIM" } },
    });
    const response = await postJson(
      `${base}/mcp`,
      [call(1, "get_signal"), call(2, "get_darkpool")],
      { authorization: `Bearer ${limited}`, accept: "application/json, text/event-stream" },
    );
    expect(response.status).toBe(403);
    expect(challengeOf(response)).toContain("darkpool:read");
  });
});

describe("a hostile request", () => {
  /** Sends a raw request line, which `fetch` would normalize. */
  const sendTarget = (target: string, headers: readonly string[] = []) =>
    new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(base);
      const socket = connect(Number(port), hostname, () => {
        const lines = [`GET ${target} HTTP/1.1`, "Host: x", "Connection: close", ...headers];
        socket.write(`${lines.join("\r\n")}\r\n\r\n`);
      });
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk;
      });
      socket.on("end", () => resolve(answer)).on("error", reject);
    });

  it.each(["http://[x/api/signals", "http://a:99999999/api/signals?limit=1"])(
    "is answered with 400 for the request target %s",
    async (target) => {
      const answer = await sendTarget(target, [`Authorization: Bearer ${token}`]);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain("application/problem+json");
    },
  );

  it("is rejected when it hides a token at the end of a long query", async () => {
    const padding = Array.from({ length: 1_100 }, (_, index) => `a${index}=1`).join("&");
    const response = await fetch(`${base}/mcp?${padding}&access_token=${token}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(401);
  });

  it("is answered with 400 when a message is nested too deeply or a batch is too long", async () => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`;
    for (const body of [deep, `[${Array(11).fill(list).join(",")}]`]) {
      const response = await fetch(`${base}/mcp`, { method: "POST", headers, body });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "invalid_request" });
    }
  });

  it("gets a short error, however many members are invalid", async () => {
    const args = Object.fromEntries([...Array(2_000).keys()].map((index) => [`x${index}`, 1]));
    const response = await callTool("get_signal", `Bearer ${token}`, args);
    expect((await response.text()).length).toBeLessThan(2_000);
  });

  it("is answered with 400 when it registers contacts that are not strings", async () => {
    const body = { grant_types: ["client_credentials"], contacts: [{ toString: 1 }] };
    const response = await postJson(`${base}/oauth/register`, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_client_metadata" });
  });
});

describe("an invalid request", () => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const toMcp = (body: string, changes: Record<string, string> = {}) =>
    fetch(`${base}/mcp`, { method: "POST", headers: { ...headers, ...changes }, body });

  async function expectProblem(response: Response, status: number, code: string) {
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toContain("application/problem+json");
    expect(response.headers.get("x-powered-by")).toBeNull();
    const problem = await response.json();
    expect(problem).toMatchObject({ status, code, type: `urn:market-signal:problem:${code}` });
    return problem as { detail: string; next?: string };
  }

  it("is answered with 400 when the body is not JSON", async () => {
    await expectProblem(await toMcp("{"), 400, "invalid_request");
  });

  it("is answered with 413 when the body is too large", async () => {
    await expectProblem(await toMcp(`"${"x".repeat(200_000)}"`), 413, "content_too_large");
  });

  it("is answered with 415 for another content type", async () => {
    const type = { "content-type": "text/plain" };
    await expectProblem(await toMcp("hello", type), 415, "unsupported_media_type");
    const gzip = { "content-encoding": "nonsense" };
    await expectProblem(await toMcp("{}", gzip), 415, "unsupported_media_type");
  });

  it.each([
    ["DELETE", "/api/signals", "GET, HEAD"],
    ["POST", "/api/health", "GET, HEAD"],
    ["GET", "/mcp", "POST"],
    ["DELETE", "/mcp", "POST"],
    ["PUT", "/oauth/token", "POST"],
    ["POST", "/.well-known/oauth-protected-resource", "GET, HEAD"],
    ["DELETE", "/.well-known/oauth-authorization-server", "GET, HEAD"],
  ])("is answered with 405 and the allowed methods for %s %s", async (method, path, allowed) => {
    const response = await fetch(`${base}${path}`, { method });
    await expectProblem(response, 405, "method_not_allowed");
    expect(response.headers.get("allow")).toBe(allowed);
  });

  it.each(["/nowhere", "/api", "/api/signals/x", "/oauth/nothing", "/.well-known/x", "/../etc"])(
    "is answered with 404 at %s",
    async (path) => {
      await expectProblem(await fetch(`${base}${path}`), 404, "not_found");
    },
  );

  it("is answered with 400 for a path that cannot be decoded", async () => {
    await expectProblem(await fetch(`${base}/oauth/register/%ff`), 400, "invalid_request");
  });

  it("is answered with 404 and similar symbols for an unknown symbol", async () => {
    const response = await getWith(token, `${base}/api/signals?symbol=ALDRE.SIM`);
    const { next } = await expectProblem(response, 404, "unknown_symbol");
    expect(next).toBeDefined();
    const typo = await getWith(token, `${base}/api/signals?symbol=ALDE.SIM`);
    expect((await expectProblem(typo, 404, "unknown_symbol")).next).toContain("ALDER.SIM");
  });

  it.each([
    ["symbol=ALDER.SIM&symbol=BRINE.SIM", "symbol"],
    ["symbol=", "symbol"],
    ["symbol=ALDER.SIM&typo=1", "typo"],
    ["limit=ten", "limit"],
    ["limit=", "limit"],
    ["limit=-1", "limit"],
    ["minScore=NaN", "minScore"],
    ["signal=BUY", "signal"],
    ["symbol=ALDER.SIM&asOf=yesterday", "asOf"],
    ["__proto__=1", "__proto__"],
    ["from=2026-11-21T00:00:00Z", "from"],
    ["symbol=ALDER.SIM&from=2030-01-01T00:00:00Z", "from, to"],
    ["symbol=ALDER.SIM&from=2026-11-21T00:00:00Z&asOf=2026-11-21T04:00:00Z", "asOf"],
    ["symbol=ALDER.SIM&cursor=zzz", "cursor"],
    ["symbol=%20", "symbol"],
    ["symbol=ALDER.%C5%BFIM", "symbol"],
    ["symbol=ALDER.SIM&from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z", "from, to"],
  ])("is answered with 400 and the name of the invalid parameter: ?%s", async (query, named) => {
    const response = await getWith(token, `${base}/api/signals?${query}`);
    const { detail } = await expectProblem(response, 400, "invalid_request");
    expect(detail).toContain(named);
  });

  it.each([
    "https://evil.example",
    "http://localhost.evil.example",
    "null",
    "http://127.0.0.1.nip.io:80",
  ])("is answered with 403 at /mcp for a page from %s", async (origin) => {
    await expectProblem(await toMcp("{}", { origin }), 403, "forbidden_origin");
  });

  it("does not include a request to /mcp by a browser-based tool on localhost, which is accepted", async () => {
    expect((await toMcp("{}", { origin: "http://localhost:6274" })).status).not.toBe(403);
  });

  it("is never logged as an internal error", () => {
    expect(running.logged).toEqual([]);
  });
});
