// @module-tag full

import { spawn } from "node:child_process";
import { linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { allScopes, type Scope } from "../../src/access/scopes.ts";
import { recordedHttpExchanges } from "../../src/openapi/exchanges.ts";
import { METHOD_RELEASE } from "../../src/score/snapshot.ts";
import { newToken, register, tokenOf } from "../support/agent.ts";
import {
  createAnswerChecker,
  type Described,
  type Description,
  describedIn,
} from "../support/checks-answers.ts";
import { freePort } from "../support/free-port.ts";
import { authorizationRequest, registerPublic } from "../support/person.ts";
import { temporaryFolder } from "../support/process.ts";
import { smallMarket } from "../support/small-market.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";

const testService = await startTestService();
const { base } = testService;
/** A recorded market requires a credential for log entries, which are public in the sandbox. */
const folder = await smallMarket();
const range = { from: Date.UTC(2014, 2, 3), to: Date.UTC(2014, 2, 28), daysPerSecond: 4 };
const replay = await startTestService({}, { market: { kind: "replay", folder, ...range } });
const document = (await (await fetch(`${base}/docs/api/openapi.json`)).json()) as Description;

const described = describedIn(document);
const witness = createAnswerChecker(document);

/** Documented problem codes of an operation for a status. */
const codesOf = ({ operation }: Described, status: number): readonly string[] =>
  operation.responses[status]?.$ref?.split("/").at(-1)?.split(".") ?? [];

const withProblem = (status: number, code: string) =>
  described.filter((one) => codesOf(one, status).includes(code));

const scopesOf = ({ operation }: Described): readonly Scope[] =>
  operation.security.flatMap(({ oauth2 = [] }) => oauth2);

const OPEN_IN_SANDBOX = ["get_log_entries", "get_log_proof"];

/** Credentials for a service: an API key with all scopes, and tokens with a single scope each. */
const credentialsAt = async (to: string, key: Promise<string>) => ({
  to,
  key: await key,
  reader: await newToken(to, { scope: "signals:read" }),
  other: await newToken(to, { scope: "factor:read" }),
});

const atSandbox = await credentialsAt(base, testService.person().createKey(allScopes));
const atReplay = await credentialsAt(replay.base, replay.person().createKey(allScopes));
const { key } = atSandbox;

/** Selects the service at which an operation requires a credential. */
const protectedAt = ({ operation: { operationId } }: Described) =>
  OPEN_IN_SANDBOX.includes(operationId) ? atReplay : atSandbox;

/** Headers, body, path parameters and query of a request. */
interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Values of the path parameters, by name. */
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly to?: string;
}

/** Default values of the path parameters. */
const IDS: Readonly<Record<string, string>> = {
  version: METHOD_RELEASE,
  widget: "market",
  bundle: "000.p/1",
  tile: "0/000.p/1",
};

/** Queries of the operations that require a query. */
const QUERIES: Readonly<Record<string, string>> = { get_log_consistency: "?from=1&to=1" };

/** Sends a request, and checks the answer against the OpenAPI document. */
async function send(one: Described, sent: Sent = {}): Promise<Response> {
  const { headers = {}, body, ids = {}, to = base } = sent;
  const { query = QUERIES[one.operation.operationId] ?? "" } = sent;
  const path = one.path.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? IDS[name] ?? "x");
  const response = await fetch(to + path + query, {
    ...{ method: one.method, redirect: "manual", headers },
    ...(body !== undefined && { body }),
  });
  await witness.saw(one, response);
  return response;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const JSON_TYPE = { "content-type": "application/json" };

/** Returns the status and code of a problem document. */
async function problemOf(response: Response): Promise<string> {
  expect(response.headers.get("content-type")).toContain("application/problem+json");
  const { code } = (await response.json()) as { readonly code: string };
  return `${response.status} ${code}`;
}

const takesBody = ({ method }: Described): boolean => method === "POST" || method === "PATCH";

/** Additional input that makes a request valid except for its unknown id. */
const asked: Readonly<Record<string, { readonly query?: string; readonly body?: object }>> = {
  get_alert_events: { query: "?alertId=alert_0000000000000000" },
  update_alert: { body: { label: "Mine" } },
  get_signal: { query: "?watchlist=none" },
  register_alert: { body: { watchlist: "none" } },
  change_watchlist: { body: { action: "remove", symbols: ["ALDER.SIM"] } },
  redeliver_alert_events: { body: { since: "2026-11-21T00:00:00Z" } },
  verify_signal: { query: "?index=999999" },
  get_log_consistency: { query: "?from=1&to=999999" },
};

