// @module-tag full

import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { parse } from "../../src/http/api/parse.ts";
import { getWith, newToken, postJson } from "../support/agent.ts";
import { bearer } from "../support/alert-events.ts";
import { connectMcp } from "../support/mcp.ts";
import { sharedTestService } from "../support/test-service.ts";

/** What each request costs must grow no faster than the request: each counts once, whatever it holds. */

/** As many different names as 16 kB hold. */
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

  it("keeps repeated values together, in order", async () => {
    const { base } = await sharedTestService();
    const token = await newToken(base);
    const read = async (query: string) =>
      (await getWith(token, `${base}/api/signals?${query}`)).text();
    expect(await read("symbols=BIRCH.SIM&limit=5&symbols=ALDER.SIM")).toBe(
      await read("symbols=BIRCH.SIM,ALDER.SIM&limit=5"),
    );
  });
});

it("unknown members are compared with the known ones only until the error text is full", () => {
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
  expect(() => parse(schema, input)).toThrow("n0 is unknown; known are symbol, limit");
  expect(compared).toBeLessThan(20);
});

describe("a text of thousands of combining marks", () => {
  /** Normalization would sort them, in quadratic time. */
  const marks = `a${"\u0301\u0327".repeat(1_500)}`;

  const doors: Readonly<Record<string, (base: string, token: string) => Promise<unknown>>> = {
    "the label of an alert": (base, token) =>
      postJson(`${base}/api/alerts`, { symbols: ["ALDER.SIM"], label: marks }, bearer(token)),
    "the label of an alert over MCP": async (base, token) => {
      const client = await connectMcp(base, token);
      return client.callTool({
        name: "manage_alert",
        arguments: { id: "alert_x", label: marks },
      });
    },
    "a completed symbol over MCP": async (base, token) => {
      const client = await connectMcp(base, token);
      return client.complete({
        ref: { type: "ref/resource", uri: "market://signals/{symbol}" },
        argument: { name: "symbol", value: marks },
      });
    },
    "a name": (base) => postJson(`${base}/api/apply`, { name: marks, email: "a@host.example" }),
    "a message": (base) =>
      postJson(`${base}/api/contact`, { message: marks, email: "a@host.example" }),
    "the name of a client": (base) => postJson(`${base}/oauth/register`, { client_name: marks }),
    "a contact of a client": (base) => postJson(`${base}/oauth/register`, { contacts: [marks] }),
  };

  it.each(Object.entries(doors))("is never normalized in full: %s", async (_door, knock) => {
    const { base, person } = await sharedTestService();
    const { access_token } = await person().tokens();
    const normalize = vi.spyOn(String.prototype, "normalize");
    await knock(base, access_token);
    const longest = Math.max(0, ...normalize.mock.contexts.map((text) => String(text).length));
    expect(longest).toBeLessThan(500);
  });
});
