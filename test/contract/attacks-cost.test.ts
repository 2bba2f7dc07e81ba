// @module-tag full

import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { parseInput } from "../../src/http/api/parse.ts";
import { getWith, newToken, postJson } from "../support/agent.ts";
import { bearer } from "../support/alert-events.ts";
import { connectMcp } from "../support/mcp.ts";
import { sharedTestService, startTestService } from "../support/test-service.ts";
import { textOf } from "../support/web.ts";

/**
 * The cost of a request must grow at most linearly with its size, since each request counts once
 * against the rate limit.
 */

/** As many different parameter names as fit into 16 kB. */
const names = Array.from({ length: 4_000 }, (_, at) => `n${at.toString(36)}`);

afterEach(() => vi.restoreAllMocks());

describe("a query with thousands of names", () => {
  it.each(["/api/signals", "/api/instruments", "/api/factors", "/api/darkpool", "/api/method/:v"])(
    "causes one search at %s, not one for each name",
    async (path) => {
      const { base } = await sharedTestService();
      const health = await (await fetch(`${base}/api/health`)).json();
      const { methodVersion } = health as { readonly methodVersion: string };
      const target = path.replace(":v", encodeURIComponent(methodVersion));
      const token = await newToken(base);
      const search = vi.spyOn(URLSearchParams.prototype, "getAll");
      const answer = await getWith(token, `${base}${target}?${names.slice(0, 3_000).join("&")}`);
      expect(answer.status).toBe(400);
      expect(search.mock.calls.length).toBeLessThan(10);
    },
  );

  it("is parsed into lists that keep the order of repeated values", async () => {
    const { base } = await sharedTestService();
    const token = await newToken(base);
    const read = async (query: string) =>
      (await getWith(token, `${base}/api/signals?${query}`)).text();
    expect(await read("symbols=BIRCH.SIM&limit=5&symbols=ALDER.SIM")).toBe(
      await read("symbols=BIRCH.SIM,ALDER.SIM&limit=5"),
    );
  });
});

it("the service stops comparing unknown members with known members once the error text has reached its maximum length", () => {
  const schema = z.strictObject({ symbol: z.string(), limit: z.number() });
  const { shape } = schema;
  let compared = 0;
  Object.defineProperty(schema, "shape", {
    get() {
      compared += 1;
      return shape;
    },
  });
  const input = Object.fromEntries(names.map((name) => [name, 1]));
  expect(() => parseInput(schema, input)).toThrow("n0 is unknown; known are symbol, limit");
  expect(compared).toBeLessThan(20);
});

describe("a form with thousands of names of instruments", () => {
  it.each(["/account/watchlists/new", "/account/alerts/new"])(
    "is refused for their number, and none is searched: %s",
    async (path) => {
      const { person } = await sharedTestService();
      const owner = person();
      await owner.signIn();
      const page = await owner.web.get(path);
      const symbols = Array(1_600).fill("q").join(",");
      const form = page.form(path.replace("/new", ""));
      const answer = await owner.web.submit(form, { symbols, name: "many" });
      expect(answer.status).toBe(400);
      expect(textOf(answer.html)).toContain("The instruments must have at most 100");
      expect(answer.html).not.toContain("No instrument has the symbol");
    },
  );
});

describe("a page of the market", () => {
  const paths = [
    "/",
    "/?q=a&sort=score",
    "/market/ALDER.SIM",
    "/market/ALDER.SIM?range=1m&scale=log",
  ];

  it("is rendered once for each state of the market, for all visitors without an account", async () => {
    const own = await startTestService();
    /** The response of a path, and the number of templates of which it was made. */
    const made = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
      const templates = vi.spyOn(String, "raw");
      const response = await fetch(own.base + path, { headers });
      const body = await response.text();
      expect(response.status, path).toBe(200);
      const calls = templates.mock.calls.length;
      vi.restoreAllMocks();
      return { calls, body, etag: response.headers.get("etag") };
    };
    const forms = [{}, { "x-live-parts": "1" }];
    for (const path of paths) {
      for (const headers of forms) {
        const [first, second] = [await made(path, headers), await made(path, headers)];
        expect(first.calls, path).toBeGreaterThan(100);
        expect(second, path).toEqual({ ...first, calls: 0 });
      }
    }
    const bodies = await Promise.all(
      paths.flatMap((path) => forms.map(async (headers) => (await made(path, headers)).body)),
    );
    expect(new Set(bodies).size).toBe(bodies.length);

    const person = own.person();
    await person.signIn();
    const cookie = { cookie: person.web.cookie() };
    for (const path of paths) {
      const [first, second] = [await made(path, cookie), await made(path, cookie)];
      expect(second.calls, path).toBe(first.calls);
      expect(first.body).toContain("Your account");
      expect((await made(path)).body).not.toContain("Your account");
    }
    own.clock.now = new Date(own.clock.now.getTime() + 60_000);
    own.service.refresh();
    for (const path of paths) expect((await made(path)).calls, path).toBeGreaterThan(100);
  });
});

describe("a text of thousands of combining marks", () => {
  /** Combining marks that Unicode normalization would sort in quadratic time. */
  const marks = `a${"\u0301\u0327".repeat(1_500)}`;

  const doors: Readonly<Record<string, (base: string, token: string) => Promise<unknown>>> = {
    "as the label of an alert": (base, token) =>
      postJson(`${base}/api/alerts`, { symbols: ["ALDER.SIM"], label: marks }, bearer(token)),
    "as the label of an alert over MCP": async (base, token) => {
      const client = await connectMcp(base, token);
      return client.callTool({
        name: "manage_alert",
        arguments: { id: "alert_x", label: marks },
      });
    },
    "as a symbol to complete over MCP": async (base, token) => {
      const client = await connectMcp(base, token);
      return client.complete({
        ref: { type: "ref/resource", uri: "market://signals/{symbol}" },
        argument: { name: "symbol", value: marks },
      });
    },
    "as the name in an application": (base) =>
      postJson(`${base}/api/apply`, { name: marks, email: "a@host.example" }),
    "as a contact message": (base) =>
      postJson(`${base}/api/contact`, { message: marks, email: "a@host.example" }),
    "as the name of a client": (base) => postJson(`${base}/oauth/register`, { client_name: marks }),
    "as a contact of a client": (base) => postJson(`${base}/oauth/register`, { contacts: [marks] }),
  };

  it.each(Object.entries(doors))("is never normalized at full length %s", async (_door, knock) => {
    const { base, person } = await sharedTestService();
    const { access_token } = await person().tokens();
    const normalize = vi.spyOn(String.prototype, "normalize");
    await knock(base, access_token);
    const longest = Math.max(0, ...normalize.mock.contexts.map((text) => String(text).length));
    expect(longest).toBeLessThan(500);
  });
});