/** Query for one page of the panel of stocks. */
const PANEL = "?assetClass=stock&limit=100";

/** Invalid queries for operations that ignore unknown parameters. */
const INVALID_QUERIES: Readonly<Record<string, string>> = {
  get_openbb_widget: "?minCoverage=most",
};

/** Operations that answer 404 in a market with a stopped clock, which has no log. */
const WITHOUT_LOG = ["get_log_checkpoint", "get_log_keys", "get_track_record"];

const nameOf = ({ operation }: Described) => operation.operationId;

describe("the documented error", () => {
  it.each(withProblem(401, "unauthenticated").map((one) => [nameOf(one), one] as const))(
    "of %s is returned without a credential",
    async (_name, one) => {
      const response = await send(one, { to: protectedAt(one).to });
      expect(response.headers.get("www-authenticate")).toContain("resource_metadata=");
      expect(await problemOf(response)).toBe("401 unauthenticated");
    },
  );

  const scoped = withProblem(403, "insufficient_scope").filter((one) => scopesOf(one).length > 0);

  it.each(scoped.map((one) => [nameOf(one), one] as const))(
    "of %s is returned without its scope",
    async (_name, one) => {
      const { to, reader, other } = protectedAt(one);
      const token = scopesOf(one).includes("signals:read") ? other : reader;
      expect(await problemOf(await send(one, { to, headers: bearer(token) }))).toBe(
        "403 insufficient_scope",
      );
    },
  );

  const wrong = withProblem(400, "invalid_request").filter((one) => nameOf(one) !== "call_mcp");

  it.each(wrong.map((one) => [nameOf(one), one] as const))(
    "of %s is returned for invalid input",
    async (_name, one) => {
      const hasBody = takesBody(one);
      const body = hasBody ? { body: JSON.stringify({ email: "x", cursor: 1, nonsense: 1 }) } : {};
      const nonsense = hasBody ? "" : `?nonsense=1&cursor=${"x".repeat(201)}`;
      const query = INVALID_QUERIES[nameOf(one)] ?? nonsense;
      const headers = { ...bearer(key), ...(hasBody && JSON_TYPE) };
      const ids = { index: "x" };
      expect(await problemOf(await send(one, { headers, ...body, query, ids }))).toBe(
        "400 invalid_request",
      );
    },
  );

  it.each(withProblem(415, "unsupported_media_type").map((one) => [nameOf(one), one] as const))(
    "of %s is returned for another content type",
    async (_name, one) => {
      const headers = { ...bearer(key), "content-type": "text/plain" };
      const response = await send(one, { headers, body: "x" });
      expect(await problemOf(response)).toBe("415 unsupported_media_type");
    },
  );

  it.each(withProblem(413, "content_too_large").map((one) => [nameOf(one), one] as const))(
    "of %s is returned for a body that is too large",
    async (_name, one) => {
      const isForm = one.path === "/oauth/token" || one.path === "/oauth/revoke";
      const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
      const headers = { ...bearer(key), "content-type": type };
      const response = await send(one, { headers, body: `"${"x".repeat(200_000)}"` });
      expect(await problemOf(response)).toBe("413 content_too_large");
    },
  );

  const unknown = withProblem(404, "not_found").filter((one) => !WITHOUT_LOG.includes(nameOf(one)));

  it.each(unknown.map((one) => [nameOf(one), one] as const))(
    "of %s is returned for an unknown id",
    async (name, one) => {
      const { query, body = {} } = asked[name] ?? {};
      const response = await send(one, {
        ids: {
          version: "9.9.9",
          index: "999999",
          bundle: "999",
          tile: "0/999",
          widget: "nonsense",
        },
        ...(query !== undefined && { query }),
        ...(takesBody(one)
          ? { headers: { ...bearer(key), ...JSON_TYPE }, body: JSON.stringify(body) }
          : { headers: bearer(key) }),
      });
      expect(await problemOf(response)).toBe("404 not_found");
    },
  );

  it("of the log operations is returned in a market with a stopped clock", async () => {
    const asOf = new Date(range.to);
    const standing = await startTestService({}, { market: { kind: "files", folder, asOf } });
    const { base: to } = standing;
    const headers = bearer(await standing.person().createKey(allScopes));
    for (const id of WITHOUT_LOG) {
      expect(await problemOf(await call(id, { to, headers }))).toBe("404 not_found");
    }
  });
});

const operations = new Map(described.map((one) => [nameOf(one), one]));

