import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { toOAuthError } from "../../src/http/oauth/oauth-errors.ts";
import { limitRequestsBy } from "../../src/http/rate-limits.ts";
import { ipAddressKey, partyAt } from "../../src/limits/address-key.ts";
import type { LimitNumbers } from "../../src/limits/classes.ts";
import { createLimits, type LimitsOptions } from "../../src/limits/limits.ts";
import { postJson, register } from "../support/agent.ts";
import { eachCaller } from "../support/limits.ts";
import { serveForTest } from "../support/local-server.ts";
import { problemHandler } from "../support/route-listener.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";
import { createWeb } from "../support/web.ts";

const byAddress = (req: express.Request) => partyAt(req.ip);

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

const two = { submissions: eachCaller(2) };

describe("a rate-limited route", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  it("reports the remaining quota with every answer", async () => {
    const ask = await serve({
      limited: [limitRequestsBy(limitsOf(two), "submissions", byAddress)],
    });
    const told = [];
    for (let at = 0; at < 3; at += 1) {
      const { status, headers } = await ask();
      told.push([status, headers.get("ratelimit-policy"), headers.get("ratelimit")]);
    }
    const policy = '"submissions";q=2;w=3600';
    expect(told).toEqual([
      [200, policy, '"submissions";r=1;t=3600'],
      [200, policy, '"submissions";r=0;t=3600'],
      [429, policy, '"submissions";r=0;t=3600'],
    ]);
  });

  it("answers with a problem document that names the limit and the time to retry", async () => {
    const limits = limitsOf({ submissions: eachCaller(0) });
    const ask = await serve({ limited: [limitRequestsBy(limits, "submissions", byAddress)] });
    const answer = await ask();
    expect(answer.headers.get("retry-after")).toBe("3600");
    expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(await answer.json()).toEqual({
      type: "urn:market-signal:problem:rate_limited",
      title: "Too many requests.",
      status: 429,
      code: "rate_limited",
      detail: "The limit submissions allows 0 in 3600 seconds.",
      next: "Retry in 3600 seconds.",
      instance: "/",
      requestId: expect.any(String),
    });
  });

  it("rounds the wait up, so that a client that waits exactly that long succeeds", async () => {
    const limits = limitsOf({ submissions: eachCaller(1) });
    const ask = await serve({ limited: [limitRequestsBy(limits, "submissions", byAddress)] });
    await ask();
    vi.setSystemTime(Date.now() + 3_598_001);
    const answer = await ask();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(answer.headers.get("ratelimit")).toBe('"submissions";r=0;t=2');
  });

  it("tells a network, and all callers together, whose number refuses", async () => {
    const told = async (numbers: LimitNumbers) => {
      const limited = [
        limitRequestsBy(limitsOf({ submissions: numbers }), "submissions", byAddress),
      ];
      const ask = await serve({ limited });
      await ask();
      const answer = await ask();
      const { detail } = (await answer.json()) as { readonly detail: string };
      return [answer.headers.get("ratelimit-policy"), detail];
    };
    expect(await told({ caller: 9, network: 1, total: 99 })).toEqual([
      '"submissions-network";q=1;w=3600',
      "The limit submissions-network allows 1 in 3600 seconds to your network.",
    ]);
    expect(await told({ caller: 9, network: 9, total: 1 })).toEqual([
      '"submissions-total";q=1;w=3600',
      "The limit submissions-total allows 1 in 3600 seconds to all callers.",
    ]);
  });

  it("can be limited by several classes, all of which the RateLimit field lists", async () => {
    const limits = limitsOf({ registrations: eachCaller(9), claims: eachCaller(1) });
    const limited = [
      limitRequestsBy(limits, "registrations", byAddress),
      limitRequestsBy(limits, "claims", byAddress),
    ];
    const ask = await serve({ limited });
    await ask();
    const answer = await ask();
    expect(answer.status).toBe(429);
    expect(answer.headers.get("ratelimit")).toBe('"registrations";r=7;t=600, "claims";r=0;t=3600');
    expect(answer.headers.get("retry-after")).toBe("3600");
  });

  it("answers OAuth clients with OAuth error codes", async () => {
    const limits = limitsOf({ "token-requests": eachCaller(0) });
    const limited = [limitRequestsBy(limits, "token-requests", byAddress)];
    const ask = await serve({ limited, translate: toOAuthError });
    const answer = await ask();
    expect(answer.status).toBe(429);
    expect(answer.headers.get("retry-after")).toBe("60");
    expect(answer.headers.get("ratelimit")).toBe('"token-requests";r=0;t=60');
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
    const limits = limitsOf({ submissions: eachCaller(1000) });
    const ask = await serve({ hops, limited: [limitRequestsBy(limits, "submissions", byAddress)] });
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
    const ask = await serve({
      limited: [limitRequestsBy(limitsOf(two), "submissions", byAddress)],
    });
    const statuses = [];
    for (let at = 0; at < 6; at += 1) statuses.push((await ask(`203.0.113.${at}`)).status);
    expect(statuses).toEqual([200, 200, 429, 429, 429, 429]);
    const behind = await serve({
      hops: 1,
      limited: [limitRequestsBy(limitsOf(two), "submissions", byAddress)],
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
    const { base, emailsTo } = await strict("code-mails=1/100000/1000000");
    const ask = async (email: string) => {
      const web = createWeb(base);
      return (await web.submit((await web.get("/sign-in")).form("/sign-in"), { email })).status;
    };
    expect(await ask("attacker@example.com")).toBe(200);
    expect([await ask("victim@example.com"), await ask("victim@example.com")]).toEqual([429, 429]);
    expect(await emailsTo("victim@example.com")).toEqual([]);
  });

  it("cannot use up the claim attempts of other callers", async () => {
    const { base, person } = await strict("claims=1/100000/1000000");
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
    const { person } = await strict("claims=1/100000/1000000");
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
    const { person } = await startTestService({
      RATE_LIMITS: `${LOOSE_LIMITS} changes=2/100000/1000000`,
    });
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
