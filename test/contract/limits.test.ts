import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { toOAuthError } from "../../src/http/oauth/oauth-errors.ts";
import { limitRequestsBy } from "../../src/http/rate-limits.ts";
import { ipAddressKey } from "../../src/limits/address-key.ts";
import { createLimits, type LimitsOptions } from "../../src/limits/memory-limits.ts";
import { postJson, register } from "../support/agent.ts";
import { serveForTest } from "../support/local-server.ts";
import { problemHandler } from "../support/route-listener.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";
import { createWeb } from "../support/web.ts";

const byAddress = (req: express.Request) => ipAddressKey(req.ip);

interface Site {
  /** Number of reverse proxies in front of the service. */
  readonly hops?: number;
  readonly limited: readonly RequestHandler[];
  readonly translate?: ErrorRequestHandler;
}

/**
 * Starts a service with one limited route.
 * @returns A function that sends a request, optionally with `X-Forwarded-For`.
 */
async function serve({ hops = 0, limited, translate }: Site) {
  const app = express();
  app.set("trust proxy", hops);
  app.get("/", ...limited, (req, res) => void res.send(ipAddressKey(req.ip)));
  if (translate) app.use(translate);
  app.use(problemHandler(() => undefined));
  const base = await serveForTest(app);
  return (forwardedFor?: string) =>
    fetch(base, {
      headers: forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor },
    });
}

function limitsOf(overrides: LimitsOptions["overrides"] = {}) {
  return createLimits({ overrides, now: () => Date.now() });
}

const two = { apply: { points: 2, windowSeconds: 3600 } };

describe("a rate-limited route", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  it("reports the remaining quota with every answer", async () => {
    const ask = await serve({ limited: [limitRequestsBy(limitsOf(two), "apply", byAddress)] });
    const told = [];
    for (let at = 0; at < 3; at += 1) {
      const { status, headers } = await ask();
      told.push([status, headers.get("ratelimit-policy"), headers.get("ratelimit")]);
    }
    const policy = '"apply";q=2;w=3600';
    expect(told).toEqual([
      [200, policy, '"apply";r=1;t=3600'],
      [200, policy, '"apply";r=0;t=3600'],
      [429, policy, '"apply";r=0;t=3600'],
    ]);
  });

  it("answers with a problem document that names the limit and the time to retry", async () => {
    const limits = limitsOf({ apply: { points: 0, windowSeconds: 90 } });
    const ask = await serve({ limited: [limitRequestsBy(limits, "apply", byAddress)] });
    const answer = await ask();
    expect(answer.headers.get("retry-after")).toBe("90");
    expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(await answer.json()).toEqual({
      type: "urn:market-signal:problem:rate_limited",
      title: "Too many requests.",
      status: 429,
      code: "rate_limited",
      detail: "The limit apply allows 0 in 90 seconds.",
      next: "Retry in 90 seconds.",
      instance: "/",
      requestId: expect.any(String),
    });
  });

  it("rounds the wait up, so that a client that waits exactly that long succeeds", async () => {
    const limits = limitsOf({ apply: { points: 1, windowSeconds: 90 } });
    const ask = await serve({ limited: [limitRequestsBy(limits, "apply", byAddress)] });
    await ask();
    vi.setSystemTime(Date.now() + 88_001);
    const answer = await ask();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(answer.headers.get("ratelimit")).toBe('"apply";r=0;t=2');
  });

  it("consumes its quotas in order and stops at the first that is exceeded", async () => {
    const limits = limitsOf({
      apply: { points: 1, windowSeconds: 60 },
      "apply-day": { points: 2, windowSeconds: 86_400 },
    });
    const quotas = ["apply", "apply-day"] as const;
    const ask = await serve({ limited: [limitRequestsBy(limits, quotas, byAddress)] });
    const first = await ask();
    expect(first.headers.get("ratelimit-policy")).toBe('"apply";q=1;w=60, "apply-day";q=2;w=86400');
    expect(first.headers.get("ratelimit")).toBe('"apply";r=0;t=60, "apply-day";r=1;t=86400');
    const second = await ask();
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(second.headers.get("ratelimit")).toBe('"apply";r=0;t=60');
    expect(await second.json()).toMatchObject({ detail: expect.stringContaining("limit apply ") });
    expect(await limits.peek("apply-day", "127.0.0.1")).toMatchObject({ points: 1 });
  });

  it("can be limited by several quotas, all of which the RateLimit field lists", async () => {
    const limits = limitsOf({
      register: { points: 9, windowSeconds: 60 },
      "register-site": { points: 1, windowSeconds: 30 },
    });
    const limited = [
      limitRequestsBy(limits, "register", byAddress),
      limitRequestsBy(limits, "register-site", () => "all"),
    ];
    const ask = await serve({ limited });
    await ask();
    const answer = await ask();
    expect(answer.status).toBe(429);
    expect(answer.headers.get("ratelimit")).toBe('"register";r=7;t=60, "register-site";r=0;t=30');
    expect(answer.headers.get("retry-after")).toBe("30");
  });

  it("answers OAuth clients with OAuth error codes", async () => {
    const limits = limitsOf({ token: { points: 0, windowSeconds: 60 } });
    const limited = [limitRequestsBy(limits, "token", byAddress)];
    const ask = await serve({ limited, translate: toOAuthError });
    const answer = await ask();
    expect(answer.status).toBe(429);
    expect(answer.headers.get("retry-after")).toBe("60");
    expect(answer.headers.get("ratelimit")).toBe('"token";r=0;t=60');
    const { error, error_description } = (await answer.json()) as Record<string, string>;
    expect(error).toBe("temporarily_unavailable");
    // Characters that RFC 6749 section 5.2 allows in `error_description`.
    expect(error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(error_description).toContain("60 seconds");
  });
});