/** Sends a request to the operation with this operationId. */
async function call(id: string, sent: Sent = {}): Promise<Response> {
  const one = operations.get(id);
  if (one === undefined) throw new Error(`no operation ${id}`);
  return send(one, sent);
}

/** Builds a request with a JSON body and a credential. */
const json = (body: unknown, token = key): Sent => ({
  headers: { ...bearer(token), ...JSON_TYPE },
  body: JSON.stringify(body),
});

const form = (fields: Readonly<Record<string, string>>): Sent => ({
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: String(new URLSearchParams(fields)),
});

/** Awaits several answers. @returns Their statuses. */
const statusesOf = async (answers: readonly Promise<Response>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

const SYMBOL = { symbols: ["ALDER.SIM"] };

describe("the documented answer", () => {
  const open = described.filter(
    ({ method, operation: { security, responses } }) =>
      method === "GET" && security.length === 0 && "200" in responses,
  );

  it.each(open.map((one) => [nameOf(one), one] as const))(
    "of %s is returned to everyone",
    async (_, one) => {
      expect((await send(one)).status).toBe(200);
      if (one.operation.responses[304] === undefined) return;
      expect((await send(one, { headers: { "if-none-match": "*" } })).status).toBe(304);
    },
  );

  it("of the API reference is a redirect for a browser at another host name", async () => {
    const to = base.replace("127.0.0.1", "localhost");
    const response = await call("get_reference", { to, headers: { accept: "text/html" } });
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toBe(`${base}/docs/api`);
  });

  it("of the method and the event stream is returned to authorized callers", async () => {
    expect((await call("get_method", { headers: bearer(key) })).status).toBe(200);
    const known = { ...bearer(key), "if-none-match": "*" };
    expect((await call("get_method", { headers: known })).status).toBe(304);
    const response = await call("stream_alert_events", { headers: bearer(key) });
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });

  it("of cacheable resources is 304 for a conditional request", async () => {
    const headers = { ...bearer(key), "if-none-match": "*" };
    for (const id of ["get_signal", "get_factors", "get_darkpool", "find_instruments"]) {
      const query = id === "find_instruments" ? "" : "?symbol=ALDER.SIM";
      expect((await call(id, { headers, query })).status, id).toBe(304);
    }
  });

  it("of a widget is returned to callers with the scopes of its tool", async () => {
    const headers = bearer(key);
    const ids = { widget: "signal" };
    expect(
      await statusesOf([
        call("get_openbb_widget", { headers }),
        call("get_openbb_widget", { headers: { ...headers, "if-none-match": "*" } }),
        call("get_openbb_widget", { headers: bearer(atSandbox.other) }),
        call("get_openbb_widget", { headers, ids, query: "?symbol=NOSUCH" }),
      ]),
    ).toEqual([200, 304, 403, 404]);
  });

  it("of the log operations is returned to authorized callers", async () => {
    const { to, key: own } = atReplay;
    const headers = bearer(own);
    expect(
      await statusesOf([
        call("get_log_entries", { to, headers }),
        call("get_log_proof", { to, headers, ids: { index: "0" } }),
        call("verify_signal", { headers: bearer(key), query: "?symbol=ALDER.SIM" }),
        call("get_track_record", { headers: bearer(key) }),
        call("export_panel", { headers: bearer(key), query: PANEL }),
        call("export_panel", { headers: { ...bearer(key), "if-none-match": "*" }, query: PANEL }),
        call("verify_signal", {
          headers: bearer(key),
          query: "?symbol=ALDER.SIM&asOf=2000-01-01T00:00:00Z",
        }),
      ]),
    ).toEqual([200, 200, 200, 200, 200, 304, 422]);
  });

  it("of an authorization request is returned", async () => {
    const { client_id } = await registerPublic(base);
    const { url } = authorizationRequest(base, { client_id });
    expect((await call("authorize", { query: url.search })).status).toBe(303);
    expect((await call("authorize", { query: "?client_id=nobody" })).status).toBe(400);
  });

  it("of the market operations is returned for an unknown symbol or time", async () => {
    for (const id of ["get_signal", "get_factors", "get_darkpool"]) {
      const headers = bearer(key);
      const unknown = call(id, { headers, query: "?symbol=NOSUCH" });
      const past = call(id, { headers, query: "?symbol=ALDER.SIM&asOf=2000-01-01T00:00:00Z" });
      expect(await statusesOf([unknown, past]), id).toEqual([404, 422]);
    }
    const query = `?tables=${encodeURIComponent("stock/none/x")}`;
    expect((await call("get_method", { headers: bearer(key), query })).status).toBe(422);
  });

  it("of an alert action is returned when the alert is in the wrong state", async () => {
    const made = await call("register_alert", json(SYMBOL));
    const { id } = (await made.json()) as { readonly id: string };
    const ids = { id, eventId: "evt_x" };
    const since = "2026-11-21T00:00:00Z";
    expect(
      await statusesOf([
        call("test_alert", { ...json({}), ids }),
        call("rotate_alert_secret", { ...json({}), ids }),
        call("enable_alert", { ...json({}), ids }),
        call("redeliver_alert_events", { ...json({ since }), ids }),
        call("redeliver_alert_event", { ...json({}), ids }),
        call("update_alert", { ...json({ url: "https://hooks.example.com/x" }), ids }),
        call("update_alert", { ...json({ symbols: ["NOSUCH"] }), ids }),
        call("register_alert", json({ symbols: ["NOSUCH"] })),
      ]),
    ).toEqual([409, 409, 409, 409, 409, 409, 404, 404]);
  });

  it("of alert operations is returned when the quota is exceeded", async () => {
    const own = await testService.person().createKey(allScopes);
    const once = { "idempotency-key": "one", ...json(SYMBOL, own).headers };
    await call("register_alert", { ...json(SYMBOL, own), headers: once });
    const other = { ...json({ assetClass: "crypto" }, own), headers: once };
    expect((await call("register_alert", other)).status).toBe(422);
    await Promise.all(Array.from({ length: 99 }, () => call("register_alert", json(SYMBOL, own))));
    expect((await call("register_alert", json(SYMBOL, own))).status).toBe(409);
  });

  it("of watchlist operations is returned when the quota is exceeded, a symbol is unknown, or an alert watches the list", async () => {
    const own = await testService.person().createKey(allScopes);
    const set = (watchlist: string, symbols = SYMBOL.symbols) =>
      call("set_watchlist", json({ watchlist, symbols }, own));
    await Promise.all(Array.from({ length: 50 }, (_, index) => set(`list ${index}`)));
    await call("register_alert", json({ watchlist: "list 1" }, own));
    const added = { ...json({ action: "add", ...SYMBOL }, own), ids: { watchlist: "more" } };
    expect(
      await statusesOf([
        set("more"),
        set("list 1", ["NOSUCH"]),
        call("change_watchlist", added),
        call("delete_watchlist", { headers: bearer(own), ids: { watchlist: "list 1" } }),
      ]),
    ).toEqual([409, 404, 409, 409]);
  });

  it("of client endpoints is returned to clients that are invalid or fail authentication", async () => {
    const agent = await register(base);
    const { client_id, client_secret, registration_access_token: own } = agent;
    const grant_type = "client_credentials";
    const ids = { client_id };
    expect(
      await statusesOf([
        call("register_client", json({ grant_types: 1 })),
        call("get_client", { ids }),
        call("update_client", { ...json({}, "x"), ids }),
        call("delete_client", { ids }),
        call("update_client", { ...json({ grant_types: 1 }, own), ids }),
        call("get_token", form({ grant_type: "nonsense", client_id, client_secret })),
        call("get_token", form({ grant_type, client_id, client_secret: "wrong" })),
        call("revoke_token", form({})),
        call("revoke_token", form({ token: "x", client_id, client_secret: "wrong" })),
      ]),
    ).toEqual([400, 401, 401, 401, 400, 400, 401, 400, 401]);
  });

  it("of claim operations is returned", async () => {
    const agent = await register(base);
    const { client_id: agent_id, claim } = agent as typeof agent & { claim: { code: string } };
    const [token, person] = [await tokenOf(base, agent), await testService.person().tokens()];
    const wrong = { agent_id, claim_code: "00000000" };
    expect(
      await statusesOf([
        call("claim_agent", json({}, token)),
        call("claim_agent", json(wrong, person.access_token)),
        call("claim_agent", json(wrong, "x")),
        call("claim_agent", json({ ...wrong, agent_id: "agt_1" }, token)),
        call("claim_agent", json(wrong, token)),
        call("start_claim", json({}, token)),
        call("start_claim", json({ agent_id }, "x")),
        call("start_claim", json({ agent_id: "agt_1" }, token)),
      ]),
    ).toEqual([400, 400, 401, 403, 409, 400, 401, 403]);
    await testService.person().claim(agent_id, claim.code);
    const claimed = await tokenOf(base, agent);
    expect((await call("start_claim", json({ agent_id }, claimed))).status).toBe(409);
  });
});

it("the userinfo endpoint answers as documented", async () => {
  const person = testService.person();
  const { access_token: told } = await person.tokens({ scope: "openid signals:read" });
  const { access_token: untold } = await person.tokens({ scope: "signals:read" });
  for (const id of ["get_user_info", "post_user_info"]) {
    expect(
      await statusesOf([
        call(id, { headers: bearer(told) }),
        call(id, { headers: bearer(untold) }),
        call(id, { headers: bearer("x") }),
      ]),
    ).toEqual([200, 403, 401]);
  }
});

const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A JSON-RPC message, its HTTP headers, and the expected HTTP status and JSON-RPC error code. */
const messages: readonly (readonly [
  what: string,
  message: unknown,
  headers: Readonly<Record<string, string>>,
  answered: readonly [status: number, code: number | undefined],
])[] = [
  ["a notification", { jsonrpc: "2.0", method: "notifications/initialized" }, {}, [202, undefined]],
  ["an object that is not a JSON-RPC message", { hello: 1 }, {}, [400, -32600]],
  [
    "a message without the _meta that its revision requires",
    { jsonrpc: "2.0", id: 1, method: "tools/list" },
    { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
    [400, -32602],
  ],
  [
    "a message that the headers contradict",
    { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } },
    { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" },
    [400, -32020],
  ],
  [
    "an unknown protocol revision",
    {
      ...{ jsonrpc: "2.0", id: 1, method: "tools/list" },
      params: { _meta: { ..._meta, "io.modelcontextprotocol/protocolVersion": "2099-01-01" } },
    },
    { "mcp-protocol-version": "2099-01-01", "mcp-method": "tools/list" },
    [400, -32022],
  ],
  [
    "an unknown method",
    { jsonrpc: "2.0", id: 1, method: "nonsense", params: { _meta } },
    { "mcp-protocol-version": "2026-07-28", "mcp-method": "nonsense" },
    [404, -32601],
  ],
  [
    "a client that does not accept event streams",
    { jsonrpc: "2.0", id: 1, method: "tools/list" },
    { "mcp-protocol-version": "2025-11-25", accept: "application/json" },
    [406, -32000],
  ],
];

describe("the documented answer of the MCP endpoint", () => {
  const accept = "application/json, text/event-stream";

  it.each(messages)("is returned for %s", async (_what, message, changes, [status, code]) => {
    const headers = { ...bearer(key), ...JSON_TYPE, accept, ...changes };
    const response = await call("call_mcp", { headers, body: JSON.stringify(message) });
    expect(response.status).toBe(status);
    if (code !== undefined) expect(await response.json()).toMatchObject({ error: { code } });
  });

  it("is returned for a body that is not JSON, and for a foreign origin", async () => {
    const headers = { ...bearer(key), ...JSON_TYPE, accept };
    const broken = await call("call_mcp", { headers, body: "{" });
    expect(await problemOf(broken)).toBe("400 invalid_request");
    const origin = "https://elsewhere.example";
    const foreign = await call("call_mcp", { headers: { ...headers, origin }, body: "{}" });
    expect(await problemOf(foreign)).toBe("403 forbidden_origin");
  });
});

/** Operations of OAuth that count as visits only. */
const ONLY_VISITS = ["get_user_info", "post_user_info", "get_client", "revoke_token"];

it("every route answers an exceeded rate limit as documented", async () => {
  const never = ["authorizations", "submissions", "claims", "calls"];
  const limits = [
    ...never.map((name) => `${name}=0/0/0`),
    // The key below is the only change that the network may make.
    ...["registrations=2/100/1000", "token-requests=1/100/1000", "changes=1/1/9"],
  ].join(" ");
  const strict = await startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} ${limits}` });
  // At public routes, this limit applies before the endpoint checks its own quota.
  const closed = await startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} visits=0/0/0` });
  const agent = await register(strict.base);
  const { client_id, client_secret, registration_access_token: own } = agent;
  const grant_type = "client_credentials";
  const token = await tokenOf(strict.base, agent);
  const limited = await strict.person().createKey(allScopes);
  const claim = { agent_id: client_id, claim_code: "00000000" };
  const asking = { client_id: (await registerPublic(strict.base)).client_id };
  const requests: Readonly<Record<string, Sent>> = {
    get_token: form({ grant_type, client_id, client_secret }),
    authorize: { query: authorizationRequest(strict.base, asking).url.search },
    revoke_token: form({ token: "x" }),
    claim_agent: json(claim, token),
    start_claim: json({ agent_id: client_id }, own),
    apply: json({ name: "Somebody", email: "someone@example.com" }),
    contact: json({ email: "someone@example.com", message: "Hello" }),
  };
  const testServicesOf = (one: Described) => {
    if (ONLY_VISITS.includes(nameOf(one))) return [closed];
    if (one.path.startsWith("/oauth/")) return [strict, closed];
    if (OPEN_IN_SANDBOX.includes(nameOf(one))) return [closed];
    return one.method === "GET" && one.operation.security.length === 0 ? [closed] : [strict];
  };
  for (const one of described.filter(({ operation }) => "429" in operation.responses)) {
    const usual = takesBody(one) ? json({}, limited) : { headers: bearer(limited) };
    for (const { base: to } of testServicesOf(one)) {
      const response = await send(one, { ...(requests[nameOf(one)] ?? usual), to });
      expect([nameOf(one), response.status]).toEqual([nameOf(one), 429]);
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  }
});

