import { describe, expect, it } from "vitest";
import { newToken, postForm, postJson, register } from "../support/agent.ts";
import { bearer } from "../support/alert-events.ts";
import { addChannel, mailbox } from "../support/channel-pages.ts";
import { mcpAsks, messageOf } from "../support/mcp-messages.ts";
import { parseList } from "../support/structured-list.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";
import { textOf } from "../support/web.ts";

const strict = (limits: string) => startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} ${limits}` });

const fieldsOf = ({ headers }: Response) => ({
  policy: parseList(headers.get("ratelimit-policy") ?? ""),
  state: parseList(headers.get("ratelimit") ?? ""),
});

describe("the parser of structured field lists", () => {
  it.each(['"a";q=1, "b";w=-2', '"a\\"b";r=0 , tok/en;x="y"'])("accepts %s", (field) => {
    expect(parseList(field)).toHaveLength(2);
  });

  it.each(["", '"a', '"a";q', '"a";Q=1', '"a";q=1,', '"a" q=1', '"a";q=1.5', '"ä"', "a=1"])(
    "rejects %j",
    (field) => expect(() => parseList(field)).toThrow(/./),
  );
});

/**
 * draft-ietf-httpapi-ratelimit-headers-11: names are Strings, `q` and `r` are present, `w` and `t`
 * are in seconds. `qu` defaults to requests and `pk` would disclose keys, so both are omitted.
 */
describe("the RateLimit fields", () => {
  it("are structured field lists as in the IETF draft, on every kind of answer", async () => {
    const { base } = await startTestService();
    const token = await newToken(base);
    const client = await register(base);
    const answers = await Promise.all([
      fetch(base),
      fetch(`${base}/llms.txt`),
      fetch(`${base}/nothing`),
      fetch(`${base}/api/signals`, { headers: bearer(token) }),
      fetch(`${base}/api/signals`),
      postForm(`${base}/oauth/token`, {
        grant_type: "client_credentials",
        client_id: client.client_id,
        client_secret: client.client_secret,
      }),
      postJson(`${base}/api/contact`, { email: "a@example.com", message: "hello" }),
      mcpAsks(base, token).askNew("tools/list"),
      mcpAsks(base, token).askOld("tools/list"),
    ]);
    for (const answer of answers) {
      const { policy, state } = fieldsOf(answer);
      expect(policy.length, answer.url).toBeGreaterThan(0);
      expect(state.map(({ value }) => value)).toEqual(policy.map(({ value }) => value));
      for (const { parameters } of policy) {
        expect(Object.keys(parameters)).toEqual(["q", "w"]);
        expect(parameters.q).toBe(100_000);
      }
      for (const { parameters } of state) {
        expect(Object.keys(parameters)).toEqual(["r", "t"]);
        expect(parameters.t).toSatisfy((t: number) => t >= 0 && t <= 86_400);
        expect(parameters.r).toSatisfy((r: number) => r >= 0 && r < 100_000);
      }
    }
  });
});

describe("rate limits over MCP", () => {
  it("reject a call with the same retry delay as over REST, for clients of old and new MCP versions", async () => {
    const { base } = await strict("calls-unclaimed=2/100000/1000000");
    const token = await newToken(base);
    const { eras } = mcpAsks(base, token);
    for (const { ask } of eras) expect((await ask("tools/list")).status).toBe(200);
    for (const { ask } of eras) {
      const refused = await ask("tools/list");
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
      expect(fieldsOf(refused).state).toMatchObject([
        { value: "calls-unclaimed", parameters: { r: 0 } },
      ]);
      expect(await refused.json()).toMatchObject({ status: 429, code: "rate_limited" });
    }
    const rest = await fetch(`${base}/api/signals`, { headers: bearer(token) });
    expect(rest.status).toBe(429);
  });

  it("tell the caller of a tool which limit was exceeded and when to retry", async () => {
    const { base, person } = await strict("changes=1/100000/1000000");
    const { access_token } = await person().tokens({ scope: "alerts:write signals:read" });
    const { eras } = mcpAsks(base, access_token);
    const change = {
      name: "manage_alert",
      arguments: { id: "alert_0123456789abcdef", action: "delete" },
    };
    const texts = [];
    for (const { ask } of [...eras, ...eras]) {
      const { result } = await messageOf(ask("tools/call", change));
      const { isError, content } = result as { isError: boolean; content: { text: string }[] };
      expect(isError).toBe(true);
      texts.push(content[0]?.text);
    }
    expect(texts[0]).toMatch(/^not_found: /);
    for (const text of texts.slice(1)) {
      expect(text).toMatch(
        /^rate_limited: The limit changes allows 1 in 3600 seconds\. Retry in 3[56]\d\d seconds\./,
      );
    }
  });
});

describe("the client address for rate limits", () => {
  const spoofs = [
    { "x-forwarded-for": "203.0.113.9" },
    { forwarded: "for=203.0.113.9" },
    { "x-real-ip": "203.0.113.9" },
    { "x-client-ip": "203.0.113.9", "cf-connecting-ip": "203.0.113.9" },
    { "true-client-ip": "203.0.113.9", "x-forwarded": "for=203.0.113.9" },
  ];

  it("is the address of the connection when no proxy is configured, whatever headers are sent", async () => {
    const { base } = await strict("visits=3/100000/1000000");
    const statuses = [];
    for (const headers of spoofs) statuses.push((await fetch(base, { headers })).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });

  it.each([
    [1, (spoof: string, own: string) => `${spoof}, ${own}`],
    [2, (spoof: string, own: string) => `${spoof}, ${own}, 10.0.0.1`],
  ])(
    "is the address that the outermost of %i configured proxies appended, whatever addresses precede it",
    async (hops, chain) => {
      const { base } = await startTestService({
        RATE_LIMITS: `${LOOSE_LIMITS} visits=2/100000/1000000`,
        TRUST_PROXY: String(hops),
      });
      const ask = async (spoof: string, own: string, more: Record<string, string> = {}) => {
        const headers = { "x-forwarded-for": chain(spoof, own), ...more };
        return (await fetch(base, { headers })).status;
      };
      const own = [];
      for (const [at, headers] of spoofs.entries()) {
        own.push(
          await ask(`203.0.113.${at}, 198.51.100.${at}`, "192.0.2.1", {
            ...headers,
            "x-forwarded-for": chain(`203.0.113.${at}`, "192.0.2.1"),
          }),
        );
      }
      expect(own).toEqual([200, 200, 429, 429, 429]);
      expect(await ask("192.0.2.1", "192.0.2.2")).toBe(200);
      // An IPv4-mapped IPv6 address counts as its IPv4 address; other IPv6 addresses count per
      // /56.
      const mapped = [await ask("a", "::ffff:192.0.2.1"), await ask("b", "::ffff:c000:201")];
      expect(mapped).toEqual([429, 429]);
      const subscriber = [];
      for (const last of ["200::1", "2ff::2", "242:0:1:2:3"]) {
        subscriber.push(await ask("c", `2001:db8:1:${last}`));
      }
      expect(subscriber).toEqual([200, 200, 429]);
      expect(await ask("d", "2001:db8:1:300::1")).toBe(200);
    },
  );
});

const TOTAL_NEXT = "Ask the operator to raise the total of the limit alerts.";

describe("what is stored at the same time", () => {
  it("has the number that the operator sets, and its refusal names no time", async () => {
    const { base, person } = await strict("alerts=160/1600/0");
    const one = person();
    const key = await one.createKey(["alerts:write", "signals:read"]);
    const list = { watchlist: "Mine", symbols: ["ALDER.SIM"] };
    const answer = await postJson(`${base}/api/watchlists`, list, bearer(key));
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([409, null]);
    expect(await answer.json()).toMatchObject({
      code: "alert_limit",
      next: TOTAL_NEXT,
    });
    const page = await addChannel(one, mailbox(one.email));
    expect(page.status).toBe(409);
    expect(textOf(page.html)).toContain(TOTAL_NEXT);
    expect(textOf(page.html)).not.toContain("Try again after");
  });
});
