import { describe, expect, it } from "vitest";
import { register } from "../support/agent.ts";
import { LOOSE_LIMITS, startTestService, type TestService } from "../support/test-service.ts";

type Headers = Readonly<Record<string, string>>;

const FORM = "application/x-www-form-urlencoded";

/**
 * An equivalent content type that the fast path does not recognize, so that Express handles the
 * request.
 */
const IN_EXPRESS = `${FORM}; charset=utf-8; path=express`;

interface Said {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask({ base }: TestService, body: string, headers: Headers = {}): Promise<Said> {
  const url = `${base}/oauth/token`;
  const init = { method: "POST", headers: { "content-type": FORM, ...headers }, body };
  const answer = await fetch(url, init);
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: (await answer.json()) as Said["body"],
  };
}

/** Sends the same request to the fast path and to Express. @returns Both answers. */
async function askTwice(testService: TestService, body: string, headers: Headers = {}) {
  const fast = await ask(testService, body, headers);
  const slow = await ask(testService, body, { ...headers, "content-type": IN_EXPRESS });
  return { fast, slow };
}

/** Removes header fields that differ from request to request. */
function comparable({ status, headers, body }: Said) {
  const { date: _, "x-request-id": __, "content-length": ___, ...rest } = headers;
  const { access_token: token, requestId: ____, error_description, ...members } = body;
  const isCounted = /;r=\d+;t=\d+|[1-9]\d* seconds\./g;
  return {
    ...{ status, members, hasToken: token !== undefined },
    headers: { ...rest, ratelimit: rest.ratelimit?.replace(isCounted, ""), "retry-after": "" },
    text: String(error_description).replace(isCounted, ""),
  };
}

/** Returns the remaining quota of the limit `visits`. */
const left = ({ headers }: Said): string | undefined =>
  /"visits";r=(\d+)/.exec(headers.ratelimit ?? "")?.[1];

const testService = await startTestService();

async function newForm({ base }: TestService, changes: Headers = {}): Promise<string> {
  const { client_id, client_secret } = await register(base);
  const form = { grant_type: "client_credentials", client_id, client_secret, ...changes };
  return new URLSearchParams(form).toString();
}

const form = await newForm(testService);
const { client_id: id = "", client_secret: secret = "" } = Object.fromEntries(
  new URLSearchParams(form),
);
const basic = { authorization: `Basic ${btoa(`${id}:${secret}`)}` };
const { base } = testService;

const requests: Readonly<Record<string, readonly [body: string, headers?: Headers]>> = {
  "the credentials of an agent": [form],
  "one scope": [`${form}&scope=factor:read`],
  "the resource /mcp": [`${form}&resource=${base}/mcp`],
  "a resource with a trailing slash and an additional parameter": [
    `${form}&resource=${base}/mcp/&audience=x`,
  ],
  "HTTP Basic authentication": ["grant_type=client_credentials", basic],
  "an Origin header": [form, { origin: "https://page.example" }],
  "a scope that unclaimed agents cannot get": [`${form}&scope=alerts:write`],
  "the resource of another server": [`${form}&resource=https://elsewhere.example`],
  "a wrong secret": [form.replace(secret, "wrong")],
  "a wrong secret with HTTP Basic authentication": [
    "grant_type=client_credentials",
    { authorization: "Basic YTpi" },
  ],
  "an unknown client": [form.replace(id, "agt_unknown")],
  "an unknown refresh token": [
    `${form.replace(/=client_cred[a-z]+/, "=refresh_token")}&refresh_token=x`,
  ],
  "an unknown grant type": [form.replace("client_credentials", "password")],
  "no grant type": [form.replace("grant_type", "grant")],
  "a repeated parameter": [`${form}&client_id=${id}`],
  "a body that is not a form": ["nothing of any use"],
};

describe("the fast path of token requests answers like Express", () => {
  it.each(Object.keys(requests))("for a request with %s", async (name) => {
    const [body = "", headers] = requests[name] ?? [];
    const { fast, slow } = await askTwice(testService, body, headers);
    expect(comparable(fast)).toEqual(comparable(slow));
  });

  it.each(["Application/X-WWW-Form-Urlencoded", `${FORM};charset=UTF-8`])(
    "for a request with the content type %s",
    async (type) => {
      const { status, body } = await ask(testService, form, { "content-type": type });
      expect([status, body.token_type]).toEqual([200, "Bearer"]);
    },
  );

  it("for a request with a body that is too large", async () => {
    const { fast, slow } = await askTwice(testService, `${form}&state=${"x".repeat(20_000)}`);
    expect(fast.status).toBe(413);
    expect(comparable(fast)).toEqual(comparable(slow));
  });
});

const strict = (limits: string, more: Headers = {}) =>
  startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} ${limits}`, ...more });

describe("a token request", () => {
  it("counts once against the rate limit, whatever its outcome, and is rejected as in Express", async () => {
    const limited = await strict("visits=5/100000/1000000");
    const own = await newForm(limited);
    const bodies = [own, own.replace("grant_type", "grant"), `${own}&scope=none`, own];
    const answers: Said[] = [];
    for (const body of bodies) answers.push(await ask(limited, body));
    expect(answers.map(left)).toEqual(["3", "2", "1", "0"]);
    const { fast, slow } = await askTwice(limited, own);
    expect([fast.status, left(fast)]).toEqual([429, "0"]);
    expect(comparable(fast)).toEqual(comparable(slow));
  });

  it.each([
    ["too many tokens", "token-requests=1/100000/1000000", (body: string) => body],
    ["wrong secrets", "guesses=1/100000/1000000", (body: string) => `${body}x`],
  ])(
    "is rejected for %s as in Express, and counts once against the limit",
    async (_name, limits, spoil) => {
      const limited = await strict(`${limits} visits=5/100000/1000000`);
      const own = spoil(await newForm(limited));
      await ask(limited, own);
      const { fast, slow } = await askTwice(limited, own);
      expect([fast.status, left(fast), left(slow)]).toEqual([429, "2", "1"]);
      expect(comparable(fast)).toEqual(comparable(slow));
    },
  );

  it("is attributed to the same client address as in Express", async () => {
    const limited = await strict("visits=2/100000/1000000", { TRUST_PROXY: "1" });
    const own = await newForm(limited);
    const from = { "x-forwarded-for": "198.51.100.1, 203.0.113.1" };
    const { fast, slow } = await askTwice(limited, own, from);
    expect([left(fast), left(slow)]).toEqual(["1", "0"]);
    expect((await ask(limited, own, from)).status).toBe(429);
    const other = { "x-forwarded-for": "203.0.113.1, 203.0.113.2" };
    expect((await ask(limited, own, other)).status).toBe(200);
  });
});