it("every public route answers as documented when an address exceeds its rate limit", async () => {
  const closed = await startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} visits=0/0/0` });
  const unlimited = ["get_health", "get_liveness", "get_readiness"];
  for (const one of described.filter(({ operation }) => operation.security.length === 0)) {
    if (one.method !== "GET") continue;
    const { status } = await send(one, { to: closed.base });
    if (unlimited.includes(nameOf(one))) continue;
    const isDescribed = "429" in one.operation.responses;
    expect([nameOf(one), status, isDescribed]).toEqual([nameOf(one), 429, true]);
  }
});

/**
 * A market folder that takes many times as long to load as the answers of the test: 55 years of days
 * of 150 coins, whose bars are one file with many names.
 */
function slowFolder(): string {
  const folder = temporaryFolder();
  const symbols = Array.from({ length: 150 }, (_, index) => `COIN${index}-USD`);
  const days = Array.from({ length: 20_000 }, (_, day) => {
    const close = 100 + (day % 10);
    return `${new Date(day * 86_400_000).toISOString().slice(0, 10)},${close},${close + 1},${close - 1},${close},1000,0,1`;
  });
  const bars = join(folder, "all");
  mkdirSync(join(folder, "bars"));
  writeFileSync(bars, ["date,open,high,low,close,volume,dividend,split", ...days, ""].join("\n"));
  for (const symbol of symbols) linkSync(bars, join(folder, "bars", `${symbol}.csv`));
  const rows = symbols.map((symbol) => `${symbol},${symbol},crypto,,USD,`);
  const instruments = ["symbol,name,assetClass,exchange,currency,sector", ...rows, ""];
  writeFileSync(join(folder, "instruments.csv"), instruments.join("\n"));
  return folder;
}

it("every route answers as documented while the service is starting", async () => {
  const port = await freePort();
  const child = spawn(process.execPath, ["src/main.ts"], {
    env: {
      PATH: process.env.PATH ?? "",
      ...{ PORT: port, DATA_DIR: temporaryFolder(), MARKET: `files:${slowFolder()}` },
    },
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const to = `http://127.0.0.1:${port}`;
  const isThere = () => fetch(to).catch(() => child.exitCode !== null);
  while ((await isThere()) === false);
  // All at once, since the load of a file holds every request up.
  const answers = await Promise.all(
    described.map(async (one) => {
      const response = await send(one, { to, ...(takesBody(one) && json({})) });
      return [nameOf(one), await problemOf(response)];
    }),
  );
  expect(answers).toEqual(described.map((one) => [nameOf(one), "503 not_ready"]));
});

/** Documented statuses that these tests do not produce, with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  "update_alert 422": "needs a live market, where a symbol is followed before its first price",
  "set_watchlist 422": "as update_alert",
  "change_watchlist 422": "as update_alert",
  "get_openbb_widget 422": "as update_alert",
  "register_client 401": "needs a trusted issuer of assertions",
};

describe("the observed answers", () => {
  it("match the OpenAPI document", () => {
    expect(witness.faults()).toEqual([]);
  });

  it("cover every documented status except 500 and the exceptions listed in this test", () => {
    for (const [id, named] of Object.entries(recordedHttpExchanges)) {
      for (const { status } of Object.values(named)) witness.knows(id, status);
    }
    const unseen = witness.unseen().filter((name) => !name.endsWith(" 500"));
    expect(unseen).toEqual(Object.keys(elsewhere));
  });
});
