import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { LastUseTracker } from "../../src/access/last-use.ts";
import type { Scope } from "../../src/access/scopes.ts";
import { ApiKeyService } from "../../src/principals/keys/api-keys.ts";
import { METHOD_RELEASE } from "../../src/score/snapshot.ts";
import { newToken } from "../support/agent.ts";
import { startTestService } from "../support/test-service.ts";

const testService = await startTestService();
const { base, clock, service } = testService;

async function newKey(...scopes: readonly Scope[]): Promise<string> {
  const { records } = service.state.store;
  const now = () => clock.now;
  const lastUse = new LastUseTracker({ records, now, onError: () => {} });
  const keys = new ApiKeyService({ records, mode: "sandbox", now, audit: () => [], lastUse });
  return (await keys.create({ name: "Desk", scopes, actor: "operator" })).key;
}

const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

const [token, narrow, forMcp, key, wideKey] = await Promise.all([
  newToken(base),
  newToken(base, { scope: "factor:read" }),
  newToken(base, { resource: `${base}/mcp` }),
  newKey("signals:read"),
  newKey("signals:read", "factor:read"),
]);

type Headers = Readonly<Record<string, string | string[]>>;

interface Said {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Sends a raw request, in which header fields may be repeated. */
function ask(path: string, headers: Headers = {}, method = "GET"): Promise<Said> {
  return new Promise((resolve, reject) => {
    const sent = request(`${base}${path}`, { method, headers }, (res) => {
      const parts: Buffer[] = [];
      res.on("data", (part) => parts.push(part));
      res.on("end", () => {
        const body = Buffer.concat(parts).toString();
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body });
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** An answer without the headers that differ from request to request. */
function comparable({ status, headers, body }: Said) {
  const { date: _, "x-request-id": __, ratelimit, "content-length": length, ...rest } = headers;
  const isProblem = status >= 400;
  const { instance: ___, requestId: ____, ...members } = isProblem ? JSON.parse(body) : {};
  return {
    ...{ status, rest, body: isProblem ? members : body },
    limit: String(ratelimit).replace(/;r=\d+;t=\d+/, ""),
    length: isProblem ? undefined : length,
  };
}

const paths = [
  "/api/signals",
  "/api/signals?symbol=ALDER.SIM",
  "/api/signals?symbol=alder.sim",
  "/api/signals?symbols=ALDER.SIM,BYTEN.SIM&symbols=GLIMO.SIM",
  "/api/signals?symbol=ALDER.SIM&from=2026-11-21T04:00:00Z&limit=2",
  "/api/signals?symbol=ALDER.SIM&asOf=2036-01-01T00:00:00Z",
  "/api/signals?symbol=NOBODY",
  "/api/signals?limit=none",
  "/api/signals?limit=3&limit=4",
  "/api/signals?unknown=1",
  "/api/signals?symbol=%00",
  "/api/factors?symbol=ALDER.SIM",
  "/api/factors",
  "/api/darkpool?symbol=ALDER.SIM&view=days",
  "/api/instruments?query=al&limit=2",
  "/api/instruments?limit=501",
];

const credentials: Readonly<Record<string, Headers>> = {
  "no credential": {},
  "a token": bearer(token),
  "an API key": { "x-api-key": key },
  "an API key as a bearer token": bearer(key),
  "a token as an API key": { "x-api-key": token },
  "an unknown token": bearer("unknown"),
  "an empty API key": { "x-api-key": "" },
  "another authentication scheme": { authorization: "Basic YTpi" },
  "a token without the scope": bearer(narrow),
  "a token for /mcp only": bearer(forMcp),
  "two credentials": { ...bearer(token), "x-api-key": key },
  "two tokens": { authorization: [`Bearer ${token}`, `Bearer ${token}`] },
};

/** Adds a trailing slash to the path, so that Express handles the request. */
const inExpress = (path: string) => path.replace(/^\/api\/\w+/, "$&/");

describe("the fast path for reads answers like Express", () => {
  it.each(Object.keys(credentials))("for a request with %s", async (name) => {
    for (const path of paths) {
      const headers = credentials[name] ?? {};
      const [fast, slow] = [await ask(path, headers), await ask(inExpress(path), headers)];
      expect(comparable(fast), path).toEqual(comparable(slow));
    }
  });

  it.each(["access_token", "api_key", "x-api-key", "api%5Fkey", "%61ccess_token", "X-API-KEY"])(
    "for a request with a credential in the URL as %s",
    async (name) => {
      const path = `/api/signals?${name}=${key}`;
      const [fast, slow] = [
        await ask(path, bearer(token)),
        await ask(inExpress(path), bearer(token)),
      ];
      expect(fast.status).toBe(name === "X-API-KEY" ? 400 : 401);
      expect(comparable(fast)).toEqual(comparable(slow));
    },
  );
});

describe("answers that all callers with the same scopes share", () => {
  const path = "/api/signals?symbol=ALDER.SIM";

  it.each([path, inExpress(path), `/api/method/${METHOD_RELEASE}`, "/api/instruments"])(
    "support conditional requests: %s",
    async (address) => {
      const credential = address.includes("method") ? bearer(narrow) : bearer(token);
      const { status, headers, body } = await ask(address, credential);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        ...{ etag: expect.stringMatching(/^"[\w-]{43}"$/), "cache-control": "private, no-cache" },
        ...{
          vary: "Accept, Authorization, X-Api-Key, Accept-Encoding",
          "content-length": String(Buffer.byteLength(body)),
        },
      });
      const etag = String(headers.etag);
      for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const known = await ask(address, { ...credential, "if-none-match": condition });
        expect(known).toMatchObject({ status: 304, body: "", headers: { etag } });
        expect(known.headers).toMatchObject({
          ...{
            "cache-control": "private, no-cache",
            vary: "Accept, Authorization, X-Api-Key, Accept-Encoding",
          },
          ...{ ratelimit: expect.any(String), "ratelimit-policy": expect.any(String) },
        });
        expect(known.headers["content-type"]).toBeUndefined();
      }
      const other = await ask(address, { ...credential, "if-none-match": '"other"' });
      expect(other).toMatchObject({ status: 200, body });
    },
  );

  it("have the same headers for HEAD as for GET", async () => {
    const [get, head] = [await ask(path, bearer(token)), await ask(path, bearer(token), "HEAD")];
    expect(head.body).toBe("");
    expect(comparable({ ...head, body: get.body })).toEqual(comparable(get));
    const etag = String(get.headers.etag);
    const known = await ask(path, { ...bearer(token), "if-none-match": etag }, "HEAD");
    expect(known).toMatchObject({ status: 304, body: "", headers: { etag } });
  });

  it("contain the points of each factor only for callers with factor:read", async () => {
    const [wide, plain] = [await ask(path, bearer(token)), await ask(path, { "x-api-key": key })];
    const { why, ...rest } = JSON.parse(wide.body);
    expect(Object.keys(why)).toEqual(["momentum", "valuation", "social", "darkpool"]);
    expect(JSON.parse(plain.body)).toEqual(rest);
    expect(plain.headers.etag).not.toBe(wide.headers.etag);
  });

  it("are byte-identical for all those callers, and change after the next session", async () => {
    const one = await ask(path, bearer(token));
    const same = await ask(path, { "x-api-key": wideKey });
    expect(same.body).toBe(one.body);
    expect(same.headers.etag).toBe(one.headers.etag);
    clock.now = new Date(clock.now.getTime() + 60_000);
    service.refresh();
    const headers = { ...bearer(token), "if-none-match": String(one.headers.etag) };
    const next = await ask(path, headers);
    expect(next.status).toBe(200);
    expect(next.headers.etag).not.toBe(one.headers.etag);
    expect(JSON.parse(next.body).asOf).not.toBe(JSON.parse(one.body).asOf);
  });

  it.each([
    ["401 without a credential", {}, 401],
    ["401 with an unknown token", bearer("unknown"), 401],
    ["403 without the scope", bearer(narrow), 403],
  ])(
    "are withheld from callers without access, even for a conditional request: %s",
    async (_name, headers, status) => {
      const refused = await ask(path, { ...headers, "if-none-match": "*" });
      expect(refused.status).toBe(status);
      expect(refused.headers).toMatchObject({ "cache-control": "no-store" });
      expect(refused.headers.etag).toBeUndefined();
    },
  );
});

it("answers that depend on the caller have no ETag and are not cacheable", async () => {
  const person = testService.person();
  const { access_token } = await person.tokens();
  for (const path of ["/api/alerts", "/api/alerts/events"]) {
    const { status, headers } = await ask(path, { ...bearer(access_token), "if-none-match": "*" });
    expect(status).toBe(200);
    expect(headers.etag).toBeUndefined();
    expect(headers["cache-control"]).toBe("no-store");
  }
});

it("every read counts once against the rate limit, whatever its status, even with If-None-Match", async () => {
  const limited = await startTestService({
    RATE_LIMITS: "calls-unclaimed=4/100000/1000000 visits=1000/100000/1000000",
  });
  const headers = bearer(await newToken(limited.base));
  const statuses: number[] = [];
  const left: (string | null)[] = [];
  for (const query of ["", "?limit=1", "?limit=none", "?symbol=NOBODY", "?limit=1", ""]) {
    const answer = await fetch(`${limited.base}/api/signals${query}`, {
      headers: { ...headers, "if-none-match": "*" },
    });
    statuses.push(answer.status);
    left.push(/r=(\d+)/.exec(answer.headers.get("ratelimit") ?? "")?.[1] ?? null);
    if (answer.status === 429) expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
  }
  expect(statuses).toEqual([304, 304, 400, 404, 429, 429]);
  expect(left).toEqual(["3", "2", "1", "0", "0", "0"]);
});