describe("the client address that is counted", () => {
  /** Returns the rate limit keys that the service derives for `X-Forwarded-For` values. */
  async function keysOf(hops: number, forwarded: readonly (string | undefined)[]) {
    const limits = limitsOf({ apply: { points: 1000, windowSeconds: 60 } });
    const ask = await serve({ hops, limited: [limitRequestsBy(limits, "apply", byAddress)] });
    const keys = [];
    for (const each of forwarded) keys.push(await (await ask(each)).text());
    return keys;
  }

  it("is the address of the connection when no proxy is configured, whatever headers are sent", async () => {
    const claims = [undefined, "203.0.113.1", "203.0.113.2, 203.0.113.3", "unknown", "127.0.0.1"];
    expect(await keysOf(0, claims)).toEqual(claims.map(() => "127.0.0.1"));
  });

  it("is the address that the single proxy appended, whatever addresses precede it", async () => {
    const claims = [
      "203.0.113.1",
      "198.51.100.9, 203.0.113.1",
      "127.0.0.1,203.0.113.2",
      "a, b, 2001:db8:1:2ff::1",
      "::ffff:203.0.113.1",
    ];
    expect(await keysOf(1, claims)).toEqual([
      "203.0.113.1",
      "203.0.113.1",
      "203.0.113.2",
      "2001:db8:1:200::/56",
      "203.0.113.1",
    ]);
  });

  it("cannot be varied to bypass a limit", async () => {
    const ask = await serve({ limited: [limitRequestsBy(limitsOf(two), "apply", byAddress)] });
    const statuses = [];
    for (let at = 0; at < 6; at += 1) statuses.push((await ask(`203.0.113.${at}`)).status);
    expect(statuses).toEqual([200, 200, 429, 429, 429, 429]);
    const behind = await serve({
      hops: 1,
      limited: [limitRequestsBy(limitsOf(two), "apply", byAddress)],
    });
    const forged = [];
    for (let at = 0; at < 4; at += 1) {
      forged.push((await behind(`203.0.113.${at}, 192.0.2.1`)).status);
    }
    expect(forged).toEqual([200, 200, 429, 429]);
  });
});

describe("a caller over a limit", () => {
  const strict = (limits: string) => startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} ${limits}` });

  it("cannot use up the sign-in codes of other callers", async () => {
    const { base, emailsTo } = await strict("code-address=1/3600 code-email=1/3600");
    const ask = async (email: string) => {
      const web = createWeb(base);
      return (await web.submit((await web.get("/sign-in")).form("/sign-in"), { email })).status;
    };
    expect(await ask("attacker@example.com")).toBe(200);
    expect([await ask("victim@example.com"), await ask("victim@example.com")]).toEqual([429, 429]);
    expect(await emailsTo("victim@example.com")).toEqual([]);
  });

  it("cannot use up the claim attempts of other callers", async () => {
    const { base, person } = await strict("claim-user=1/3600 claim-agent=2/3600");
    const { client_id: agent_id } = await register(base);
    const [attacker, victim] = [await person().tokens(), await person().tokens()];
    const claim = async ({ access_token }: { access_token: string }) => {
      const headers = { authorization: `Bearer ${access_token}` };
      const body = { agent_id, claim_code: "00000000" };
      return (await postJson(`${base}/oauth/claim`, body, headers)).status;
    };
    expect([await claim(attacker), await claim(attacker), await claim(attacker)]).toEqual([
      400, 429, 429,
    ]);
    expect(await claim(victim)).toBe(400);
  });

  it("cannot use up the claim attempts of other callers on the claim page", async () => {
    const { person } = await strict("claim-user=1/3600 claim-agent=2/3600");
    const [attacker, victim] = [person(), person()];
    const tryCode = async ({ web }: typeof attacker) => {
      const form = (await web.get("/claim")).form("/claim");
      return (await web.submit(form, { agent_id: "agt_x", code: "00000000" })).status;
    };
    await Promise.all([attacker.signIn(), victim.signIn()]);
    const tries = [await tryCode(attacker), await tryCode(attacker), await tryCode(attacker)];
    expect([...tries, await tryCode(victim)]).toEqual([400, 429, 429, 400]);
  });
});

describe("API key management", () => {
  it("has a rate limit per account", async () => {
    const { person } = await startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} key-change=2/3600` });
    const [one, other] = [person(), person()];
    await Promise.all([one.signIn(), other.signIn()]);
    await one.createKey(["signals:read"]);
    const page = await one.web.get("/account");
    const revoke = page.forms.find(({ action }) => action.endsWith("/revoke"));
    if (revoke === undefined) throw new Error("the key is not on the account page");
    const makeKey = () =>
      one.web.submit(page.form("/account/keys"), { name: "more", scope: ["signals:read"] });

    expect((await makeKey()).status).toBe(200);
    expect((await one.web.submit(revoke)).status).toBe(429);
    expect((await one.web.submit(page.form("/account/keys"), { name: "" })).status).toBe(400);
    const refused = await makeKey();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3590);
    expect((await one.web.get("/account")).html).toContain(new URL(revoke.action).pathname);
    await other.createKey(["signals:read"]);
  });
});
